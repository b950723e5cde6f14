package postgres

import (
	"strconv"
	"strings"

	"sessiond/store"
)

// parts is what a commit brings along, besides its row and entries.
type parts struct{ create, turns, memories, keys bool }

func partsOf(c *store.Commit, create bool) parts {
	return parts{create: create, turns: len(c.Turns) > 0, memories: len(c.Memories) > 0, keys: len(c.Keys) > 0}
}

// statements holds the text of a commit by its parts: executing a part that has nothing
// to do would cost a third of a small commit.
type statements map[parts]string

func newStatements() statements {
	s := make(statements)
	both := []bool{false, true}
	for _, create := range both {
		for _, turns := range both {
			for _, memories := range both {
				for _, keys := range both {
					p := parts{create, turns, memories, keys}
					s[p] = commitStatement(p)
				}
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
		RETURNING id, owner`
	updateParams = 11
	// insertRow returns no row if the id is taken. Parameters: [insertArgs].
	insertRow = `INSERT INTO sessions (id, owner, log_id, title, status, version, head_seq, settings, state,
			created_at, updated_at, closed_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (id) DO NOTHING
		RETURNING id, owner`
	insertParams = 12

	entriesInto = `entries (session_id, ` + entryColumns + `)`
	entryTypes  = `bigint text text text text bigint timestamptz`

	turnsInto = `turns (session_id, id, message_id, created_seq, started_seq, status, rounds, resumes, detail,
			created_at, started_at, completed_at)`
	turnTypes    = `text text bigint bigint text bigint bigint text timestamptz timestamptz timestamptz`
	turnConflict = ` ON CONFLICT (session_id, id) DO UPDATE SET
			message_id = EXCLUDED.message_id, created_seq = EXCLUDED.created_seq,
			started_seq = EXCLUDED.started_seq, status = EXCLUDED.status, rounds = EXCLUDED.rounds,
			resumes = EXCLUDED.resumes, detail = EXCLUDED.detail, created_at = EXCLUDED.created_at,
			started_at = EXCLUDED.started_at, completed_at = EXCLUDED.completed_at`

	keysInto = `idempotency (owner, session_id, method, key, fingerprint, result, expires_at)`
	keyTypes = `text text text bytea bytea text timestamptz`
)

// commitStatement returns one statement that makes a whole commit. It returns a row if
// the session's row was written.
func commitStatement(p parts) string {
	row, params := updateRow, updateParams
	if p.create {
		row, params = insertRow, insertParams
	}
	with := []string{"s AS (" + row + ")"}
	// rows is a table x of the arrays that are the next parameters.
	rows := func(types string) string {
		var arrays []string
		for typ := range strings.FieldsSeq(types) {
			params++
			arrays = append(arrays, "$"+strconv.Itoa(params)+"::"+typ+"[]")
		}
		return "s, unnest(" + strings.Join(arrays, ", ") + ") AS x"
	}
	add := func(name, change string) { with = append(with, name+" AS ("+change+")") }
	add("e", "INSERT INTO "+entriesInto+" SELECT s.id, x.* FROM "+rows(entryTypes))
	if p.turns {
		add("u", "INSERT INTO "+turnsInto+" SELECT s.id, x.* FROM "+rows(turnTypes)+turnConflict)
	}
	if p.memories {
		add("m", "INSERT INTO "+memoriesInto+" SELECT s.owner, x.* FROM "+rows(memoryTypes)+memoryConflict)
		add("d", "DELETE FROM memories m USING "+rows("text")+" (id) "+
			"WHERE m.owner = s.owner AND m.id = x.id AND m.session_id IN ('', s.id)")
	}
	if p.keys {
		add("k", "INSERT INTO "+keysInto+" SELECT x.* FROM "+rows(keyTypes))
	}
	return "WITH " + strings.Join(with, ", ") + " SELECT FROM s"
}

// dropExpiredKeys makes room for keys that are recorded again. Parameters: the first
// four arrays of a commit's keys, and its time.
const dropExpiredKeys = `DELETE FROM idempotency i
	USING unnest($1::text[], $2::text[], $3::text[], $4::bytea[]) AS x (owner, session_id, method, key)
	WHERE i.owner = x.owner AND i.session_id = x.session_id AND i.method = x.method AND i.key = x.key
		AND i.expires_at <= $5`
