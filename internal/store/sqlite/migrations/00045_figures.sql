-- +goose Up
-- How many jobs did not end, by lane, and how many are held or dead: counted in an
-- index alone. SQLite reads the row for a column that it computes, so that these
-- name the columns that it is computed of.
CREATE INDEX jobs_open ON jobs (queue, lane, ended_at) WHERE ended_at IS NULL;
DROP INDEX jobs_stuck;
CREATE INDEX jobs_stuck ON jobs (queue, state, lane) WHERE state IN ('held', 'dead');
