package storetest

import (
	"fmt"
	"strings"
	"sync"

	"sessiond/message"
	"sessiond/store"
)

var searchRules = []rule{
	{"finds words in any case, also inside others", findsWords},
	{"comes newest first, page by page", pagesHits},
	{"returns the text as it was, and where the longest word stands", func(b *bench) {
		r := ref(b.mustCreate(b.create(1)))
		text := "\x00Über das Ändern\xff — \tа Также 上下文压缩 👩‍👩‍👧\r\n"
		b.index(store.SearchText{Ref: r, Seq: 1, Role: "assistant", Text: text})
		for query, place := range map[string]string{
			"über": "Über", "A ÄNDERN": "Ändern", "также а": "Также", "压缩": "压缩", "das Über 👩‍👩‍👧": "👩‍👩‍👧",
		} {
			hits := b.search(store.SearchQuery{Ref: r, Query: query})
			if len(hits) != 1 {
				b.Fatalf("%q has %d hits", query, len(hits))
			}
			h := hits[0]
			b.diff("place of "+query, place, h.Text[h.Start:h.End])
			h.Start, h.End = 0, 0
			b.diff("hit of "+query, store.SearchHit{Seq: 1, Role: "assistant", Text: text}, h)
		}
	}},
	{"knows the first 64 KiB of a text", func(b *bench) {
		r := ref(b.mustCreate(b.create(1)))
		long := strings.Repeat("压", store.MaxSearchBytes/3)
		b.index(
			store.SearchText{Ref: r, Seq: 1, Text: "first" + long + "last"},
			store.SearchText{Ref: r, Seq: 2, Text: strings.Repeat("x", store.MaxSearchBytes-5) + "first"},
			store.SearchText{Ref: r, Seq: 3, Text: strings.Repeat("x", store.MaxSearchBytes-5) + " first"},
			store.SearchText{Ref: r, Seq: 4, Text: strings.Repeat("Ⱥ", store.MaxSearchBytes/2) + "first"}, // folded, it is longer
		)
		b.wantHits("first", r, 2, 1)
		b.wantHits("last", r)
		b.wantHits("压", r, 1)
		b.wantHits("ⱥ", r, 4)
		for _, h := range b.search(store.SearchQuery{Ref: r, Query: "first"}) {
			if len(h.Text) > store.MaxSearchBytes || strings.Contains(h.Text, "\ufffd") {
				b.Errorf("text %d has %d bytes", h.Seq, len(h.Text))
			}
		}
	}},
	{"is the owner's only", func(b *bench) {
		r := ref(b.mustCreate(b.create(1)))
		other := ref(b.mustCreate(b.create(1)))
		b.index(store.SearchText{Ref: r, Seq: 1, Text: "secret"})
		for _, foreign := range []store.Ref{
			{Owner: b.owner + "-other", ID: r.ID}, {Owner: b.owner, ID: message.NewSessionID()},
		} {
			b.index(store.SearchText{Ref: foreign, Seq: 2, Text: "secret"}, store.SearchText{Ref: other, Seq: 7, Text: "beside"})
			b.wantHits("secret", foreign)
			b.wantIndexed(foreign, 0)
		}
		b.wantHits("secret", r, 1)
		b.wantIndexed(r, 1)
		b.wantHits("secret", other)
		b.wantHits("beside", other, 7)
	}},
	{"takes a text once", func(b *bench) {
		r := ref(b.mustCreate(b.create(1)))
		one := store.SearchText{Ref: r, Seq: 1, Role: "user", Text: "one"}
		b.index(one, one)
		b.index(store.SearchText{Ref: r, Seq: 1, Text: "other"}, store.SearchText{Ref: r, Seq: 2, Text: "two"})
		b.wantHits("o", r, 2, 1)
		b.wantHits("other", r)
	}},
	{"tells how far a session is indexed", func(b *bench) {
		r, other := ref(b.mustCreate(b.create(1))), ref(b.mustCreate(b.create(1)))
		b.wantIndexed(r, 0)
		b.index()
		b.wantIndexed(r, 0)
		b.index(store.SearchText{Ref: r, Seq: 3, Text: "text"}, store.SearchText{Ref: other, Seq: 50, Text: "text"})
		b.wantIndexed(r, 3)
		b.index(store.SearchText{Ref: r, Seq: 9}) // without text, yet done
		b.wantIndexed(r, 9)
		b.wantIndexed(other, 50)
	}},
	{"forgets deleted sessions", func(b *bench) {
		r, other := ref(b.mustCreate(b.create(1))), ref(b.mustCreate(b.create(1)))
		b.index(store.SearchText{Ref: r, Seq: 1, Text: "text"}, store.SearchText{Ref: other, Seq: 1, Text: "text"})
		b.mustDelete(r, true)
		b.index(store.SearchText{Ref: r, Seq: 2, Text: "text"})
		b.wantHits("text", r)
		b.wantIndexed(r, 0)
		b.wantHits("text", other, 1)
	}},
	{"keeps nothing when a deletion comes between", func(b *bench) {
		for range 20 {
			r := ref(b.mustCreate(b.create(1)))
			var indexing sync.WaitGroup
			for seq := range int64(3) {
				indexing.Go(func() { b.index(store.SearchText{Ref: r, Seq: 1 + seq, Text: "text"}) })
			}
			b.mustDelete(r, true)
			indexing.Wait()
			b.wantHits("text", r)
			b.wantIndexed(r, 0)
		}
	}},
	{"goes on beside commits", indexBesideCommits},
}

func (b *bench) index(texts ...store.SearchText) {
	b.Helper()
	if err := b.IndexText(b.Context(), texts); err != nil {
		b.Errorf("IndexText: %v", err)
	}
}

func (b *bench) wantIndexed(r store.Ref, want int64) {
	b.Helper()
	got, err := b.IndexedSeq(b.Context(), r)
	if err != nil || got != want {
		b.Errorf("indexed up to %d, %v; want %d", got, err, want)
	}
}

// search runs q, without a limit if it has none.
func (b *bench) search(q store.SearchQuery) []store.SearchHit {
	b.Helper()
	if q.Limit == 0 {
		q.Limit = 1000
	}
	hits, err := b.SearchText(b.Context(), q)
	if err != nil {
		b.Fatalf("SearchText: %v", err)
	}
	return hits
}

func (b *bench) wantHits(query string, r store.Ref, want ...int64) {
	b.Helper()
	b.diff(fmt.Sprintf("hits of %q", query), want, hitSeqs(b.search(store.SearchQuery{Ref: r, Query: query})))
}

func hitSeqs(hits []store.SearchHit) []int64 {
	var list []int64
	for i := range hits {
		list = append(list, hits[i].Seq)
	}
	return list
}

func findsWords(b *bench) {
	r := ref(b.mustCreate(b.create(1)))
	for i, text := range []string{
		1:  "The quick brown Fox",
		2:  "func (s *Store) IndexText(ctx context.Context) error",
		3:  "我们讨论了上下文压缩的策略",
		4:  "記憶 と 圧縮、ＡＢＣ",
		5:  "Привет, МИР",
		6:  "ΣΊΣΥΦΟΣ and σίσυφος",
		7:  `100% of C:\temp_dir, it's "quoted"; DROP TABLE x; --`,
		8:  "NUL\x00byte and no UTF-8: \xff\xfe end",
		9:  "👩‍👩‍👧 family",
		10: strings.Repeat("long ", 5000) + "needle",
		11: "a\nb\tc",
		12: "",
	} {
		if i > 0 {
			b.index(store.SearchText{Ref: r, Seq: int64(i), Role: "user", Text: text})
		}
	}
	cases := []struct {
		query string
		want  []int64
	}{
		{"fox", []int64{1}},
		{"FOX quick", []int64{1}},
		{"fox wolf", nil},
		{"indext", []int64{2}},
		{"context.context", []int64{2}},
		{"(s *store)", []int64{2}},
		{"压缩", []int64{3}},
		{"策略 压缩", []int64{3}},
		{"压\u3000的", []int64{3}},
		{"缩压", nil},
		{"圧縮", []int64{4}},
		{"憶", []int64{4}},
		{"привет мир", []int64{5}},
		{"σίσυφος", []int64{6}},
		{"Σίσυφοσ", []int64{6}},
		{"100%", []int64{7}},
		{"1%0", nil},
		{"temp_dir", []int64{7}},
		{"temp?dir", nil},
		{`c:\temp`, []int64{7}},
		{`"quoted"; it's --`, []int64{7}},
		{"nul byte", []int64{8}},
		{"nul\x00byte", []int64{8}}, // two words, as in the text
		{"nul_byte", nil},
		{"utf-8 end", []int64{8}},
		{"👩‍👩‍👧", []int64{9}},
		{"family 👧", []int64{9}},
		{"needle", []int64{10}},
		{"long needle", []int64{10}},
		{"e o", []int64{10, 8, 7, 2, 1}},
		{"", nil},
		{" \t\u3000", nil},
		{"\x00", nil},
		{strings.Repeat("fox ", 100), []int64{1}},
		{strings.Repeat("x", 1<<17), nil},
	}
	for _, tc := range cases {
		b.diff(fmt.Sprintf("hits of %.40q", tc.query), tc.want, hitSeqs(b.search(store.SearchQuery{Ref: r, Query: tc.query})))
	}
}

func pagesHits(b *bench) {
	r := ref(b.mustCreate(b.create(1)))
	var texts []store.SearchText
	var want []int64
	for seq := int64(300); seq > 0; seq-- {
		text := store.SearchText{Ref: r, Seq: seq, Text: fmt.Sprint("number ", seq, " even")}
		if seq%2 == 1 {
			text.Text = fmt.Sprint("number ", seq, " odd")
		} else {
			want = append(want, seq)
		}
		texts = append(texts, text)
	}
	b.index(texts...)
	b.wantHits("EVEN number", r, want...)
	b.diff("hits before no bound", want, hitSeqs(b.search(store.SearchQuery{Ref: r, Query: "even", BeforeSeq: -1})))
	for _, limit := range []int{1, 7, 149, 1000} {
		var got []int64
		q := store.SearchQuery{Ref: r, Query: "even", Limit: limit}
		for range len(want) + 1 {
			page := hitSeqs(b.search(q))
			if len(page) > limit {
				b.Fatalf("page of %d with a limit of %d", len(page), limit)
			}
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
			q.BeforeSeq = page[len(page)-1]
		}
		b.diff(fmt.Sprintf("hits by %d", limit), want, got)
	}
	b.diff("hits before the first", []int64(nil), hitSeqs(b.search(store.SearchQuery{Ref: r, Query: "odd", BeforeSeq: 1})))
}

// indexBesideCommits indexes sessions, all in the same calls, while they are written.
func indexBesideCommits(b *bench) {
	const sessions, commits = 8, 20
	var wg sync.WaitGroup
	stored := make(chan store.SearchText, sessions*commits)
	refs := make([]store.Ref, sessions)
	for i := range refs {
		c := b.mustCreate(b.create(0))
		refs[i] = ref(c)
		wg.Go(func() {
			for range commits {
				c = follow(c, 1)
				if err := b.Commit(b.Context(), c); err != nil {
					b.Errorf("Commit: %v", err)
					return
				}
				stored <- store.SearchText{Ref: ref(c), Seq: c.Session.HeadSeq, Text: fmt.Sprint("word ", i)}
			}
		})
	}
	var indexers sync.WaitGroup
	for range 3 {
		indexers.Go(func() {
			for text := range stored {
				texts := []store.SearchText{text}
				for range min(len(stored), 10) {
					if more, ok := <-stored; ok {
						texts = append(texts, more)
					}
				}
				b.index(texts...)
				b.index(texts...)
			}
		})
	}
	wg.Wait()
	close(stored)
	indexers.Wait()
	for i, r := range refs {
		hits := b.search(store.SearchQuery{Ref: r, Query: fmt.Sprint("word ", i)})
		if len(hits) != commits {
			b.Errorf("session %d has %d hits, want %d", i, len(hits), commits)
		}
		b.wantIndexed(r, commits)
	}
}
