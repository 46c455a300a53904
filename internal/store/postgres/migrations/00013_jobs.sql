-- +goose Up

-- Work that must be done at least once: what is due, by whom it is being done,
-- and in which order.
CREATE TABLE jobs (
    tenant_id    TEXT COLLATE "C" NOT NULL REFERENCES tenants (tenant_id),
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    queue        TEXT COLLATE "C" NOT NULL,
    lane         TEXT COLLATE "C" NOT NULL, -- what shares fate; begins with the tenant
    order_key    TEXT COLLATE "C" NOT NULL, -- '' is no order
    seq          BIGINT NOT NULL,
    blocks       BIGINT NOT NULL, -- 1 while those behind it in its line have to wait
    dedupe_key   TEXT COLLATE "C",
    event        TEXT COLLATE "C" NOT NULL,
    trigger_id   TEXT COLLATE "C" NOT NULL,
    agent        TEXT COLLATE "C" NOT NULL,
    tool         TEXT COLLATE "C" NOT NULL,
    payload      TEXT COLLATE "C" NOT NULL,
    state        TEXT COLLATE "C" NOT NULL CHECK (state IN ('waiting', 'ready', 'leased', 'held', 'done', 'dead', 'dropped')),
    held         TEXT COLLATE "C" NOT NULL, -- why
    run_at       BIGINT NOT NULL,
    lease        BIGINT NOT NULL, -- how often it was leased: the fencing token
    lease_until  BIGINT NOT NULL,
    owner        TEXT COLLATE "C" NOT NULL,
    lost         BIGINT NOT NULL, -- leases that ran out
    attempt      BIGINT NOT NULL, -- attempts that ended
    base         BIGINT NOT NULL, -- attempts before it was last replayed
    max_attempts BIGINT NOT NULL,
    skip_after   BIGINT NOT NULL,
    error        TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT NOT NULL,
    ended_at     BIGINT
);

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
    tenant_id TEXT COLLATE "C" NOT NULL REFERENCES tenants (tenant_id),
    queue     TEXT COLLATE "C" NOT NULL,
    order_key TEXT COLLATE "C" NOT NULL,
    last      BIGINT NOT NULL, -- the greatest seq
    PRIMARY KEY (tenant_id, queue, order_key)
);

-- Lanes that are not as usual.
CREATE TABLE job_lanes (
    tenant_id TEXT COLLATE "C" NOT NULL REFERENCES tenants (tenant_id),
    queue     TEXT COLLATE "C" NOT NULL,
    lane      TEXT COLLATE "C" NOT NULL,
    state     TEXT COLLATE "C" NOT NULL CHECK (state IN ('closed', 'open', 'half', 'stopped')),
    until     BIGINT NOT NULL,
    opened    BIGINT NOT NULL, -- how often in a row
    why       TEXT COLLATE "C" NOT NULL,
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (queue, lane)
);

CREATE TABLE job_attempts (
    tenant_id TEXT COLLATE "C" NOT NULL REFERENCES tenants (tenant_id),
    job       TEXT COLLATE "C" NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    n         BIGINT NOT NULL,
    begun_at  BIGINT NOT NULL,
    ms        BIGINT NOT NULL,
    outcome   TEXT COLLATE "C" NOT NULL,
    kind      TEXT COLLATE "C" NOT NULL,
    status    BIGINT NOT NULL,
    error     TEXT COLLATE "C" NOT NULL,
    answer    TEXT COLLATE "C" NOT NULL,
    note      TEXT COLLATE "C" NOT NULL,
    call_id   TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (job, n)
);

-- Agents' own MCP endpoints; what is secret about them is sealed elsewhere.
CREATE TABLE agent_endpoints (
    tenant_id  TEXT COLLATE "C" NOT NULL REFERENCES tenants (tenant_id),
    agent      TEXT COLLATE "C" NOT NULL,
    origin     TEXT COLLATE "C" NOT NULL,
    url        TEXT COLLATE "C" NOT NULL,
    transport  TEXT COLLATE "C" NOT NULL,
    header     TEXT COLLATE "C" NOT NULL,
    signed     BIGINT NOT NULL,
    trusted    BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, agent, origin)
);
