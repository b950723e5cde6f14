package openaifake

import (
	"crypto/sha256"
	"time"
	"unicode/utf8"
)

// The documented numbers of the automatic prompt cache (rule 8.7).
const (
	minCacheTokens  = 1024
	cacheStepTokens = 128
	messageTokens   = 4 // what a message costs besides its content
	unitBytes       = 512
)

// unit is a piece of a prompt: no cached prefix ends inside one. Keys begin with the kind
// of the unit, those of text with textKey.
type unit struct {
	key    string
	tokens int64
}

const textKey = "="

// textUnits cuts text into pieces small enough to find where two prompts part.
func (s *Server) textUnits(kind, words string) []unit {
	units := []unit{{key: kind}}
	for len(words) > 0 {
		n := min(unitBytes, len(words))
		for n < len(words) && !utf8.RuneStart(words[n]) {
			n++
		}
		units = append(units, unit{key: textKey + words[:n], tokens: int64(s.opts.CountText(words[:n]))})
		words = words[n:]
	}
	return units
}

// digest names a prefix under a cache key.
type digest [sha256.Size]byte

// promptCache remembers prefixes until they were not used for a while.
type promptCache struct {
	ttl     time.Duration
	expires map[digest]time.Time
}

func newPromptCache(ttl time.Duration) *promptCache {
	return &promptCache{ttl: ttl, expires: make(map[digest]time.Time)}
}

// use reads what is known of a prompt and remembers all of it. Each model has its own
// cache, and each key (rule 8.7): a key is where requests are routed to.
func (c *promptCache) use(model, key string, units []unit, now time.Time) Usage {
	for d, at := range c.expires {
		if !now.Before(at) {
			delete(c.expires, d)
		}
	}
	var u Usage
	hits := true
	prefix := digest(sha256.Sum256([]byte("model " + model + " key " + key)))
	for _, piece := range units {
		h := sha256.New()
		h.Write(prefix[:])
		h.Write([]byte(piece.key))
		h.Sum(prefix[:0])
		u.PromptTokens += piece.tokens
		_, known := c.expires[prefix]
		if hits = hits && known; hits {
			u.CachedTokens = u.PromptTokens
		}
		c.expires[prefix] = now.Add(c.ttl)
	}
	if u.CachedTokens < minCacheTokens {
		u.CachedTokens = 0
	}
	u.CachedTokens -= u.CachedTokens % cacheStepTokens
	if whole := u.PromptTokens - u.PromptTokens%cacheStepTokens; whole >= minCacheTokens {
		u.CacheWriteTokens = whole - u.CachedTokens
	}
	return u
}
