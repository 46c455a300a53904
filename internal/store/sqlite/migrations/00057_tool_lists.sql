-- +goose Up

-- Lists of tools that were served, and the estimated tokens of the definitions in them.
ALTER TABLE series ADD COLUMN tool_lists INTEGER NOT NULL DEFAULT 0;
ALTER TABLE series ADD COLUMN definition_tokens INTEGER NOT NULL DEFAULT 0;
