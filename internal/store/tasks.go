package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// taskColumns are the columns that scanTask reads.
const taskColumns = `tenant_id, id, issuer, subject, server, tool, version, own, state, created_at, expires_at`

// AddTask stores a task of a tool call; not_found if its server no longer exists.
func (t *Tenant) AddTask(ctx context.Context, task junctor.Task) error {
	_, err := t.s.execWrite(ctx, `INSERT INTO tasks (`+taskColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		string(t.id), task.ID, task.Issuer, task.Subject, task.Server, task.Tool, task.Version, task.Own, nonNilBytes(task.State), toMicros(task.Created), toMicros(task.Expires))
	if err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound {
		return notFound("unknown server %q", task.Server)
	}
	if err != nil {
		return t.s.wrapError(ctx, err, "store a task")
	}
	return nil
}

// Task returns a task; not_found if there is none with that id. The caller judges expiry
// and principal.
func (t *Tenant) Task(ctx context.Context, id string) (junctor.Task, error) {
	task, err := readOne(ctx, t.s, scanTask, `SELECT `+taskColumns+` FROM tasks WHERE tenant_id = ? AND id = ?`, string(t.id), id)
	if errors.Is(err, sql.ErrNoRows) {
		return junctor.Task{}, notFound("task not found")
	}
	if err != nil {
		return junctor.Task{}, t.s.wrapError(ctx, err, "read a task")
	}
	return task, nil
}

// SetTask stores the last known state of a task. A task that was deleted is not brought
// back.
func (t *Tenant) SetTask(ctx context.Context, id string, state []byte, expires time.Time) error {
	_, err := t.s.execWrite(ctx, `UPDATE tasks SET state = ?, expires_at = ? WHERE tenant_id = ? AND id = ?`, nonNilBytes(state), toMicros(expires), string(t.id), id)
	if err != nil {
		return t.s.wrapError(ctx, err, "store the state of a task")
	}
	return nil
}

// TasksOf lists up to most tasks of a principal that have not expired at now, by id, after
// the one with the id after.
func (t *Tenant) TasksOf(ctx context.Context, issuer, subject, after string, now time.Time, most int) ([]junctor.Task, error) {
	list, err := readAll(ctx, t.s, scanTask, `SELECT `+taskColumns+` FROM tasks
		WHERE tenant_id = ? AND issuer = ? AND subject = ? AND id > ? AND expires_at > ? ORDER BY id LIMIT ?`,
		string(t.id), issuer, subject, after, toMicros(now), most)
	if err != nil {
		return nil, t.s.wrapError(ctx, err, "list tasks")
	}
	return list, nil
}

// scanTask reads the columns of taskColumns.
func scanTask(row scanner) (junctor.Task, error) {
	var task junctor.Task
	var tenant string
	var created, expires int64
	err := row.Scan(&tenant, &task.ID, &task.Issuer, &task.Subject, &task.Server, &task.Tool, &task.Version, &task.Own, &task.State, &created, &expires)
	task.Created, task.Expires = fromMicros(created), fromMicros(expires)
	return task, err
}
