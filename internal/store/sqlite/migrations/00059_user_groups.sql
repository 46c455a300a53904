-- +goose Up

-- The groups of a user, as an identity provider stated them last: a JSON list; empty if it
-- stated none.
ALTER TABLE users ADD COLUMN group_names TEXT NOT NULL DEFAULT '';
