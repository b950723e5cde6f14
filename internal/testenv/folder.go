package testenv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	folderPattern = "sessiond-pg-"
	lockName      = "lock"
	// abandonedAfter spares folders whose maker has not come to locking them.
	abandonedAfter = time.Minute
)

// folder is what a cluster keeps on disk. While its process lives it holds a lock
// on it, by which others see that the folder is in use.
type folder struct {
	path string
	lock *os.File
}

// newFolder creates a locked folder below parent, and removes those that killed
// processes left there.
func newFolder(parent string) (*folder, error) {
	removeAbandoned(parent)
	path, err := os.MkdirTemp(parent, folderPattern)
	if err != nil {
		return nil, fmt.Errorf("create a folder for Postgres: %w", err)
	}
	lock, err := lockFile(filepath.Join(path, lockName))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock a folder for Postgres: %w", err), os.RemoveAll(path))
	}
	return &folder{path: path, lock: lock}, nil
}

// removeAbandoned does what it can: what it may not remove is another user's.
func removeAbandoned(parent string) {
	paths, err := filepath.Glob(filepath.Join(parent, folderPattern+"*"))
	if err != nil {
		return
	}
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < abandonedAfter {
			continue
		}
		lock, err := lockFile(filepath.Join(path, lockName))
		if err != nil {
			continue // in use, or not ours to judge
		}
		_ = os.RemoveAll(path)
		_ = lock.Close()
	}
}

func (f *folder) data() string { return filepath.Join(f.path, "data") }
func (f *folder) log() string  { return filepath.Join(f.path, "log") }

func (f *folder) readLog() string {
	log, err := os.ReadFile(f.log())
	if err != nil {
		return err.Error()
	}
	return string(log)
}

// handOver gives the folder to the user the server will run as, and returns that
// user; nil stands for the one who runs this process. Postgres refuses root.
func (f *folder) handOver() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	owner, err := unprivilegedAccount()
	if err != nil {
		return nil, err
	}
	if err := os.Chown(f.path, owner.uid, owner.gid); err != nil {
		return nil, fmt.Errorf("hand the folder over: %w", err)
	}
	return owner, nil
}

func (f *folder) remove() error {
	return errors.Join(os.RemoveAll(f.path), f.lock.Close())
}
