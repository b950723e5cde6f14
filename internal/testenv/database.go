package testenv

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
)

// database is one database in a server.
type database struct {
	server string // URL to connect to for creating and dropping
	name   string
	url    string
}

// createDatabase creates an empty database with the given settings in the server.
func createDatabase(ctx context.Context, server string, settings map[string]string) (database, error) {
	address, err := url.Parse(server)
	if err != nil || !strings.HasPrefix(address.Scheme, "postgres") {
		// The parser's own error would show the password.
		return database{}, errors.New(DatabaseVariable + " is no postgres:// URL")
	}
	db := database{server: server, name: "sessiond_test_" + strings.ToLower(rand.Text())}
	address.Path = "/" + db.name
	db.url = address.String()

	name := pgx.Identifier{db.name}.Sanitize()
	// template0 has no connections, so that any number of tests may copy it at once.
	statements := []string{"CREATE DATABASE " + name + " TEMPLATE template0"}
	for key, value := range settings {
		statements = append(statements, fmt.Sprintf("ALTER DATABASE %s SET %s TO %s", name, key, value))
	}
	return db, db.admin(ctx, statements...)
}

// drop removes the database and ends the connections to it.
func (db database) drop(ctx context.Context) error {
	return db.admin(ctx, "DROP DATABASE IF EXISTS "+pgx.Identifier{db.name}.Sanitize()+" WITH (FORCE)")
}

func (db database) admin(ctx context.Context, statements ...string) (err error) {
	conn, err := pgx.Connect(ctx, db.server)
	if err != nil {
		return fmt.Errorf("connect to the test server: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}
