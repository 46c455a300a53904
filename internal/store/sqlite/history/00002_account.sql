-- +goose Up
-- Calls and sums by the person and the agent, and sums by the door. Of former
-- calls, what issuer and subject say of it is known.

ALTER TABLE history_calls ADD COLUMN user_id TEXT NOT NULL DEFAULT '';
ALTER TABLE history_calls ADD COLUMN agent TEXT NOT NULL DEFAULT '';
UPDATE history_calls SET user_id = subject WHERE issuer = 'user';
UPDATE history_calls SET agent = subject WHERE issuer = 'agent';

-- SQLite cannot change a primary key. The columns are in the order that they have
-- on PostgreSQL, so that a backup of either is the same.
CREATE TABLE history_usage_next (
    tenant_id TEXT NOT NULL,
    day       INTEGER NOT NULL,
    server    TEXT NOT NULL,
    name      TEXT NOT NULL,
    issuer    TEXT NOT NULL,
    subject   TEXT NOT NULL,
    calls     INTEGER NOT NULL,
    errors    INTEGER NOT NULL,
    refused   INTEGER NOT NULL,
    duration  INTEGER NOT NULL,
    bytes_in  INTEGER NOT NULL,
    bytes_out INTEGER NOT NULL,
    d00       INTEGER NOT NULL,
    d01       INTEGER NOT NULL,
    d02       INTEGER NOT NULL,
    d03       INTEGER NOT NULL,
    d04       INTEGER NOT NULL,
    d05       INTEGER NOT NULL,
    d06       INTEGER NOT NULL,
    d07       INTEGER NOT NULL,
    d08       INTEGER NOT NULL,
    d09       INTEGER NOT NULL,
    d10       INTEGER NOT NULL,
    d11       INTEGER NOT NULL,
    d12       INTEGER NOT NULL,
    d13       INTEGER NOT NULL,
    d14       INTEGER NOT NULL,
    d15       INTEGER NOT NULL,
    d16       INTEGER NOT NULL,
    d17       INTEGER NOT NULL,
    door      TEXT NOT NULL,
    user_id   TEXT NOT NULL,
    agent     TEXT NOT NULL,
    PRIMARY KEY (tenant_id, day, server, name, door, issuer, subject, user_id, agent)
) STRICT;

INSERT INTO history_usage_next SELECT
    tenant_id, day, server, name, issuer, subject,
    calls, errors, refused, duration, bytes_in, bytes_out,
    d00, d01, d02, d03, d04, d05, d06, d07, d08, d09, d10, d11, d12, d13, d14, d15, d16, d17,
    '', CASE issuer WHEN 'user' THEN subject ELSE '' END, CASE issuer WHEN 'agent' THEN subject ELSE '' END
FROM history_usage;
DROP TABLE history_usage;
ALTER TABLE history_usage_next RENAME TO history_usage;
