-- +goose Up

-- What happened. A source's events are taken once for each key.
CREATE TABLE events (
    tenant_id   TEXT NOT NULL REFERENCES tenants (tenant_id),
    id          TEXT NOT NULL,
    source      TEXT NOT NULL,
    type        TEXT NOT NULL,
    agent       TEXT NOT NULL,
    dedupe_key  TEXT NOT NULL,
    data        BLOB NOT NULL,
    depth       INTEGER NOT NULL,
    raised      INTEGER NOT NULL,
    faults      TEXT NOT NULL, -- JSON array: why triggers could make no call of it
    received_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, source, dedupe_key)
) STRICT;
CREATE INDEX events_received ON events (received_at);

-- Rules that turn events into calls.
CREATE TABLE triggers (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    name       TEXT NOT NULL,
    config     TEXT NOT NULL, -- JSON: all of it that is not asked for by queries
    disabled   INTEGER NOT NULL,
    declared   TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, name)
) STRICT;

-- Events that wait for others, to go out in one call.
CREATE TABLE event_waits (
    tenant_id    TEXT NOT NULL,
    trigger_name TEXT NOT NULL,
    line         TEXT NOT NULL, -- whose events go together
    event_id     TEXT NOT NULL,
    since        INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, trigger_name, event_id),
    FOREIGN KEY (tenant_id, trigger_name) REFERENCES triggers (tenant_id, name) ON DELETE CASCADE
) STRICT;
