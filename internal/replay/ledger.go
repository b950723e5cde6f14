package replay

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"sessiond/llm"
)

// Purpose is what a model was asked for.
type Purpose string

// The purposes.
const (
	PurposeChat    Purpose = "chat"
	PurposeSummary Purpose = "summary"
	PurposeMemory  Purpose = "memory"
)

// memoryKeeper is how the system prompt begins by which a session's memory is kept.
const memoryKeeper = "You keep the memory of a session"

func purposeOf(req *llm.Request) Purpose {
	switch {
	case strings.HasPrefix(req.System, memoryKeeper):
		return PurposeMemory
	case isSummary(req):
		return PurposeSummary
	}
	return PurposeChat
}

// Ledger is a model that stands before all others and notes every call that was answered,
// by the conversation, in order. When a chat is answered it lets the time go by that the
// recorded answer took. It is safe for concurrent use.
type Ledger struct {
	chats  llm.Model // takes chats and summaries
	memory llm.Model // takes what keeps memories
	clock  *Clock
	about  llm.Capabilities // of all its models; zero numbers are those of chats

	mu    sync.Mutex
	pages map[string]*page
}

// page is what is noted of a conversation.
type page struct {
	at      int           // the message that is to be answered
	answers time.Duration // how long the recorded answer took; 0 once it went by
	calls   []noted
}

// noted is a call that was answered.
type noted struct {
	purpose Purpose
	repeats bool // a summary: it began with the chat's request
	at      int  // the message that was to be answered next, or had been
	when    time.Time
	tokens  int64 // its input, as the provider counted it
}

// NewLedger returns a ledger before a model; those of memories go to another one. What is
// set of about stands in place of what the model says of itself.
func NewLedger(chats, memory llm.Model, clock *Clock, about llm.Capabilities) *Ledger {
	return &Ledger{chats: chats, memory: memory, clock: clock, about: about, pages: make(map[string]*page)}
}

// cue says which message of a conversation is to be answered next, and how long the
// answer takes.
func (l *Ledger) cue(id string, at int, answers time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.page(id)
	p.at, p.answers = at, answers
}

// page is called with the mutex.
func (l *Ledger) page(id string) *page {
	p, ok := l.pages[id]
	if !ok {
		p = &page{}
		l.pages[id] = p
	}
	return p
}

// of returns the calls of a conversation so far.
func (l *Ledger) of(id string) []noted {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]noted(nil), l.page(id).calls...)
}

// Stream implements llm.Model.
func (l *Ledger) Stream(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	purpose, model := purposeOf(req), l.chats
	if purpose == PurposeMemory {
		model = l.memory
	}
	id, when := req.Model, l.clock.Now()
	resp, err := model.Stream(ctx, req, emit)
	if err != nil || resp == nil {
		return resp, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.page(id)
	p.calls = append(p.calls, noted{
		purpose: purpose, repeats: purpose == PurposeSummary && len(req.Messages) > 1, at: p.at, when: when,
		tokens: resp.Usage.Tokens() - resp.Usage.Output,
	})
	if purpose == PurposeChat {
		l.clock.Advance(p.answers)
		p.answers = 0
	}
	return resp, nil
}

// Capabilities implements llm.Describer.
func (l *Ledger) Capabilities(ctx context.Context, model string) (llm.Capabilities, error) {
	d, ok := l.chats.(llm.Describer)
	if !ok {
		return l.about, fmt.Errorf("model %s can't be described", model)
	}
	c, err := d.Capabilities(ctx, model)
	if l.about.CacheMinTokens > 0 {
		c.CacheMinTokens = l.about.CacheMinTokens
	}
	if l.about.TokenRatio > 0 {
		c.TokenRatio = l.about.TokenRatio
	}
	return c, err
}
