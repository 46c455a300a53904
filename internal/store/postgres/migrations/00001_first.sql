-- +goose Up
-- Text is compared byte by byte, as SQLite does. Times are microseconds since 1970 in UTC; NULL is "not (yet)".

CREATE TABLE tenants (
    tenant_id  TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (tenant_id <> ''),
    name       TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL
);

INSERT INTO tenants (tenant_id, name, created_at)
VALUES ('default', 'Default', CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT));

CREATE TABLE instance (
    tenant_id  TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES tenants (tenant_id),
    id         TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE keys (
    tenant_id    TEXT COLLATE "C" NOT NULL REFERENCES tenants (tenant_id),
    id           TEXT COLLATE "C" NOT NULL,
    name         TEXT COLLATE "C" NOT NULL,
    prefix       TEXT COLLATE "C" NOT NULL,
    hash         BYTEA NOT NULL UNIQUE CHECK (length(hash) = 32), -- SHA-256 of the token; a token names one tenant
    scopes       TEXT COLLATE "C" NOT NULL,                                  -- parted by spaces
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT,
    revoked_at   BIGINT,
    last_used_at BIGINT,
    PRIMARY KEY (tenant_id, id)
);

CREATE UNIQUE INDEX keys_one_admin ON keys (tenant_id) WHERE name = 'admin';

CREATE TABLE servers (
    tenant_id  TEXT COLLATE "C" NOT NULL REFERENCES tenants (tenant_id),
    id         TEXT COLLATE "C" NOT NULL,
    mode       TEXT COLLATE "C" NOT NULL,
    title      TEXT COLLATE "C" NOT NULL,
    state      TEXT COLLATE "C" NOT NULL,
    last_error TEXT COLLATE "C" NOT NULL,
    config     TEXT COLLATE "C" NOT NULL DEFAULT '{}', -- JSON; what it holds depends on the mode
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id)
);

-- Ids of servers that were removed by hand, so that a built-in one stays away.
CREATE TABLE removed_servers (
    tenant_id  TEXT COLLATE "C" NOT NULL REFERENCES tenants (tenant_id),
    id         TEXT COLLATE "C" NOT NULL,
    removed_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id)
);

CREATE TABLE settings (
    tenant_id  TEXT COLLATE "C" NOT NULL REFERENCES tenants (tenant_id),
    name       TEXT COLLATE "C" NOT NULL,
    value      TEXT COLLATE "C" NOT NULL, -- JSON
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, name)
);

-- A revoked session keeps its id until it would have expired, and nothing else.
CREATE TABLE sessions (
    tenant_id     TEXT COLLATE "C" NOT NULL REFERENCES tenants (tenant_id),
    id            TEXT COLLATE "C" NOT NULL,
    issuer        TEXT COLLATE "C" NOT NULL,
    subject       TEXT COLLATE "C" NOT NULL,
    log_level     TEXT COLLATE "C" NOT NULL,
    subscriptions TEXT COLLATE "C" NOT NULL, -- JSON array of URIs
    capabilities  BYTEA,
    expires_at    BIGINT NOT NULL,
    revoked       BIGINT NOT NULL CHECK (revoked IN (0, 1)),
    PRIMARY KEY (tenant_id, id)
);

CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE TABLE used_states (
    tenant_id  TEXT COLLATE "C" NOT NULL REFERENCES tenants (tenant_id),
    id         TEXT COLLATE "C" NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id)
);

CREATE INDEX used_states_expiry ON used_states (expires_at);

CREATE TABLE ring_keys (
    tenant_id  TEXT COLLATE "C" NOT NULL REFERENCES tenants (tenant_id),
    id         TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    wrapped    BYTEA NOT NULL, -- by a key that is not in this database
    PRIMARY KEY (tenant_id, id)
);
