-- +goose Up
-- Where the token of an agent's endpoint is read from, for one that is not sealed here.
ALTER TABLE agent_endpoints ADD COLUMN reference TEXT NOT NULL DEFAULT '';
