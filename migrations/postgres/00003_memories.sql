-- +goose Up

-- What was learned, for one session or, with an empty session_id, for all of an owner.
-- title and content are bytea because clients and models write them and a JSON string
-- may hold NUL.
CREATE TABLE memories (
    owner       text COLLATE "C" NOT NULL,
    id          text COLLATE "C" NOT NULL,
    session_id  text COLLATE "C" NOT NULL,
    category    text             NOT NULL,
    importance  text             NOT NULL,
    title       bytea            NOT NULL,
    content     bytea            NOT NULL,
    source      text             NOT NULL,
    source_seqs text             NOT NULL, -- a JSON list
    seq         bigint           NOT NULL,
    created_at  timestamptz      NOT NULL,
    updated_at  timestamptz      NOT NULL,
    PRIMARY KEY (owner, id)
);

CREATE INDEX memories_list ON memories (owner, session_id, updated_at DESC, id DESC);
