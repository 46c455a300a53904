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

ALTER INDEX workspace_runs_one RENAME TO room_runs_one;
ALTER INDEX workspace_runs_beat RENAME TO room_runs_beat;
ALTER INDEX workspace_approvals_state RENAME TO room_approvals_state;

-- PostgreSQL named the constraints after the tables and columns.
-- +goose StatementBegin
DO $$
DECLARE
    c record;
BEGIN
    FOR c IN SELECT conrelid::regclass AS tab, conname, replace(conname, 'workspace', 'room') AS name
        FROM pg_constraint WHERE connamespace = current_schema()::regnamespace AND conname LIKE '%workspace%'
    LOOP
        EXECUTE format('ALTER TABLE %s RENAME CONSTRAINT %I TO %I', c.tab, c.conname, c.name);
    END LOOP;
END $$;
-- +goose StatementEnd

-- A column is named after what it holds: when a message was sent, when an approval
-- was requested, the messages of a task.
ALTER TABLE room_messages RENAME COLUMN said_at TO sent_at;
ALTER TABLE room_approvals RENAME COLUMN asked_at TO requested_at;
ALTER TABLE agent_tasks RENAME COLUMN story TO messages;
