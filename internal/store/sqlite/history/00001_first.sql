-- +goose Up
-- Calls with what was said in them, redacted and cut. Times are microseconds
-- since 1970 in UTC, durations microseconds.

CREATE TABLE history_calls (
    tenant_id TEXT NOT NULL,
    id        TEXT NOT NULL,
    at        INTEGER NOT NULL,
    kind      TEXT NOT NULL,
    door      TEXT NOT NULL,
    server    TEXT NOT NULL,
    name      TEXT NOT NULL,
    version   TEXT NOT NULL,
    issuer    TEXT NOT NULL,
    subject   TEXT NOT NULL,
    status    TEXT NOT NULL,
    code      TEXT NOT NULL,
    reason    TEXT NOT NULL,
    duration  INTEGER NOT NULL,
    bytes_in  INTEGER NOT NULL,
    bytes_out INTEGER NOT NULL,
    params    TEXT NOT NULL, -- JSON, or ''
    result    TEXT NOT NULL, -- JSON, or ''
    PRIMARY KEY (tenant_id, id)
) STRICT;

CREATE INDEX history_calls_time ON history_calls (tenant_id, at, id);

-- Sums that outlive the calls. day is days since 1970 in UTC; d00 to d17 count
-- durations by the bounds 0.1 0.2 0.5 ms and so on, up to 30 s and above.
CREATE TABLE history_usage (
    tenant_id TEXT NOT NULL,
    day       INTEGER NOT NULL,
    server    TEXT NOT NULL,
    name      TEXT NOT NULL,
    issuer    TEXT NOT NULL,
    subject   TEXT NOT NULL,
    calls     INTEGER NOT NULL,
    errors    INTEGER NOT NULL, -- ran, and failed
    refused   INTEGER NOT NULL, -- never ran
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
    PRIMARY KEY (tenant_id, day, server, name, issuer, subject)
) STRICT;
