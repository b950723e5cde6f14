package postgres

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"

	"sessiond/message"
	"sessiond/store"
	"sessiond/store/internal/fold"
)

const (
	// A text that a crash takes away is given again, so nobody waits for its flush.
	withoutFlush = `SELECT set_config('synchronous_commit', 'off', true)`
	putTexts     = `INSERT INTO search_texts (session_id, seq, role, folded, text)
		SELECT s.id, x.seq, x.role, x.folded, x.text
		FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::bytea[])
			AS x (id, owner, seq, role, folded, text)
		JOIN sessions s ON s.id = x.id AND s.owner = x.owner AND s.status || '' <> 'deleted'
		ON CONFLICT DO NOTHING`

	textsOfSession = `FROM search_texts t JOIN sessions s ON s.id = t.session_id WHERE s.id = $1 AND s.owner = $2 `
	indexedSeq     = `SELECT COALESCE((SELECT t.seq ` + textsOfSession + `ORDER BY t.seq DESC LIMIT 1), 0)`
	searchTexts    = `SELECT t.seq, t.role, t.text ` + textsOfSession + `AND t.seq < $3
			AND NOT EXISTS (SELECT FROM unnest($4::text[]) AS word WHERE strpos(t.folded, word) = 0)
		ORDER BY t.seq DESC LIMIT $5`
)

// IndexText implements [store.Search].
func (s *Store) IndexText(ctx context.Context, texts []store.SearchText) error {
	n := len(texts)
	ids, owners, seqs := make([]message.SessionID, n), make([]string, n), make([]int64, n)
	roles, folded, originals := make([]string, n), make([]string, n), make([][]byte, n)
	keys := make([]int64, n)
	for i, t := range texts {
		text := fold.Cut(t.Text, store.MaxSearchBytes)
		ids[i], owners[i], seqs[i], roles[i] = t.ID, t.Owner, t.Seq, t.Role
		folded[i], originals[i] = fold.Text(text), []byte(text)
		keys[i] = indexLock(t.Ref)
	}
	slices.Sort(keys) // the same order for all who wait
	var b pgx.Batch   // one transaction
	b.Queue(withoutFlush)
	for _, key := range slices.Compact(keys) {
		b.Queue(lock, key)
	}
	b.Queue(putTexts, ids, owners, seqs, roles, folded, originals)
	return s.fail("index texts", s.read.SendBatch(ctx, &b).Close())
}

// IndexedSeq implements [store.Search].
func (s *Store) IndexedSeq(ctx context.Context, ref store.Ref) (int64, error) {
	found, err := list(ctx, s, fmt.Sprintf("indexed seq of session %s", ref.ID), pgx.RowTo[int64], indexedSeq,
		ref.ID, ref.Owner)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return found[0], nil
}

// SearchText implements [store.Search].
func (s *Store) SearchText(ctx context.Context, q store.SearchQuery) ([]store.SearchHit, error) {
	words, limit := fold.Words(q.Query), q.Limit
	if len(words) == 0 {
		limit = 0
	}
	if q.BeforeSeq <= 0 {
		q.BeforeSeq = math.MaxInt64
	}
	scan := func(row pgx.CollectableRow) (h store.SearchHit, err error) {
		var text []byte
		err = row.Scan(&h.Seq, &h.Role, &text)
		h.Text = string(text)
		h.Start, h.End = fold.Find(h.Text, words)
		return h, err
	}
	return list(ctx, s, fmt.Sprintf("search session %s", q.ID), scan, searchTexts,
		q.ID, q.Owner, q.BeforeSeq, words, limit)
}
