-- +goose Up

-- Work that one process does for all of them, while its lease lasts.
CREATE TABLE leases (
    tenant_id TEXT NOT NULL,
    name      TEXT NOT NULL,
    node      TEXT NOT NULL,
    until     INTEGER NOT NULL, -- by the clock of the database
    fence     INTEGER NOT NULL, -- grows whenever another takes it
    PRIMARY KEY (tenant_id, name)
) STRICT;
