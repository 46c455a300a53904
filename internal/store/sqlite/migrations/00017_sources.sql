-- +goose Up

-- Where events come from. Those who post to a source's door say no tenant, so
-- that an id is one for all of them.
CREATE TABLE sources (
    id         TEXT NOT NULL PRIMARY KEY,
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    config     TEXT NOT NULL, -- JSON: all of it that is not asked for by queries
    disabled   INTEGER NOT NULL,
    declared   TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sources_tenant ON sources (tenant_id);

-- Times at which events come of themselves.
CREATE TABLE schedules (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    name       TEXT NOT NULL,
    config     TEXT NOT NULL,
    disabled   INTEGER NOT NULL,
    declared   TEXT NOT NULL,
    next_at    INTEGER NOT NULL,
    last_at    INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, name)
) STRICT;
CREATE INDEX schedules_due ON schedules (next_at);
