-- +goose Up

-- The windows of models that an error of their provider told, or that were guessed
-- from one.
CREATE TABLE learned_limits (
    provider      text COLLATE "C" NOT NULL,
    model         text COLLATE "C" NOT NULL,
    window_tokens bigint           NOT NULL,
    learned_at    timestamptz      NOT NULL,
    PRIMARY KEY (provider, model)
);

-- Sessions that were compacting when their server ended are looked for at start.
CREATE INDEX sessions_compacting ON sessions (id) WHERE status = 'compacting';
