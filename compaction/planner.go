package compaction

import (
	"math"
	"sync"
)

// Counter counts and cuts text by the tokens of one encoding. Head and Tail return a
// prefix and a suffix of at most n tokens, about as long as can be, that ends and begins
// between characters as people see them; less, rather than more. Count takes time in
// proportion to the text, Head and Tail to what they return.
type Counter interface {
	Count(text string) int
	Head(text string, n int) string
	Tail(text string, n int) string
}

// Planner decides with one configuration and one encoding. It is immutable and safe for
// concurrent use; no method blocks.
type Planner struct {
	cfg      Config
	counter  Counter
	encoding string
	frame    func() int // tokens of a summary message that has nothing in it; counted once
}

// New returns a planner, or what [Config.Validate] found. encoding is the counter's
// name, kept with everything that is counted.
func New(cfg Config, counter Counter, encoding string) (*Planner, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	p := &Planner{cfg: cfg, counter: counter, encoding: encoding}
	p.frame = sync.OnceValue(func() int { return counter.Count(summaryText(&Record{})) + frameSlackTokens })
	return p, nil
}

// frameSlackTokens covers what the seams between the parts of a summary message cost.
const frameSlackTokens = 16

// Encoding names the counter.
func (p *Planner) Encoding() string { return p.encoding }

// calibrated turns the encoding's tokens into the provider's.
func calibrated(raw int, ratio float64) int { return int(math.Round(float64(raw) * ratio)) }

// rawTokens turns the provider's tokens into the encoding's, rounded down, so that what
// keeps to the result keeps to the argument.
func rawTokens(tokens int, ratio float64) int {
	return int(math.Floor(float64(tokens) / ratio))
}

// Config returns the configuration in force.
func (p *Planner) Config() Config { return p.cfg }
