// Package migrations brings a database to the tables this binary knows.
//
// # Job
//
// Each dialect has a folder of SQL files, embedded; a change of the tables has the
// same number in both, so that one number tells what a database holds. goose runs
// them, each in a transaction of its own, and records them in goose_db_version.
//
// # Invariants
//
// A file that was released never changes. There is no way down: whoever wants an
// older binary restores the backup made before. A database with a migration that the
// binary does not know is refused ([ErrNewer]), since an old binary would not keep
// the rules of new tables.
//
// # Concurrency
//
// Nothing here locks. [Set.Up] must have the database to itself as long as it runs;
// the drivers see to that, each with the means of its database. [Set.Check] and
// [Set.Status] only read.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/pressly/goose/v3"
)

//go:embed postgres/*.sql sqlite/*.sql
var files embed.FS

// The errors of [Set.Check].
var (
	// ErrPending: the database lacks migrations that the binary has.
	ErrPending = errors.New("database needs migrations")
	// ErrNewer: the database has migrations that the binary lacks.
	ErrNewer = errors.New("database was migrated by a newer version of this program")
)

// Set is the migrations of one dialect.
type Set struct {
	dialect goose.Dialect
	folder  string
	// hasTable selects true if goose's table is there.
	hasTable string
}

// Step is one migration.
type Step struct {
	Version   int64
	Name      string    // of its file
	AppliedAt time.Time // zero if it is pending
}

// Postgres returns the migrations of package store/postgres.
func Postgres() Set {
	return Set{
		dialect:  goose.DialectPostgres,
		folder:   "postgres",
		hasTable: `SELECT to_regclass('goose_db_version') IS NOT NULL`,
	}
}

// SQLite returns the migrations of package store/sqlite.
func SQLite() Set {
	return Set{
		dialect:  goose.DialectSQLite3,
		folder:   "sqlite",
		hasTable: `SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'goose_db_version')`,
	}
}

// Up applies what is pending, oldest first, and returns it. Migrations before one
// that failed stay applied.
func (s Set) Up(ctx context.Context, db *sql.DB) ([]Step, error) {
	if err := s.Check(ctx, db); !errors.Is(err, ErrPending) {
		return nil, err
	}
	provider, err := s.provider(db)
	if err != nil {
		return nil, err
	}
	if _, err := provider.Up(ctx); err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	return s.Status(ctx, db)
}

// Check returns nil if the database has exactly what the binary knows, else
// ErrPending or ErrNewer with the two versions.
func (s Set) Check(ctx context.Context, db *sql.DB) error {
	applied, err := s.applied(ctx, db)
	if err != nil {
		return err
	}
	steps, err := s.steps(db)
	if err != nil {
		return err
	}
	var has int64
	for version := range applied {
		has = max(has, version)
	}
	knows := steps[len(steps)-1].Version
	if has > knows {
		return fmt.Errorf("%w: it is at %d, this binary at %d", ErrNewer, has, knows)
	}
	for _, step := range steps {
		if _, ok := applied[step.Version]; !ok {
			return fmt.Errorf("%w: it is at %d, this binary at %d", ErrPending, has, knows)
		}
	}
	return nil
}

// Status returns every migration of the binary, oldest first. A database without any
// is left as it is.
func (s Set) Status(ctx context.Context, db *sql.DB) ([]Step, error) {
	applied, err := s.applied(ctx, db)
	if err != nil {
		return nil, err
	}
	steps, err := s.steps(db)
	if err != nil {
		return nil, err
	}
	for i := range steps {
		steps[i].AppliedAt = applied[steps[i].Version]
	}
	return steps, nil
}

// applied returns when each recorded migration was applied. goose's own queries would
// create its table, which a look at a database must not.
func (s Set) applied(ctx context.Context, db *sql.DB) (_ map[int64]time.Time, err error) {
	var exists bool
	if err := db.QueryRowContext(ctx, s.hasTable).Scan(&exists); err != nil {
		return nil, fmt.Errorf("look for migrations: %w", err)
	}
	if !exists {
		return nil, nil
	}
	rows, err := db.QueryContext(ctx, `SELECT version_id, tstamp FROM goose_db_version`)
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	applied := make(map[int64]time.Time)
	for rows.Next() {
		var version int64
		var at time.Time
		if err := rows.Scan(&version, &at); err != nil {
			return nil, fmt.Errorf("read migrations: %w", err)
		}
		applied[version] = at.UTC()
	}
	return applied, rows.Err()
}

// steps returns the migrations of the binary, oldest first.
func (s Set) steps(db *sql.DB) ([]Step, error) {
	provider, err := s.provider(db)
	if err != nil {
		return nil, err
	}
	sources := provider.ListSources()
	steps := make([]Step, len(sources))
	for i, source := range sources {
		steps[i] = Step{Version: source.Version, Name: path.Base(source.Path)}
	}
	return steps, nil
}

func (s Set) provider(db *sql.DB) (*goose.Provider, error) {
	folder, err := fs.Sub(files, s.folder)
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	provider, err := goose.NewProvider(s.dialect, db, folder, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	return provider, nil
}
