-- +goose Up

-- Which pages of Apps may make code of text, each by its digest.
CREATE TABLE app_approvals (
    tenant_id   TEXT NOT NULL,
    server      TEXT NOT NULL,
    resource    TEXT NOT NULL, -- the server's own URI
    digest      TEXT NOT NULL, -- SHA-256 of the page, hex
    approved_by TEXT NOT NULL,
    approved_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, server, resource),
    FOREIGN KEY (tenant_id, server) REFERENCES servers (tenant_id, id) ON DELETE CASCADE
) STRICT;
