-- +goose Up

-- Bodies are text, kept byte for byte: jsonb would reorder them and refuse NUL.
-- Identifiers compare by their bytes (COLLATE "C"), as they do everywhere else.
-- There are no foreign keys: rows are only written together with their session's
-- row, whose head is compared first, and session rows stay for good.

CREATE TABLE sessions (
    id         text COLLATE "C" NOT NULL PRIMARY KEY,
    log_id     text             NOT NULL,
    owner      text COLLATE "C" NOT NULL,
    title      text             NOT NULL,
    status     text             NOT NULL,
    version    bigint           NOT NULL,
    head_seq   bigint           NOT NULL,
    settings   text             NOT NULL,
    state      text             NOT NULL,
    created_at timestamptz      NOT NULL,
    updated_at timestamptz      NOT NULL,
    closed_at  timestamptz
);

CREATE INDEX sessions_list ON sessions (owner, updated_at DESC, id DESC) WHERE status <> 'deleted';

CREATE TABLE entries (
    session_id text COLLATE "C" NOT NULL,
    seq        bigint           NOT NULL,
    kind       text             NOT NULL,
    turn_id    text             NOT NULL,
    message_id text COLLATE "C" NOT NULL,
    body       text             NOT NULL,
    tokens     bigint           NOT NULL,
    created_at timestamptz      NOT NULL,
    PRIMARY KEY (session_id, seq)
);

CREATE UNIQUE INDEX entries_message ON entries (session_id, message_id) WHERE message_id <> '';

CREATE TABLE turns (
    session_id   text COLLATE "C" NOT NULL,
    id           text COLLATE "C" NOT NULL,
    message_id   text             NOT NULL,
    created_seq  bigint           NOT NULL,
    started_seq  bigint           NOT NULL,
    status       text             NOT NULL,
    rounds       bigint           NOT NULL,
    resumes      bigint           NOT NULL,
    detail       text             NOT NULL,
    created_at   timestamptz      NOT NULL,
    started_at   timestamptz,
    completed_at timestamptz,
    PRIMARY KEY (session_id, id)
);

CREATE UNIQUE INDEX turns_running ON turns (session_id) WHERE status = 'running';
CREATE INDEX turns_open ON turns (session_id, created_seq) WHERE status IN ('queued', 'running');
CREATE INDEX turns_list ON turns (session_id, created_seq);

-- key is bytea because clients choose it and a JSON string may hold NUL.
CREATE TABLE idempotency (
    owner       text COLLATE "C" NOT NULL,
    session_id  text COLLATE "C" NOT NULL,
    method      text COLLATE "C" NOT NULL,
    key         bytea            NOT NULL,
    fingerprint bytea            NOT NULL,
    result      text             NOT NULL,
    expires_at  timestamptz,
    PRIMARY KEY (owner, session_id, method, key)
);

CREATE INDEX idempotency_expiry ON idempotency (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE tickets (
    hash        bytea            NOT NULL PRIMARY KEY,
    owner       text             NOT NULL,
    origin      text             NOT NULL,
    scope       text             NOT NULL,
    session_ids text[]           NOT NULL,
    expires_at  timestamptz      NOT NULL
);

CREATE INDEX tickets_expiry ON tickets (expires_at);
