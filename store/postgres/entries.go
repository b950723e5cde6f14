package postgres

import (
	"context"
	"fmt"
	"math"

	"sessiond/message"
	"sessiond/store"
)

const (
	entryColumns = `seq, kind, turn_id, message_id, body, tokens, created_at`
	entryQuery   = `SELECT e.* FROM entries e JOIN sessions s ON s.id = e.session_id WHERE s.id = $1 AND s.owner = $2 `
	// entryRange has all kinds if $5 is NULL, and all entries if $6 is.
	entryRange = entryQuery + `AND e.seq > $3 AND e.seq < $4 AND ($5::text[] IS NULL OR e.kind = ANY ($5))
		ORDER BY e.seq `
	entriesUp      = `SELECT ` + entryColumns + ` FROM (` + entryRange + `LIMIT $6) e ORDER BY seq`
	entriesDown    = `SELECT ` + entryColumns + ` FROM (` + entryRange + `DESC LIMIT $6) e ORDER BY seq DESC`
	entryByMessage = `SELECT ` + entryColumns + ` FROM (` + entryQuery + `AND e.message_id = $3 AND e.message_id <> '') e`

	// Within $7 bytes, but at least $8 entries. The sizes are known without reading
	// bodies that are stored apart.
	bounded = `sum(octet_length(body)) OVER w AS bytes, row_number() OVER w AS n`
	within  = `WHERE bytes <= $7 OR n <= $8 `

	entriesUpWithin = `SELECT ` + entryColumns + ` FROM (SELECT e.*, ` + bounded + ` FROM (` + entryRange + `LIMIT $6) e
		WINDOW w AS (ORDER BY seq ROWS UNBOUNDED PRECEDING)) e ` + within + `ORDER BY seq`
	entriesDownWithin = `SELECT ` + entryColumns + ` FROM (SELECT e.*, ` + bounded + ` FROM (` + entryRange + `DESC LIMIT $6) e
		WINDOW w AS (ORDER BY seq DESC ROWS UNBOUNDED PRECEDING)) e ` + within + `ORDER BY seq DESC`
)

// entriesAtOnce is how many entries are weighed at once when bytes are bounded, so
// that a page of a long log does not weigh all of it.
const entriesAtOnce = 512

// Entries implements [store.Log].
func (s *Store) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	what := fmt.Sprintf("entries of session %s", q.ID)
	if q.BeforeSeq == 0 {
		q.BeforeSeq = math.MaxInt64
	}
	if q.MaxBytes > 0 {
		return s.entriesWithin(ctx, what, q)
	}
	sql := entriesUp
	if q.Descending {
		sql = entriesDown
	}
	var limit any // none
	if q.Limit > 0 {
		limit = q.Limit
	}
	return list(ctx, s, what, scanEntry, sql, q.ID, q.Owner, q.AfterSeq, q.BeforeSeq, kinds(q), limit)
}

// entriesWithin is Entries with a bound of bytes.
func (s *Store) entriesWithin(ctx context.Context, what string, q store.EntryQuery) ([]store.Entry, error) {
	sql := entriesUpWithin
	if q.Descending {
		sql = entriesDownWithin
	}
	var found []store.Entry
	for atLeast := 1; ; atLeast = 0 {
		n := entriesAtOnce
		if q.Limit > 0 {
			n = min(n, q.Limit-len(found))
		}
		part, err := list(ctx, s, what, scanEntry, sql,
			q.ID, q.Owner, q.AfterSeq, q.BeforeSeq, kinds(q), n, q.MaxBytes, atLeast)
		if err != nil {
			return nil, err
		}
		found = append(found, part...)
		if len(part) < n || len(found) == q.Limit {
			return found, nil
		}
		for i := range part {
			q.MaxBytes -= len(part[i].Body)
		}
		if last := part[len(part)-1].Seq; q.Descending {
			q.BeforeSeq = last
		} else {
			q.AfterSeq = last
		}
	}
}

// kinds is the parameter for q.Kinds, NULL for all.
func kinds(q store.EntryQuery) []string {
	if len(q.Kinds) == 0 {
		return nil
	}
	return q.Kinds
}

// MessageEntry implements [store.Log].
func (s *Store) MessageEntry(ctx context.Context, ref store.Ref, id message.ID) (*store.Entry, error) {
	return get(ctx, s, fmt.Sprintf("message %s of session %s", id, ref.ID), scanEntry,
		entryByMessage, ref.ID, ref.Owner, id)
}
