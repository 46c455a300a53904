-- +goose Up

-- Work that one process does for all of them, while its lease lasts.
CREATE TABLE leases (
    tenant_id TEXT COLLATE "C" NOT NULL,
    name      TEXT COLLATE "C" NOT NULL,
    node      TEXT COLLATE "C" NOT NULL,
    until     BIGINT NOT NULL, -- by the clock of the database
    fence     BIGINT NOT NULL, -- grows whenever another takes it
    PRIMARY KEY (tenant_id, name)
);
