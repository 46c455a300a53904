-- +goose Up

-- Which pages of Apps may make code of text, each by its digest.
CREATE TABLE app_approvals (
    tenant_id   TEXT COLLATE "C" NOT NULL,
    server      TEXT COLLATE "C" NOT NULL,
    resource    TEXT COLLATE "C" NOT NULL, -- the server's own URI
    digest      TEXT COLLATE "C" NOT NULL, -- SHA-256 of the page, hex
    approved_by TEXT COLLATE "C" NOT NULL,
    approved_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, server, resource),
    FOREIGN KEY (tenant_id, server) REFERENCES servers (tenant_id, id) ON DELETE CASCADE
);
