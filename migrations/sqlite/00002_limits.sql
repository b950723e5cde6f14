-- +goose Up

-- The windows of models that an error of their provider told, or that were guessed
-- from one.
CREATE TABLE learned_limits (
    provider      TEXT    NOT NULL,
    model         TEXT    NOT NULL,
    window_tokens INTEGER NOT NULL,
    learned_at    INTEGER NOT NULL,
    PRIMARY KEY (provider, model)
) STRICT, WITHOUT ROWID;

-- Sessions that were compacting when their server ended are looked for at start.
CREATE INDEX sessions_compacting ON sessions (id) WHERE status = 'compacting';
