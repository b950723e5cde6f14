//go:build unix

package sqlite

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// lockRetry is how often a lock is tried that another process holds.
const lockRetry = 20 * time.Millisecond

// lockFolder keeps other processes from creating or migrating files in a folder until
// unlock. It waits for its turn as long as ctx allows. The lock ends with the process
// and leaves nothing behind.
func lockFolder(ctx context.Context, folder string) (unlock func() error, err error) {
	f, err := os.Open(folder) //nolint:gosec // the operator's own choice of a folder
	if err != nil {
		return nil, err
	}
	return lock(ctx, f)
}

// lockForServer keeps other servers away from the file at path until unlock. It waits for
// one that is just stopping as long as ctx allows.
func lockForServer(ctx context.Context, path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // beside the operator's own file
	if err != nil {
		return nil, err
	}
	return lock(ctx, f)
}

// lock locks an open file and closes it on unlock.
func lock(ctx context.Context, f *os.File) (unlock func() error, err error) {
	tick := time.NewTicker(lockRetry)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil || unsupported(err) {
			return f.Close, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(err, f.Close())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		}
	}
}

// unsupported reports whether the file system has no such locks for folders. Then two
// processes must not meet at a file that neither has created yet.
func unsupported(err error) bool {
	return errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.EINVAL) ||
		errors.Is(err, syscall.EBADF) || errors.Is(err, syscall.ENOLCK)
}
