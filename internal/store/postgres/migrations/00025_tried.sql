-- +goose Up

-- What attempts came to lies with their job, a line of JSON for each: the end of
-- an attempt is one row that is written, and not two that point at each other.
ALTER TABLE jobs ADD COLUMN tried TEXT COLLATE "C" NOT NULL DEFAULT '';

UPDATE jobs SET tried = a.lines FROM (
    SELECT job, string_agg(json_build_object('n', n, 'begun', begun_at, 'ms', ms, 'outcome', outcome, 'kind', kind, 'status', status,
        'error', error, 'answer', answer, 'note', note, 'call', call_id)::text || chr(10), '' ORDER BY n) AS lines
    FROM job_attempts GROUP BY job) a
WHERE a.job = id;

DROP TABLE job_attempts;

-- Ids sort by time, so one index finds a job and lists the newest: every index is
-- written again whenever a job is leased or ended.
DROP INDEX jobs_newest;
ALTER TABLE jobs DROP CONSTRAINT jobs_pkey, ADD PRIMARY KEY (tenant_id, id);
