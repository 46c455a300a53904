-- +goose Up

-- Sums of calls over time. A row is a series of a tenant in one period: a minute, an hour or
-- a day (step, in seconds) that begins at a Unix time. durations is an encoded sketch.
CREATE TABLE series (
	tenant_id TEXT NOT NULL,
	step BIGINT NOT NULL,
	begins BIGINT NOT NULL,
	dimension TEXT NOT NULL,
	first_key TEXT NOT NULL,
	second_key TEXT NOT NULL,
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
	PRIMARY KEY (tenant_id, step, dimension, begins, first_key, second_key)
);
CREATE INDEX series_begins ON series (step, begins);

-- How far the journal of each replica is in the sums.
CREATE TABLE series_positions (
	replica TEXT PRIMARY KEY,
	seq BIGINT NOT NULL,
	tenant_id TEXT NOT NULL DEFAULT '' CHECK (tenant_id = '') -- a replica serves all tenants
);
