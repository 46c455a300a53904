package app

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/store"
)

// Ground packages do not import each other; the types below adapt them to the
// interfaces that they declare.

// states stores used request states, so that each is accepted once.
type states struct{ store *store.Store }

func (s states) UseState(ctx context.Context, tenant junctor.TenantID, id string, expires time.Time) (bool, error) {
	return s.store.For(tenant).UseState(ctx, id, expires)
}

// tasks stores the tasks of callers.
type tasks struct{ store *store.Store }

func (t tasks) AddTask(ctx context.Context, tenant junctor.TenantID, task junctor.Task) error {
	return t.store.For(tenant).AddTask(ctx, task)
}

func (t tasks) Task(ctx context.Context, tenant junctor.TenantID, id string) (junctor.Task, error) {
	return t.store.For(tenant).Task(ctx, id)
}

func (t tasks) SetTask(ctx context.Context, tenant junctor.TenantID, id string, state []byte, expires time.Time) error {
	return t.store.For(tenant).SetTask(ctx, id, state, expires)
}

func (t tasks) TasksOf(ctx context.Context, p *junctor.Principal, after string, now time.Time, most int) ([]junctor.Task, error) {
	return t.store.For(p.Tenant).TasksOf(ctx, p.Issuer, p.Subject, after, now, most)
}

// sessions stores the rows of gateway's sessions.
type sessions struct{ store *store.Store }

func (s sessions) SaveSession(ctx context.Context, tenant junctor.TenantID, row gateway.SavedSession) error {
	return s.store.For(tenant).SaveSession(ctx, store.Session{
		ID: row.ID, Issuer: row.Issuer, Subject: row.Subject, LogLevel: row.LogLevel,
		Subscriptions: row.Subscriptions, Capabilities: row.Capabilities, ExpiresAt: row.Expires,
	})
}

func (s sessions) LoadSession(ctx context.Context, tenant junctor.TenantID, id string) (gateway.SavedSession, bool, error) {
	row, err := soon(ctx, func(ctx context.Context) (store.Session, error) { return s.store.For(tenant).Session(ctx, id) })
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		return gateway.SavedSession{}, false, nil
	}
	return gateway.SavedSession{
		ID: row.ID, Issuer: row.Issuer, Subject: row.Subject, LogLevel: row.LogLevel,
		Subscriptions: row.Subscriptions, Capabilities: row.Capabilities, Expires: row.ExpiresAt,
	}, err == nil, err
}

func (s sessions) RevokeSession(ctx context.Context, tenant junctor.TenantID, id string, expires time.Time) error {
	return s.store.For(tenant).RevokeSession(ctx, id, expires)
}

func (s sessions) SessionRevoked(ctx context.Context, tenant junctor.TenantID, id string) (bool, error) {
	return soon(ctx, func(ctx context.Context) (bool, error) { return s.store.For(tenant).Revoked(ctx, id) })
}

// storeTime bounds how long a client waits for a database that does not answer.
const storeTime = 5 * time.Second

// soon asks the database on behalf of a waiting client, within storeTime. A
// connection that was cut without a signal would otherwise block the client for
// minutes.
func soon[T any](ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	bound, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	answer, err := ask(bound)
	if err != nil && bound.Err() != nil && ctx.Err() == nil {
		err = &junctor.Error{Code: junctor.CodeUnavailable, Message: "the database does not respond; try again", RetryAfter: time.Second, Cause: err}
	}
	return answer, err
}
