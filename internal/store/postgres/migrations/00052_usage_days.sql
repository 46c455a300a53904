-- +goose Up

-- Sums of calls per day (since 1970-01-01 UTC), by everything that usage is filtered by at
-- once. durations is an encoded sketch.
CREATE TABLE usage_days (
	tenant_id TEXT NOT NULL,
	day BIGINT NOT NULL,
	server TEXT NOT NULL,
	name TEXT NOT NULL,
	entry_point TEXT NOT NULL,
	issuer TEXT NOT NULL,
	subject TEXT NOT NULL,
	user_id TEXT NOT NULL,
	agent TEXT NOT NULL,
	calls BIGINT NOT NULL,
	errors BIGINT NOT NULL,
	timeouts BIGINT NOT NULL,
	canceled BIGINT NOT NULL,
	denied BIGINT NOT NULL,
	limited BIGINT NOT NULL,
	invalid BIGINT NOT NULL,
	duration BIGINT NOT NULL,
	bytes_in BIGINT NOT NULL,
	bytes_out BIGINT NOT NULL,
	durations TEXT NOT NULL,
	PRIMARY KEY (tenant_id, day, server, name, entry_point, issuer, subject, user_id, agent)
);
