package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"sessiond/store"
)

// Create implements [store.Sessions].
func (s *Store) Create(ctx context.Context, c *store.Commit) error {
	err := store.CheckCreate(c)
	if err == nil {
		err = s.committer.Do(ctx, change{c.Bytes(), func(ctx context.Context, w *writer) error {
			return w.create(ctx, c)
		}})
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
		err = s.committer.Do(ctx, change{c.Bytes(), func(ctx context.Context, w *writer) error {
			return w.update(ctx, c)
		}})
	}
	if err != nil {
		return fmt.Errorf("commit to session %s: %w", c.Session.ID, err)
	}
	return nil
}

// DeleteSession implements [store.Sessions].
func (s *Store) DeleteSession(ctx context.Context, ref store.Ref, at time.Time) (deleted bool, err error) {
	var done bool // written by the writer, which a caller that gives up does not wait for
	err = s.committer.Do(ctx, change{0, func(ctx context.Context, w *writer) (err error) {
		done, err = w.bury(ctx, ref, at)
		return err
	}})
	if err != nil {
		return false, fmt.Errorf("delete session %s: %w", ref.ID, err)
	}
	return done, nil
}

func (w *writer) create(ctx context.Context, c *store.Commit) error {
	r := &c.Session
	created, err := one(ctx, w.createSession, r.ID, r.LogID, r.Owner, r.Title, r.Status, r.Version, r.HeadSeq,
		string(r.State), micros(r.CreatedAt), micros(r.UpdatedAt), microsOrNull(r.ClosedAt))
	if err != nil {
		return err
	}
	if !created {
		return refusal{fmt.Errorf("id is taken: %w", store.ErrConflict)}
	}
	if err := w.settings(ctx, r); err != nil {
		return err
	}
	return w.rest(ctx, c)
}

func (w *writer) update(ctx context.Context, c *store.Commit) error {
	r := &c.Session
	updated, err := one(ctx, w.updateSession, r.ID, r.Owner, c.PrevHead, r.Title, r.Status, r.Version, r.HeadSeq,
		string(r.State), micros(r.UpdatedAt), microsOrNull(r.ClosedAt))
	if err != nil {
		return err
	}
	if !updated {
		return w.refuse(ctx, c)
	}
	if r.Settings != nil {
		if err := w.settings(ctx, r); err != nil {
			return err
		}
	}
	return w.rest(ctx, c)
}

// refuse says why no row was there to update.
func (w *writer) refuse(ctx context.Context, c *store.Commit) error {
	var head int64
	err := w.diagnose.QueryRowContext(ctx, c.Session.ID, c.Session.Owner).Scan(&head)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return refusal{store.ErrNotFound}
	case err != nil:
		return err
	}
	return refusal{fmt.Errorf("made against head %d, but it is %d: %w", c.PrevHead, head, store.ErrConflict)}
}

func (w *writer) settings(ctx context.Context, r *store.Session) error {
	_, err := w.putSettings.ExecContext(ctx, r.ID, string(r.Settings))
	return err
}

// rest writes all of a commit but its session's row.
func (w *writer) rest(ctx context.Context, c *store.Commit) error {
	id := c.Session.ID
	for i := range c.Entries {
		e := &c.Entries[i]
		if _, err := w.putEntry.ExecContext(ctx, id, e.Seq, e.Kind, e.TurnID, e.MessageID, string(e.Body),
			e.Tokens, micros(e.At)); err != nil {
			return fmt.Errorf("entry %d: %w", e.Seq, err)
		}
	}
	for _, t := range store.RunningLast(c.Turns) {
		_, err := w.putTurn.ExecContext(ctx, id, t.ID, t.MessageID, t.CreatedSeq, t.StartedSeq, t.Status, t.Rounds,
			t.Resumes, string(t.Detail), micros(t.CreatedAt), microsOrNull(t.StartedAt), microsOrNull(t.CompletedAt))
		if codeOf(err) == sqlite3.SQLITE_CONSTRAINT_UNIQUE {
			return fmt.Errorf("turn %s would run beside another: %w", t.ID, store.ErrConflict)
		}
		if err != nil {
			return fmt.Errorf("turn %s: %w", t.ID, err)
		}
	}
	if err := w.changeMemories(ctx, c); err != nil {
		return err
	}
	for i := range c.Keys {
		if err := w.record(ctx, &c.Keys[i], c.Session.UpdatedAt); err != nil {
			return err
		}
	}
	return nil
}

// record puts a key in the place of none or an expired one.
func (w *writer) record(ctx context.Context, k *store.KeyRecord, now time.Time) error {
	put, err := one(ctx, w.putKey, k.Owner, k.SessionID, k.Method, k.Key, k.Fingerprint[:], string(k.Result),
		microsOrNull(k.ExpiresAt), micros(now))
	if err != nil {
		return fmt.Errorf("key of %s: %w", k.Method, err)
	}
	if !put {
		return fmt.Errorf("%s: %w", k.Method, store.ErrKeyExists)
	}
	return nil
}

// bury turns a session into a tombstone.
func (w *writer) bury(ctx context.Context, ref store.Ref, at time.Time) (deleted bool, err error) {
	var status store.Status
	err = w.findSession.QueryRowContext(ctx, ref.ID, ref.Owner).Scan(&status)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, refusal{store.ErrNotFound}
	case err != nil:
		return false, err
	case status == store.StatusDeleted:
		return false, nil
	}
	if _, err := w.buryRow.ExecContext(ctx, ref.ID, micros(at)); err != nil {
		return false, err
	}
	for _, drop := range []*sql.Stmt{w.dropSettings, w.dropEntries, w.dropTurns, w.dropTexts} {
		if _, err := drop.ExecContext(ctx, ref.ID); err != nil {
			return false, err
		}
	}
	for _, drop := range []*sql.Stmt{w.dropMemories, w.dropKeys} {
		if _, err := drop.ExecContext(ctx, ref.Owner, ref.ID); err != nil {
			return false, err
		}
	}
	return true, nil
}
