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

// CacheMode is a way in which a request can be cached.
type CacheMode int

// The ways. A server keeps account of all of them, so that one run can compare what the
// same requests cost under each, see [Request.UsageUnder].
const (
	CacheMarked    CacheMode = iota // at the request's own markers: what the API does
	CacheAutomatic                  // as if it had none but the automatic one of five minutes
	CacheNone                       // not at all
	cacheModes
)

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
// counted from now. A read begins them anew: that of the entry, and that of the entries
// at markers before it, whose content is used with it (rule 5.7).
func (c *promptCache) use(positions []position, total, minTokens int, now time.Time) Usage {
	c.expire(now)
	usage := Usage{}
	read := c.find(positions)
	counted := 0 // tokens that are read or written
	if read >= 0 {
		counted = positions[read].tokens
		usage.CacheReadTokens = counted
	}
	for i, p := range positions {
		switch {
		case i == read, i < read && p.marker != nil:
			c.refresh(p.key, now)
		case i < read, p.marker == nil, p.tokens < minTokens:
		case p.marker.long:
			usage.CacheWrite1hTokens += p.tokens - counted
			counted = p.tokens
			c.entries[p.key] = cacheEntry{ttl: longTTL, expires: now.Add(longTTL)}
		default:
			usage.CacheWrite5mTokens += p.tokens - counted
			counted = p.tokens
			c.entries[p.key] = cacheEntry{ttl: shortTTL, expires: now.Add(shortTTL)}
		}
	}
	usage.InputTokens = total - counted
	return usage
}

// find returns the last position that is in the cache and in sight of a marker, or -1.
func (c *promptCache) find(positions []position) int {
	for i := range slices.Backward(positions) {
		if positions[i].marker == nil {
			continue
		}
		for j := i; j > i-lookback && j >= 0; j-- {
			if _, ok := c.entries[positions[j].key]; ok {
				return j
			}
		}
	}
	return -1
}

func (c *promptCache) refresh(key digest, now time.Time) {
	if entry, ok := c.entries[key]; ok {
		entry.expires = now.Add(entry.ttl)
		c.entries[key] = entry
	}
}

func (c *promptCache) expire(now time.Time) {
	for key, entry := range c.entries {
		if !now.Before(entry.expires) {
			delete(c.entries, key)
		}
	}
}

// caches are the caches of all ways to cache. Nothing is ever kept without caching.
type caches struct{ marked, automatic *promptCache }

func newCaches() caches { return caches{newPromptCache(), newPromptCache()} }

func (c caches) use(r *request, now time.Time) [cacheModes]Usage {
	automatic := slices.Clone(r.positions)
	for i := range automatic {
		automatic[i].marker = nil
	}
	if last := r.lastHolder(); last >= 0 {
		automatic[last].marker = &marker{}
	}
	return [cacheModes]Usage{
		CacheMarked:    c.marked.use(r.positions, r.tokens, r.model.CacheMinTokens, now),
		CacheAutomatic: c.automatic.use(automatic, r.tokens, r.model.CacheMinTokens, now),
		CacheNone:      {InputTokens: r.tokens},
	}
}
