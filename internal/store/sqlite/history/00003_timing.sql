-- +goose Up
-- Where the time of a call went: microseconds since its start, and the attempts
-- that failed before the last, as JSON.

ALTER TABLE history_calls ADD COLUMN admitted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE history_calls ADD COLUMN connected INTEGER NOT NULL DEFAULT 0;
ALTER TABLE history_calls ADD COLUMN answered INTEGER NOT NULL DEFAULT 0;
ALTER TABLE history_calls ADD COLUMN attempts TEXT NOT NULL DEFAULT '';
