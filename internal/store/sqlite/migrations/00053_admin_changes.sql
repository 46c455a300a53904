-- +goose Up

-- Changes of the instance by people, programs and the settings file. seq is the number of the
-- record in the journal of the replica, 0 until it is written. before_json and after_json are
-- masked, and kept as text because the record has digests of them; '' is no value.
CREATE TABLE admin_changes (
	tenant_id TEXT NOT NULL,
	id TEXT NOT NULL,
	replica TEXT NOT NULL,
	seq INTEGER NOT NULL,
	changed_at INTEGER NOT NULL,
	status TEXT NOT NULL,
	entry_point TEXT NOT NULL,
	address TEXT NOT NULL,
	issuer TEXT NOT NULL,
	subject TEXT NOT NULL,
	actor TEXT NOT NULL,
	user_id TEXT NOT NULL,
	client TEXT NOT NULL,
	action TEXT NOT NULL,
	object TEXT NOT NULL,
	object_id TEXT NOT NULL,
	before_json TEXT NOT NULL,
	after_json TEXT NOT NULL,
	PRIMARY KEY (tenant_id, id)
) STRICT;
CREATE INDEX admin_changes_time ON admin_changes (tenant_id, changed_at, id);
CREATE INDEX admin_changes_object ON admin_changes (tenant_id, object, object_id, changed_at);
CREATE INDEX admin_changes_record ON admin_changes (replica, seq);
