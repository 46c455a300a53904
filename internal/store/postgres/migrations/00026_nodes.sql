-- +goose Up

-- Processes that share this database, by what they call themselves from one start to the next end. Who is not
-- seen for a while is gone.
CREATE TABLE nodes (
    tenant_id  TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL, -- of this run: what it holds in memory ends with it
    name       TEXT COLLATE "C" NOT NULL, -- of the data directory: the journal's
    url        TEXT COLLATE "C" NOT NULL, -- where the others reach it; '' is nowhere
    version    TEXT COLLATE "C" NOT NULL,
    started_at BIGINT NOT NULL,
    seen_at    BIGINT NOT NULL, -- by the clock of the database
    PRIMARY KEY (tenant_id, id)
);

CREATE TRIGGER tell AFTER INSERT OR DELETE ON nodes FOR EACH STATEMENT EXECUTE FUNCTION junctor_tell();
