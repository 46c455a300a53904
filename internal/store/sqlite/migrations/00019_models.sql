-- +goose Up

-- The language models that agents may think with. Their keys are in secrets.
CREATE TABLE models (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    name       TEXT NOT NULL,
    kind       TEXT NOT NULL,
    base_url   TEXT NOT NULL,
    model      TEXT NOT NULL,
    trusted    INTEGER NOT NULL, -- the operator named its address
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, name)
) STRICT;
