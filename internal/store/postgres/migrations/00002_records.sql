-- +goose Up

-- The journal's copy. line is the text that hash covers: it must come back byte
-- for byte. What the journal says about itself belongs to no tenant.
CREATE TABLE audit_records (
    node      TEXT COLLATE "C" NOT NULL,
    seq       BIGINT NOT NULL CHECK (seq > 0),
    hash      TEXT COLLATE "C" NOT NULL,
    line      TEXT COLLATE "C" NOT NULL,
    at        BIGINT NOT NULL,
    phase     TEXT COLLATE "C" NOT NULL,
    tenant_id TEXT COLLATE "C" NOT NULL,
    call_id   TEXT COLLATE "C" NOT NULL,
    server    TEXT COLLATE "C" NOT NULL,
    name      TEXT COLLATE "C" NOT NULL,
    subject   TEXT COLLATE "C" NOT NULL,
    status    TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (node, seq)
);

-- Sealed: ciphertext by a data key of the row's own, and that key, wrapped by
-- the one that key_id names, which is not in this database.
CREATE TABLE secrets (
    tenant_id  TEXT COLLATE "C" NOT NULL REFERENCES tenants (tenant_id),
    owner      TEXT COLLATE "C" NOT NULL,
    name       TEXT COLLATE "C" NOT NULL CHECK (name <> ''),
    key_id     TEXT COLLATE "C" NOT NULL,
    wrapped    BYTEA NOT NULL,
    ciphertext BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, owner, name)
);
