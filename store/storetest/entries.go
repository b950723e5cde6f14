package storetest

import (
	"bytes"
	"fmt"
	"strings"

	"sessiond/message"
	"sessiond/store"
)

var entryRules = []rule{
	{"come in the order of seq", func(b *bench) {
		c := b.mustCreate(b.create(3))
		next := b.mustCommit(follow(c, 4))
		b.diff("entries", append(c.Entries, next.Entries...), b.entries(store.EntryQuery{Ref: ref(c)}))
	}},
	{"are selected by bounds, kinds, direction and limits", selectsEntries},
	{"are limited by the bytes of their bodies", limitsBytes},
	{"come whole from a long log, page by page", pagesEntries},
	{"come back byte for byte", keepsBytes},
	{"may be large", func(b *bench) {
		c := b.create(1)
		c.Entries[0].Body = fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("0123456789abcdef", 5<<20/16))
		b.mustCreate(c)
		got := b.entries(store.EntryQuery{Ref: ref(c), MaxBytes: 1024, Limit: 10})
		if len(got) != 1 || !bytes.Equal(got[0].Body, c.Entries[0].Body) {
			b.Errorf("the body of %d bytes did not come back", len(c.Entries[0].Body))
		}
	}},
	{"are found by their message", func(b *bench) {
		c := b.create(3)
		c.Entries[1].MessageID = "" // an entry that stores none
		c.Entries[1].TurnID = message.NewTurnID()
		b.mustCreate(c)
		for _, i := range []int{0, 2} {
			got, err := b.MessageEntry(b.Context(), ref(c), c.Entries[i].MessageID)
			if err != nil {
				b.Fatal(err)
			}
			b.diff("entry", &c.Entries[i], got)
		}
		_, err := b.MessageEntry(b.Context(), ref(c), message.NewID())
		b.wantErr("an unknown message", err, store.ErrNotFound)
		_, err = b.MessageEntry(b.Context(), ref(c), "")
		b.wantErr("no message", err, store.ErrNotFound)
		other := b.mustCreate(b.create(1))
		_, err = b.MessageEntry(b.Context(), ref(other), c.Entries[0].MessageID)
		b.wantErr("a message of another session", err, store.ErrNotFound)
	}},
	{"may store a message that another session stores too", func(b *bench) {
		c, other := b.create(1), b.create(1)
		other.Entries[0].MessageID = c.Entries[0].MessageID
		b.mustCreate(c)
		b.mustCreate(other)
		got, err := b.MessageEntry(b.Context(), ref(other), c.Entries[0].MessageID)
		if err != nil {
			b.Fatal(err)
		}
		b.diff("entry", &other.Entries[0], got)
	}},
}

func (b *bench) entries(q store.EntryQuery) []store.Entry {
	b.Helper()
	got, err := b.Entries(b.Context(), q)
	if err != nil {
		b.Fatalf("Entries: %v", err)
	}
	return got
}

func seqs(entries []store.Entry) []int64 {
	var list []int64
	for i := range entries {
		list = append(list, entries[i].Seq)
	}
	return list
}

func selectsEntries(b *bench) {
	c := b.create(10)
	for i := range c.Entries {
		c.Entries[i].Kind = []string{"a", "b", "c"}[i%3] // 1a 2b 3c 4a 5b 6c 7a 8b 9c 10a
	}
	b.mustCreate(c)
	cases := []struct {
		name string
		q    store.EntryQuery
		want []int64
	}{
		{"after", store.EntryQuery{AfterSeq: 7}, []int64{8, 9, 10}},
		{"after the head", store.EntryQuery{AfterSeq: 10}, nil},
		{"beyond the head", store.EntryQuery{AfterSeq: 1000}, nil},
		{"before", store.EntryQuery{BeforeSeq: 3}, []int64{1, 2}},
		{"before the first", store.EntryQuery{BeforeSeq: 1}, nil},
		{"between", store.EntryQuery{AfterSeq: 3, BeforeSeq: 6}, []int64{4, 5}},
		{"nothing between", store.EntryQuery{AfterSeq: 3, BeforeSeq: 4}, nil},
		{"limit", store.EntryQuery{Limit: 3}, []int64{1, 2, 3}},
		{"a limit above the number", store.EntryQuery{AfterSeq: 8, Limit: 100}, []int64{9, 10}},
		{"descending", store.EntryQuery{AfterSeq: 7, Descending: true}, []int64{10, 9, 8}},
		{"descending with a limit", store.EntryQuery{BeforeSeq: 9, Descending: true, Limit: 2}, []int64{8, 7}},
		{"one kind", store.EntryQuery{Kinds: []string{"b"}}, []int64{2, 5, 8}},
		{"two kinds", store.EntryQuery{Kinds: []string{"c", "a"}, AfterSeq: 5}, []int64{6, 7, 9, 10}},
		{"an unknown kind", store.EntryQuery{Kinds: []string{"z"}}, nil},
		{"kinds, descending, limit", store.EntryQuery{Kinds: []string{"a"}, Descending: true, Limit: 2}, []int64{10, 7}},
	}
	for _, tc := range cases {
		b.run(tc.name, func(b *bench) {
			tc.q.Ref = ref(c)
			b.diff("seqs", tc.want, seqs(b.entries(tc.q)))
		})
	}
}

func limitsBytes(b *bench) {
	c := b.create(5)
	for i, size := range []int{10, 20, 30, 5, 100} {
		// Two bytes a character: a limit in characters would be another.
		c.Entries[i].Body = []byte(`"` + strings.Repeat("é", (size-2)/2) + strings.Repeat("x", size%2) + `"`)
		c.Entries[i].Kind = []string{"a", "b"}[i%2]
		if len(c.Entries[i].Body) != size {
			b.Fatalf("body of %d bytes, want %d", len(c.Entries[i].Body), size)
		}
	}
	b.mustCreate(c)
	cases := []struct {
		name string
		q    store.EntryQuery
		want []int64
	}{
		{"exactly", store.EntryQuery{MaxBytes: 60}, []int64{1, 2, 3}},
		{"one byte less", store.EntryQuery{MaxBytes: 59}, []int64{1, 2}},
		{"a small one behind a large one does not slip in", store.EntryQuery{MaxBytes: 35}, []int64{1, 2}},
		{"all", store.EntryQuery{MaxBytes: 165}, []int64{1, 2, 3, 4, 5}},
		{"at least one", store.EntryQuery{MaxBytes: 1}, []int64{1}},
		{"at least one, descending", store.EntryQuery{MaxBytes: 1, Descending: true}, []int64{5}},
		{"descending", store.EntryQuery{MaxBytes: 135, Descending: true}, []int64{5, 4, 3}},
		{"behind a point", store.EntryQuery{AfterSeq: 2, MaxBytes: 35}, []int64{3, 4}},
		{"only bodies selected count", store.EntryQuery{Kinds: []string{"b"}, MaxBytes: 25}, []int64{2, 4}},
		{"the other limit first", store.EntryQuery{MaxBytes: 60, Limit: 2}, []int64{1, 2}},
		{"nothing to return", store.EntryQuery{AfterSeq: 5, MaxBytes: 60}, nil},
	}
	for _, tc := range cases {
		b.run(tc.name, func(b *bench) {
			tc.q.Ref = ref(c)
			b.diff("seqs", tc.want, seqs(b.entries(tc.q)))
		})
	}
}

// pagesEntries reads a log longer than any page a driver may fetch it in.
func pagesEntries(b *bench) {
	c := b.create(1200)
	for i := range c.Entries {
		c.Entries[i].Body = bytes.Repeat([]byte("7"), 1+i%50)
	}
	b.mustCreate(c)
	b.diff("without limits", c.Entries, b.entries(store.EntryQuery{Ref: ref(c)}))
	b.diff("with a limit of bytes it never meets", c.Entries, b.entries(store.EntryQuery{Ref: ref(c), MaxBytes: 1 << 30}))

	var got []store.Entry
	q := store.EntryQuery{Ref: ref(c), MaxBytes: 9000, Limit: 450}
	for {
		page := b.entries(q)
		if len(page) == 0 {
			break
		}
		bytes := 0
		for i := range page {
			bytes += len(page[i].Body)
		}
		if len(page) > q.Limit || bytes > q.MaxBytes {
			b.Fatalf("page of %d entries and %d bytes", len(page), bytes)
		}
		got = append(got, page...)
		q.AfterSeq = page[len(page)-1].Seq
	}
	b.diff("page by page", c.Entries, got)
}

func keepsBytes(b *bench) {
	bodies := map[string]string{
		"escaped NUL":            `{"text":"a\u0000b"}`,
		"literal backslash u":    `{"text":"a\\u0000b"}`,
		"emoji":                  `{"text":"👩‍👩‍👧 \ud83d\ude00 ﷽"}`,
		"white space":            "\t{ \"b\" :1 ,\r\n\"a\":  2 }  \n",
		"keys twice, unordered":  `{"b":1,"a":2,"b":3}`,
		"large number":           `{"n":123456789012345678901234567890.10e+5}`,
		"negative zero":          `[-0,-0.0,1E5,1e05]`,
		"escapes kept":           `{"text":"\u00e9\/\u2028\u003c"}`,
		"raw separators":         "{\"text\":\"\u2028\u2029\u007f\ufeff\"}",
		"replacement characters": "{\"text\":\"\ufffd\ufffe\uffff\"}",
		"quotes":                 `{"text":"' '' \" $1 ?1 :a @b %s {}"}`,
		"empty":                  ``,
		"blanks":                 `   `,
	}
	for name, body := range bodies {
		b.run(name, func(b *bench) {
			want := []byte(body)
			if body == "" {
				want = nil
			}
			c := b.create(1)
			c.Entries[0].Body = []byte(body)
			c.Session.Settings, c.Session.State = []byte(body), []byte(body)
			tn := turn(c)
			tn.Detail = []byte(body)
			c.Turns = []store.Turn{tn}
			k := key(c, "k")
			k.Result = []byte(body)
			c.Keys = []store.KeyRecord{k}
			b.mustCreate(c)

			got := b.look(ref(c))
			b.diff("body", want, got.Entries[0].Body)
			b.diff("settings", want, got.Session.Settings)
			b.diff("state", want, got.Session.State)
			b.diff("detail", want, got.Turns[0].Detail)
			rec, err := b.Key(b.Context(), k.KeyScope, at(0))
			if err != nil {
				b.Fatal(err)
			}
			b.diff("result", want, rec.Result)
		})
	}
}
