package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"sessiond/message"
	"sessiond/store"
)

const (
	memoryColumns = `owner, id, session_id, category, importance, title, content, source, source_seqs, seq,
			created_at, updated_at`
	memoriesInto = `memories (` + memoryColumns + `)`
	memoryTypes  = `text text text text bytea bytea text text bigint timestamptz timestamptz`
	// memoryConflict replaces a memory. In the place of another session's the column that
	// must not be NULL would be, which fails the whole commit.
	memoryConflict = ` ON CONFLICT (owner, id) DO UPDATE SET
			session_id = CASE WHEN memories.session_id = EXCLUDED.session_id THEN memories.session_id END,
			category = EXCLUDED.category, importance = EXCLUDED.importance, title = EXCLUDED.title,
			content = EXCLUDED.content, source = EXCLUDED.source, source_seqs = EXCLUDED.source_seqs,
			seq = EXCLUDED.seq, updated_at = EXCLUDED.updated_at`

	memoriesOfOwner = `SELECT ` + memoryColumns + ` FROM memories WHERE owner = $1 `
	memoryByID      = memoriesOfOwner + `AND id = $2`
	memoriesPage    = memoriesOfOwner + `AND session_id = $2 AND (updated_at, id) < ($3, $4)
		ORDER BY updated_at DESC, id DESC LIMIT $5`
	putMemory = `INSERT INTO ` + memoriesInto + `
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)` + memoryConflict
	putKey = `INSERT INTO ` + keysInto + ` SELECT * FROM
		unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::bytea[], $6::text[], $7::timestamptz[])`
	dropMemory = `DELETE FROM memories WHERE owner = $1 AND id = $2 AND session_id = ''`
	// dropMemoryKeyed records the key only if there was something to delete.
	dropMemoryKeyed = `WITH d AS (` + dropMemory + ` RETURNING 1) INSERT INTO ` + keysInto + ` SELECT x.* FROM
		unnest($3::text[], $4::text[], $5::text[], $6::bytea[], $7::bytea[], $8::text[], $9::timestamptz[]) AS x, d`
)

// ListMemories implements [store.Memories].
func (s *Store) ListMemories(ctx context.Context, q store.MemoryQuery) ([]store.Memory, error) {
	before := pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}
	if !q.BeforeUpdatedAt.IsZero() {
		before = orNull(q.BeforeUpdatedAt)
	}
	return list(ctx, s, "list memories", scanMemory, memoriesPage, q.Owner, q.ID, before, q.BeforeID, q.Limit)
}

// Memory implements [store.Memories].
func (s *Store) Memory(ctx context.Context, owner string, id message.MemoryID) (*store.Memory, error) {
	return get(ctx, s, fmt.Sprintf("memory %s", id), scanMemory, memoryByID, owner, id)
}

// PutMemory implements [store.Memories].
func (s *Store) PutMemory(ctx context.Context, m *store.Memory, key *store.KeyRecord) error {
	if err := store.CheckMemory(m); err != nil {
		return fmt.Errorf("put memory %s: %w", m.ID, err)
	}
	var b pgx.Batch // one transaction
	if key != nil {
		keys := keyArgs([]store.KeyRecord{*key})
		b.Queue(dropExpiredKeys, append(slices.Clone(keys[:4]), m.UpdatedAt)...)
		b.Queue(putKey, keys...)
	}
	b.Queue(putMemory, m.Owner, m.ID, m.SessionID, m.Category, m.Importance, []byte(m.Title), []byte(m.Content),
		m.Source, store.SeqList(m.SourceSeqs), m.Seq, m.CreatedAt, m.UpdatedAt)
	return s.fail(fmt.Sprintf("put memory %s", m.ID), asContract(s.read.SendBatch(ctx, &b).Close()))
}

// DeleteMemory implements [store.Memories].
func (s *Store) DeleteMemory(ctx context.Context, owner string, id message.MemoryID, at time.Time, key *store.KeyRecord) error {
	var b pgx.Batch // one transaction
	var gone int64
	count := func(tag pgconn.CommandTag) error {
		gone = tag.RowsAffected()
		return nil
	}
	if key == nil {
		b.Queue(dropMemory, owner, id).Exec(count)
	} else {
		keys := keyArgs([]store.KeyRecord{*key})
		b.Queue(dropExpiredKeys, append(slices.Clone(keys[:4]), at)...)
		b.Queue(dropMemoryKeyed, append([]any{owner, id}, keys...)...).Exec(count)
	}
	err := asContract(s.read.SendBatch(ctx, &b).Close())
	if err == nil && gone == 0 {
		err = store.ErrNotFound
	}
	return s.fail(fmt.Sprintf("delete memory %s", id), err)
}

// memoryArgs returns the parameters for what is put and for what is deleted.
func memoryArgs(changes []store.MemoryChange) []any {
	var puts []*store.Memory
	deleted := []message.MemoryID{}
	for i := range changes {
		if m := changes[i].Put; m != nil {
			puts = append(puts, m)
		} else {
			deleted = append(deleted, changes[i].Delete)
		}
	}
	n := len(puts)
	ids, sessions := make([]message.MemoryID, n), make([]message.SessionID, n)
	categories, importances, sources := make([]string, n), make([]string, n), make([]string, n)
	titles, contents, sourceSeqs := make([][]byte, n), make([][]byte, n), make([]string, n)
	seqs, created, updated := make([]int64, n), make([]time.Time, n), make([]time.Time, n)
	for i, m := range puts {
		ids[i], sessions[i], categories[i], importances[i] = m.ID, m.SessionID, m.Category, m.Importance
		titles[i], contents[i], sources[i] = []byte(m.Title), []byte(m.Content), m.Source
		sourceSeqs[i] = store.SeqList(m.SourceSeqs)
		seqs[i], created[i], updated[i] = m.Seq, m.CreatedAt, m.UpdatedAt
	}
	return []any{
		ids, sessions, categories, importances, titles, contents, sources, sourceSeqs, seqs, created, updated, deleted,
	}
}

func scanMemory(row pgx.CollectableRow) (m store.Memory, err error) {
	var title, content []byte
	var seqs string
	if err := row.Scan(&m.Owner, &m.ID, &m.SessionID, &m.Category, &m.Importance, &title, &content, &m.Source, &seqs,
		&m.Seq, &m.CreatedAt, &m.UpdatedAt); err != nil {
		return m, err
	}
	m.SourceSeqs, err = store.ParseSeqList(seqs)
	m.Title, m.Content = string(title), string(content)
	m.CreatedAt, m.UpdatedAt = m.CreatedAt.UTC(), m.UpdatedAt.UTC()
	return m, err
}
