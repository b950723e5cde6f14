-- +goose Up

-- What a search looks through: the text of an entry in its folded form, and as it was.
-- folded comes first, since SQLite reads a long row from its beginning.
CREATE TABLE search_texts (
    session_id TEXT    NOT NULL,
    seq        INTEGER NOT NULL,
    role       TEXT    NOT NULL,
    folded     TEXT    NOT NULL,
    text       TEXT    NOT NULL,
    PRIMARY KEY (session_id, seq)
) STRICT;
