-- A database of schema version 1, with rows in every table.
BEGIN TRANSACTION;
CREATE TABLE instance (
    tenant_id  TEXT NOT NULL PRIMARY KEY REFERENCES tenants (tenant_id),
    id         TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
INSERT INTO "instance" VALUES('default','INSTANCE',1000002);
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
INSERT INTO "keys" VALUES('acme','k1','admin','jct_a',X'0101010101010101010101010101010101010101010101010101010101010101','tools:read tools:call',1000003,2000003,3000003,4000003);
INSERT INTO "keys" VALUES('default','k2','it''s','jct_b',X'0202020202020202020202020202020202020202020202020202020202020202','',1000004,NULL,NULL,NULL);
CREATE TABLE removed_servers (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    id         TEXT NOT NULL,
    removed_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, id)
) STRICT;
INSERT INTO "removed_servers" VALUES('default','ocr',1000007);
CREATE TABLE ring_keys (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    id         TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    wrapped    BLOB NOT NULL, -- by a key that is not in this database
    PRIMARY KEY (tenant_id, id)
) STRICT;
INSERT INTO "ring_keys" VALUES('default','r1',1000009,X'0404040404040404040404040404040404040404040404040404040404040404');
CREATE TABLE schema_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
INSERT INTO "schema_version" VALUES(1,0,1,'2026-11-15 03:18:13');
INSERT INTO "schema_version" VALUES(2,1,1,'2026-11-15 03:18:13');
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
INSERT INTO "servers" VALUES('acme','demo','builtin','Demo','error','why','{}',1000005,1000006);
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
INSERT INTO "sessions" VALUES('acme','s1','key','k1','info','["file:///a"]',X'0303030303030303030303030303030303030303030303030303030303030303',9000000000000000,0);
INSERT INTO "sessions" VALUES('acme','s2','','','','[]',NULL,9000000000000000,1);
CREATE TABLE settings (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    name       TEXT NOT NULL,
    value      TEXT NOT NULL, -- JSON
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, name)
) STRICT;
INSERT INTO "settings" VALUES('acme','limit','{"b": [1], "a": "é"}',1000008);
CREATE TABLE tenants (
    tenant_id  TEXT NOT NULL PRIMARY KEY CHECK (tenant_id <> ''),
    name       TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
INSERT INTO "tenants" VALUES('default','Default',1794712693881000);
INSERT INTO "tenants" VALUES('acme','Acme',1000001);
CREATE TABLE used_states (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    id         TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;
INSERT INTO "used_states" VALUES('acme','u1',9000000000000000);
CREATE UNIQUE INDEX keys_one_admin ON keys (tenant_id) WHERE name = 'admin';
CREATE INDEX sessions_expiry ON sessions (expires_at);
CREATE INDEX used_states_expiry ON used_states (expires_at);
COMMIT;
