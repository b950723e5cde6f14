//go:build !linux

package testenv

import (
	"errors"
	"os"
	"syscall"
)

const utf8Locale = "en_US.UTF-8"

// account is never made here: only Linux lets a child change its user in a way
// that the standard library offers everywhere it has it.
type account struct{ uid, gid int }

func unprivilegedAccount() (*account, error) {
	return nil, errors.New("Postgres does not run as root; run the tests as another user")
}

// childAttributes adds nothing: a server whose tests are killed has to be stopped
// by hand.
func childAttributes(*account) *syscall.SysProcAttr { return nil }

// lockFile opens the file at path if nobody else has, which here also holds after
// the other was killed.
func lockFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
}
