package llm

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"

	"sessiond/message"
)

// Rates is what a million tokens of each kind cost, in US dollars.
type Rates struct {
	Input        float64 `json:"input"`
	CacheRead    float64 `json:"cache_read"`
	CacheWrite5m float64 `json:"cache_write_5m"`
	CacheWrite1h float64 `json:"cache_write_1h"`
	Output       float64 `json:"output"`
}

// Price is what a model costs. A member that is left out is free.
type Price struct {
	Rates
	Long *LongPrice `json:"long,omitempty"`
}

// LongPrice replaces the rates of a request whose input, cached or not, is over
// OverTokens.
type LongPrice struct {
	OverTokens int64 `json:"over_tokens"`
	Rates
}

// Prices knows what models cost. The nil value knows nothing. It does not change
// once it is made, so it may be shared.
type Prices struct {
	byModel map[string]Price
}

//go:embed pricing.json
var builtinPrices []byte

// NewPrices returns the built-in prices, with those of overrides in place of or in
// addition to them. It fails on a rate that is negative or no number.
func NewPrices(overrides map[string]Price) (*Prices, error) {
	var rows []struct {
		Model string `json:"model"`
		Price
	}
	if err := json.Unmarshal(builtinPrices, &rows); err != nil {
		return nil, fmt.Errorf("read built-in prices: %w", err)
	}
	p := &Prices{byModel: make(map[string]Price, len(rows)+len(overrides))}
	for _, row := range rows {
		p.byModel[row.Model] = row.Price
	}
	maps.Copy(p.byModel, overrides)
	for model, price := range p.byModel {
		if err := price.check(); err != nil {
			return nil, fmt.Errorf("price of %s: %w", model, err)
		}
	}
	return p, nil
}

func (p Price) check() error {
	all := []Rates{p.Rates}
	if p.Long != nil {
		all = append(all, p.Long.Rates)
	}
	for _, r := range all {
		for _, rate := range []float64{r.Input, r.CacheRead, r.CacheWrite5m, r.CacheWrite1h, r.Output} {
			if !(rate >= 0) || math.IsInf(rate, 1) { // NaN compares false
				return fmt.Errorf("%v is no amount per million tokens", rate)
			}
		}
	}
	return nil
}

// Cost returns what usage of model costs in US dollars, and whether its price is
// known; the cost of an unknown model is 0.
func (p *Prices) Cost(model string, u message.Usage) (usd float64, known bool) {
	r, known := p.Rates(model, u)
	return r.Cost(u), known
}

// Rates returns what one call of a model that used u is priced by, and whether the
// model's price is known; the rates of an unknown model are 0. A dated version of a model
// costs what the model does unless it has a price of its own.
func (p *Prices) Rates(model string, u message.Usage) (r Rates, known bool) {
	if p == nil {
		return Rates{}, false
	}
	price, known := p.byModel[model]
	if !known {
		if price, known = p.byModel[BaseModel(model)]; !known {
			return Rates{}, false
		}
	}
	if price.Long != nil && u.Tokens()-u.Output > price.Long.OverTokens {
		return price.Long.Rates, true
	}
	return price.Rates, true
}

// Cost returns what usage costs at these rates, in US dollars. Reasoning is part of the
// output.
func (r Rates) Cost(u message.Usage) float64 {
	const perMillion = 1e-6
	return perMillion * (float64(u.Input)*r.Input + float64(u.Output)*r.Output + float64(u.CacheRead)*r.CacheRead +
		float64(u.CacheWrite5m)*r.CacheWrite5m + float64(u.CacheWrite1h)*r.CacheWrite1h)
}

// Known reports whether the price of a model is known.
func (p *Prices) Known(model string) bool {
	_, known := p.Rates(model, message.Usage{})
	return known
}

var modelVersion = regexp.MustCompile(`(?:-latest|[-@]20\d{6}|-20\d{2}-\d{2}-\d{2})$`)

// BaseModel returns a model's name without the date or "latest" that pins a version
// of it.
func BaseModel(model string) string { return modelVersion.ReplaceAllString(model, "") }
