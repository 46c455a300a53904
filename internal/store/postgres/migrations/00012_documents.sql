-- +goose Up

-- The documentation that a server is made of, and the tools that were made.
CREATE TABLE api_documents (
    tenant_id  TEXT COLLATE "C" NOT NULL,
    server     TEXT COLLATE "C" NOT NULL,
    document   BYTEA NOT NULL,
    etag       TEXT COLLATE "C" NOT NULL,
    tools      BYTEA NOT NULL,
    fetched_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, server),
    FOREIGN KEY (tenant_id, server) REFERENCES servers (tenant_id, id) ON DELETE CASCADE
);
