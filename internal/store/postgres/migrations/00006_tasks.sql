-- +goose Up

-- Tool calls that go on behind their answers.
CREATE TABLE tasks (
    tenant_id  TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    issuer     TEXT COLLATE "C" NOT NULL,
    subject    TEXT COLLATE "C" NOT NULL,
    server     TEXT COLLATE "C" NOT NULL,
    tool       TEXT COLLATE "C" NOT NULL,
    version    TEXT COLLATE "C" NOT NULL,
    own        TEXT COLLATE "C" NOT NULL,
    state      BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, server) REFERENCES servers (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX tasks_by_principal ON tasks (tenant_id, issuer, subject, id);
CREATE INDEX tasks_by_end ON tasks (expires_at);
