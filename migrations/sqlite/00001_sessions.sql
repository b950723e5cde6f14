-- +goose Up

-- Marks the file as ours ("sesd"); see package store/sqlite.
PRAGMA application_id = 1936028516;

-- Times are microseconds since 1970. Bodies are text, kept byte for byte.
-- There are no foreign keys: rows are only written together with their session's
-- row, whose head is compared first, and session rows stay for good.

CREATE TABLE sessions (
    id         TEXT    NOT NULL PRIMARY KEY,
    log_id     TEXT    NOT NULL,
    owner      TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    status     TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    head_seq   INTEGER NOT NULL,
    state      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    closed_at  INTEGER
) STRICT;

CREATE INDEX sessions_list ON sessions (owner, updated_at DESC, id DESC) WHERE status <> 'deleted';

-- Apart from sessions, because SQLite writes a row anew as a whole and settings are
-- large and seldom change.
CREATE TABLE settings (
    session_id TEXT NOT NULL PRIMARY KEY,
    settings   TEXT NOT NULL
) STRICT;

CREATE TABLE entries (
    session_id TEXT    NOT NULL,
    seq        INTEGER NOT NULL,
    kind       TEXT    NOT NULL,
    turn_id    TEXT    NOT NULL,
    message_id TEXT    NOT NULL,
    body       TEXT    NOT NULL,
    tokens     INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (session_id, seq)
) STRICT;

CREATE UNIQUE INDEX entries_message ON entries (session_id, message_id) WHERE message_id <> '';

CREATE TABLE turns (
    session_id   TEXT    NOT NULL,
    id           TEXT    NOT NULL,
    message_id   TEXT    NOT NULL,
    created_seq  INTEGER NOT NULL,
    started_seq  INTEGER NOT NULL,
    status       TEXT    NOT NULL,
    rounds       INTEGER NOT NULL,
    resumes      INTEGER NOT NULL,
    detail       TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    started_at   INTEGER,
    completed_at INTEGER,
    PRIMARY KEY (session_id, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX turns_running ON turns (session_id) WHERE status = 'running';
CREATE INDEX turns_open ON turns (session_id, created_seq) WHERE status IN ('queued', 'running');
CREATE INDEX turns_list ON turns (session_id, created_seq);

CREATE TABLE idempotency (
    owner       TEXT NOT NULL,
    session_id  TEXT NOT NULL,
    method      TEXT NOT NULL,
    key         TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    result      TEXT NOT NULL,
    expires_at  INTEGER,
    PRIMARY KEY (owner, session_id, method, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_expiry ON idempotency (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE tickets (
    hash        BLOB    NOT NULL PRIMARY KEY,
    owner       TEXT    NOT NULL,
    origin      TEXT    NOT NULL,
    scope       TEXT    NOT NULL,
    session_ids TEXT    NOT NULL, -- a JSON list
    expires_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX tickets_expiry ON tickets (expires_at);
