package replay

import (
	"fmt"
	"net/http"
	"time"

	"sessiond/llm/llmtest/anthropicfake"
	"sessiond/message"
)

// Mode is a way in which requests are cached.
type Mode int

// The modes.
const (
	Uncached  Mode = iota
	Automatic      // the provider's own marker on the last block, and no other
	Marked         // as the requests are marked
	modes
)

// CacheFake is a strict fake of the Messages API on a replay's clock, that counts every
// request in all modes.
type CacheFake struct {
	anthropicFake
	like anthropicfake.Model
}

// NewCacheFake returns a fake whose models are the conversations and take what a model
// of Anthropic's takes; one that the API does not know is taken for one of the common sort.
func NewCacheFake(o FakeOptions, like string, now func() time.Time) *CacheFake {
	f := &CacheFake{}
	for _, m := range anthropicfake.Models() {
		if m.ID == like || f.like.ID == "" && m.ID == "claude-sonnet-5" {
			f.like = m
		}
	}
	var models []anthropicfake.Model
	for _, c := range o.Conversations {
		m := f.like
		m.ID, m.WindowTokens = c.ID, o.window()
		models = append(models, m)
	}
	f.anthropicFake = anthropicFake{anthropicfake.New(anthropicfake.Options{
		Models: models, ThinkBeforeTools: o.Thinking, CountText: o.counter(), Answer: saying(o.source()), Now: now,
	})}
	return f
}

// CacheMinTokens is the shortest prefix that the models keep.
func (f *CacheFake) CacheMinTokens() int64 { return int64(f.like.CacheMinTokens) }

// usages returns what each request of a conversation used that was answered, in order.
func (f *CacheFake) usages(id string) [][modes]message.Usage {
	var out [][modes]message.Usage
	for _, r := range f.Requests() {
		if r.Model != id || r.Path != "/v1/messages" || r.Status != http.StatusOK {
			continue
		}
		out = append(out, [modes]message.Usage{
			Uncached:  usageOf(r.UsageUnder(anthropicfake.CacheNone)),
			Automatic: usageOf(r.UsageUnder(anthropicfake.CacheAutomatic)),
			Marked:    usageOf(r.UsageUnder(anthropicfake.CacheMarked)),
		})
	}
	return out
}

func usageOf(u anthropicfake.Usage) message.Usage {
	return message.Usage{
		Input: int64(u.InputTokens), CacheRead: int64(u.CacheReadTokens), CacheWrite5m: int64(u.CacheWrite5mTokens),
		CacheWrite1h: int64(u.CacheWrite1hTokens), Output: int64(u.OutputTokens),
	}
}

// take puts what the fake counted beside what a ledger noted.
func (f *CacheFake) take(id string, calls []noted) ([]Request, error) {
	usages := f.usages(id)
	if len(usages) != len(calls) {
		return nil, fmt.Errorf("%s: the fake answered %d requests, and %d answers came", id, len(usages), len(calls))
	}
	out := make([]Request, len(calls))
	for i, c := range calls {
		if in := usages[i][Uncached].Input; in != c.tokens {
			return nil, fmt.Errorf("%s: request %d had %d tokens for the fake, and %d for its client", id, i, in, c.tokens)
		}
		out[i] = Request{Purpose: c.purpose, Repeats: c.repeats, At: c.at, When: c.when, Usage: usages[i]}
	}
	return out, nil
}
