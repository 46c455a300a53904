-- +goose Up

-- Agents that other parties reach by name, whatever their tenant.
CREATE TABLE published_agents (
    name      TEXT COLLATE "C" NOT NULL,
    tenant_id TEXT COLLATE "C" NOT NULL,
    since     BIGINT NOT NULL,
    PRIMARY KEY (name),
    FOREIGN KEY (tenant_id, name) REFERENCES agents (tenant_id, name) ON DELETE CASCADE
);

-- What other parties gave them to do.
CREATE TABLE agent_tasks (
    tenant_id  TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    agent      TEXT COLLATE "C" NOT NULL,
    owner      TEXT COLLATE "C" NOT NULL,
    context_id TEXT COLLATE "C" NOT NULL,
    state      TEXT COLLATE "C" NOT NULL,
    running    BIGINT NOT NULL,
    version    BIGINT NOT NULL,
    body       TEXT COLLATE "C" NOT NULL, -- JSON: the task as its owner sees it
    story      TEXT COLLATE "C" NOT NULL, -- JSON: what was said, as the agent knows it
    node       TEXT COLLATE "C" NOT NULL,
    stop       BIGINT NOT NULL, -- its owner wants it stopped
    begun_at   BIGINT NOT NULL,
    status_at  BIGINT NOT NULL,
    beat_at    BIGINT NOT NULL, -- when its node last said that it works on it
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, agent) REFERENCES agents (tenant_id, name) ON DELETE CASCADE
);
CREATE INDEX agent_tasks_list ON agent_tasks (tenant_id, agent, owner, status_at, id);
CREATE INDEX agent_tasks_beat ON agent_tasks (beat_at) WHERE running = 1;
CREATE INDEX agent_tasks_age ON agent_tasks (status_at);

-- Addresses that are told of their changes.
CREATE TABLE agent_task_pushes (
    tenant_id TEXT COLLATE "C" NOT NULL,
    task_id   TEXT COLLATE "C" NOT NULL,
    id        TEXT COLLATE "C" NOT NULL,
    config    TEXT COLLATE "C" NOT NULL, -- JSON: the address; what is secret lies among the secrets
    PRIMARY KEY (tenant_id, task_id, id),
    FOREIGN KEY (tenant_id, task_id) REFERENCES agent_tasks (tenant_id, id) ON DELETE CASCADE
);
