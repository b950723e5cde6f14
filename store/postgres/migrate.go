package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"sessiond/migrations"
)

// migrationLock is the key of the advisory lock that is held during migrations.
const migrationLock = 0x7365737369640001 // "sessid", 1

// Migrate brings the database that url names up to date and returns all migrations.
func Migrate(ctx context.Context, url string) ([]migrations.Step, error) {
	return withDatabase(ctx, url, "migrate", func(cfg config, pool *pgxpool.Pool) error {
		return bringUp(ctx, cfg, pool, false)
	})
}

// Status returns all migrations and which of them the database has. It changes
// nothing.
func Status(ctx context.Context, url string) ([]migrations.Step, error) {
	return withDatabase(ctx, url, "status of", func(config, *pgxpool.Pool) error { return nil })
}

// withDatabase connects, does something, and returns all migrations.
func withDatabase(
	ctx context.Context, url, what string, do func(config, *pgxpool.Pool) error,
) (steps []migrations.Step, err error) {
	cfg, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	pool, err := cfg.pool(ctx, 1)
	if err == nil {
		defer pool.Close()
		if err = do(cfg, pool); err == nil {
			steps, err = status(ctx, pool)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s database %s: %w", what, cfg.name(), err)
	}
	return steps, nil
}

func status(ctx context.Context, pool *pgxpool.Pool) (_ []migrations.Step, err error) {
	db := stdlib.OpenDBFromPool(pool)
	defer func() { err = errors.Join(err, db.Close()) }()
	return migrations.Postgres().Status(ctx, db)
}

// bringUp migrates the database, or refuses it if it may not.
func bringUp(ctx context.Context, cfg config, pool *pgxpool.Pool, keepSchema bool) error {
	db := stdlib.OpenDBFromPool(pool)
	err := errors.Join(migrations.Postgres().Check(ctx, db), db.Close())
	if keepSchema || !errors.Is(err, migrations.ErrPending) {
		return err
	}
	return migrate(ctx, cfg)
}

// migrate applies what is pending while it holds the lock, so that of several servers
// that start, one works and the others then find nothing left to do. The lock ends
// with its connection, even if this process is killed.
func migrate(ctx context.Context, cfg config) error {
	const conns = 2 // one holds the lock, one migrates
	pool, err := cfg.pool(ctx, conns)
	if err != nil {
		return err
	}
	defer pool.Close()
	lock, err := pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer lock.Release()
	if _, err := lock.Exec(ctx, `SELECT pg_advisory_lock($1)`, int64(migrationLock)); err != nil {
		return fmt.Errorf("lock for migrations: %w", err)
	}
	db := stdlib.OpenDBFromPool(pool)
	_, err = migrations.Postgres().Up(ctx, db)
	return errors.Join(err, db.Close())
}
