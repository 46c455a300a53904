-- +goose Up

-- Where events come from. Those who post to a source's door say no tenant, so
-- that an id is one for all of them.
CREATE TABLE sources (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    tenant_id  TEXT COLLATE "C" NOT NULL REFERENCES tenants (tenant_id),
    config     TEXT COLLATE "C" NOT NULL, -- JSON: all of it that is not asked for by queries
    disabled   BIGINT NOT NULL,
    declared   TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX sources_tenant ON sources (tenant_id);

-- Times at which events come of themselves.
CREATE TABLE schedules (
    tenant_id  TEXT COLLATE "C" NOT NULL REFERENCES tenants (tenant_id),
    name       TEXT COLLATE "C" NOT NULL,
    config     TEXT COLLATE "C" NOT NULL,
    disabled   BIGINT NOT NULL,
    declared   TEXT COLLATE "C" NOT NULL,
    next_at    BIGINT NOT NULL,
    last_at    BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, name)
);
CREATE INDEX schedules_due ON schedules (next_at);
