package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

const agentTaskColumns = `tenant_id, id, agent, owner, context_id, state, running, version, body, story, node, begun_at, status_at`

// AgentTaskLife is how long a task is kept after its last change.
const AgentTaskLife = 30 * 24 * time.Hour

// AgentTaskFilter says which tasks are meant. Agent and Owner must be set; what
// else is zero is not asked for.
type AgentTaskFilter struct {
	Agent, Owner   string
	Context, State string
	Since          time.Time // of its last change, or later
	Before         time.Time // those behind this one, with BeforeID
	BeforeID       string
	Limit          int
}

// AgentTask gives a task to its owner; not_found to everybody else.
func (t *Tenant) AgentTask(ctx context.Context, agent, owner, id string) (junctor.AgentTask, error) {
	task, err := one(ctx, t.s, scanAgentTask, `SELECT `+agentTaskColumns+` FROM agent_tasks WHERE tenant_id = ? AND id = ? AND agent = ? AND owner = ?`,
		string(t.id), id, agent, owner)
	if errors.Is(err, sql.ErrNoRows) {
		return task, noAgentTask(id)
	}
	if err != nil {
		return task, t.s.fail(ctx, err, "read the task %q", id)
	}
	return task, nil
}

// AddAgentTask stores a new task, of version 1; conflict where the id is taken.
func (t *Tenant) AddAgentTask(ctx context.Context, task *junctor.AgentTask) error {
	_, err := t.s.do(ctx, `INSERT INTO agent_tasks (`+agentTaskColumns+`, stop, beat_at) VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, 0, ?)`,
		string(t.id), task.ID, task.Agent, task.Owner, task.Context, task.State, flag(task.Running), string(task.Body), string(task.Story), task.Node,
		micros(task.BegunAt), micros(task.At), micros(task.At))
	if err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound {
		return noAgent(task.Agent)
	}
	if err != nil {
		return t.s.fail(ctx, err, "store the task %q", task.ID)
	}
	task.Tenant, task.Version = t.id, 1
	return nil
}

// UpdateAgentTask stores what became of a task, which is of the next version
// then. Conflict, and nothing is stored, where it is not of the version that task
// has: somebody else was faster.
func (t *Tenant) UpdateAgentTask(ctx context.Context, task *junctor.AgentTask) error {
	n, err := t.s.do(ctx, `UPDATE agent_tasks SET state = ?, running = ?, version = version + 1, body = ?, story = ?, node = ?, status_at = ?, beat_at = ?, stop = 0
		WHERE tenant_id = ? AND id = ? AND agent = ? AND owner = ? AND version = ?`,
		task.State, flag(task.Running), string(task.Body), string(task.Story), task.Node, micros(task.At), micros(task.At),
		string(t.id), task.ID, task.Agent, task.Owner, task.Version)
	if err == nil && n == 0 {
		err = junctor.Errorf(junctor.CodeConflict, "the task %q was changed meanwhile, or is gone: look at it again", task.ID)
	}
	if err != nil {
		return t.s.fail(ctx, err, "change the task %q", task.ID)
	}
	task.Version++
	return nil
}

// AgentTasks lists tasks, those that changed last first, and says how many there
// are in all.
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
		also(`status_at >= ?`, micros(f.Since))
	}
	total, err = one(ctx, t.s, scanCount, `SELECT COUNT(*) FROM agent_tasks WHERE `+strings.Join(where, ` AND `), args...)
	if err != nil {
		return nil, 0, t.s.fail(ctx, err, "count the tasks")
	}
	if !f.Before.IsZero() {
		also(`(status_at, id) < (?, ?)`, micros(f.Before), f.BeforeID)
	}
	list, err = all(ctx, t.s, scanAgentTask, `SELECT `+agentTaskColumns+` FROM agent_tasks WHERE `+strings.Join(where, ` AND `)+` ORDER BY status_at DESC, id DESC LIMIT ?`, append(args, f.Limit)...)
	if err != nil {
		return nil, 0, t.s.fail(ctx, err, "list the tasks")
	}
	return list, total, nil
}

// AgentContext gives the newest tasks of a conversation, in the order in which
// they were begun.
func (t *Tenant) AgentContext(ctx context.Context, agent, owner, conversation string, limit int) ([]junctor.AgentTask, error) {
	list, err := all(ctx, t.s, scanAgentTask, `SELECT `+agentTaskColumns+` FROM (SELECT * FROM agent_tasks
		WHERE tenant_id = ? AND agent = ? AND owner = ? AND context_id = ? ORDER BY begun_at DESC, id DESC LIMIT ?) AS newest ORDER BY begun_at, id`,
		string(t.id), agent, owner, conversation, limit)
	if err != nil {
		return nil, t.s.fail(ctx, err, "read a conversation")
	}
	return list, nil
}

// StopAgentTask asks the node that works on a task to stop.
func (t *Tenant) StopAgentTask(ctx context.Context, agent, owner, id string) error {
	_, err := t.s.do(ctx, `UPDATE agent_tasks SET stop = 1 WHERE tenant_id = ? AND id = ? AND agent = ? AND owner = ? AND running = 1`, string(t.id), id, agent, owner)
	if err != nil {
		return t.s.fail(ctx, err, "stop the task %q", id)
	}
	return nil
}

// BeatAgentTasks says that a node still works on its tasks, and gives those of
// them that are to be stopped.
func (s *Store) BeatAgentTasks(ctx context.Context, node string, at time.Time) ([]junctor.AgentTask, error) {
	if _, err := s.do(ctx, `UPDATE agent_tasks SET beat_at = ? WHERE node = ? AND running = 1`, micros(at), node); err != nil {
		return nil, s.fail(ctx, err, "say which tasks go on")
	}
	list, err := all(ctx, s, scanAgentTask, `SELECT `+agentTaskColumns+` FROM agent_tasks WHERE node = ? AND running = 1 AND stop = 1`, node)
	if err != nil {
		return nil, s.fail(ctx, err, "ask which tasks to stop")
	}
	return list, nil
}

// LostAgentTasks gives the tasks that nobody works on any more: those of a node
// that has just started, and those last heard of before a time.
func (s *Store) LostAgentTasks(ctx context.Context, node string, before time.Time) ([]junctor.AgentTask, error) {
	list, err := all(ctx, s, scanAgentTask, `SELECT `+agentTaskColumns+` FROM agent_tasks WHERE running = 1 AND (node = ? OR beat_at < ?)`, node, micros(before))
	if err != nil {
		return nil, s.fail(ctx, err, "look for lost tasks")
	}
	return list, nil
}

// PutTaskPush stores an address to tell of a task's changes, in place of the one
// of its id; not_found where there is no such task.
func (t *Tenant) PutTaskPush(ctx context.Context, p junctor.TaskPush) error {
	_, err := t.s.do(ctx, `INSERT INTO agent_task_pushes (tenant_id, task_id, id, config) VALUES (?, ?, ?, ?)
		ON CONFLICT (tenant_id, task_id, id) DO UPDATE SET config = excluded.config`, string(t.id), p.Task, p.ID, string(p.Config))
	if err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound {
		return noAgentTask(p.Task)
	}
	if err != nil {
		return t.s.fail(ctx, err, "store where to tell of the task %q", p.Task)
	}
	return nil
}

// TaskPushes lists the addresses that are told of a task's changes, by id.
func (t *Tenant) TaskPushes(ctx context.Context, task string) ([]junctor.TaskPush, error) {
	list, err := all(ctx, t.s, func(row scanner) (p junctor.TaskPush, err error) {
		var config string
		err = row.Scan(&p.Task, &p.ID, &config)
		p.Config = []byte(config)
		return p, err
	}, `SELECT task_id, id, config FROM agent_task_pushes WHERE tenant_id = ? AND task_id = ? ORDER BY id`, string(t.id), task)
	if err != nil {
		return nil, t.s.fail(ctx, err, "list who is told of the task %q", task)
	}
	return list, nil
}

// DeleteTaskPush forgets an address, and what it was told with. One that is not
// there is forgotten already.
func (t *Tenant) DeleteTaskPush(ctx context.Context, task, id string) error {
	err := t.s.tx(ctx, func(tx *sql.Tx) error {
		_, err := t.s.exec(ctx, tx, `DELETE FROM agent_task_pushes WHERE tenant_id = ? AND task_id = ? AND id = ?`, string(t.id), task, id)
		if err == nil {
			_, err = t.s.exec(ctx, tx, `DELETE FROM secrets WHERE tenant_id = ? AND owner = ? AND name = ?`, string(t.id), junctor.TaskPushOwner(task), id)
		}
		return err
	})
	if err != nil {
		return t.s.fail(ctx, err, "forget who is told of the task %q", task)
	}
	return nil
}

// sweepAgentTasks removes old tasks, and the secrets of pushes whose task is gone.
func (s *Store) sweepAgentTasks(ctx context.Context, now time.Time) (int64, error) {
	n, err := s.do(ctx, `DELETE FROM agent_tasks WHERE running = 0 AND status_at <= ?`, micros(now.Add(-AgentTaskLife)))
	if err != nil {
		return 0, err
	}
	m, err := s.do(ctx, `DELETE FROM secrets WHERE owner LIKE 'push:%' AND NOT EXISTS (
		SELECT 1 FROM agent_task_pushes p WHERE p.tenant_id = secrets.tenant_id AND 'push:' || p.task_id = secrets.owner AND p.id = secrets.name)`)
	return n + m, err
}

func noAgentTask(id string) error { return missing("there is no task %q", id) }

func scanAgentTask(row scanner) (junctor.AgentTask, error) {
	var a junctor.AgentTask
	var body, story string
	var running, begun, at int64
	err := row.Scan(&a.Tenant, &a.ID, &a.Agent, &a.Owner, &a.Context, &a.State, &running, &a.Version, &body, &story, &a.Node, &begun, &at)
	a.Running, a.Body, a.Story, a.BegunAt, a.At = running != 0, []byte(body), []byte(story), fromMicros(begun), fromMicros(at)
	return a, err
}
