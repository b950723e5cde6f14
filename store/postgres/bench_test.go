package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sessiond/internal/testenv"
	"sessiond/message"
	"sessiond/store/storetest"
)

// BenchmarkCommit compares with the usual way to write the same two rows: a
// transaction of two prepared statements for each commit, on a connection of its own
// for each caller, like pgbench.
func BenchmarkCommit(b *testing.B) {
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			url := testenv.Postgres(b)
			s := open(b, url)
			ours := storetest.Commits(b, s, callers)
			storetest.Alternate(b, ours, plainTransactions(b, url, callers))
		})
	}
}

func BenchmarkSearch(b *testing.B) { storetest.MeasureSearch(b, open(b, testenv.Postgres(b))) }

func plainTransactions(tb testing.TB, url string, callers int) []storetest.Committer {
	tb.Helper()
	list := make([]storetest.Committer, callers)
	for i := range list {
		conn, err := pgx.Connect(tb.Context(), url)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() {
			if err := conn.Close(context.Background()); err != nil {
				tb.Error(err)
			}
		})
		id := message.NewSessionID()
		if _, err := conn.Exec(tb.Context(), `INSERT INTO sessions (id, log_id, owner, title, status, version, head_seq,
				settings, state, created_at, updated_at)
			VALUES ($1, '', 'bench', '', 'idle', 1, 0, '{}', $2, now(), now())`, id, storetest.State); err != nil {
			tb.Fatal(err)
		}
		list[i] = plainTransaction(conn, id)
	}
	return list
}

func plainTransaction(conn *pgx.Conn, id message.SessionID) storetest.Committer {
	head := int64(0)
	return func(ctx context.Context) error {
		tx, err := conn.Begin(ctx)
		if err != nil {
			return err
		}
		now := time.Now()
		if _, err := tx.Exec(ctx, `UPDATE sessions SET title = $3, status = $4, version = $5, head_seq = $6, state = $7,
				updated_at = $8 WHERE id = $1 AND head_seq = $2`,
			id, head, "A title", "idle", 1, head+1, storetest.State, now); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO entries (session_id, seq, kind, turn_id, message_id, body, tokens, created_at)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			id, head+1, "message.added", "", message.NewID(), storetest.Body, 10, now); err != nil {
			return err
		}
		head++
		return tx.Commit(ctx)
	}
}
