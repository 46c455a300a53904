-- +goose Up

-- What a server was like when it last answered.
CREATE TABLE seen_servers (
    tenant_id TEXT COLLATE "C" NOT NULL,
    id        TEXT COLLATE "C" NOT NULL,
    offer     BYTEA NOT NULL,
    isolated  BIGINT NOT NULL CHECK (isolated IN (0, 1)),
    seen_at   BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, id) REFERENCES servers (tenant_id, id) ON DELETE CASCADE
);
