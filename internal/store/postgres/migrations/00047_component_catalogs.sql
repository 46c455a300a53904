-- +goose Up
-- Catalogues of interface components that admins registered, as the documents that they sent.
CREATE TABLE component_catalogs (
    tenant_id  TEXT COLLATE "C" NOT NULL REFERENCES tenants (tenant_id),
    name       TEXT COLLATE "C" NOT NULL,
    document   TEXT COLLATE "C" NOT NULL, -- JSON
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, name)
);
