-- +goose Up
-- Calls with what was said in them, redacted and cut. Times are microseconds
-- since 1970 in UTC, durations microseconds.

CREATE TABLE history_calls (
    tenant_id TEXT COLLATE "C" NOT NULL,
    id        TEXT COLLATE "C" NOT NULL,
    at        BIGINT NOT NULL,
    kind      TEXT COLLATE "C" NOT NULL,
    door      TEXT COLLATE "C" NOT NULL,
    server    TEXT COLLATE "C" NOT NULL,
    name      TEXT COLLATE "C" NOT NULL,
    version   TEXT COLLATE "C" NOT NULL,
    issuer    TEXT COLLATE "C" NOT NULL,
    subject   TEXT COLLATE "C" NOT NULL,
    status    TEXT COLLATE "C" NOT NULL,
    code      TEXT COLLATE "C" NOT NULL,
    reason    TEXT COLLATE "C" NOT NULL,
    duration  BIGINT NOT NULL,
    bytes_in  BIGINT NOT NULL,
    bytes_out BIGINT NOT NULL,
    params    TEXT COLLATE "C" NOT NULL, -- JSON, or ''
    result    TEXT COLLATE "C" NOT NULL, -- JSON, or ''
    PRIMARY KEY (tenant_id, id)
);

CREATE INDEX history_calls_time ON history_calls (tenant_id, at, id);

-- Sums that outlive the calls. day is days since 1970 in UTC; d00 to d17 count
-- durations by the bounds 0.1 0.2 0.5 ms and so on, up to 30 s and above.
CREATE TABLE history_usage (
    tenant_id TEXT COLLATE "C" NOT NULL,
    day       BIGINT NOT NULL,
    server    TEXT COLLATE "C" NOT NULL,
    name      TEXT COLLATE "C" NOT NULL,
    issuer    TEXT COLLATE "C" NOT NULL,
    subject   TEXT COLLATE "C" NOT NULL,
    calls     BIGINT NOT NULL,
    errors    BIGINT NOT NULL, -- ran, and failed
    refused   BIGINT NOT NULL, -- never ran
    duration  BIGINT NOT NULL,
    bytes_in  BIGINT NOT NULL,
    bytes_out BIGINT NOT NULL,
    d00       BIGINT NOT NULL,
    d01       BIGINT NOT NULL,
    d02       BIGINT NOT NULL,
    d03       BIGINT NOT NULL,
    d04       BIGINT NOT NULL,
    d05       BIGINT NOT NULL,
    d06       BIGINT NOT NULL,
    d07       BIGINT NOT NULL,
    d08       BIGINT NOT NULL,
    d09       BIGINT NOT NULL,
    d10       BIGINT NOT NULL,
    d11       BIGINT NOT NULL,
    d12       BIGINT NOT NULL,
    d13       BIGINT NOT NULL,
    d14       BIGINT NOT NULL,
    d15       BIGINT NOT NULL,
    d16       BIGINT NOT NULL,
    d17       BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, day, server, name, issuer, subject)
);
