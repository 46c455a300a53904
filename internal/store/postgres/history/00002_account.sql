-- +goose Up
-- Calls and sums by the person and the agent, and sums by the door. Of former
-- calls, what issuer and subject say of it is known.

ALTER TABLE history_calls ADD COLUMN user_id TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE history_calls ADD COLUMN agent TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE history_calls SET user_id = subject WHERE issuer = 'user';
UPDATE history_calls SET agent = subject WHERE issuer = 'agent';

ALTER TABLE history_usage ADD COLUMN door TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE history_usage ADD COLUMN user_id TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE history_usage ADD COLUMN agent TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE history_usage SET user_id = subject WHERE issuer = 'user';
UPDATE history_usage SET agent = subject WHERE issuer = 'agent';
ALTER TABLE history_usage DROP CONSTRAINT history_usage_pkey;
ALTER TABLE history_usage ADD PRIMARY KEY (tenant_id, day, server, name, door, issuer, subject, user_id, agent);
