-- +goose Up

-- Rooms in which people and agents talk.
CREATE TABLE workspaces (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    id         TEXT NOT NULL,
    name       TEXT NOT NULL,
    config     TEXT NOT NULL, -- JSON: policy, max_rounds, approvals
    owner      TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, id)
) STRICT;

CREATE TABLE workspace_members (
    tenant_id    TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    kind         TEXT NOT NULL CHECK (kind IN ('agent', 'user')),
    member       TEXT NOT NULL,
    place        INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, workspace_id, kind, member),
    FOREIGN KEY (tenant_id, workspace_id) REFERENCES workspaces (tenant_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- What was said, with the calls that were made for it.
CREATE TABLE workspace_messages (
    tenant_id    TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    id           TEXT NOT NULL,
    seq          INTEGER NOT NULL, -- in the order of the room
    run_id       TEXT NOT NULL,
    author_kind  TEXT NOT NULL,
    author       TEXT NOT NULL,
    author_id    TEXT NOT NULL,
    body         TEXT NOT NULL, -- JSON: text, calls, outcome, thinking
    search       TEXT NOT NULL, -- what can be searched for, in lower case
    said_at      INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, workspace_id, id),
    UNIQUE (tenant_id, workspace_id, seq),
    FOREIGN KEY (tenant_id, workspace_id) REFERENCES workspaces (tenant_id, id) ON DELETE CASCADE
) STRICT;

-- What followed from messages. A room has one that runs, at most.
CREATE TABLE workspace_runs (
    tenant_id     TEXT NOT NULL,
    workspace_id  TEXT NOT NULL,
    id            TEXT NOT NULL,
    state         TEXT NOT NULL CHECK (state IN ('running', 'waiting', 'done', 'failed', 'cancelled', 'lost')),
    by_party      TEXT NOT NULL,
    node          TEXT NOT NULL,
    reason        TEXT NOT NULL,
    plan          TEXT NOT NULL, -- JSON: what is left to do when it goes on
    stop          INTEGER NOT NULL, -- somebody wants it stopped
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    begun_at      INTEGER NOT NULL,
    beat_at       INTEGER NOT NULL, -- when its node last said that it runs
    ended_at      INTEGER,
    PRIMARY KEY (tenant_id, workspace_id, id),
    FOREIGN KEY (tenant_id, workspace_id) REFERENCES workspaces (tenant_id, id) ON DELETE CASCADE
) STRICT;
CREATE UNIQUE INDEX workspace_runs_one ON workspace_runs (tenant_id, workspace_id) WHERE state = 'running';
CREATE INDEX workspace_runs_beat ON workspace_runs (beat_at) WHERE state = 'running';

-- Calls that wait, or waited, for a person's word.
CREATE TABLE workspace_approvals (
    tenant_id    TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    id           TEXT NOT NULL,
    run_id       TEXT NOT NULL,
    agent        TEXT NOT NULL,
    call         TEXT NOT NULL, -- JSON
    state        TEXT NOT NULL CHECK (state IN ('open', 'allowed', 'denied')),
    remember     INTEGER NOT NULL,
    decided_by   TEXT NOT NULL,
    asked_at     INTEGER NOT NULL,
    decided_at   INTEGER,
    PRIMARY KEY (tenant_id, workspace_id, id),
    FOREIGN KEY (tenant_id, workspace_id) REFERENCES workspaces (tenant_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX workspace_approvals_state ON workspace_approvals (tenant_id, workspace_id, state, remember);
