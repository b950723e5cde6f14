package postgres

import (
	"strconv"
	"strings"
)

// statements holds the text of a commit by what the commit brings along: executing a
// part that has nothing to do would cost a third of a small commit.
type statements [2][2][2]string

// of returns the statement for a commit.
func (s *statements) of(create, turns, keys bool) string {
	return s[index(create)][index(turns)][index(keys)]
}

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

func newStatements() statements {
	var s statements
	for _, create := range []bool{false, true} {
		for _, turns := range []bool{false, true} {
			for _, keys := range []bool{false, true} {
				s[index(create)][index(turns)][index(keys)] = commitStatement(create, turns, keys)
			}
		}
	}
	return s
}

const (
	// updateRow returns no row if there is no such session, it is deleted, or its head
	// is another; then nothing else happens either. Parameters: [updateArgs].
	updateRow = `UPDATE sessions
		SET title = $4, status = $5, version = $6, head_seq = $7, settings = COALESCE($8, settings), state = $9,
			updated_at = $10, closed_at = $11
		WHERE id = $1 AND owner = $2 AND head_seq = $3 AND status <> 'deleted'
		RETURNING id`
	updateParams = 11
	// insertRow returns no row if the id is taken. Parameters: [insertArgs].
	insertRow = `INSERT INTO sessions (id, owner, log_id, title, status, version, head_seq, settings, state,
			created_at, updated_at, closed_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (id) DO NOTHING
		RETURNING id`
	insertParams = 12
)

// commitStatement returns one statement that makes a whole commit. It returns a row if
// the session's row was written.
func commitStatement(create, turns, keys bool) string {
	t := &text{}
	if create {
		t.WriteString("WITH s AS (" + insertRow + ")")
		t.params = insertParams
	} else {
		t.WriteString("WITH s AS (" + updateRow + ")")
		t.params = updateParams
	}
	t.insert("e", "entries", "session_id, seq, kind, turn_id, message_id, body, tokens, created_at", "s.id, x.*",
		"bigint", "text", "text", "text", "text", "bigint", "timestamptz")
	t.WriteString(")")
	if turns {
		t.insert("u", "turns", "session_id, id, message_id, created_seq, started_seq, status, rounds, resumes, detail, "+
			"created_at, started_at, completed_at", "s.id, x.*",
			"text", "text", "bigint", "bigint", "text", "bigint", "bigint", "text",
			"timestamptz", "timestamptz", "timestamptz")
		t.WriteString(` ON CONFLICT (session_id, id) DO UPDATE SET
			message_id = EXCLUDED.message_id, created_seq = EXCLUDED.created_seq,
			started_seq = EXCLUDED.started_seq, status = EXCLUDED.status, rounds = EXCLUDED.rounds,
			resumes = EXCLUDED.resumes, detail = EXCLUDED.detail, created_at = EXCLUDED.created_at,
			started_at = EXCLUDED.started_at, completed_at = EXCLUDED.completed_at)`)
	}
	if keys {
		t.insert("k", "idempotency", "owner, session_id, method, key, fingerprint, result, expires_at", "x.*",
			"text", "text", "text", "bytea", "bytea", "text", "timestamptz")
		t.WriteString(")")
	}
	t.WriteString(" SELECT FROM s")
	return t.String()
}

// text is a statement being written.
type text struct {
	strings.Builder
	params int
}

// insert begins a part that inserts a row for each element of the next parameters,
// which are arrays of the given types, provided that s has its row.
func (t *text) insert(name, table, columns, values string, types ...string) {
	t.WriteString(", " + name + " AS (INSERT INTO " + table + " (" + columns + ") SELECT " + values + " FROM s, unnest(")
	for i, typ := range types {
		if i > 0 {
			t.WriteString(", ")
		}
		t.params++
		t.WriteString("$" + strconv.Itoa(t.params) + "::" + typ + "[]")
	}
	t.WriteString(") AS x")
}

// dropExpiredKeys makes room for keys that are recorded again. Parameters: the first
// four arrays of a commit's keys, and its time.
const dropExpiredKeys = `DELETE FROM idempotency i
	USING unnest($1::text[], $2::text[], $3::text[], $4::bytea[]) AS x (owner, session_id, method, key)
	WHERE i.owner = x.owner AND i.session_id = x.session_id AND i.method = x.method AND i.key = x.key
		AND i.expires_at <= $5`
