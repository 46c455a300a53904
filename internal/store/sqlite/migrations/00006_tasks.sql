-- +goose Up

-- Tool calls that go on behind their answers.
CREATE TABLE tasks (
    tenant_id  TEXT NOT NULL,
    id         TEXT NOT NULL,
    issuer     TEXT NOT NULL,
    subject    TEXT NOT NULL,
    server     TEXT NOT NULL,
    tool       TEXT NOT NULL,
    version    TEXT NOT NULL,
    own        TEXT NOT NULL,
    state      BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, server) REFERENCES servers (tenant_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX tasks_by_principal ON tasks (tenant_id, issuer, subject, id);
CREATE INDEX tasks_by_end ON tasks (expires_at);
