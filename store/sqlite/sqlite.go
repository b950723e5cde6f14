// Package sqlite keeps sessions in one SQLite file: the default that needs no
// database server.
//
// # Job
//
// It implements [store.Store] on a file in WAL mode. One goroutine owns the one
// connection that writes; while it flushes a transaction, further changes gather for
// the next. A small pool of other connections reads and never waits for the writer.
//
// # Invariants
//
//   - synchronous=FULL: a change that was answered has been flushed to the disk.
//   - The file carries an application id. One without it that holds anything is not
//     ours and is left untouched; nor is one touched that a newer binary migrated.
//   - Times are integers, microseconds since 1970; bodies are text, as they came.
//
// # Concurrency and failure
//
// A [Store] is safe for concurrent use. Two processes may open one file: they wait
// for each other's writes up to busyTimeout, and the comparison of heads keeps their
// commits apart as in any other database. A change whose caller has gone goes on, so
// the commit that was given may be read for a moment after the call returned. If a
// transaction fails for one change, the others in it are tried again without it. A
// failing disk shows as an error of each change, and the store works again when the
// disk does.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"sessiond/store"
	"sessiond/store/internal/batch"
)

var _ store.Store = (*Store)(nil)

// Options change how a store is opened; the zero value is the usual way.
type Options struct {
	// KeepSchema leaves migrations to [Migrate]: a file that needs some is refused.
	KeepSchema bool
	// ForServer keeps the file for this process until Close: two servers on one file
	// would both take up the same turns. ErrInUse if another one does not let go of it
	// within a few seconds.
	ForServer bool
	// Readers is how many reads run at once; 0 means 4.
	Readers int
}

// Store implements [store.Store]. Make one with [Open].
type Store struct {
	path      string
	committer *batch.Committer[change]
	writer    *writer
	read      *sql.DB
	queries   queries
	closed    atomic.Bool
	closing   sync.Once
	closeErr  error
	unlock    func() error // of ForServer, or nil
}

// ErrInUse says that another server has the file.
var ErrInUse = errors.New("another server is running on this database")

// inUseWait is how long a server that is just stopping may take to let go of the file.
const inUseWait = 5 * time.Second

// Limits of one transaction. Beyond them a batch gains nothing, and its callers and
// the write-ahead log should not wait for more.
const (
	maxBatchItems = 256
	maxBatchBytes = 8 << 20
)

const defaultReaders = 4

// Open opens the file that url names ("sqlite:PATH"), creating it and its folder,
// readable by nobody else, if need be, and migrates it. ctx bounds the opening only.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	path, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	s, err := open(ctx, path, o)
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	return s, nil
}

func open(ctx context.Context, path string, o Options) (_ *Store, err error) {
	if err := bringUp(ctx, path, o.KeepSchema); err != nil {
		return nil, err
	}
	s := &Store{path: path}
	if o.ForServer {
		if err := s.keep(ctx); err != nil {
			return nil, err
		}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.release())
		}
	}()
	if s.writer, err = openWriter(ctx, path); err != nil {
		return nil, err
	}
	if s.read, err = openReaders(ctx, path, o.Readers); err != nil {
		return nil, err
	}
	if err := s.queries.prepare(ctx, s.read); err != nil {
		return nil, err
	}
	s.committer = batch.New(batch.Limits[change]{
		Items: maxBatchItems,
		Bytes: maxBatchBytes,
		Size:  func(c change) int { return c.bytes },
	}, s.writer.flush)
	return s, nil
}

// Ping implements [store.Store].
func (s *Store) Ping(ctx context.Context) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	return s.fail("ping", s.read.PingContext(ctx))
}

// Close implements [store.Store].
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.closed.Store(true)
		s.committer.Close()
		s.closeErr = s.release()
	})
	return s.closeErr
}

// release closes what is open. The writer goes last: it moves what is left in the
// write-ahead log into the file.
func (s *Store) release() error {
	var errs []error
	if s.read != nil {
		errs = append(errs, s.queries.close(), s.read.Close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.close())
	}
	if s.unlock != nil {
		errs = append(errs, s.unlock())
	}
	return errors.Join(errs...)
}

// keep locks the file for this process.
func (s *Store) keep(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, inUseWait)
	defer cancel()
	if s.unlock, err = lockForServer(ctx, s.path); errors.Is(err, context.DeadlineExceeded) {
		return ErrInUse
	}
	return err
}

// fail says what was attempted, and turns errors of a closed store into ErrClosed.
func (s *Store) fail(what string, err error) error {
	if err == nil {
		return nil
	}
	if s.closed.Load() {
		err = store.ErrClosed
	}
	return fmt.Errorf("%s: %w", what, err)
}
