-- +goose Up

-- What a server was like when it last answered.
CREATE TABLE seen_servers (
    tenant_id TEXT NOT NULL,
    id        TEXT NOT NULL,
    offer     BLOB NOT NULL,
    isolated  INTEGER NOT NULL CHECK (isolated IN (0, 1)),
    seen_at   INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, id) REFERENCES servers (tenant_id, id) ON DELETE CASCADE
) STRICT;
