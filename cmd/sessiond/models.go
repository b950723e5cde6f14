package main

import (
	"fmt"
	"net/url"

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
	model    llm.Model
	source   string   // whose models these are: what is learned of one belongs to it
	names    []string // that sessions may choose, the default first
	cost     string   // what the start line says of money
}

// pickModels makes the provider that resolved settings ask for. It connects to nothing.
func pickModels(cfg configs.LLM, log *zap.Logger) (models, error) {
	m := models{provider: cfg.Provider, source: sourceOf(cfg)}
	prices, err := llm.NewPrices(overrides(cfg.Pricing))
	if err != nil {
		return m, fmt.Errorf("llm.pricing: %w", err)
	}
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
	return m, nil
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

// sourceOf tells models of one name apart that different servers offer.
func sourceOf(cfg configs.LLM) string {
	u, err := url.Parse(cfg.BaseURL)
	if err != nil || u.Host == "" {
		return string(cfg.Provider)
	}
	return string(cfg.Provider) + "@" + u.Host
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
	for _, name := range names {
		if !prices.Known(name) {
			return "money; the price of " + name + " is not known (llm.pricing)"
		}
	}
	return "money"
}
