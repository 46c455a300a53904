-- +goose Up

-- What happened. A source's events are taken once for each key.
CREATE TABLE events (
    tenant_id   TEXT COLLATE "C" NOT NULL REFERENCES tenants (tenant_id),
    id          TEXT COLLATE "C" NOT NULL,
    source      TEXT COLLATE "C" NOT NULL,
    type        TEXT COLLATE "C" NOT NULL,
    agent       TEXT COLLATE "C" NOT NULL,
    dedupe_key  TEXT COLLATE "C" NOT NULL,
    data        BYTEA NOT NULL,
    depth       BIGINT NOT NULL,
    raised      BIGINT NOT NULL,
    faults      TEXT COLLATE "C" NOT NULL, -- JSON array: why triggers could make no call of it
    received_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, source, dedupe_key)
);
CREATE INDEX events_received ON events (received_at);

-- Rules that turn events into calls.
CREATE TABLE triggers (
    tenant_id  TEXT COLLATE "C" NOT NULL REFERENCES tenants (tenant_id),
    name       TEXT COLLATE "C" NOT NULL,
    config     TEXT COLLATE "C" NOT NULL, -- JSON: all of it that is not asked for by queries
    disabled   BIGINT NOT NULL,
    declared   TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, name)
);

-- Events that wait for others, to go out in one call.
CREATE TABLE event_waits (
    tenant_id    TEXT COLLATE "C" NOT NULL,
    trigger_name TEXT COLLATE "C" NOT NULL,
    line         TEXT COLLATE "C" NOT NULL, -- whose events go together
    event_id     TEXT COLLATE "C" NOT NULL,
    since        BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, trigger_name, event_id),
    FOREIGN KEY (tenant_id, trigger_name) REFERENCES triggers (tenant_id, name) ON DELETE CASCADE
);
