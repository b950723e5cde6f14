package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"sessiond/migrations"
)

// Scheme begins the URLs of this driver.
const Scheme = "sqlite:"

// applicationID marks a file as ours; the first migration sets it.
const applicationID = 1936028516

// busyTimeout is how long a connection waits for another process.
const busyTimeout = 10 * time.Second

// ErrForeign says that a file is something else than a database of this program.
var ErrForeign = errors.New("not a sessiond database")

func parseURL(raw string) (path string, err error) {
	path, ok := strings.CutPrefix(raw, Scheme)
	if !ok || path == "" || strings.HasPrefix(path, ":") {
		return "", fmt.Errorf("database URL %q: want sqlite:PATH", raw)
	}
	path, err = filepath.Abs(strings.TrimPrefix(path, "//"))
	if err != nil {
		return "", fmt.Errorf("database URL %q: %w", raw, err)
	}
	return path, nil
}

// createFile makes an empty file if there is none. SQLite gives its companions (the
// write-ahead log and its index) the same permissions. A file that exists is not even
// opened: closing it again would release the locks that another store in this process
// holds on it.
func createFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the operator's own choice of a file
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create file: %w", err)
	}
	return f.Close()
}

// connect returns a pool of at most n connections with the given pragmas.
func connect(path string, n int, pragmas ...string) (*sql.DB, error) {
	// The driver sets busy_timeout before everything else, so that the rest can wait.
	query := url.Values{"_pragma": append(pragmas, fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()))}
	address := "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath() + "?" + query.Encode()
	db, err := sql.Open("sqlite", address)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

// inspect opens the file without changing it and refuses a foreign one.
func inspect(ctx context.Context, path string) (_ *sql.DB, err error) {
	db, err := connect(path, 1, "query_only(1)")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	var id, tables int64
	err = db.QueryRowContext(ctx, `SELECT (SELECT application_id FROM pragma_application_id),
		(SELECT count(*) FROM sqlite_schema)`).Scan(&id, &tables)
	switch {
	case codeOf(err)&0xff == sqlite3.SQLITE_NOTADB:
		return nil, ErrForeign
	case err != nil:
		return nil, fmt.Errorf("read file: %w", err)
	case id != applicationID && tables > 0 && !unfinished(ctx, db):
		return nil, ErrForeign
	}
	return db, nil
}

// unfinished reports whether the file has goose's table and no other: ours, if the
// first migration was cut off.
func unfinished(ctx context.Context, db *sql.DB) bool {
	var others int
	err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema
		WHERE tbl_name NOT IN ('goose_db_version', 'sqlite_sequence')`).Scan(&others)
	return err == nil && others == 0
}

// bringUp creates and migrates the file as far as needed, or refuses it. Of several
// processes that do so, one works and the others then find nothing left to do.
func bringUp(ctx context.Context, path string, keepSchema bool) (err error) {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("create folder: %w", err)
	}
	unlock, err := lockFolder(ctx, folder)
	if err != nil {
		return fmt.Errorf("lock folder: %w", err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := createFile(path); err != nil {
		return err
	}
	db, err := inspect(ctx, path)
	if err != nil {
		return err
	}
	err = errors.Join(migrations.SQLite().Check(ctx, db), db.Close())
	if keepSchema || !errors.Is(err, migrations.ErrPending) {
		return err
	}
	if db, err = connect(path, 1, "synchronous(FULL)"); err != nil {
		return err
	}
	_, err = migrations.SQLite().Up(ctx, db)
	return errors.Join(err, db.Close())
}

// Migrate brings the file that url names up to date and returns all migrations. The
// file is created if there is none.
func Migrate(ctx context.Context, url string) ([]migrations.Step, error) {
	path, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	steps, err := func() ([]migrations.Step, error) {
		if err := bringUp(ctx, path, false); err != nil {
			return nil, err
		}
		return status(ctx, path)
	}()
	if err != nil {
		return nil, fmt.Errorf("migrate database %s: %w", path, err)
	}
	return steps, nil
}

// Status returns all migrations and which of them the file has. It changes nothing;
// a missing file is fs.ErrNotExist.
func Status(ctx context.Context, url string) ([]migrations.Step, error) {
	path, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	steps, err := status(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("status of database %s: %w", path, err)
	}
	return steps, nil
}

func status(ctx context.Context, path string) (_ []migrations.Step, err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no such file: %w", fs.ErrNotExist)
	}
	db, err := inspect(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return migrations.SQLite().Status(ctx, db)
}

// codeOf returns SQLite's extended result code, or 0 if err is none of SQLite's.
func codeOf(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}
