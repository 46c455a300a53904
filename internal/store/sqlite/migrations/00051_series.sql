-- +goose Up

-- Sums of calls over time. A row is a series of a tenant in one period: a minute, an hour or
-- a day (step, in seconds) that begins at a Unix time. durations is an encoded sketch.
CREATE TABLE series (
	tenant_id TEXT NOT NULL,
	step INTEGER NOT NULL,
	begins INTEGER NOT NULL,
	dimension TEXT NOT NULL,
	first_key TEXT NOT NULL,
	second_key TEXT NOT NULL,
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
	PRIMARY KEY (tenant_id, step, dimension, begins, first_key, second_key)
) STRICT;
CREATE INDEX series_begins ON series (step, begins);

-- How far the journal of each replica is in the sums.
CREATE TABLE series_positions (
	replica TEXT PRIMARY KEY,
	seq INTEGER NOT NULL,
	tenant_id TEXT NOT NULL DEFAULT '' CHECK (tenant_id = '') -- a replica serves all tenants
) STRICT;
