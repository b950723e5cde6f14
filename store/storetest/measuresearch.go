package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"sessiond/store"
	"sessiond/store/internal/fold"
)

// searchedMessages is how many texts the measured session has, of about 1,500 bytes
// each: what messages of coding agents have on average.
const searchedMessages = 10_000

// MeasureSearch measures what indexing and searching cost: giving one text next to
// committing one message, and a search of a long session next to looking through its
// folded texts in memory, which is the least that reading them all can cost.
func MeasureSearch(b *testing.B, s store.Store) {
	b.Helper()
	b.Run("index", func(b *testing.B) { Alternate(b, []Committer{indexer(b, s)}, Commits(b, s, 1)) })
	r, folded := searched(b, s)
	for _, query := range []string{"absent", "oldest", "common lorem"} {
		b.Run("query="+query, func(b *testing.B) {
			var ours, base time.Duration
			for b.Loop() {
				start := time.Now()
				hits, err := s.SearchText(b.Context(), store.SearchQuery{Ref: r, Query: query, Limit: 20})
				between := time.Now()
				if want := lookThrough(folded, fold.Words(query), 20); err != nil || len(hits) != want {
					b.Fatalf("%d hits, %v; want %d", len(hits), err, want)
				}
				ours, base = ours+between.Sub(start), base+time.Since(between)
			}
			ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 / float64(b.N) }
			b.ReportMetric(ms(ours), "ms/search")
			b.ReportMetric(ms(base), "base-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// indexer gives the texts of a session, one a call.
func indexer(b *testing.B, s store.Store) Committer {
	b.Helper()
	c := (&bench{owner: "bench"}).create(0)
	if err := s.Create(b.Context(), c); err != nil {
		b.Fatal(err)
	}
	seq := int64(0)
	return func(ctx context.Context) error {
		seq++
		return s.IndexText(ctx, []store.SearchText{{Ref: ref(c), Seq: seq, Role: "user", Text: Body}})
	}
}

// searched returns a long session that is indexed, and its texts as they are compared.
func searched(b *testing.B, s store.Store) (store.Ref, []string) {
	b.Helper()
	c := (&bench{owner: "bench"}).create(0)
	if err := s.Create(b.Context(), c); err != nil {
		b.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	var folded []string
	for len(folded) < searchedMessages {
		var texts []store.SearchText
		for range 100 {
			text := prose(random, len(folded) == 0)
			folded = append(folded, fold.Text(text))
			texts = append(texts, store.SearchText{Ref: ref(c), Seq: int64(len(folded)), Role: "user", Text: text})
		}
		if err := s.IndexText(b.Context(), texts); err != nil {
			b.Fatal(err)
		}
	}
	return ref(c), folded
}

// prose is a text of random words; two others stand in most texts, and one in the oldest.
func prose(random *rand.Rand, oldest bool) string {
	var text strings.Builder
	for n := random.IntN(3000); text.Len() < n; {
		fmt.Fprintf(&text, "Word%x ", random.IntN(1<<20))
		if random.IntN(50) == 0 {
			text.WriteString("Common, lorem ")
		}
	}
	if oldest {
		text.WriteString("Oldest")
	}
	return text.String()
}

// lookThrough counts the texts that have all words, newest first up to a limit.
func lookThrough(folded []string, words []string, limit int) int {
	n := 0
	for i := len(folded) - 1; i >= 0 && n < limit; i-- {
		if fold.Contains(folded[i], words) {
			n++
		}
	}
	return n
}
