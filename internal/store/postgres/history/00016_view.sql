-- +goose Up
-- The View that made a call, by its id.

ALTER TABLE history_calls ADD COLUMN view_id TEXT COLLATE "C" NOT NULL DEFAULT '';
