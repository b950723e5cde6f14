package anthropic

import (
	"context"
	"sync"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"sessiond/llm"
)

const (
	// describeTimeout bounds what a slow models endpoint can hold up.
	describeTimeout = 5 * time.Second

	// What the endpoint said stays for long, that it failed does not.
	rememberAnswer  = 24 * time.Hour
	rememberFailure = 10 * time.Minute
)

// modelMemory remembers what the models endpoint said, and that it failed.
type modelMemory struct {
	now    func() time.Time
	mu     sync.Mutex
	byName map[string]remembered
}

type remembered struct {
	about model
	until time.Time
}

func (m *modelMemory) get(name string) (model, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.byName[name]
	return r.about, ok && m.now().Before(r.until)
}

func (m *modelMemory) put(name string, about model, keep time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.byName[name] = remembered{about: about, until: m.now().Add(keep)}
}

// Capabilities asks the models endpoint about a model, once; see [llm.Describer].
func (c *Client) Capabilities(ctx context.Context, name string) (llm.Capabilities, error) {
	about, err := c.describe(ctx, name)
	return about.Capabilities, err
}

// describe returns what is known about a model. With an error it is what the table
// says; the error is told once, then the table is used without asking for a while.
func (c *Client) describe(ctx context.Context, name string) (model, error) {
	if about, ok := c.models.get(name); ok {
		return about, nil
	}
	about := tabled(name)
	asked, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	info, err := c.sdk.Models.Get(asked, name, sdk.ModelGetParams{})
	if err != nil {
		if ctx.Err() != nil { // says nothing about the endpoint
			return about, ended(ctx)
		}
		c.models.put(name, about, rememberFailure)
		return about, classify(err, c.key)
	}
	about.learn(info)
	c.models.put(name, about, rememberAnswer)
	return about, nil
}

// learn takes over what the endpoint knows better than the table.
func (m *model) learn(info *sdk.ModelInfo) {
	if info.MaxInputTokens > 0 {
		m.WindowTokens = info.MaxInputTokens
	}
	if info.MaxTokens > 0 {
		m.MaxOutputTokens = info.MaxTokens
	}
	can := info.Capabilities
	if !info.JSON.Capabilities.Valid() {
		return
	}
	if can.JSON.ImageInput.Valid() {
		m.Images = can.ImageInput.Supported
	}
	if can.JSON.Thinking.Valid() {
		types := can.Thinking.Types
		m.adaptive, m.manual = types.Adaptive.Supported, types.Enabled.Supported
		m.off, m.betweenTools = types.Disabled.Supported, types.BetweenTools.Supported
	}
	if !can.JSON.Effort.Valid() {
		return
	}
	m.efforts = nil
	for _, level := range []struct {
		level llm.ThinkingLevel
		has   bool
	}{
		{llm.ThinkingLow, can.Effort.Low.Supported},
		{llm.ThinkingMedium, can.Effort.Medium.Supported},
		{llm.ThinkingHigh, can.Effort.High.Supported},
		{llm.ThinkingXHigh, can.Effort.Xhigh.Supported},
		{llm.ThinkingMax, can.Effort.Max.Supported},
	} {
		if level.has {
			m.efforts = append(m.efforts, level.level)
		}
	}
}
