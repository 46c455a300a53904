-- +goose Up

-- What attempts came to lies with their job, a line of JSON for each: the end of
-- an attempt is one row that is written, and not two that point at each other.
ALTER TABLE jobs ADD COLUMN tried TEXT NOT NULL DEFAULT '';

UPDATE jobs SET tried = (
    SELECT group_concat(json_object('n', n, 'begun', begun_at, 'ms', ms, 'outcome', outcome, 'kind', kind, 'status', status,
        'error', error, 'answer', answer, 'note', note, 'call', call_id) || char(10), '')
    FROM (SELECT * FROM job_attempts WHERE job = jobs.id ORDER BY n))
WHERE id IN (SELECT job FROM job_attempts);

DROP TABLE job_attempts;

-- Ids sort by time, and lists are in their order.
DROP INDEX jobs_newest;
CREATE INDEX jobs_newest ON jobs (tenant_id, queue, id);
