-- +goose Up

-- The durations of the calls of a row as a sketch (package sketch), in base64. The
-- columns d00 to d17 keep the calls that versions without sketches count there.
ALTER TABLE history_usage ADD COLUMN durations TEXT NOT NULL DEFAULT '';
