-- +goose Up

-- How a call came in is called its entry point. The key of the sums follows by itself.
ALTER TABLE history_calls RENAME COLUMN door TO entry_point;
ALTER TABLE history_usage RENAME COLUMN door TO entry_point;
