-- +goose Up

-- password is an argon2id hash in PHC form, '' where the user signs in otherwise.
CREATE TABLE users (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    id         TEXT NOT NULL,
    name       TEXT NOT NULL CHECK (name <> ''),
    role       TEXT NOT NULL,
    sources    TEXT NOT NULL,
    tier       TEXT NOT NULL,
    password   TEXT NOT NULL,
    disabled   INTEGER NOT NULL CHECK (disabled IN (0, 1)),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, name)
) STRICT;

-- Who a user is at an identity provider. One party there is one user here.
CREATE TABLE user_links (
    issuer     TEXT NOT NULL,
    subject    TEXT NOT NULL,
    tenant_id  TEXT NOT NULL,
    user_id    TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (issuer, subject),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
) STRICT;

CREATE INDEX user_links_user ON user_links (tenant_id, user_id);

-- Sessions of the console, and links that become one session once. Only the
-- SHA-256 of what the browser holds is here.
CREATE TABLE logins (
    tenant_id    TEXT NOT NULL,
    id           TEXT NOT NULL,
    user_id      TEXT NOT NULL,
    kind         TEXT NOT NULL CHECK (kind IN ('session', 'link')),
    hash         BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    how          TEXT NOT NULL, -- link, password or the issuer that vouched
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    revoked_at   INTEGER,
    last_used_at INTEGER,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
) STRICT;

CREATE INDEX logins_expiry ON logins (expires_at);

CREATE TABLE agents (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    name       TEXT NOT NULL,
    role       TEXT NOT NULL,
    tier       TEXT NOT NULL,
    owner      TEXT NOT NULL,
    disabled   INTEGER NOT NULL CHECK (disabled IN (0, 1)),
    config     TEXT NOT NULL DEFAULT '{}', -- JSON: what no query asks for
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, name)
) STRICT;

-- What an agent may use. item is '*' for all of the server's. A grant goes with
-- its server.
CREATE TABLE agent_grants (
    tenant_id TEXT NOT NULL,
    agent     TEXT NOT NULL,
    kind      TEXT NOT NULL CHECK (kind IN ('tool', 'resource', 'prompt')),
    server    TEXT NOT NULL,
    item      TEXT NOT NULL CHECK (item <> ''),
    PRIMARY KEY (tenant_id, agent, kind, server, item),
    FOREIGN KEY (tenant_id, agent) REFERENCES agents (tenant_id, name) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, server) REFERENCES servers (tenant_id, id) ON DELETE CASCADE
) STRICT;

CREATE INDEX agent_grants_server ON agent_grants (tenant_id, server);

-- Whose a key is: a user's, an agent's, or neither's. A key outlives its owner
-- as a revoked one, so that records can be read.
ALTER TABLE keys ADD COLUMN user_id TEXT NOT NULL DEFAULT '';
ALTER TABLE keys ADD COLUMN agent TEXT NOT NULL DEFAULT '';

-- After a rotation the token before works on for a while.
ALTER TABLE keys ADD COLUMN former_hash BLOB CHECK (length(former_hash) = 32);
ALTER TABLE keys ADD COLUMN former_until INTEGER;

-- What people say a tool is for, in place of what the rules found.
CREATE TABLE tool_tags (
    tenant_id  TEXT NOT NULL,
    server     TEXT NOT NULL,
    tool       TEXT NOT NULL,
    roles      TEXT NOT NULL, -- JSON array; [] leaves them to the rules
    category   TEXT NOT NULL, -- '' leaves it to the rules
    tagged_by  TEXT NOT NULL,
    tagged_at  INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, server, tool),
    FOREIGN KEY (tenant_id, server) REFERENCES servers (tenant_id, id) ON DELETE CASCADE
) STRICT;

-- Tools that changed under one name. Definitions are kept as they were offered.
CREATE TABLE tool_changes (
    tenant_id     TEXT NOT NULL,
    id            TEXT NOT NULL,
    server        TEXT NOT NULL,
    tool          TEXT NOT NULL,
    before_digest TEXT NOT NULL, -- '' for a tool that is new
    after_digest  TEXT NOT NULL, -- '' for a tool that is gone
    before_json   BLOB,
    after_json    BLOB,
    seen_at       INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, server) REFERENCES servers (tenant_id, id) ON DELETE CASCADE
) STRICT;

CREATE INDEX tool_changes_seen ON tool_changes (tenant_id, seen_at);
CREATE INDEX tool_changes_tool ON tool_changes (tenant_id, server, tool);

-- Calls of a party on one day, for limits that outlive the process.
CREATE TABLE day_counts (
    tenant_id TEXT NOT NULL REFERENCES tenants (tenant_id),
    party     TEXT NOT NULL,
    day       INTEGER NOT NULL, -- days since 1970 in UTC
    calls     INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, party, day)
) STRICT, WITHOUT ROWID;
