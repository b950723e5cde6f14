-- +goose Up

-- What was learned, for one session or, with an empty session_id, for all of an owner.
CREATE TABLE memories (
    owner       TEXT    NOT NULL,
    id          TEXT    NOT NULL,
    session_id  TEXT    NOT NULL,
    category    TEXT    NOT NULL,
    importance  TEXT    NOT NULL,
    title       TEXT    NOT NULL,
    content     TEXT    NOT NULL,
    source      TEXT    NOT NULL,
    source_seqs TEXT    NOT NULL, -- a JSON list
    seq         INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT;

CREATE INDEX memories_list ON memories (owner, session_id, updated_at DESC, id DESC);
