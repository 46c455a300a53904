-- +goose Up
-- The room in which an agent made a call, by its id: who is in it reads the payload.

ALTER TABLE history_calls ADD COLUMN room_id TEXT NOT NULL DEFAULT '';
