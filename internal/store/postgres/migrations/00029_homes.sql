-- +goose Up

-- What one process holds in memory for all of them, for as long as it lives: the others send requests on to it.
CREATE TABLE homes (
    tenant_id TEXT COLLATE "C" NOT NULL,
    name      TEXT COLLATE "C" NOT NULL,
    node      TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, name)
);
