//go:build !unix

package sqlite

import "context"

// lockFolder does nothing where there are no locks for folders. Then two processes
// must not meet at a file that neither has created yet.
func lockFolder(context.Context, string) (unlock func() error, err error) {
	return func() error { return nil }, nil
}

// lockForServer does nothing where there are no such locks.
func lockForServer(context.Context, string) (unlock func() error, err error) {
	return func() error { return nil }, nil
}
