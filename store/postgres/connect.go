package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// connectTimeout bounds one attempt to connect, if the URL does not.
const connectTimeout = 10 * time.Second

// config is a parsed URL.
type config struct{ parsed *pgxpool.Config }

func parseURL(url string) (config, error) {
	if !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		return config{}, errors.New("database URL: want postgres://…") // it may hold a password
	}
	parsed, err := pgxpool.ParseConfig(url)
	if err != nil {
		return config{}, fmt.Errorf("database URL: %w", err)
	}
	conn := parsed.ConnConfig
	if conn.ConnectTimeout == 0 {
		conn.ConnectTimeout = connectTimeout
	}
	setDefault := func(name, value string) string {
		if conn.RuntimeParams[name] == "" {
			conn.RuntimeParams[name] = value
		}
		return conn.RuntimeParams[name]
	}
	setDefault("application_name", "sessiond")
	// The comparison of heads looks again at a row that it had to wait for.
	conn.RuntimeParams["default_transaction_isolation"] = "read committed"
	// Every query here finds its rows by an index, in the index's order. Other plans
	// look good to the planner while a table is small or its statistics are old, and
	// then read all dead versions of the busiest rows.
	for _, name := range []string{"enable_seqscan", "enable_bitmapscan"} {
		conn.RuntimeParams[name] = "off"
	}
	conn.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	if setDefault("synchronous_commit", "on") == "off" {
		return config{}, errors.New("database URL: synchronous_commit=off would lose commits that were answered")
	}
	return config{parsed}, nil
}

// name tells which database without telling the password.
func (c config) name() string {
	conn := c.parsed.ConnConfig
	return conn.Host + ":" + strconv.Itoa(int(conn.Port)) + "/" + conn.Database
}

// maxConns is what the URL says, or otherwise.
func (c config) maxConns(otherwise int) int {
	if !strings.Contains(c.parsed.ConnString(), "pool_max_conns") {
		return otherwise
	}
	return int(c.parsed.MaxConns)
}

// pool returns a pool of at most n connections and has made the first of them.
func (c config) pool(ctx context.Context, n int) (*pgxpool.Pool, error) {
	parsed := c.parsed.Copy()
	parsed.MaxConns = int32(min(max(n, 1), math.MaxInt32))
	parsed.MinConns, parsed.MinIdleConns = 0, 0
	pool, err := pgxpool.NewWithConfig(ctx, parsed)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("connect: %w", err)
	}
	return pool, nil
}

// checkServer refuses a database that would not keep all text.
func checkServer(ctx context.Context, pool *pgxpool.Pool) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Release()
	if enc := conn.Conn().PgConn().ParameterStatus("server_encoding"); enc != "UTF8" {
		return fmt.Errorf("its encoding is %s; sessions need UTF8", enc)
	}
	return nil
}
