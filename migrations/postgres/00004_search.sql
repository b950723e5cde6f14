-- +goose Up

-- What a search looks through: the text of an entry in its folded form, and as it was,
-- with any NUL in it.
CREATE TABLE search_texts (
    session_id text COLLATE "C" NOT NULL,
    seq        bigint           NOT NULL,
    role       text             NOT NULL,
    folded     text COLLATE "C" NOT NULL,
    text       bytea            NOT NULL,
    PRIMARY KEY (session_id, seq)
);
