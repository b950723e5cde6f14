package store

import "context"

// MaxSearchBytes is how much of a text can be searched: the first so many bytes, up to
// a whole rune.
const MaxSearchBytes = 64 << 10

// Search finds the entries of a session by their text. What can be found is given
// separately, after the commit that stored an entry, so that no commit waits for it.
//
// The texts of one session are given in the order of seq. They need not survive a crash:
// whoever gives them asks [Search.IndexedSeq] first and goes on from there.
type Search interface {
	// IndexText adds texts, all or none. One that is there stays as it is, and one of a
	// session that is not (or not the owner's, or deleted) is dropped; neither is an
	// error. A call is one transaction, in SQLite one that commits wait for: give it a
	// few MiB at the most.
	IndexText(ctx context.Context, texts []SearchText) error
	// IndexedSeq returns the highest seq that was given for a session, 0 if none was.
	IndexedSeq(ctx context.Context, ref Ref) (int64, error)
	// SearchText returns the newest texts of a session that match, newest first. It
	// reads the session's texts until it has enough of them, or to the end, so it costs
	// about as much as reading them: 30 to 110 ms for 10,000 messages of a coding agent,
	// as measured in docs/adr/0008.
	SearchText(ctx context.Context, q SearchQuery) ([]SearchHit, error)
}

// SearchText is the text of one entry. An empty one is never found, but counts for
// [Search.IndexedSeq].
type SearchText struct {
	Ref
	Seq  int64
	Role string // opaque here
	Text string
}

// SearchQuery selects texts of a session. A text matches if it has every word of Query,
// in any order and any case, also inside other words: languages that put no space
// between words are searched like all others. Words end at white space; a query without
// any matches nothing.
type SearchQuery struct {
	Ref
	Query     string
	BeforeSeq int64 // only seq < BeforeSeq; ≤ 0: no bound
	Limit     int   // ≥ 1
}

// SearchHit is a text that matches, as it was given, up to [MaxSearchBytes].
type SearchHit struct {
	Seq  int64
	Role string
	Text string
	// The longest word of the query first stands in Text[Start:End].
	Start, End int
}
