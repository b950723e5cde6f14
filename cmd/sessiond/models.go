package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.uber.org/zap"

	"sessiond/configs"
	"sessiond/llm"
	"sessiond/llm/anthropic"
	"sessiond/llm/demo"
	"sessiond/llm/openai"
)

// models is the provider in force.
type models struct {
	provider configs.Provider
	endpoint string // the provider and where it is
	model    llm.Model
	prices   *llm.Prices
	names    []string // that sessions may choose, the default first
	cost     string   // what the start line says of money
}

// pickModels makes the provider that resolved settings ask for. It connects to nothing.
func pickModels(cfg configs.LLM, log *zap.Logger) (models, error) {
	m := models{provider: cfg.Provider, endpoint: endpointOf(cfg)}
	prices, err := llm.NewPrices(overrides(cfg.Pricing))
	if err != nil {
		return m, fmt.Errorf("llm.pricing: %w", err)
	}
	m.prices = prices
	switch cfg.Provider {
	case configs.ProviderAnthropic:
		m.model, err = anthropic.New(anthropic.Options{
			APIKey: string(cfg.APIKey), BaseURL: cfg.BaseURL, Prices: prices, Logger: log.Named("anthropic"),
		})
	case configs.ProviderOpenAI:
		m.model, err = newOpenAI(cfg, prices)
	case configs.ProviderAuto, configs.ProviderDemo:
		m.model = demo.New(demo.Options{Pause: demo.DefaultPause})
		m.names = []string{demo.Name}
	}
	if err != nil {
		return m, fmt.Errorf("llm: %w", err)
	}
	m.name(cfg)
	m.cost = costOf(cfg, prices, m.names)
	if outputs := outputsOf(cfg.Models); len(outputs) > 0 {
		m.model = described{m.model, outputs}
	}
	return m, nil
}

// described is a model whose operator knows how much its answers may hold.
type described struct {
	llm.Model
	maxOutputTokens map[string]int64 // by model
}

// Capabilities implements llm.Describer.
func (d described) Capabilities(ctx context.Context, model string) (llm.Capabilities, error) {
	var c llm.Capabilities
	var err error
	if told, ok := d.Model.(llm.Describer); ok {
		c, err = told.Capabilities(ctx, model)
	}
	if n := d.maxOutputTokens[model]; n > 0 {
		c.MaxOutputTokens = n
	}
	return c, err
}

// outputsOf returns the bounds of answers that the operator has named.
func outputsOf(listed []configs.Model) map[string]int64 {
	outputs := make(map[string]int64)
	for _, m := range listed {
		if m.MaxOutputTokens > 0 {
			outputs[m.Name] = int64(m.MaxOutputTokens)
		}
	}
	return outputs
}

// endpointOf names the service that answers: servers that speak the same API may call
// different models alike.
func endpointOf(cfg configs.LLM) string {
	return strings.TrimSpace(string(cfg.Provider) + " " + strings.TrimRight(cfg.BaseURL, "/"))
}

func newOpenAI(cfg configs.LLM, prices *llm.Prices) (llm.Model, error) {
	opts := openai.Options{BaseURL: cfg.BaseURL, APIKey: string(cfg.APIKey), Prices: prices}
	if cfg.Dialect != "" {
		d, err := openai.DialectNamed(cfg.Dialect)
		if err != nil {
			return nil, err
		}
		opts.Dialect = d
	}
	return openai.New(opts)
}

// name puts the configured names in the place of the provider's own.
func (m *models) name(cfg configs.LLM) {
	if cfg.Model != "" {
		m.names = []string{cfg.Model}
	}
	for _, listed := range cfg.Models {
		if len(m.names) == 0 || listed.Name != m.names[0] {
			m.names = append(m.names, listed.Name)
		}
	}
}

func overrides(pricing map[string]configs.Price) map[string]llm.Price {
	prices := make(map[string]llm.Price, len(pricing))
	for model, p := range pricing {
		prices[model] = llm.Price{Rates: llm.Rates(p)}
	}
	return prices
}

// costOf tells whoever starts the server whether its model calls cost money.
func costOf(cfg configs.LLM, prices *llm.Prices, names []string) string {
	if cfg.Provider == configs.ProviderDemo {
		return "nothing"
	}
	if cfg.BaseURL != "" && cfg.APIKey == "" {
		return "nothing that is known here"
	}
	if cfg.SummaryModel != "" {
		names = append(slices.Clip(names), cfg.SummaryModel)
	}
	for _, name := range names {
		if !prices.Known(name) {
			return "money; the price of " + name + " is not known (llm.pricing)"
		}
	}
	return "money"
}
