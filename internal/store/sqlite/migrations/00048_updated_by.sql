-- +goose Up
-- Who changed a row last, for those whose change came too late.
ALTER TABLE agents ADD COLUMN updated_by TEXT NOT NULL DEFAULT '';
ALTER TABLE servers ADD COLUMN updated_by TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN updated_by TEXT NOT NULL DEFAULT '';
ALTER TABLE workspaces ADD COLUMN updated_by TEXT NOT NULL DEFAULT '';
ALTER TABLE triggers ADD COLUMN updated_by TEXT NOT NULL DEFAULT '';
ALTER TABLE sources ADD COLUMN updated_by TEXT NOT NULL DEFAULT '';
ALTER TABLE schedules ADD COLUMN updated_by TEXT NOT NULL DEFAULT '';
ALTER TABLE models ADD COLUMN updated_by TEXT NOT NULL DEFAULT '';
ALTER TABLE settings ADD COLUMN updated_by TEXT NOT NULL DEFAULT '';
ALTER TABLE component_catalogs ADD COLUMN updated_by TEXT NOT NULL DEFAULT '';
ALTER TABLE agent_endpoints ADD COLUMN updated_by TEXT NOT NULL DEFAULT '';
