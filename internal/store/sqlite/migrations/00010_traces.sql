-- +goose Up

-- How logins at servers went, step by step: the last ones. Nothing secret is in
-- them.
CREATE TABLE login_traces (
    tenant_id TEXT NOT NULL,
    id        TEXT NOT NULL, -- sorts as they were made
    server    TEXT NOT NULL,
    user_id   TEXT, -- whose login it is; NULL where it is everybody's
    ok        INTEGER NOT NULL CHECK (ok IN (0, 1)),
    body      TEXT NOT NULL, -- JSON
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, server) REFERENCES servers (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
) STRICT;

CREATE INDEX login_traces_server ON login_traces (tenant_id, server, id);
CREATE INDEX login_traces_user ON login_traces (tenant_id, user_id);
