-- +goose Up

-- A process of an instance is called a replica everywhere: tables and columns follow.
-- Signed heads and announcements keep their text, which is read in both formats.
ALTER TABLE nodes RENAME TO replicas;
ALTER INDEX nodes_pkey RENAME TO replicas_pkey;
ALTER TABLE audit_pages RENAME COLUMN node TO replica;
ALTER TABLE audit_heads RENAME COLUMN node TO replica;
ALTER TABLE leases RENAME COLUMN node TO replica;
ALTER TABLE homes RENAME COLUMN node TO replica;
ALTER TABLE agent_tasks RENAME COLUMN node TO replica;
ALTER TABLE room_runs RENAME COLUMN node TO replica;

-- A discovered server names its agent as discovered, not found.
UPDATE servers SET config = ((config::jsonb - 'found') || jsonb_build_object('discovered', config::jsonb -> 'found'))::text
WHERE mode = 'discovered' AND config LIKE '%"found":%';
