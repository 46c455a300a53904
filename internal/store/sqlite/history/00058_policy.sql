-- +goose Up
-- What rules can read of a call besides its tool, arguments and result, and what they did
-- with it; both as JSON. Without facts, a call was recorded before there were rules.

ALTER TABLE history_calls ADD COLUMN facts TEXT NOT NULL DEFAULT '';
ALTER TABLE history_calls ADD COLUMN policy TEXT NOT NULL DEFAULT '';
