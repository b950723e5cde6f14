package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"sessiond/store/internal/batch"
)

// change is one thing to do inside a transaction. An apply that fails with a
// [refusal] has changed nothing; after any other error the transaction is undone.
type change struct {
	bytes int
	apply func(ctx context.Context, w *writer) error
}

// refusal is the error of a change that was found impossible before it began.
type refusal struct{ error }

// Unwrap returns the reason.
func (r refusal) Unwrap() error { return r.error }

// writer owns the one connection that writes. All but close is called by the
// committer's goroutine only.
type writer struct {
	db   *sql.DB
	conn *sql.Conn
	statements
}

func openWriter(ctx context.Context, path string) (_ *writer, err error) {
	w := &writer{}
	w.db, err = connect(path, 1, "journal_mode(WAL)", "synchronous(FULL)")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	if w.conn, err = w.db.Conn(ctx); err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if err := w.prepare(ctx, w.conn); err != nil {
		return nil, err
	}
	return w, nil
}

func (w *writer) close() error {
	errs := []error{w.statements.close()}
	if w.conn != nil {
		errs = append(errs, w.conn.Close())
	}
	return errors.Join(append(errs, w.db.Close())...)
}

// flush is a [batch.Flush]. It runs without a deadline: a transaction belongs to many
// callers, and SQLite itself waits no longer than busyTimeout.
func (w *writer) flush(changes []change) ([]error, error) {
	ctx := context.Background()
	if _, err := w.begin.ExecContext(ctx); err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	results := make([]error, len(changes))
	for i := range changes {
		err := changes[i].apply(ctx, w)
		if _, refused := errors.AsType[refusal](err); err != nil && !refused {
			return nil, &batch.UndoneError{Err: w.undo(ctx, err)}
		}
		results[i] = err
	}
	if _, err := w.commit.ExecContext(ctx); err != nil {
		return nil, w.undo(ctx, fmt.Errorf("commit: %w", err))
	}
	return results, nil
}

// undo rolls back and returns the cause. SQLite may have rolled back by itself after
// the worst errors; a rollback then fails, which is no news.
func (w *writer) undo(ctx context.Context, cause error) error {
	_, _ = w.rollback.ExecContext(ctx)
	return cause
}

// one runs a statement that must change exactly one row and reports whether it did.
func one(ctx context.Context, st *sql.Stmt, args ...any) (bool, error) {
	n, err := changed(ctx, st, args...)
	return n == 1, err
}

// changed runs a statement and returns how many rows it changed.
func changed(ctx context.Context, st *sql.Stmt, args ...any) (int64, error) {
	res, err := st.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}
