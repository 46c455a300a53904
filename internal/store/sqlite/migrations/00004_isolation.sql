-- +goose Up

-- Why clients of a server no longer share its connections.
ALTER TABLE seen_servers ADD COLUMN isolated_why TEXT NOT NULL DEFAULT '';
