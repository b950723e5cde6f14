package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// SynchronousCommit returns the setting of the store's own connections.
func SynchronousCommit(t *testing.T, s *Store) map[string]string {
	t.Helper()
	settings := make(map[string]string)
	for name, pool := range map[string]*pgxpool.Pool{"write": s.write, "read": s.read} {
		var setting string
		if err := pool.QueryRow(t.Context(), `SHOW synchronous_commit`).Scan(&setting); err != nil {
			t.Fatal(err)
		}
		settings[name] = setting
	}
	return settings
}
