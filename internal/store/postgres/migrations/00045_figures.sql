-- +goose Up
-- How many jobs did not end, by lane, and how many are held or dead: counted in an
-- index alone. Leasing a job still writes none of them.
CREATE INDEX jobs_open ON jobs (queue, lane) WHERE ended_at IS NULL;
DROP INDEX jobs_stuck;
CREATE INDEX jobs_stuck ON jobs (queue, phase, lane) WHERE phase IN (2, 3);
