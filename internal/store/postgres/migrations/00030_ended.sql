-- +goose Up

-- When jobs ended is asked once in a while, of all that ended long ago: ranges of
-- pages are enough to find them, and cost next to nothing when one ends.
DROP INDEX jobs_ended;
CREATE INDEX jobs_ended ON jobs USING brin (ended_at) WHERE ended_at IS NOT NULL;
