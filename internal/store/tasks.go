package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

const taskColumns = `tenant_id, id, issuer, subject, server, tool, version, own, state, created_at, expires_at`

// AddTask stores a task. not_found when its server is no more.
func (t *Tenant) AddTask(ctx context.Context, task junctor.Task) error {
	_, err := t.s.do(ctx, `INSERT INTO tasks (`+taskColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		string(t.id), task.ID, task.Issuer, task.Subject, task.Server, task.Tool, task.Version, task.Own, filled(task.State), micros(task.Created), micros(task.Expires))
	if err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound {
		return missing("there is no server %q", task.Server)
	}
	if err != nil {
		return t.s.fail(ctx, err, "store a task")
	}
	return nil
}

// Task gives a task; not_found when there is none with that id. Whether it has
// expired, and whose it is, the caller judges.
func (t *Tenant) Task(ctx context.Context, id string) (junctor.Task, error) {
	task, err := one(ctx, t.s, scanTask, `SELECT `+taskColumns+` FROM tasks WHERE tenant_id = ? AND id = ?`, string(t.id), id)
	if errors.Is(err, sql.ErrNoRows) {
		return junctor.Task{}, missing("there is no such task")
	}
	if err != nil {
		return junctor.Task{}, t.s.fail(ctx, err, "read a task")
	}
	return task, nil
}

// SetTask stores what a task was last seen as. One that is no more stays away.
func (t *Tenant) SetTask(ctx context.Context, id string, state []byte, expires time.Time) error {
	_, err := t.s.do(ctx, `UPDATE tasks SET state = ?, expires_at = ? WHERE tenant_id = ? AND id = ?`, filled(state), micros(expires), string(t.id), id)
	if err != nil {
		return t.s.fail(ctx, err, "store the state of a task")
	}
	return nil
}

// TasksOf lists the tasks of a principal that have not expired at now, by id,
// from the one behind after on, and at most so many.
func (t *Tenant) TasksOf(ctx context.Context, issuer, subject, after string, now time.Time, most int) ([]junctor.Task, error) {
	list, err := all(ctx, t.s, scanTask, `SELECT `+taskColumns+` FROM tasks
		WHERE tenant_id = ? AND issuer = ? AND subject = ? AND id > ? AND expires_at > ? ORDER BY id LIMIT ?`,
		string(t.id), issuer, subject, after, micros(now), most)
	if err != nil {
		return nil, t.s.fail(ctx, err, "list tasks")
	}
	return list, nil
}

func scanTask(row scanner) (junctor.Task, error) {
	var task junctor.Task
	var tenant string
	var created, expires int64
	err := row.Scan(&tenant, &task.ID, &task.Issuer, &task.Subject, &task.Server, &task.Tool, &task.Version, &task.Own, &task.State, &created, &expires)
	task.Created, task.Expires = fromMicros(created), fromMicros(expires)
	return task, err
}
