package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// statements are what the writer runs inside its transactions.
type statements struct {
	begin, commit, rollback                    *sql.Stmt
	createSession, updateSession, diagnose     *sql.Stmt
	putSettings                                *sql.Stmt
	putEntry, putTurn, putKey                  *sql.Stmt
	findSession, buryRow                       *sql.Stmt
	dropSettings, dropEntries, dropTurns       *sql.Stmt
	dropKeys, purgeKeys                        *sql.Stmt
	putTicket, findTicket, dropTicket, purgeTs *sql.Stmt
	putMemory, dropMemory, dropMemories        *sql.Stmt
	putLimit, putText, dropTexts               *sql.Stmt
}

// queries are what the readers run.
type queries struct {
	session, sessions, sessionsByStatus *sql.Stmt
	unfinished                          *sql.Stmt
	entries, entriesDown, messageEntry  *sql.Stmt
	turn, turns, openTurns              *sql.Stmt
	key                                 *sql.Stmt
	memory, memories                    *sql.Stmt
	limits, search, indexedSeq          *sql.Stmt
}

// query pairs a statement with its text.
type query struct {
	into **sql.Stmt
	text string
}

// preparer is a connection or a pool.
type preparer interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

func prepareAll(ctx context.Context, p preparer, list []query) error {
	for _, q := range list {
		st, err := p.PrepareContext(ctx, q.text) //nolint:sqlclosecheck // closeAll does
		if err != nil {
			return fmt.Errorf("prepare %q: %w", q.text, err)
		}
		*q.into = st
	}
	return nil
}

func closeAll(list []query) error {
	var errs []error
	for _, q := range list {
		if *q.into != nil {
			errs = append(errs, (*q.into).Close())
		}
	}
	return errors.Join(errs...)
}

func (s *statements) prepare(ctx context.Context, p preparer) error {
	return prepareAll(ctx, p, s.list())
}

func (s *statements) close() error { return closeAll(s.list()) }

func (s *statements) list() []query {
	return []query{
		{&s.begin, `BEGIN IMMEDIATE`},
		{&s.commit, `COMMIT`},
		{&s.rollback, `ROLLBACK`},

		{&s.createSession, `INSERT INTO sessions
			(id, log_id, owner, title, status, version, head_seq, state, created_at, updated_at, closed_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`},
		{&s.updateSession, `UPDATE sessions
			SET title = ?4, status = ?5, version = ?6, head_seq = ?7, state = ?8, updated_at = ?9, closed_at = ?10
			WHERE id = ?1 AND owner = ?2 AND head_seq = ?3 AND status <> 'deleted'`},
		{&s.diagnose, `SELECT head_seq FROM sessions WHERE id = ? AND owner = ? AND status <> 'deleted'`},
		{&s.putSettings, `INSERT INTO settings (session_id, settings) VALUES (?, ?)
			ON CONFLICT (session_id) DO UPDATE SET settings = excluded.settings`},
		{&s.putEntry, `INSERT INTO entries (session_id, seq, kind, turn_id, message_id, body, tokens, created_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`},
		{&s.putTurn, `INSERT INTO turns (session_id, id, message_id, created_seq, started_seq, status, rounds,
				resumes, detail, created_at, started_at, completed_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (session_id, id) DO UPDATE SET
				message_id = excluded.message_id, created_seq = excluded.created_seq,
				started_seq = excluded.started_seq, status = excluded.status, rounds = excluded.rounds,
				resumes = excluded.resumes, detail = excluded.detail, created_at = excluded.created_at,
				started_at = excluded.started_at, completed_at = excluded.completed_at`},
		// An expired record is as good as none. If a live one is there, no row changes.
		{&s.putKey, `INSERT INTO idempotency (owner, session_id, method, key, fingerprint, result, expires_at)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
			ON CONFLICT (owner, session_id, method, key) DO UPDATE SET
				fingerprint = excluded.fingerprint, result = excluded.result, expires_at = excluded.expires_at
			WHERE expires_at <= ?8`},

		{&s.findSession, `SELECT status FROM sessions WHERE id = ? AND owner = ?`},
		{&s.buryRow, `UPDATE sessions
			SET log_id = '', title = '', status = 'deleted', state = '', updated_at = ?2, closed_at = NULL
			WHERE id = ?1`},
		{&s.dropSettings, `DELETE FROM settings WHERE session_id = ?`},
		{&s.dropEntries, `DELETE FROM entries WHERE session_id = ?`},
		{&s.dropTurns, `DELETE FROM turns WHERE session_id = ?`},
		{&s.dropKeys, `DELETE FROM idempotency WHERE owner = ? AND session_id = ?`},
		{&s.purgeKeys, `DELETE FROM idempotency WHERE expires_at <= ?`},

		{&s.putTicket, `INSERT INTO tickets (hash, owner, origin, scope, session_ids, expires_at)
			VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`},
		{&s.findTicket, `SELECT owner, origin, scope, session_ids, expires_at FROM tickets WHERE hash = ?`},
		{&s.dropTicket, `DELETE FROM tickets WHERE hash = ?`},
		{&s.purgeTs, `DELETE FROM tickets WHERE expires_at <= ?`},

		// Another session's memory is not replaced: no row changes.
		{&s.putMemory, `INSERT INTO memories (owner, id, session_id, category, importance, title, content, source,
				source_seqs, seq, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (owner, id) DO UPDATE SET
				category = excluded.category, importance = excluded.importance, title = excluded.title,
				content = excluded.content, source = excluded.source, source_seqs = excluded.source_seqs,
				seq = excluded.seq, updated_at = excluded.updated_at
			WHERE session_id = excluded.session_id`},
		// ?3 is the session whose commit deletes, or empty.
		{&s.dropMemory, `DELETE FROM memories WHERE owner = ?1 AND id = ?2 AND session_id IN ('', ?3)`},
		{&s.dropMemories, `DELETE FROM memories WHERE owner = ? AND session_id = ?`},

		{&s.putLimit, `INSERT INTO learned_limits (provider, model, window_tokens, learned_at) VALUES (?, ?, ?, ?)
			ON CONFLICT (provider, model) DO UPDATE SET
				window_tokens = excluded.window_tokens, learned_at = excluded.learned_at`},

		{&s.putText, `INSERT INTO search_texts (session_id, seq, role, folded, text)
			SELECT id, ?3, ?4, ?5, ?6 FROM sessions WHERE id = ?1 AND owner = ?2 AND status <> 'deleted'
			ON CONFLICT DO NOTHING`},
		{&s.dropTexts, `DELETE FROM search_texts WHERE session_id = ?`},
	}
}

func (q *queries) prepare(ctx context.Context, p preparer) error {
	return prepareAll(ctx, p, q.list())
}

func (q *queries) close() error { return closeAll(q.list()) }

// Each query of a client names the owner, as s.owner.
func (q *queries) list() []query {
	const (
		session = `SELECT s.id, s.log_id, s.owner, s.title, s.status, s.version, s.head_seq, t.settings, s.state,
				s.created_at, s.updated_at, s.closed_at
			FROM sessions s JOIN settings t ON t.session_id = s.id `
		page = ` AND (s.updated_at, s.id) < (?3, ?4)
			ORDER BY s.updated_at DESC, s.id DESC LIMIT ?2`
		entry = `SELECT e.seq, e.kind, e.turn_id, e.message_id, e.body, e.tokens, e.created_at
			FROM entries e JOIN sessions s ON s.id = e.session_id
			WHERE s.id = ?1 AND s.owner = ?2 `
		// ?5 is a JSON list of kinds, or empty for all.
		selected = `AND e.seq > ?3 AND e.seq < ?4
			AND (?5 = '' OR e.kind IN (SELECT value FROM json_each(?5))) `
		memory = `SELECT owner, id, session_id, category, importance, title, content, source, source_seqs, seq,
				created_at, updated_at
			FROM memories WHERE owner = ?1 `
		turn = `SELECT u.id, u.message_id, u.created_seq, u.started_seq, u.status, u.rounds, u.resumes, u.detail,
				u.created_at, u.started_at, u.completed_at
			FROM sessions s JOIN turns u `
		ofSession = `ON u.session_id = s.id WHERE s.id = ?1 AND s.owner = ?2 `
	)
	return []query{
		{&q.session, session + `WHERE s.id = ?1 AND s.owner = ?2 AND s.status <> 'deleted'`},
		{&q.sessions, session + `WHERE s.owner = ?1 AND s.status <> 'deleted'` + page},
		{&q.sessionsByStatus, session + `WHERE s.owner = ?1 AND s.status <> 'deleted' AND s.status = ?5` + page},
		{&q.unfinished, `SELECT s.owner, s.id FROM sessions s
			WHERE s.id IN (SELECT session_id FROM turns WHERE status IN ('queued', 'running')
				UNION ALL SELECT id FROM sessions WHERE status = 'compacting')
			ORDER BY s.updated_at, s.id`},
		{&q.entries, entry + selected + `ORDER BY e.seq LIMIT ?6`},
		{&q.entriesDown, entry + selected + `ORDER BY e.seq DESC LIMIT ?6`},
		{&q.messageEntry, entry + `AND e.message_id = ?3 AND e.message_id <> ''`},
		{&q.turn, turn + ofSession + `AND u.id = ?3`},
		{&q.turns, turn + ofSession + `AND u.created_seq < ?3 ORDER BY u.created_seq DESC, u.id DESC LIMIT ?4`},
		// The planner would rather read all turns of the session in their order.
		{&q.openTurns, turn + `INDEXED BY turns_open ` + ofSession + `AND u.status IN ('queued', 'running')
			ORDER BY u.created_seq, u.id`},
		{&q.key, `SELECT fingerprint, result, expires_at FROM idempotency
			WHERE owner = ?1 AND session_id = ?2 AND method = ?3 AND key = ?4
				AND (expires_at IS NULL OR expires_at > ?5)`},
		{&q.memory, memory + `AND id = ?2`},
		{&q.memories, memory + `AND session_id = ?2 AND (updated_at, id) < (?3, ?4)
			ORDER BY updated_at DESC, id DESC LIMIT ?5`},
		{&q.indexedSeq, `SELECT COALESCE((SELECT t.seq FROM sessions s JOIN search_texts t ON t.session_id = s.id
			WHERE s.id = ?1 AND s.owner = ?2 ORDER BY t.seq DESC LIMIT 1), 0)`},
		// ?4 is a JSON list of words.
		{&q.search, `SELECT t.seq, t.role, t.text FROM sessions s JOIN search_texts t ON t.session_id = s.id
			WHERE s.id = ?1 AND s.owner = ?2 AND t.seq < ?3
				AND NOT EXISTS (SELECT 1 FROM json_each(?4) WHERE instr(t.folded, value) = 0)
			ORDER BY t.seq DESC LIMIT ?5`},
		{&q.limits, `SELECT provider, model, window_tokens, learned_at FROM learned_limits ORDER BY provider, model`},
	}
}
