-- +goose Up

-- The journal's copy. line is the text that hash covers: it must come back byte
-- for byte. What the journal says about itself belongs to no tenant.
CREATE TABLE audit_records (
    node      TEXT NOT NULL,
    seq       INTEGER NOT NULL CHECK (seq > 0),
    hash      TEXT NOT NULL,
    line      TEXT NOT NULL,
    at        INTEGER NOT NULL,
    phase     TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    call_id   TEXT NOT NULL,
    server    TEXT NOT NULL,
    name      TEXT NOT NULL,
    subject   TEXT NOT NULL,
    status    TEXT NOT NULL,
    PRIMARY KEY (node, seq)
) STRICT, WITHOUT ROWID;

-- Sealed: ciphertext by a data key of the row's own, and that key, wrapped by
-- the one that key_id names, which is not in this database.
CREATE TABLE secrets (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    owner      TEXT NOT NULL,
    name       TEXT NOT NULL CHECK (name <> ''),
    key_id     TEXT NOT NULL,
    wrapped    BLOB NOT NULL,
    ciphertext BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, owner, name)
) STRICT;
