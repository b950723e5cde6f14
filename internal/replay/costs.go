package replay

import (
	"slices"
	"time"

	"sessiond/cost"
	"sessiond/llm"
	"sessiond/message"
)

// Prices tell the rates of a call.
type Prices func(u message.Usage) llm.Rates

// Costs are those of a conversation's requests in one mode.
type Costs struct {
	cost.Bill
	InputUSD float64         // of it, what was paid for the input
	Parts    map[Purpose]int // requests by purpose
	Repeated int             // summaries that repeated the chat's request
}

// Under is what a request used in a mode. Without marks of ours a careful client still
// leaves the automatic one off where nothing goes on from a request.
func (r *Request) Under(m Mode) message.Usage {
	if m == Automatic && r.Purpose != PurposeChat && !r.Repeats {
		m = Uncached
	}
	return r.Usage[m]
}

// Costs adds up what the requests cost.
func (c *Course) Costs(m Mode, prices Prices) Costs {
	out := Costs{Parts: make(map[Purpose]int)}
	for i := range c.Requests {
		r := &c.Requests[i]
		u := r.Under(m)
		rates := prices(u)
		out.Bill = out.Add(cost.Of(u, rates))
		u.Output = 0
		out.InputUSD += rates.Cost(u)
		out.Parts[r.Purpose]++
		if r.Repeats {
			out.Repeated++
		}
	}
	return out
}

// Plus adds the costs of both.
func (c Costs) Plus(d Costs) Costs {
	out := Costs{Bill: c.Add(d.Bill), InputUSD: c.InputUSD + d.InputUSD, Parts: make(map[Purpose]int), Repeated: c.Repeated + d.Repeated}
	for _, parts := range []map[Purpose]int{c.Parts, d.Parts} {
		for p, n := range parts {
			out.Parts[p] += n
		}
	}
	return out
}

// Total is the number of requests.
func (c Costs) Total() int {
	n := 0
	for _, k := range c.Parts {
		n += k
	}
	return n
}

// Served is how much of some requests was read from the cache.
type Served struct{ Requests, Read, Input int64 }

// Rate is the share that was read, 0 to 1; of nothing it is 0.
func (s Served) Rate() float64 {
	if s.Input == 0 {
		return 0
	}
	return float64(s.Read) / float64(s.Input)
}

func (s Served) plus(t Served) Served {
	return Served{s.Requests + t.Requests, s.Read + t.Read, s.Input + t.Input}
}

// Afterwards is how the first five chats after an event were served.
type Afterwards [5]Served

// Plus adds up two.
func (a Afterwards) Plus(b Afterwards) Afterwards {
	for i := range a {
		a[i] = a[i].plus(b[i])
	}
	return a
}

// Rest is how all were served but for the first.
func (a Afterwards) Rest() Served {
	var s Served
	for _, one := range a[1:] {
		s = s.plus(one)
	}
	return s
}

// coldAfter is a pause in which everything leaves the cache.
const coldAfter = time.Hour

// After tells how the chats after each event of a kind were served, up to the next one of
// its kind, or to another pause after which nothing can be read.
func (c *Course) After(e Event, m Mode) Afterwards {
	var out Afterwards
	var open []Served // of the chats that still belong to an event
	var last time.Time
	for i := range c.Requests {
		r := &c.Requests[i]
		if r.Purpose != PurposeChat {
			continue
		}
		switch {
		case slices.Contains(r.Before, e):
			open = out[:]
		case r.When.Sub(last) >= coldAfter:
			open = nil
		}
		last = r.When
		if len(open) > 0 {
			u := r.Under(m)
			open[0] = open[0].plus(Served{1, u.CacheRead, cost.InputTokens(u)})
			open = open[1:]
		}
	}
	return out
}

// keptFor is how long the cache keeps what is at the end of a request.
const keptFor = 5 * time.Minute

// PauseAfter returns the pause after another chat in which the end of that left the cache,
// so that this one, which nothing else changed, had to read it anew; 0 if it did not.
func (r *Request) PauseAfter(before *Request) time.Duration {
	pause := r.When.Sub(before.When)
	if pause < keptFor || len(r.Before) > 0 || r.Usage[Marked].CacheRead >= before.Usage[Uncached].Input {
		return 0
	}
	return pause
}
