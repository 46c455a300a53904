-- +goose Up

-- Pages of the calls of one tool, server, caller, user, agent, outcome, room or App view,
-- newest first, however few they are. Values that most calls have are left out: for them
-- history_calls_time is enough.
CREATE INDEX history_calls_tool ON history_calls (tenant_id, name, at);
CREATE INDEX history_calls_server ON history_calls (tenant_id, server, at);
CREATE INDEX history_calls_caller ON history_calls (tenant_id, subject, at);
CREATE INDEX history_calls_user ON history_calls (tenant_id, user_id, at) WHERE user_id <> '';
CREATE INDEX history_calls_agent ON history_calls (tenant_id, agent, at) WHERE agent <> '';
CREATE INDEX history_calls_status ON history_calls (tenant_id, status, at) WHERE status <> 'success';
CREATE INDEX history_calls_room ON history_calls (tenant_id, room_id, at) WHERE room_id <> '';
CREATE INDEX history_calls_view ON history_calls (tenant_id, view_id, at) WHERE view_id <> '';
