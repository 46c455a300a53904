package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// errStale is the cause of the error that a change gets whose row was changed between
// its read and its write. Retry knows it by this.
var errStale = errors.New("the row has another version by now")

// Retry runs a change that reads a row and stores it changed, again while somebody
// else's change came in between. So no change is lost, and none is refused because of
// another one. Each run has to read the row anew. A change that is refused for another
// reason is not run again, nor one whose caller named the version that it is for
// (junctor.CheckVersion).
func Retry[T any](ctx context.Context, change func() (T, error)) (T, error) {
	for begin := time.Now(); ; {
		v, err := change()
		// Each failure means that another change was stored, so this is no idle loop.
		if !errors.Is(err, errStale) || ctx.Err() != nil || time.Since(begin) > patience {
			return v, err
		}
	}
}

// By gives the same tenant for changes that somebody makes: rows keep who changed them
// last, as Principal.ID says. Changes through a Tenant without it are nobody's.
func (t *Tenant) By(id string) *Tenant { return &Tenant{s: t.s, id: t.id, by: id} }

// versionedRow names a row of the tenant whose updated_at is its version: every change
// of the row gives it a later one.
type versionedRow struct {
	table   string
	where   string // finds the row among those of the tenant
	key     []any  // the arguments of where
	version time.Time
	called  string // for messages, such as `the trigger "low"`
	missing error  // the answer where there is no such row
}

// updateRow changes a row, if it still has the version that it was read with. It sets
// updated_at and updated_by beside the columns that set names. Where somebody else has
// changed the row, the code is precondition and nothing is stored; where the row is
// gone, the error is r.missing. Every statement that changes a noun from what was read
// goes through here.
func (t *Tenant) updateRow(ctx context.Context, tx *sql.Tx, r *versionedRow, set string, values ...any) (time.Time, error) {
	// Versions have to differ, or a second change could pass for the first.
	next := max(micros(time.Now()), micros(r.version)+1)
	args := append(append([]any{}, values...), next, t.by, string(t.id))
	args = append(append(args, r.key...), micros(r.version))
	n, err := t.s.exec(ctx, tx, `UPDATE `+r.table+` SET `+set+`, updated_at = ?, updated_by = ? WHERE tenant_id = ? AND `+r.where+` AND updated_at = ?`, args...)
	if err == nil && n == 0 {
		err = t.staleRow(ctx, tx, r)
	}
	return fromMicros(next), err
}

// update is updateRow in a transaction of its own.
func (t *Tenant) update(ctx context.Context, r *versionedRow, set string, values ...any) (next time.Time, err error) {
	err = t.s.tx(ctx, func(tx *sql.Tx) error {
		next, err = t.updateRow(ctx, tx, r, set, values...)
		return err
	})
	if err != nil {
		return time.Time{}, t.s.fail(ctx, err, "change %s", r.called)
	}
	return next, nil
}

// staleRow says why a change found no row of its version.
func (t *Tenant) staleRow(ctx context.Context, tx *sql.Tx, r *versionedRow) error {
	var at int64
	var by string
	err := tx.QueryRowContext(ctx, t.s.dialect.Bind(`SELECT updated_at, updated_by FROM `+r.table+` WHERE tenant_id = ? AND `+r.where), append([]any{string(t.id)}, r.key...)...).Scan(&at, &by)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return r.missing
	case err != nil:
		return err
	}
	if by != "" {
		by = " by " + by
	}
	return &junctor.Error{
		Code: junctor.CodePrecondition, Cause: errStale,
		Message: fmt.Sprintf("%s was changed meanwhile%s, at %s: read it again, and repeat the change", r.called, by, fromMicros(at).Format(time.RFC3339)),
	}
}

// laterVersion is what updated_at is set to by statements that change rows whatever
// version they have; its argument, twice, is the time.
const laterVersion = `CASE WHEN updated_at < ? THEN ? ELSE updated_at + 1 END`
