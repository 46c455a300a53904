-- +goose Up
-- Times are microseconds since 1970 in UTC; NULL is "not (yet)".

CREATE TABLE tenants (
    tenant_id  TEXT NOT NULL PRIMARY KEY CHECK (tenant_id <> ''),
    name       TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

INSERT INTO tenants (tenant_id, name, created_at)
VALUES ('default', 'Default', CAST(unixepoch('subsec') * 1000000 AS INTEGER));

CREATE TABLE instance (
    tenant_id  TEXT NOT NULL PRIMARY KEY REFERENCES tenants (tenant_id),
    id         TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE keys (
    tenant_id    TEXT NOT NULL REFERENCES tenants (tenant_id),
    id           TEXT NOT NULL,
    name         TEXT NOT NULL,
    prefix       TEXT NOT NULL,
    hash         BLOB NOT NULL UNIQUE CHECK (length(hash) = 32), -- SHA-256 of the token; a token names one tenant
    scopes       TEXT NOT NULL,                                  -- parted by spaces
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    last_used_at INTEGER,
    PRIMARY KEY (tenant_id, id)
) STRICT;

CREATE UNIQUE INDEX keys_one_admin ON keys (tenant_id) WHERE name = 'admin';

CREATE TABLE servers (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    id         TEXT NOT NULL,
    mode       TEXT NOT NULL,
    title      TEXT NOT NULL,
    state      TEXT NOT NULL,
    last_error TEXT NOT NULL,
    config     TEXT NOT NULL DEFAULT '{}', -- JSON; what it holds depends on the mode
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, id)
) STRICT;

-- Ids of servers that were removed by hand, so that a built-in one stays away.
CREATE TABLE removed_servers (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    id         TEXT NOT NULL,
    removed_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, id)
) STRICT;

CREATE TABLE settings (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    name       TEXT NOT NULL,
    value      TEXT NOT NULL, -- JSON
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, name)
) STRICT;

-- A revoked session keeps its id until it would have expired, and nothing else.
CREATE TABLE sessions (
    tenant_id     TEXT NOT NULL REFERENCES tenants (tenant_id),
    id            TEXT NOT NULL,
    issuer        TEXT NOT NULL,
    subject       TEXT NOT NULL,
    log_level     TEXT NOT NULL,
    subscriptions TEXT NOT NULL, -- JSON array of URIs
    capabilities  BLOB,
    expires_at    INTEGER NOT NULL,
    revoked       INTEGER NOT NULL CHECK (revoked IN (0, 1)),
    PRIMARY KEY (tenant_id, id)
) STRICT;

CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE TABLE used_states (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    id         TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX used_states_expiry ON used_states (expires_at);

CREATE TABLE ring_keys (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    id         TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    wrapped    BLOB NOT NULL, -- by a key that is not in this database
    PRIMARY KEY (tenant_id, id)
) STRICT;
