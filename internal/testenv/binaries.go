package testenv

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// ErrNoPostgres says that this machine has no Postgres server to start.
var ErrNoPostgres = errors.New("no Postgres here: apt-get install postgresql (or set " + DatabaseVariable + ")")

// binaries are the programs a cluster is made with.
type binaries struct {
	initdb, postgres string
}

// findBinaries looks where PATH leads and where Debian keeps each version apart
// from PATH. The newest such version wins over PATH only if PATH has none.
func findBinaries() (binaries, error) {
	// initdb may be a link out of PATH; postgres is next to what it points to.
	if initdb, err := exec.LookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(initdb); err == nil {
			if found, ok := binariesIn(filepath.Dir(real)); ok {
				return found, nil
			}
		}
	}
	return newestBinaries("/usr/lib/postgresql/*/bin")
}

// newestBinaries returns the programs in the folder with the highest version
// among those the pattern …/VERSION/bin matches.
func newestBinaries(pattern string) (binaries, error) {
	dirs, err := filepath.Glob(pattern)
	if err != nil {
		return binaries{}, err
	}
	version := func(dir string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir))) // no number: older than any
		return n
	}
	slices.SortFunc(dirs, func(a, b string) int { return cmp.Compare(version(b), version(a)) })
	for _, dir := range dirs {
		if found, ok := binariesIn(dir); ok {
			return found, nil
		}
	}
	return binaries{}, ErrNoPostgres
}

func binariesIn(dir string) (binaries, bool) {
	found := binaries{initdb: filepath.Join(dir, "initdb"), postgres: filepath.Join(dir, "postgres")}
	for _, file := range []string{found.initdb, found.postgres} {
		if info, err := os.Stat(file); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			return binaries{}, false
		}
	}
	return found, true
}
