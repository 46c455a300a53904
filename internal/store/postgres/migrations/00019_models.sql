-- +goose Up

-- The language models that agents may think with. Their keys are in secrets.
CREATE TABLE models (
    tenant_id  TEXT COLLATE "C" NOT NULL REFERENCES tenants (tenant_id),
    name       TEXT COLLATE "C" NOT NULL,
    kind       TEXT COLLATE "C" NOT NULL,
    base_url   TEXT COLLATE "C" NOT NULL,
    model      TEXT COLLATE "C" NOT NULL,
    trusted    BIGINT NOT NULL, -- the operator named its address
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, name)
);
