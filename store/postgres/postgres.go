// Package postgres keeps sessions in PostgreSQL 14 or later, for production and for
// several servers on one database.
//
// # Job
//
// It implements [store.Store]. A commit is one statement: the comparison of heads, the
// session's row, its entries, turns and keys. A few committers, each on a connection of
// its own, send what has gathered while they were flushing as one pipeline, which is
// one transaction and one round trip. Reads have connections of their own and never
// wait for a committer.
//
// # Invariants
//
//   - Connections commit synchronously, whatever the server's default is, so a commit
//     that was answered is on disk. Only searched texts are not waited for.
//   - Commits of one session take its row's lock, those that change memories also their
//     owner's. A batch takes them in an order that is the same in all, so batches do not
//     lock each other out.
//   - Times are timestamptz, which holds microseconds; bodies are text, as they came.
//
// # Concurrency and failure
//
// A [Store] is safe for concurrent use, by any number of processes. A change whose
// caller has gone goes on, so the commit that was given may be read for a moment after
// the call returned. If a pipeline fails for one commit, it was rolled back as a whole
// and the others are sent again without it. If the connection breaks, the outcome is
// unknown; nothing is sent again, since a commit must not be made twice.
// Broken connections are replaced when the database is back.
//
// A connection pooler in front must pool by session, not by transaction.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgxpool"

	"sessiond/store"
	"sessiond/store/internal/batch"
)

var _ store.Store = (*Store)(nil)

// Options change how a store is opened; the zero value is the usual way.
type Options struct {
	// KeepSchema leaves migrations to [Migrate]: a database that needs some is refused.
	KeepSchema bool
	// Committers is how many transactions may be under way at once; 0 means 2, which
	// measured best with 16 callers: while one is flushed the next is being executed.
	Committers int
	// MaxReaders bounds the connections for reads; 0 means 8, or pool_max_conns of the
	// URL.
	MaxReaders int
}

const (
	defaultCommitters = 2
	defaultReaders    = 8
)

// Limits of one transaction. Beyond them a batch gains nothing, and its callers should
// not wait for more.
const (
	maxBatchItems = 128
	maxBatchBytes = 4 << 20
)

// Store implements [store.Store]. Make one with [Open].
type Store struct {
	committer  *batch.Committer[*change]
	statements statements
	write      *pgxpool.Pool // one connection for each committer
	read       *pgxpool.Pool // everything else
	closed     atomic.Bool
	closing    sync.Once
}

// Open connects to the database that url names ("postgres://…") and migrates it. ctx
// bounds the opening only.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	cfg, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	s := &Store{statements: newStatements()}
	if err := s.connect(ctx, cfg, o); err != nil {
		s.release()
		return nil, fmt.Errorf("open database %s: %w", cfg.name(), err)
	}
	flushes := make([]batch.Flush[*change], s.write.Config().MaxConns)
	for i := range flushes {
		flushes[i] = s.flush
	}
	s.committer = batch.New(batch.Limits[*change]{
		Items: maxBatchItems,
		Bytes: maxBatchBytes,
		Size:  func(c *change) int { return c.bytes },
	}, flushes...)
	return s, nil
}

func (s *Store) connect(ctx context.Context, cfg config, o Options) (err error) {
	if s.read, err = cfg.pool(ctx, orDefault(o.MaxReaders, cfg.maxConns(defaultReaders))); err != nil {
		return err
	}
	if err := checkServer(ctx, s.read); err != nil {
		return err
	}
	if err := bringUp(ctx, cfg, s.read, o.KeepSchema); err != nil {
		return err
	}
	s.write, err = cfg.pool(ctx, orDefault(o.Committers, defaultCommitters))
	return err
}

func orDefault(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

// Ping implements [store.Store].
func (s *Store) Ping(ctx context.Context) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	return s.fail("ping", s.read.Ping(ctx))
}

// Close implements [store.Store]. It waits for reads too.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.closed.Store(true)
		s.committer.Close()
		s.release()
	})
	return nil
}

func (s *Store) release() {
	for _, pool := range []*pgxpool.Pool{s.write, s.read} {
		if pool != nil {
			pool.Close()
		}
	}
}

// fail says what was attempted, and turns the errors of a closed store and of texts
// that no row can hold into those of the contract.
func (s *Store) fail(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case s.closed.Load():
		err = store.ErrClosed
	case isUnstorable(err):
		err = errors.Join(store.ErrNotFound, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}
