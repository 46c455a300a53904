-- +goose Up

-- A room is called a room everywhere: tables, columns and indexes follow.
ALTER TABLE workspaces RENAME TO rooms;
ALTER TABLE workspace_members RENAME TO room_members;
ALTER TABLE workspace_messages RENAME TO room_messages;
ALTER TABLE workspace_runs RENAME TO room_runs;
ALTER TABLE workspace_approvals RENAME TO room_approvals;

ALTER TABLE room_members RENAME COLUMN workspace_id TO room_id;
ALTER TABLE room_messages RENAME COLUMN workspace_id TO room_id;
ALTER TABLE room_runs RENAME COLUMN workspace_id TO room_id;
ALTER TABLE room_approvals RENAME COLUMN workspace_id TO room_id;

DROP INDEX workspace_runs_one;
CREATE UNIQUE INDEX room_runs_one ON room_runs (tenant_id, room_id) WHERE state = 'running';
DROP INDEX workspace_runs_beat;
CREATE INDEX room_runs_beat ON room_runs (beat_at) WHERE state = 'running';
DROP INDEX workspace_approvals_state;
CREATE INDEX room_approvals_state ON room_approvals (tenant_id, room_id, state, remember);

-- A column is named after what it holds: when a message was sent, when an approval
-- was requested, the messages of a task.
ALTER TABLE room_messages RENAME COLUMN said_at TO sent_at;
ALTER TABLE room_approvals RENAME COLUMN asked_at TO requested_at;
ALTER TABLE agent_tasks RENAME COLUMN story TO messages;
