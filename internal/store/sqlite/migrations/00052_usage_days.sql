-- +goose Up

-- Sums of calls per day (since 1970-01-01 UTC), by everything that usage is filtered by at
-- once. durations is an encoded sketch.
CREATE TABLE usage_days (
	tenant_id TEXT NOT NULL,
	day INTEGER NOT NULL,
	server TEXT NOT NULL,
	name TEXT NOT NULL,
	entry_point TEXT NOT NULL,
	issuer TEXT NOT NULL,
	subject TEXT NOT NULL,
	user_id TEXT NOT NULL,
	agent TEXT NOT NULL,
	calls INTEGER NOT NULL,
	errors INTEGER NOT NULL,
	timeouts INTEGER NOT NULL,
	canceled INTEGER NOT NULL,
	denied INTEGER NOT NULL,
	limited INTEGER NOT NULL,
	invalid INTEGER NOT NULL,
	duration INTEGER NOT NULL,
	bytes_in INTEGER NOT NULL,
	bytes_out INTEGER NOT NULL,
	durations TEXT NOT NULL,
	PRIMARY KEY (tenant_id, day, server, name, entry_point, issuer, subject, user_id, agent)
) STRICT;
