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
	raised_at BIGINT NOT NULL,
	PRIMARY KEY (tenant_id, id)
);
CREATE INDEX attention_items_scope ON attention_items (scope);

-- When each scope was looked through last.
CREATE TABLE attention_checks (
	scope TEXT PRIMARY KEY,
	checked_at BIGINT NOT NULL,
	tenant_id TEXT NOT NULL DEFAULT '' CHECK (tenant_id = '') -- a replica serves all tenants
);

-- Free bytes on the disk of each replica over the last days.
CREATE TABLE disk_samples (
	replica TEXT NOT NULL,
	sampled_at BIGINT NOT NULL,
	free BIGINT NOT NULL,
	tenant_id TEXT NOT NULL DEFAULT '' CHECK (tenant_id = ''), -- a replica serves all tenants
	PRIMARY KEY (replica, sampled_at)
);

CREATE TRIGGER tell AFTER INSERT OR DELETE OR UPDATE ON attention_items FOR EACH STATEMENT EXECUTE FUNCTION junctor_tell();
