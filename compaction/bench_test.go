package compaction

import (
	"fmt"
	"testing"
)

// thousand is a session of 1,000 messages, a third of it tool rounds, just under a
// trigger of its size.
func thousand(b *testing.B) *desk {
	b.Helper()
	d := newDesk(b, func(c *Config) { c.ContextTokensLimit = 200_000 })
	for i := range 200 {
		d.user(words(fmt.Sprintf("request %d", i), 120))
		d.round("read", fmt.Sprintf(`{"path":"src/package%d/file%d.go"}`, i%17, i), words("file", 700))
		d.says(words("answer", 150))
		d.says(words("more", 150))
	}
	d.user("next")
	return d
}

// BenchmarkPlanAndView is the aim of 2 ms for a session of 1,000 messages: everything
// that is decided before a call, with a plan over all levels, and the view.
func BenchmarkPlanAndView(b *testing.B) {
	d := thousand(b)
	sit := d.situation()
	sit.Trigger = TriggerOverflow
	b.ReportAllocs()
	for b.Loop() {
		if st := d.p.Next(d.s, sit); st.Action == ActionSend {
			b.Fatal("nothing was planned")
		}
		if pl, reason := d.p.plan(d.s, sit); pl == nil {
			b.Fatal(reason)
		}
		d.s.View()
	}
}

// BenchmarkNextBelowThreshold is what every round pays where nothing is due.
func BenchmarkNextBelowThreshold(b *testing.B) {
	d := thousand(b)
	sit := d.situation()
	sit.Limits.ContextTokens = 1_000_000
	b.ReportAllocs()
	for b.Loop() {
		if st := d.p.Next(d.s, sit); st.Action != ActionSend {
			b.Fatal(st.Action)
		}
	}
}

// BenchmarkAppend is what a new message costs whatever came before.
func BenchmarkAppend(b *testing.B) {
	for _, before := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("after %d", before), func(b *testing.B) {
			d := newDesk(b)
			for range before {
				d.says("x")
			}
			it := d.s.conv.items[0]
			b.ReportAllocs()
			for b.Loop() {
				if err := d.s.Append(it); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
