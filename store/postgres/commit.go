package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"sessiond/store"
)

// Create implements [store.Sessions].
func (s *Store) Create(ctx context.Context, c *store.Commit) error {
	err := store.CheckCreate(c)
	if err == nil {
		err = s.committer.Do(ctx, &change{commit: c, create: true, bytes: c.Bytes()})
	}
	if errors.Is(err, errNoRow) {
		err = fmt.Errorf("id is taken: %w", store.ErrConflict)
	}
	if err != nil {
		return fmt.Errorf("create session %s: %w", c.Session.ID, err)
	}
	return nil
}

// Commit implements [store.Sessions].
func (s *Store) Commit(ctx context.Context, c *store.Commit) error {
	err := store.CheckCommit(c)
	if err == nil {
		err = s.committer.Do(ctx, &change{commit: c, bytes: c.Bytes()})
	}
	if errors.Is(err, errNoRow) {
		err = s.diagnose(ctx, c)
	}
	if err != nil {
		return fmt.Errorf("commit to session %s: %w", c.Session.ID, err)
	}
	return nil
}

// diagnose says why a commit found no row to write.
func (s *Store) diagnose(ctx context.Context, c *store.Commit) error {
	var head int64
	err := s.read.QueryRow(ctx, headByID, c.Session.ID, c.Session.Owner).Scan(&head)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return store.ErrNotFound
	case err != nil:
		return s.fail("look for a conflict", err)
	}
	return fmt.Errorf("made against head %d, but it is %d: %w", c.PrevHead, head, store.ErrConflict)
}

// What a deletion runs, in one transaction. The locks of the index and the row come
// first: once they are held no text and no commit is under way, and the statements after
// them see all that belongs to the session. They ask again whether the session is the owner's and gone.
const (
	headByID = `SELECT head_seq FROM sessions WHERE id = $1 AND owner = $2 AND status || '' <> 'deleted'`
	buryRow  = `UPDATE sessions
		SET log_id = '', title = '', status = 'deleted', settings = '', state = '', updated_at = $3, closed_at = NULL
		WHERE id = $1 AND owner = $2 AND status || '' <> 'deleted'`
	ifGone       = ` AND EXISTS (SELECT FROM sessions WHERE id = $1 AND owner = $2 AND status = 'deleted')`
	dropEntries  = `DELETE FROM entries WHERE session_id = $1` + ifGone
	dropTurns    = `DELETE FROM turns WHERE session_id = $1` + ifGone
	dropMemories = `DELETE FROM memories WHERE owner = $2 AND session_id = $1` + ifGone
	dropTexts    = `DELETE FROM search_texts WHERE session_id = $1` + ifGone
	dropKeys     = `DELETE FROM idempotency WHERE owner = $2 AND session_id = $1` + ifGone
	wasThere     = `SELECT EXISTS (SELECT FROM sessions WHERE id = $1 AND owner = $2)`
)

// DeleteSession implements [store.Sessions].
func (s *Store) DeleteSession(ctx context.Context, ref store.Ref, at time.Time) (deleted bool, err error) {
	var b pgx.Batch
	b.Queue(lock, indexLock(ref))
	b.Queue(buryRow, ref.ID, ref.Owner, at).Exec(func(tag pgconn.CommandTag) error {
		deleted = tag.RowsAffected() == 1
		return nil
	})
	for _, drop := range []string{dropEntries, dropTurns, dropMemories, dropTexts, dropKeys} {
		b.Queue(drop, ref.ID, ref.Owner)
	}
	var exists bool
	b.Queue(wasThere, ref.ID, ref.Owner).QueryRow(func(row pgx.Row) error { return row.Scan(&exists) })
	err = s.read.SendBatch(ctx, &b).Close()
	if err == nil && !exists {
		err = store.ErrNotFound
	}
	if err != nil {
		return false, s.fail(fmt.Sprintf("delete session %s", ref.ID), err)
	}
	return deleted, nil
}
