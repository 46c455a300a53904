-- +goose Up

-- What needs attention now, and since when. An item with no tenant concerns the whole
-- instance. scope is who looks for it: all replicas together, or one of them. owner and server
-- decide who may see it beside admins.
CREATE TABLE attention_items (
	tenant_id TEXT NOT NULL,
	id TEXT NOT NULL,
	scope TEXT NOT NULL,
	source TEXT NOT NULL,
	owner TEXT NOT NULL,
	server TEXT NOT NULL,
	item TEXT NOT NULL, -- JSON
	raised_at INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, id)
) STRICT;
CREATE INDEX attention_items_scope ON attention_items (scope);

-- When each scope was looked through last.
CREATE TABLE attention_checks (
	scope TEXT PRIMARY KEY,
	checked_at INTEGER NOT NULL,
	tenant_id TEXT NOT NULL DEFAULT '' CHECK (tenant_id = '') -- a replica serves all tenants
) STRICT;

-- Free bytes on the disk of each replica over the last days.
CREATE TABLE disk_samples (
	replica TEXT NOT NULL,
	sampled_at INTEGER NOT NULL,
	free INTEGER NOT NULL,
	tenant_id TEXT NOT NULL DEFAULT '' CHECK (tenant_id = ''), -- a replica serves all tenants
	PRIMARY KEY (replica, sampled_at)
) STRICT;
