package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"sessiond/llm"
)

// modelsTimeout bounds the question about models, which no answer depends on.
const modelsTimeout = 10 * time.Second

// maxModelsBytes bounds a list of models; OpenRouter's is about one MiB.
const maxModelsBytes = 16 << 20

// modelEntry is the union of what servers say about a model, sizes in tokens.
type modelEntry struct {
	ID    looseText `json:"id"`
	Name  looseText `json:"name"`  // Ollama
	Model looseText `json:"model"` // Ollama

	LoadedContextLength int64 `json:"loaded_context_length"` // LM Studio
	MaxModelLen         int64 `json:"max_model_len"`         // vLLM
	ContextLength       int64 `json:"context_length"`        // Ollama, OpenRouter, Kimi, Together
	ContextWindow       int64 `json:"context_window"`        // Groq
	MaxContextLength    int64 `json:"max_context_length"`    // Mistral, LM Studio
	MaxCompletionTokens int64 `json:"max_completion_tokens"` // Groq

	TopProvider struct { // OpenRouter
		ContextLength       int64 `json:"context_length"`
		MaxCompletionTokens int64 `json:"max_completion_tokens"`
	} `json:"top_provider"`
	Architecture struct { // OpenRouter
		InputModalities []string `json:"input_modalities"`
	} `json:"architecture"`
}

// modelList is the union of the lists.
type modelList struct {
	Data     []modelEntry `json:"data"`
	Models   []modelEntry `json:"models"` // Ollama
	Settings struct {     // llama.cpp, which serves one model
		NCtx int64 `json:"n_ctx"`
	} `json:"default_generation_settings"`
}

// Capabilities asks the server about a model; see [llm.Describer]. What it said once is
// remembered, but for what it did not know: a local server learns a model's window
// when it loads the model.
func (c *Client) Capabilities(ctx context.Context, model string) (llm.Capabilities, error) {
	c.mu.Lock()
	caps, ok := c.models[model]
	c.mu.Unlock()
	if ok {
		return caps, nil
	}
	caps = llm.Capabilities{Images: true, TokenRatio: 1, WindowTokens: c.windows[model]}
	list, err := c.askModels(ctx)
	if err != nil {
		return caps, fmt.Errorf("ask about model %q: %w", model, err)
	}
	e, ok := list.find(model)
	if ok {
		e.describe(&caps)
	}
	if w := c.windows[model]; w > 0 {
		caps.WindowTokens = w
	}
	if caps.WindowTokens > 0 {
		c.mu.Lock()
		c.models[model] = caps
		c.mu.Unlock()
	}
	return caps, nil
}

// window is the model's window as far as it is known already, or 0.
func (c *Client) window(model string) int64 {
	if w := c.windows[model]; w > 0 {
		return w
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.models[model].WindowTokens
}

func (c *Client) askModels(ctx context.Context) (*modelList, error) {
	ctx, cancel := context.WithTimeout(ctx, modelsTimeout)
	defer cancel()
	where := c.base + "/models"
	if c.dialect.windowPath != "" {
		u, err := url.Parse(c.base)
		if err != nil {
			return nil, errors.New("parse base URL")
		}
		where = u.Scheme + "://" + u.Host + c.dialect.windowPath
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.Header = c.header.Clone()
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.broken(ctx, ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, c.refusal(ctx, resp)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxModelsBytes))
	if err != nil {
		return nil, c.broken(ctx, ctx, err)
	}
	var list modelList
	if err := decodeLoose(raw, &list); err != nil {
		return nil, &llm.Error{Class: llm.ClassInvalid, Err: errors.New("the list of models is no JSON")}
	}
	return &list, nil
}

// find returns the entry of a model. Ollama names what it was asked for as "name" by
// "name:latest".
func (l *modelList) find(model string) (modelEntry, bool) {
	for _, e := range slices.Concat(l.Data, l.Models) {
		for _, name := range []string{string(e.ID), string(e.Name), string(e.Model)} {
			if name == model || name == model+":latest" {
				return e, true
			}
		}
	}
	return modelEntry{ContextLength: l.Settings.NCtx}, l.Settings.NCtx > 0
}

func (e *modelEntry) describe(caps *llm.Capabilities) {
	for _, tokens := range []int64{
		e.LoadedContextLength, e.MaxModelLen, e.TopProvider.ContextLength,
		e.ContextLength, e.ContextWindow, e.MaxContextLength,
	} {
		if tokens > 0 {
			caps.WindowTokens = tokens
			break
		}
	}
	caps.MaxOutputTokens = max(e.TopProvider.MaxCompletionTokens, e.MaxCompletionTokens)
	if modes := e.Architecture.InputModalities; len(modes) > 0 {
		caps.Images = slices.Contains(modes, "image")
	}
}
