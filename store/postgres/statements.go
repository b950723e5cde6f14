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
	//
	// Here and wherever a session is named, its status is compared as an expression.
	// With the plain column the planner may take sessions_list, while tables are small or
	// statistics old, and look through all dead versions of all sessions in it.
	updateRow = `UPDATE sessions
		SET title = $4, status = $5, version = $6, head_seq = $7, settings = COALESCE($8, settings), state = $9,
			updated_at = $10, closed_at = $11
		WHERE id = $1 AND owner = $2 AND head_seq = $3 AND status || '' <> 'deleted'
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
	row, params := updateRow, updateParams
	if create {
		row, params = insertRow, insertParams
	}
	parts := []string{"s AS (" + row + ")"}
	add := func(name, table, columns, values, types, conflict string) {
		var arrays []string
		for typ := range strings.FieldsSeq(types) {
			params++
			arrays = append(arrays, "$"+strconv.Itoa(params)+"::"+typ+"[]")
		}
		parts = append(parts, name+" AS (INSERT INTO "+table+" ("+columns+") SELECT "+values+
			" FROM s, unnest("+strings.Join(arrays, ", ")+") AS x"+conflict+")")
	}
	add("e", "entries", "session_id, seq, kind, turn_id, message_id, body, tokens, created_at", "s.id, x.*",
		"bigint text text text text bigint timestamptz", "")
	if turns {
		add("u", "turns", "session_id, id, message_id, created_seq, started_seq, status, rounds, resumes, detail, "+
			"created_at, started_at, completed_at", "s.id, x.*",
			"text text bigint bigint text bigint bigint text timestamptz timestamptz timestamptz",
			` ON CONFLICT (session_id, id) DO UPDATE SET
				message_id = EXCLUDED.message_id, created_seq = EXCLUDED.created_seq,
				started_seq = EXCLUDED.started_seq, status = EXCLUDED.status, rounds = EXCLUDED.rounds,
				resumes = EXCLUDED.resumes, detail = EXCLUDED.detail, created_at = EXCLUDED.created_at,
				started_at = EXCLUDED.started_at, completed_at = EXCLUDED.completed_at`)
	}
	if keys {
		add("k", "idempotency", "owner, session_id, method, key, fingerprint, result, expires_at", "x.*",
			"text text text bytea bytea text timestamptz", "")
	}
	return "WITH " + strings.Join(parts, ", ") + " SELECT FROM s"
}

// dropExpiredKeys makes room for keys that are recorded again. Parameters: the first
// four arrays of a commit's keys, and its time.
const dropExpiredKeys = `DELETE FROM idempotency i
	USING unnest($1::text[], $2::text[], $3::text[], $4::bytea[]) AS x (owner, session_id, method, key)
	WHERE i.owner = x.owner AND i.session_id = x.session_id AND i.method = x.method AND i.key = x.key
		AND i.expires_at <= $5`
