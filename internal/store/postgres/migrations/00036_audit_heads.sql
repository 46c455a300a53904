-- +goose Up

-- The highest signed head of each node's journal, as JSON. It only grows, so that a
-- journal that is put back to an older state, with the head of then, is noticed.
-- A journal holds records of all tenants, and so belongs to none.
CREATE TABLE audit_heads (
    node      TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    seq       BIGINT NOT NULL CHECK (seq > 0),
    head      TEXT COLLATE "C" NOT NULL,
    tenant_id TEXT COLLATE "C" NOT NULL DEFAULT '' CHECK (tenant_id = '')
);
