-- +goose Up

-- What models would change about tools of generated servers, until a person has
-- decided on it.
CREATE TABLE tool_suggestions (
    tenant_id TEXT COLLATE "C" NOT NULL,
    server    TEXT COLLATE "C" NOT NULL,
    tool      TEXT COLLATE "C" NOT NULL, -- the server's own name
    id        TEXT COLLATE "C" NOT NULL,
    face      TEXT COLLATE "C" NOT NULL, -- JSON
    model     TEXT COLLATE "C" NOT NULL,
    made_at   BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, server, tool),
    FOREIGN KEY (tenant_id, server) REFERENCES servers (tenant_id, id) ON DELETE CASCADE
);

-- Why a person said no: words on the calls of one run may come one by one.
ALTER TABLE workspace_approvals ADD COLUMN reason TEXT COLLATE "C" NOT NULL DEFAULT '';
