-- +goose Up

-- What was leased together, written down once: leases that run out are looked up
-- here, and not in an index that every lease would be written into.
CREATE TABLE job_claims (
    tenant_id TEXT NOT NULL REFERENCES tenants (tenant_id),
    id        TEXT NOT NULL,
    queue     TEXT NOT NULL,
    owner     TEXT NOT NULL,
    until     INTEGER NOT NULL, -- no lease of it runs out before
    jobs      TEXT NOT NULL, -- JSON: the jobs' ids, and the token of each
    PRIMARY KEY (tenant_id, id)
) STRICT;

CREATE INDEX job_claims_until ON job_claims (queue, until);

INSERT INTO job_claims (tenant_id, id, queue, owner, until, jobs)
    SELECT tenant_id, queue || ' ' || owner, queue, owner, MIN(lease_until), json_group_object(id, lease)
    FROM jobs WHERE state = 'leased' GROUP BY tenant_id, queue, owner;

-- Indexes hold how far a job is, and not whether it is leased: leasing one then
-- writes no index.
ALTER TABLE jobs ADD COLUMN phase INTEGER GENERATED ALWAYS AS
    (CASE state WHEN 'waiting' THEN 0 WHEN 'ready' THEN 1 WHEN 'leased' THEN 1 WHEN 'held' THEN 2 WHEN 'dead' THEN 3 ELSE 4 END) VIRTUAL;

DROP INDEX jobs_leased;
DROP INDEX jobs_ready;
CREATE INDEX jobs_ready ON jobs (queue, lane, run_at, seq) WHERE phase = 1;
DROP INDEX jobs_one_moves;
CREATE UNIQUE INDEX jobs_one_moves ON jobs (tenant_id, queue, order_key) WHERE blocks = 1 AND phase <> 0;
DROP INDEX jobs_stuck;
CREATE INDEX jobs_stuck ON jobs (queue, phase) WHERE phase IN (2, 3);
