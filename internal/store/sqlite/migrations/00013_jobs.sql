-- +goose Up

-- Work that must be done at least once: what is due, by whom it is being done,
-- and in which order.
CREATE TABLE jobs (
    tenant_id    TEXT NOT NULL REFERENCES tenants (tenant_id),
    id           TEXT NOT NULL PRIMARY KEY,
    queue        TEXT NOT NULL,
    lane         TEXT NOT NULL, -- what shares fate; begins with the tenant
    order_key    TEXT NOT NULL, -- '' is no order
    seq          INTEGER NOT NULL,
    blocks       INTEGER NOT NULL, -- 1 while those behind it in its line have to wait
    dedupe_key   TEXT,
    event        TEXT NOT NULL,
    trigger_id   TEXT NOT NULL,
    agent        TEXT NOT NULL,
    tool         TEXT NOT NULL,
    payload      TEXT NOT NULL,
    state        TEXT NOT NULL CHECK (state IN ('waiting', 'ready', 'leased', 'held', 'done', 'dead', 'dropped')),
    held         TEXT NOT NULL, -- why
    run_at       INTEGER NOT NULL,
    lease        INTEGER NOT NULL, -- how often it was leased: the fencing token
    lease_until  INTEGER NOT NULL,
    owner        TEXT NOT NULL,
    lost         INTEGER NOT NULL, -- leases that ran out
    attempt      INTEGER NOT NULL, -- attempts that ended
    base         INTEGER NOT NULL, -- attempts before it was last replayed
    max_attempts INTEGER NOT NULL,
    skip_after   INTEGER NOT NULL,
    error        TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    ended_at     INTEGER
) STRICT;

CREATE INDEX jobs_ready ON jobs (queue, lane, run_at, seq) WHERE state = 'ready';
CREATE INDEX jobs_leased ON jobs (queue, lease_until) WHERE state = 'leased';
CREATE INDEX jobs_line ON jobs (tenant_id, queue, order_key, seq) WHERE blocks = 1;
CREATE UNIQUE INDEX jobs_one_moves ON jobs (tenant_id, queue, order_key) WHERE blocks = 1 AND state <> 'waiting';
CREATE UNIQUE INDEX jobs_dedupe ON jobs (tenant_id, queue, dedupe_key) WHERE dedupe_key IS NOT NULL;
CREATE INDEX jobs_newest ON jobs (tenant_id, queue, created_at, id);
CREATE INDEX jobs_stuck ON jobs (queue, state) WHERE state IN ('held', 'dead');
CREATE INDEX jobs_ended ON jobs (queue, ended_at) WHERE ended_at IS NOT NULL;

-- One row for each order key: whoever adds to a line, or moves it on, holds it.
CREATE TABLE job_lines (
    tenant_id TEXT NOT NULL REFERENCES tenants (tenant_id),
    queue     TEXT NOT NULL,
    order_key TEXT NOT NULL,
    last      INTEGER NOT NULL, -- the greatest seq
    PRIMARY KEY (tenant_id, queue, order_key)
) STRICT, WITHOUT ROWID;

-- Lanes that are not as usual.
CREATE TABLE job_lanes (
    tenant_id TEXT NOT NULL REFERENCES tenants (tenant_id),
    queue     TEXT NOT NULL,
    lane      TEXT NOT NULL,
    state     TEXT NOT NULL CHECK (state IN ('closed', 'open', 'half', 'stopped')),
    until     INTEGER NOT NULL,
    opened    INTEGER NOT NULL, -- how often in a row
    why       TEXT NOT NULL,
    changed_at INTEGER NOT NULL,
    PRIMARY KEY (queue, lane)
) STRICT, WITHOUT ROWID;

CREATE TABLE job_attempts (
    tenant_id TEXT NOT NULL REFERENCES tenants (tenant_id),
    job       TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    n         INTEGER NOT NULL,
    begun_at  INTEGER NOT NULL,
    ms        INTEGER NOT NULL,
    outcome   TEXT NOT NULL,
    kind      TEXT NOT NULL,
    status    INTEGER NOT NULL,
    error     TEXT NOT NULL,
    answer    TEXT NOT NULL,
    note      TEXT NOT NULL,
    call_id   TEXT NOT NULL,
    PRIMARY KEY (job, n)
) STRICT, WITHOUT ROWID;

-- Agents' own MCP endpoints; what is secret about them is sealed elsewhere.
CREATE TABLE agent_endpoints (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    agent      TEXT NOT NULL,
    origin     TEXT NOT NULL,
    url        TEXT NOT NULL,
    transport  TEXT NOT NULL,
    header     TEXT NOT NULL,
    signed     INTEGER NOT NULL,
    trusted    INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, agent, origin)
) STRICT;
