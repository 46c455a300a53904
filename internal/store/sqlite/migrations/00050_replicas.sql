-- +goose Up

-- A process of an instance is called a replica everywhere: tables and columns follow.
-- Signed heads and announcements keep their text, which is read in both formats.
ALTER TABLE nodes RENAME TO replicas;
ALTER TABLE audit_pages RENAME COLUMN node TO replica;
ALTER TABLE audit_heads RENAME COLUMN node TO replica;
ALTER TABLE leases RENAME COLUMN node TO replica;
ALTER TABLE homes RENAME COLUMN node TO replica;
ALTER TABLE agent_tasks RENAME COLUMN node TO replica;
ALTER TABLE room_runs RENAME COLUMN node TO replica;

-- A discovered server names its agent as discovered, not found.
UPDATE servers SET config = json_set(json_remove(config, '$.found'), '$.discovered', json_extract(config, '$.found'))
WHERE mode = 'discovered' AND json_extract(config, '$.found') IS NOT NULL;
