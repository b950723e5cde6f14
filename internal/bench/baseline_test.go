package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// baseline returns how many times a second the same rows reach the disk without us:
// SQLite against a loop of write and fdatasync of as many bytes, Postgres against
// pgbench with as many clients doing the same statements.
func baseline(b *testing.B, kind, where string, clients int) float64 {
	b.Helper()
	if kind == "sqlite" {
		return fdatasyncs(b, where)
	}
	return pgbench(b, where, clients)
}

const baselineTime = 2 * time.Second

// rowBytes is what one message stores: its entry, its turn and the session's row.
const rowBytes = 2048

func fdatasyncs(b *testing.B, dir string) float64 {
	b.Helper()
	f, err := os.Create(filepath.Join(dir, "baseline"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	data := make([]byte, rowBytes)
	n, at := 0, time.Now()
	for time.Since(at) < baselineTime {
		if _, err := f.Write(data); err != nil {
			b.Fatal(err)
		}
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			b.Fatal(err)
		}
		n++
	}
	return float64(n) / time.Since(at).Seconds()
}

// pgbench runs the statements of one stored message as a plain client would: one
// transaction that updates the session, inserts the entry and inserts the turn.
func pgbench(b *testing.B, dsn string, clients int) float64 {
	b.Helper()
	bin := findPgbench(b)
	setup := `CREATE TABLE IF NOT EXISTS base_sessions (id int primary key, head_seq bigint, state text, updated_at timestamptz);
CREATE TABLE IF NOT EXISTS base_entries (session_id int, seq bigserial, kind text, body text, at timestamptz, primary key (session_id, seq));
CREATE TABLE IF NOT EXISTS base_turns (id uuid primary key default gen_random_uuid(), session_id int, detail text, created_at timestamptz);
INSERT INTO base_sessions SELECT i, 1, '{}', now() FROM generate_series(0, 63) i ON CONFLICT DO NOTHING;`
	if out, err := exec.Command("psql", "-q", "-d", dsn, "-c", setup).CombinedOutput(); err != nil {
		b.Fatalf("psql: %v\n%s", err, out)
	}
	script := filepath.Join(b.TempDir(), "send.sql")
	body := strings.Repeat("x", 512)
	err := os.WriteFile(script, fmt.Appendf(nil, `BEGIN;
UPDATE base_sessions SET head_seq = head_seq + 1, state = '%s', updated_at = now() WHERE id = :client_id;
INSERT INTO base_entries (session_id, kind, body, at) VALUES (:client_id, 'message.queued', '%s', now());
INSERT INTO base_turns (session_id, detail, created_at) VALUES (:client_id, '{}', now());
COMMIT;
`, strings.Repeat("s", 128), body), 0o600)
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(bin, "-n", "-M", "prepared", "-c", strconv.Itoa(clients), "-j", "1",
		"-T", strconv.Itoa(int(2*baselineTime.Seconds())), "-f", script, dsn)
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("pgbench: %v\n%s", err, out)
	}
	m := regexp.MustCompile(`tps = ([0-9.]+)`).FindSubmatch(out)
	if m == nil {
		b.Fatalf("pgbench said no tps:\n%s", out)
	}
	tps, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		b.Fatal(err)
	}
	return tps
}

func findPgbench(b *testing.B) string {
	b.Helper()
	if path, err := exec.LookPath("pgbench"); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	if len(found) == 0 {
		b.Skip("pgbench is not installed; it comes with Postgres")
	}
	slices.Sort(found)
	return found[len(found)-1]
}
