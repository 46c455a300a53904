-- +goose Up

-- Agents that other parties reach by name, whatever their tenant.
CREATE TABLE published_agents (
    name      TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    since     INTEGER NOT NULL,
    PRIMARY KEY (name),
    FOREIGN KEY (tenant_id, name) REFERENCES agents (tenant_id, name) ON DELETE CASCADE
) STRICT;

-- What other parties gave them to do.
CREATE TABLE agent_tasks (
    tenant_id  TEXT NOT NULL,
    id         TEXT NOT NULL,
    agent      TEXT NOT NULL,
    owner      TEXT NOT NULL,
    context_id TEXT NOT NULL,
    state      TEXT NOT NULL,
    running    INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    body       TEXT NOT NULL, -- JSON: the task as its owner sees it
    story      TEXT NOT NULL, -- JSON: what was said, as the agent knows it
    node       TEXT NOT NULL,
    stop       INTEGER NOT NULL, -- its owner wants it stopped
    begun_at   INTEGER NOT NULL,
    status_at  INTEGER NOT NULL,
    beat_at    INTEGER NOT NULL, -- when its node last said that it works on it
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, agent) REFERENCES agents (tenant_id, name) ON DELETE CASCADE
) STRICT;
CREATE INDEX agent_tasks_list ON agent_tasks (tenant_id, agent, owner, status_at, id);
CREATE INDEX agent_tasks_beat ON agent_tasks (beat_at) WHERE running = 1;
CREATE INDEX agent_tasks_age ON agent_tasks (status_at);

-- Addresses that are told of their changes.
CREATE TABLE agent_task_pushes (
    tenant_id TEXT NOT NULL,
    task_id   TEXT NOT NULL,
    id        TEXT NOT NULL,
    config    TEXT NOT NULL, -- JSON: the address; what is secret lies among the secrets
    PRIMARY KEY (tenant_id, task_id, id),
    FOREIGN KEY (tenant_id, task_id) REFERENCES agent_tasks (tenant_id, id) ON DELETE CASCADE
) STRICT;
