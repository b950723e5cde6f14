package anthropicfake

import (
	"slices"
	"time"
)

// Usage is what a request used, as the API reports it.
type Usage struct {
	InputTokens        int // neither read from nor written to the cache
	CacheReadTokens    int
	CacheWrite5mTokens int
	CacheWrite1hTokens int
	OutputTokens       int
}

// promptCache simulates the prompt cache. The server's mutex guards it.
type promptCache struct {
	entries map[digest]cacheEntry
}

type cacheEntry struct {
	ttl     time.Duration
	expires time.Time
}

const (
	shortTTL = 5 * time.Minute
	longTTL  = time.Hour
	lookback = 20 // positions, the marker's own included
)

func newPromptCache() *promptCache { return &promptCache{entries: make(map[digest]cacheEntry)} }

// use reads the longest entry that a marker of the request finds, writes entries at
// the markers after it, and says how the request's tokens were counted. Lifetimes are
// counted from now, and a read begins them anew.
func (c *promptCache) use(r *request, now time.Time) Usage {
	c.expire(now)
	usage := Usage{}
	read := c.find(r)
	counted := 0 // tokens that are read or written
	if read >= 0 {
		key := r.positions[read].key
		entry := c.entries[key]
		entry.expires = now.Add(entry.ttl)
		c.entries[key] = entry
		counted = r.positions[read].tokens
		usage.CacheReadTokens = counted
	}
	for i, p := range r.positions {
		if i <= read || p.marker == nil || p.tokens < r.model.CacheMinTokens {
			continue
		}
		ttl := shortTTL
		if p.marker.long {
			ttl = longTTL
			usage.CacheWrite1hTokens += p.tokens - counted
		} else {
			usage.CacheWrite5mTokens += p.tokens - counted
		}
		counted = p.tokens
		c.entries[p.key] = cacheEntry{ttl: ttl, expires: now.Add(ttl)}
	}
	usage.InputTokens = r.tokens - counted
	return usage
}

// find returns the last position that is in the cache and in sight of a marker, or -1.
func (c *promptCache) find(r *request) int {
	for i := range slices.Backward(r.positions) {
		if r.positions[i].marker == nil {
			continue
		}
		for j := i; j > i-lookback && j >= 0; j-- {
			if _, ok := c.entries[r.positions[j].key]; ok {
				return j
			}
		}
	}
	return -1
}

func (c *promptCache) expire(now time.Time) {
	for key, entry := range c.entries {
		if !now.Before(entry.expires) {
			delete(c.entries, key)
		}
	}
}
