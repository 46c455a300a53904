-- +goose Up

-- The documentation that a server is made of, and the tools that were made.
CREATE TABLE api_documents (
    tenant_id  TEXT NOT NULL,
    server     TEXT NOT NULL,
    document   BLOB NOT NULL,
    etag       TEXT NOT NULL,
    tools      BLOB NOT NULL,
    fetched_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, server),
    FOREIGN KEY (tenant_id, server) REFERENCES servers (tenant_id, id) ON DELETE CASCADE
) STRICT;
