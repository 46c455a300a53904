-- +goose Up

-- What models would change about tools of generated servers, until a person has
-- decided on it.
CREATE TABLE tool_suggestions (
    tenant_id TEXT NOT NULL,
    server    TEXT NOT NULL,
    tool      TEXT NOT NULL, -- the server's own name
    id        TEXT NOT NULL,
    face      TEXT NOT NULL, -- JSON
    model     TEXT NOT NULL,
    made_at   INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, server, tool),
    FOREIGN KEY (tenant_id, server) REFERENCES servers (tenant_id, id) ON DELETE CASCADE
) STRICT;

-- Why a person said no: words on the calls of one run may come one by one.
ALTER TABLE workspace_approvals ADD COLUMN reason TEXT NOT NULL DEFAULT '';
