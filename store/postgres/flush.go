package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"sessiond/store"
	"sessiond/store/internal/batch"
)

// flushTimeout ends a transaction that a database neither takes nor refuses. It is
// there to free the callers, not to hurry a slow disk.
const flushTimeout = 30 * time.Second

// change is a commit on its way.
type change struct {
	commit *store.Commit
	create bool
	bytes  int
}

// errNoRow says that the session's row was not written, and so nothing else.
var errNoRow = errors.New("row not written")

// flush is a [batch.Flush]. The pipeline it sends is one transaction, without a BEGIN
// and COMMIT of its own: the server ends it at the pipeline's end, which is where the
// error of a failing flush to disk shows.
func (s *Store) flush(changes []*change) ([]error, error) {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	results, err := s.send(ctx, changes, false)
	if len(changes) == 1 && violates(err, constraintKey) {
		// The key may have expired.
		results, err = s.send(ctx, changes, true)
	}
	if isRolledBack(err) {
		err = &batch.UndoneError{Err: asContract(err)}
	}
	return results, err
}

// send makes changes in one transaction. With dropExpired, keys that have expired go
// first.
func (s *Store) send(ctx context.Context, changes []*change, dropExpired bool) ([]error, error) {
	results := make([]error, len(changes))
	var b pgx.Batch
	for _, i := range lockOrder(changes) {
		c := changes[i].commit
		if key := memoryLock(c); key != 0 {
			b.Queue(lock, key)
		}
		if dropExpired {
			b.Queue(dropExpiredKeys, append(keyArgs(c.Keys)[:4], c.Session.UpdatedAt)...)
		}
		text := s.statements[partsOf(c, changes[i].create)]
		b.Queue(text, args(c, changes[i].create)...).Exec(func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() == 0 {
				results[i] = errNoRow
			}
			return nil
		})
	}
	// Close reads all answers, up to the one that the transaction has ended.
	if err := s.write.SendBatch(ctx, &b).Close(); err != nil {
		return nil, err
	}
	return results, nil
}
