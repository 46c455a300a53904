-- +goose Up

-- What one process holds in memory for all of them, for as long as it lives: the others send requests on to it.
CREATE TABLE homes (
    tenant_id TEXT NOT NULL,
    name      TEXT NOT NULL,
    node      TEXT NOT NULL,
    PRIMARY KEY (tenant_id, name)
) STRICT;
