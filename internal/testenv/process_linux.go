package testenv

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// utf8Locale is a character type that every Linux has and that knows all letters.
const utf8Locale = "C.UTF-8"

// account is a user of this machine.
type account struct{ uid, gid int }

// unprivilegedAccount returns a user that root can run a server as.
func unprivilegedAccount() (*account, error) {
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.Atoi(found.Uid)
		gid, errGID := strconv.Atoi(found.Gid)
		if err := errors.Join(errUID, errGID); err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		return &account{uid: uid, gid: gid}, nil
	}
	return nil, errors.New("Postgres does not run as root, and there is neither a user postgres nor nobody")
}

// childAttributes makes a child run as owner, if there is one, in a process group
// that the keyboard's interrupt does not reach, and end when its parent does.
func childAttributes(owner *account) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGQUIT}
	if owner != nil {
		attributes.Credential = &syscall.Credential{Uid: uint32(owner.uid), Gid: uint32(owner.gid)} //nolint:gosec // ids fit
	}
	return attributes
}

// lockFile opens the file at path with a lock that ends with this process at the
// latest. It fails if another has the lock.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // in a folder of our own
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
