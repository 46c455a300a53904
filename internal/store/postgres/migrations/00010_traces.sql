-- +goose Up

-- How logins at servers went, step by step: the last ones. Nothing secret is in
-- them.
CREATE TABLE login_traces (
    tenant_id TEXT COLLATE "C" NOT NULL,
    id        TEXT COLLATE "C" NOT NULL, -- sorts as they were made
    server    TEXT COLLATE "C" NOT NULL,
    user_id   TEXT COLLATE "C", -- whose login it is; NULL where it is everybody's
    ok        BIGINT NOT NULL CHECK (ok IN (0, 1)),
    body      TEXT COLLATE "C" NOT NULL, -- JSON
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, server) REFERENCES servers (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
);

CREATE INDEX login_traces_server ON login_traces (tenant_id, server, id);
CREATE INDEX login_traces_user ON login_traces (tenant_id, user_id);
