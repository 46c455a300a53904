-- +goose Up

-- Processes that share this database, by what they call themselves from one start to the next end. Who is not
-- seen for a while is gone.
CREATE TABLE nodes (
    tenant_id  TEXT NOT NULL,
    id         TEXT NOT NULL, -- of this run: what it holds in memory ends with it
    name       TEXT NOT NULL, -- of the data directory: the journal's
    url        TEXT NOT NULL, -- where the others reach it; '' is nowhere
    version    TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL, -- by the clock of the database
    PRIMARY KEY (tenant_id, id)
) STRICT;
