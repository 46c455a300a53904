package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// errStale is the cause of the error of a change whose row was changed between its read
// and its write. Retry recognises the error by it.
var errStale = errors.New("the row has another version now")

// Retry runs a change that reads a row and stores it changed, and runs it again while
// another change comes in between. So no change is lost, and none is refused because of
// another one. Each run has to read the row anew. Retry does not repeat a change that was
// refused for another reason, nor one whose caller named a version (junctor.CheckVersion).
func Retry[T any](ctx context.Context, change func() (T, error)) (T, error) {
	for begin := time.Now(); ; {
		v, err := change()
		// Each failure means that another change was stored, so this is no idle loop.
		if !errors.Is(err, errStale) || ctx.Err() != nil || time.Since(begin) > busyTimeout {
			return v, err
		}
	}
}

// By returns the same tenant for changes by a principal: rows record the Principal.ID of
// their last change. Changes through a Tenant without it have no author.
func (t *Tenant) By(id string) *Tenant { return &Tenant{s: t.s, id: t.id, changedBy: id} }

// versionedRow names a row of the tenant whose updated_at is its version. Every change
// gives the row a later one.
type versionedRow struct {
	table    string
	where    string // finds the row among those of the tenant
	key      []any  // the arguments of where
	version  time.Time
	label    string // for messages, such as `the trigger "low"`
	notFound error  // the answer where there is no such row
}

// updateRow changes a row if it still has the version that it was read with, and returns
// the new version. It sets updated_at and updated_by beside the columns of set. If
// somebody else has changed the row, the error is precondition and nothing is stored; if
// the row was deleted, the error is r.notFound. Every statement that stores a changed copy
// of a row goes through here.
func (t *Tenant) updateRow(ctx context.Context, tx *sql.Tx, r *versionedRow, set string, values ...any) (time.Time, error) {
	// Versions have to differ, or a second change could pass for the first.
	next := max(toMicros(time.Now()), toMicros(r.version)+1)
	args := append(append([]any{}, values...), next, t.changedBy, string(t.id))
	args = append(append(args, r.key...), toMicros(r.version))
	n, err := t.s.exec(ctx, tx, `UPDATE `+r.table+` SET `+set+`, updated_at = ?, updated_by = ? WHERE tenant_id = ? AND `+r.where+` AND updated_at = ?`, args...)
	if err == nil && n == 0 {
		err = t.staleRowError(ctx, tx, r)
	}
	return fromMicros(next), err
}

// updateVersioned is updateRow in a transaction of its own.
func (t *Tenant) updateVersioned(ctx context.Context, r *versionedRow, set string, values ...any) (next time.Time, err error) {
	err = t.s.runTx(ctx, func(tx *sql.Tx) error {
		next, err = t.updateRow(ctx, tx, r, set, values...)
		return err
	})
	if err != nil {
		return time.Time{}, t.s.wrapError(ctx, err, "change %s", r.label)
	}
	return next, nil
}

// staleRowError returns the error of a change that found no row of its version.
func (t *Tenant) staleRowError(ctx context.Context, tx *sql.Tx, r *versionedRow) error {
	var at int64
	var by string
	err := tx.QueryRowContext(ctx, t.s.dialect.Bind(`SELECT updated_at, updated_by FROM `+r.table+` WHERE tenant_id = ? AND `+r.where), append([]any{string(t.id)}, r.key...)...).Scan(&at, &by)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return r.notFound
	case err != nil:
		return err
	}
	if by != "" {
		by = " by " + by
	}
	return &junctor.Error{
		Code: junctor.CodePrecondition, Cause: errStale,
		Message: fmt.Sprintf("%s was changed meanwhile%s, at %s; read it again and repeat the change", r.label, by, fromMicros(at).Format(time.RFC3339)),
	}
}

// nextVersionSQL is the expression for updated_at in statements that change a row whatever
// its version. It has two parameters, both the present time, and always gives a later
// version.
const nextVersionSQL = `CASE WHEN updated_at < ? THEN ? ELSE updated_at + 1 END`
