-- +goose Up
-- Who owned a server that was removed: its id is kept for them for a while.
ALTER TABLE removed_servers ADD COLUMN owner TEXT NOT NULL DEFAULT '';
