-- +goose Up

-- Rooms in which people and agents talk.
CREATE TABLE workspaces (
    tenant_id  TEXT COLLATE "C" NOT NULL REFERENCES tenants (tenant_id),
    id         TEXT COLLATE "C" NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    config     TEXT COLLATE "C" NOT NULL, -- JSON: policy, max_rounds, approvals
    owner      TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id)
);

CREATE TABLE workspace_members (
    tenant_id    TEXT COLLATE "C" NOT NULL,
    workspace_id TEXT COLLATE "C" NOT NULL,
    kind         TEXT COLLATE "C" NOT NULL CHECK (kind IN ('agent', 'user')),
    member       TEXT COLLATE "C" NOT NULL,
    place        BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, workspace_id, kind, member),
    FOREIGN KEY (tenant_id, workspace_id) REFERENCES workspaces (tenant_id, id) ON DELETE CASCADE
);

-- What was said, with the calls that were made for it.
CREATE TABLE workspace_messages (
    tenant_id    TEXT COLLATE "C" NOT NULL,
    workspace_id TEXT COLLATE "C" NOT NULL,
    id           TEXT COLLATE "C" NOT NULL,
    seq          BIGINT NOT NULL, -- in the order of the room
    run_id       TEXT COLLATE "C" NOT NULL,
    author_kind  TEXT COLLATE "C" NOT NULL,
    author       TEXT COLLATE "C" NOT NULL,
    author_id    TEXT COLLATE "C" NOT NULL,
    body         TEXT COLLATE "C" NOT NULL, -- JSON: text, calls, outcome, thinking
    search       TEXT COLLATE "C" NOT NULL, -- what can be searched for, in lower case
    said_at      BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, workspace_id, id),
    UNIQUE (tenant_id, workspace_id, seq),
    FOREIGN KEY (tenant_id, workspace_id) REFERENCES workspaces (tenant_id, id) ON DELETE CASCADE
);

-- What followed from messages. A room has one that runs, at most.
CREATE TABLE workspace_runs (
    tenant_id     TEXT COLLATE "C" NOT NULL,
    workspace_id  TEXT COLLATE "C" NOT NULL,
    id            TEXT COLLATE "C" NOT NULL,
    state         TEXT COLLATE "C" NOT NULL CHECK (state IN ('running', 'waiting', 'done', 'failed', 'cancelled', 'lost')),
    by_party      TEXT COLLATE "C" NOT NULL,
    node          TEXT COLLATE "C" NOT NULL,
    reason        TEXT COLLATE "C" NOT NULL,
    plan          TEXT COLLATE "C" NOT NULL, -- JSON: what is left to do when it goes on
    stop          BIGINT NOT NULL, -- somebody wants it stopped
    input_tokens  BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    begun_at      BIGINT NOT NULL,
    beat_at       BIGINT NOT NULL, -- when its node last said that it runs
    ended_at      BIGINT,
    PRIMARY KEY (tenant_id, workspace_id, id),
    FOREIGN KEY (tenant_id, workspace_id) REFERENCES workspaces (tenant_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX workspace_runs_one ON workspace_runs (tenant_id, workspace_id) WHERE state = 'running';
CREATE INDEX workspace_runs_beat ON workspace_runs (beat_at) WHERE state = 'running';

-- Calls that wait, or waited, for a person's word.
CREATE TABLE workspace_approvals (
    tenant_id    TEXT COLLATE "C" NOT NULL,
    workspace_id TEXT COLLATE "C" NOT NULL,
    id           TEXT COLLATE "C" NOT NULL,
    run_id       TEXT COLLATE "C" NOT NULL,
    agent        TEXT COLLATE "C" NOT NULL,
    call         TEXT COLLATE "C" NOT NULL, -- JSON
    state        TEXT COLLATE "C" NOT NULL CHECK (state IN ('open', 'allowed', 'denied')),
    remember     BIGINT NOT NULL,
    decided_by   TEXT COLLATE "C" NOT NULL,
    asked_at     BIGINT NOT NULL,
    decided_at   BIGINT,
    PRIMARY KEY (tenant_id, workspace_id, id),
    FOREIGN KEY (tenant_id, workspace_id) REFERENCES workspaces (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX workspace_approvals_state ON workspace_approvals (tenant_id, workspace_id, state, remember);
