package configs

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
)

// The variables in which the providers' own tools look for their keys.
const (
	envAnthropicKey = "ANTHROPIC_API_KEY"
	envOpenAIKey    = "OPENAI_API_KEY"
)

// The models of sessions that name none, where the settings name none either.
const (
	defaultAnthropicModel = "claude-sonnet-5-5"
	defaultOpenAIModel    = "gpt-6-sol"
	defaultOpenAIBaseURL  = "https://api.openai.com/v1"
)

// Resolved returns the settings with what they leave to the environment filled in:
// the provider that auto stands for, its key, its address and its default model.
//
// auto is anthropic if ANTHROPIC_API_KEY is set, else openai if OPENAI_API_KEY is, else
// the demo. These keys are used for the providers' own addresses only: a server that
// base_url names is sent llm.api_key or nothing.
func (c LLM) Resolved(environ []string) LLM {
	return c.resolved(parseEnviron(environ))
}

func (c LLM) resolved(environ map[string]string) LLM {
	if c.Provider == ProviderAuto {
		c.Provider = autoProvider(c, environ)
	}
	own := c.BaseURL == ""
	switch c.Provider {
	case ProviderAnthropic:
		c.fill(environ[envAnthropicKey], defaultAnthropicModel, own)
	case ProviderOpenAI:
		c.fill(environ[envOpenAIKey], defaultOpenAIModel, own)
		if own {
			c.BaseURL = defaultOpenAIBaseURL
		}
	case ProviderDemo, ProviderAuto:
	}
	return c
}

func (c *LLM) fill(key, model string, own bool) {
	if c.APIKey == "" && own {
		c.APIKey = Secret(key)
	}
	if c.Model == "" && own {
		c.Model = model
		if len(c.Models) > 0 && !c.offers(model) {
			c.Model = c.Models[0].Name
		}
	}
}

// offers reports whether a model is among the listed ones.
func (c *LLM) offers(model string) bool {
	return slices.ContainsFunc(c.Models, func(m Model) bool { return m.Name == model })
}

func autoProvider(c LLM, environ map[string]string) Provider {
	switch {
	case c.BaseURL != "":
		return ProviderOpenAI // what servers of one's own speak
	case environ[envAnthropicKey] != "":
		return ProviderAnthropic
	case environ[envOpenAIKey] != "":
		return ProviderOpenAI
	default:
		return ProviderDemo
	}
}

func (l *loader) validateProvider() {
	for _, model := range slices.Sorted(maps.Keys(l.cfg.LLM.Pricing)) {
		p := l.cfg.LLM.Pricing[model]
		if min(p.Input, p.CacheRead, p.CacheWrite5m, p.CacheWrite1h, p.Output) < 0 {
			l.refuse(fmt.Sprintf("llm.pricing[%s]", model), "a price can't be negative")
		}
	}
	c := l.cfg.LLM.resolved(l.environ)
	if l.cfg.LLM.BaseURL != "" {
		u, err := url.Parse(c.BaseURL)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "":
			l.refuse("llm.base_url", "must be http(s)://host/path without credentials and query")
		case c.Provider == ProviderDemo:
			l.refuse("llm.base_url", "means nothing to the demo")
		case c.Model == "":
			l.refuse("llm.model", "is needed with llm.base_url: its models are not known here")
		}
		return
	}
	switch {
	case c.Provider == ProviderAnthropic && c.APIKey == "":
		l.refuse("llm.api_key", "is needed for anthropic; %s in the environment does as well", envAnthropicKey)
	case c.Provider == ProviderOpenAI && c.APIKey == "":
		l.refuse("llm.api_key", "is needed for openai; %s in the environment does as well", envOpenAIKey)
	}
}
