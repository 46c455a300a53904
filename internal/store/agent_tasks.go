package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// agentTaskColumns are the columns that scanAgentTask reads. The columns stop and beat_at
// are for BeatAgentTasks and StopAgentTask only.
const agentTaskColumns = `tenant_id, id, agent, owner, context_id, state, running, version, body, messages, replica, begun_at, status_at`

// AgentTaskLife is the time for which a finished task is kept after its last change.
const AgentTaskLife = 30 * 24 * time.Hour

// AgentTaskFilter selects tasks. Agent and Owner are required; other zero members do not
// filter.
type AgentTaskFilter struct {
	Agent, Owner   string
	Context, State string
	Since          time.Time // of its last change, or later
	Before         time.Time // those behind this one, with BeforeID
	BeforeID       string
	Limit          int
}

// AgentTask returns a task to its owner; not_found to everybody else.
func (t *Tenant) AgentTask(ctx context.Context, agent, owner, id string) (junctor.AgentTask, error) {
	task, err := readOne(ctx, t.s, scanAgentTask, `SELECT `+agentTaskColumns+` FROM agent_tasks WHERE tenant_id = ? AND id = ? AND agent = ? AND owner = ?`,
		string(t.id), id, agent, owner)
	if errors.Is(err, sql.ErrNoRows) {
		return task, agentTaskNotFound(id)
	}
	if err != nil {
		return task, t.s.wrapError(ctx, err, "read the task %q", id)
	}
	return task, nil
}

// AddAgentTask stores a new task with the version 1, and sets its tenant and version. It
// is a conflict if the id is taken, and not_found if there is no such agent.
func (t *Tenant) AddAgentTask(ctx context.Context, task *junctor.AgentTask) error {
	_, err := t.s.execWrite(ctx, `INSERT INTO agent_tasks (`+agentTaskColumns+`, stop, beat_at) VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, 0, ?)`,
		string(t.id), task.ID, task.Agent, task.Owner, task.Context, task.State, boolToInt(task.Running), string(task.Body), string(task.Messages), task.Replica,
		toMicros(task.BegunAt), toMicros(task.At), toMicros(task.At))
	if err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound {
		return agentNotFound(task.Agent)
	}
	if err != nil {
		return t.s.wrapError(ctx, err, "store the task %q", task.ID)
	}
	task.Tenant, task.Version = t.id, 1
	return nil
}

// UpdateAgentTask stores the new state of a task and increments its version. If the stored
// version is not task.Version, somebody else was faster: the error is conflict and nothing
// is stored. It clears a request to stop.
func (t *Tenant) UpdateAgentTask(ctx context.Context, task *junctor.AgentTask) error {
	n, err := t.s.execWrite(ctx, `UPDATE agent_tasks SET state = ?, running = ?, version = version + 1, body = ?, messages = ?, replica = ?, status_at = ?, beat_at = ?, stop = 0
		WHERE tenant_id = ? AND id = ? AND agent = ? AND owner = ? AND version = ?`,
		task.State, boolToInt(task.Running), string(task.Body), string(task.Messages), task.Replica, toMicros(task.At), toMicros(task.At),
		string(t.id), task.ID, task.Agent, task.Owner, task.Version)
	if err == nil && n == 0 {
		err = junctor.Errorf(junctor.CodeConflict, "the task %q was changed or deleted meanwhile; read it again", task.ID)
	}
	if err != nil {
		return t.s.wrapError(ctx, err, "change the task %q", task.ID)
	}
	task.Version++
	return nil
}

// AgentTasks lists the tasks that match, the one that changed last first, and returns the
// total number without the page.
func (t *Tenant) AgentTasks(ctx context.Context, f AgentTaskFilter) (list []junctor.AgentTask, total int64, err error) {
	where, args := []string{`tenant_id = ?`, `agent = ?`, `owner = ?`}, []any{string(t.id), f.Agent, f.Owner}
	also := func(part string, arg ...any) { where, args = append(where, part), append(args, arg...) }
	if f.Context != "" {
		also(`context_id = ?`, f.Context)
	}
	if f.State != "" {
		also(`state = ?`, f.State)
	}
	if !f.Since.IsZero() {
		also(`status_at >= ?`, toMicros(f.Since))
	}
	total, err = readOne(ctx, t.s, scanCount, `SELECT COUNT(*) FROM agent_tasks WHERE `+strings.Join(where, ` AND `), args...)
	if err != nil {
		return nil, 0, t.s.wrapError(ctx, err, "count the tasks")
	}
	if !f.Before.IsZero() {
		also(`(status_at, id) < (?, ?)`, toMicros(f.Before), f.BeforeID)
	}
	list, err = readAll(ctx, t.s, scanAgentTask, `SELECT `+agentTaskColumns+` FROM agent_tasks WHERE `+strings.Join(where, ` AND `)+` ORDER BY status_at DESC, id DESC LIMIT ?`, append(args, f.Limit)...)
	if err != nil {
		return nil, 0, t.s.wrapError(ctx, err, "list the tasks")
	}
	return list, total, nil
}

// AgentContext returns the newest tasks of a conversation, in the order in which they
// began.
func (t *Tenant) AgentContext(ctx context.Context, agent, owner, conversation string, limit int) ([]junctor.AgentTask, error) {
	list, err := readAll(ctx, t.s, scanAgentTask, `SELECT `+agentTaskColumns+` FROM (SELECT * FROM agent_tasks
		WHERE tenant_id = ? AND agent = ? AND owner = ? AND context_id = ? ORDER BY begun_at DESC, id DESC LIMIT ?) AS newest ORDER BY begun_at, id`,
		string(t.id), agent, owner, conversation, limit)
	if err != nil {
		return nil, t.s.wrapError(ctx, err, "read a conversation")
	}
	return list, nil
}

// StopAgentTask asks the replica that works on a task to stop it. BeatAgentTasks tells
// that replica.
func (t *Tenant) StopAgentTask(ctx context.Context, agent, owner, id string) error {
	_, err := t.s.execWrite(ctx, `UPDATE agent_tasks SET stop = 1 WHERE tenant_id = ? AND id = ? AND agent = ? AND owner = ? AND running = 1`, string(t.id), id, agent, owner)
	if err != nil {
		return t.s.wrapError(ctx, err, "stop the task %q", id)
	}
	return nil
}

// BeatAgentTasks marks the tasks of a replica as alive and returns those that should stop.
func (s *Store) BeatAgentTasks(ctx context.Context, replica string, at time.Time) ([]junctor.AgentTask, error) {
	if _, err := s.execWrite(ctx, `UPDATE agent_tasks SET beat_at = ? WHERE replica = ? AND running = 1`, toMicros(at), replica); err != nil {
		return nil, s.wrapError(ctx, err, "mark the running tasks as alive")
	}
	list, err := readAll(ctx, s, scanAgentTask, `SELECT `+agentTaskColumns+` FROM agent_tasks WHERE replica = ? AND running = 1 AND stop = 1`, replica)
	if err != nil {
		return nil, s.wrapError(ctx, err, "read which tasks to stop")
	}
	return list, nil
}

// LostAgentTasks returns the tasks that no replica works on: those of a replica that has
// just started, and those that were last marked as alive before a time.
func (s *Store) LostAgentTasks(ctx context.Context, replica string, before time.Time) ([]junctor.AgentTask, error) {
	list, err := readAll(ctx, s, scanAgentTask, `SELECT `+agentTaskColumns+` FROM agent_tasks WHERE running = 1 AND (replica = ? OR beat_at < ?)`, replica, toMicros(before))
	if err != nil {
		return nil, s.wrapError(ctx, err, "look for lost tasks")
	}
	return list, nil
}

// PutTaskPush stores an address that is notified of a task's changes, in place of the one
// of its id; not_found if there is no such task.
func (t *Tenant) PutTaskPush(ctx context.Context, p junctor.TaskPush) error {
	_, err := t.s.execWrite(ctx, `INSERT INTO agent_task_pushes (tenant_id, task_id, id, config) VALUES (?, ?, ?, ?)
		ON CONFLICT (tenant_id, task_id, id) DO UPDATE SET config = excluded.config`, string(t.id), p.Task, p.ID, string(p.Config))
	if err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound {
		return agentTaskNotFound(p.Task)
	}
	if err != nil {
		return t.s.wrapError(ctx, err, "store a push configuration of the task %q", p.Task)
	}
	return nil
}

// TaskPushes lists the addresses that are notified of a task's changes, by id.
func (t *Tenant) TaskPushes(ctx context.Context, task string) ([]junctor.TaskPush, error) {
	list, err := readAll(ctx, t.s, func(row scanner) (p junctor.TaskPush, err error) {
		var config string
		err = row.Scan(&p.Task, &p.ID, &config)
		p.Config = []byte(config)
		return p, err
	}, `SELECT task_id, id, config FROM agent_task_pushes WHERE tenant_id = ? AND task_id = ? ORDER BY id`, string(t.id), task)
	if err != nil {
		return nil, t.s.wrapError(ctx, err, "list the push configurations of the task %q", task)
	}
	return list, nil
}

// DeleteTaskPush deletes an address and its secret. A missing one is not an error.
func (t *Tenant) DeleteTaskPush(ctx context.Context, task, id string) error {
	err := t.s.runTx(ctx, func(tx *sql.Tx) error {
		_, err := t.s.exec(ctx, tx, `DELETE FROM agent_task_pushes WHERE tenant_id = ? AND task_id = ? AND id = ?`, string(t.id), task, id)
		if err == nil {
			_, err = t.s.exec(ctx, tx, `DELETE FROM secrets WHERE tenant_id = ? AND owner = ? AND name = ?`, string(t.id), junctor.TaskPushOwner(task), id)
		}
		return err
	})
	if err != nil {
		return t.s.wrapError(ctx, err, "delete a push configuration of the task %q", task)
	}
	return nil
}

// sweepAgentTasks deletes old tasks, and secrets of pushes whose task no longer exists.
// Secrets have no foreign key to pushes, so the second statement finds them by name.
func (s *Store) sweepAgentTasks(ctx context.Context, now time.Time) (int64, error) {
	n, err := s.execWrite(ctx, `DELETE FROM agent_tasks WHERE running = 0 AND status_at <= ?`, toMicros(now.Add(-AgentTaskLife)))
	if err != nil {
		return 0, err
	}
	m, err := s.execWrite(ctx, `DELETE FROM secrets WHERE owner LIKE 'push:%' AND NOT EXISTS (
		SELECT 1 FROM agent_task_pushes p WHERE p.tenant_id = secrets.tenant_id AND 'push:' || p.task_id = secrets.owner AND p.id = secrets.name)`)
	return n + m, err
}

// agentTaskNotFound is the error for a task that the tenant does not have, or that belongs
// to another owner.
func agentTaskNotFound(id string) error { return notFound("unknown task %q", id) }

// scanAgentTask reads the columns of agentTaskColumns.
func scanAgentTask(row scanner) (junctor.AgentTask, error) {
	var a junctor.AgentTask
	var body, messages string
	var running, begun, at int64
	err := row.Scan(&a.Tenant, &a.ID, &a.Agent, &a.Owner, &a.Context, &a.State, &running, &a.Version, &body, &messages, &a.Replica, &begun, &at)
	a.Running, a.Body, a.Messages, a.BegunAt, a.At = running != 0, []byte(body), []byte(messages), fromMicros(begun), fromMicros(at)
	return a, err
}
