-- +goose Up

-- The highest signed head of each node's journal, as JSON. It only grows, so that a
-- journal that is put back to an older state, with the head of then, is noticed.
-- A journal holds records of all tenants, and so belongs to none.
CREATE TABLE audit_heads (
    node      TEXT NOT NULL PRIMARY KEY,
    seq       INTEGER NOT NULL CHECK (seq > 0),
    head      TEXT NOT NULL,
    tenant_id TEXT NOT NULL DEFAULT '' CHECK (tenant_id = '')
) STRICT;
