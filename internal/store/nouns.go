package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// noun is what commands and messages call things that have a name and keep what
// they are in a column config: what is the same for all of them is here.
type noun string

const (
	aSource   noun = "source"
	aTrigger  noun = "trigger"
	aSchedule noun = "schedule"
)

func (n noun) missing(name string) error {
	return missing("there is no %s %q; junctor %s ls lists them", n, name, n)
}

// row is the one of that name, for a change of the version that it was read with.
func (n noun) row(table, where, name string, version time.Time) *versionedRow {
	return &versionedRow{table: table, where: where, key: []any{name}, version: version, called: fmt.Sprintf("the %s %q", n, name), missing: n.missing(name)}
}

// read reads the config of one into c.
func (n noun) read(name, config string, c any) error {
	if err := json.Unmarshal([]byte(config), c); err != nil {
		return fmt.Errorf("the config of the %s %q cannot be read: %w", n, name, err)
	}
	return nil
}

// list gives those that a query gives.
func list[T any](ctx context.Context, s *Store, n noun, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	found, err := all(ctx, s, scan, query, args...)
	if err != nil {
		return nil, s.fail(ctx, err, "list the %ss", n)
	}
	return found, nil
}

// named gives the tenant's one of that name, the query's second argument;
// not_found where there is none.
func named[T any](ctx context.Context, t *Tenant, n noun, name string, scan func(scanner) (T, error), query string) (T, error) {
	found, err := one(ctx, t.s, scan, query, string(t.id), name)
	if errors.Is(err, sql.ErrNoRows) {
		return found, n.missing(name)
	}
	if err != nil {
		return found, t.s.fail(ctx, err, "read the %s %q", n, name)
	}
	return found, nil
}

// change runs a statement on the one of that name; not_found where it touches no
// row. doing is a verb.
func (t *Tenant) change(ctx context.Context, doing string, n noun, name, query string, args ...any) error {
	rows, err := t.s.do(ctx, query, args...)
	if err == nil && rows == 0 {
		err = n.missing(name)
	}
	if err != nil {
		return t.s.fail(ctx, err, doing+" the %s %q", n, name)
	}
	return nil
}

// configText is what the column config holds.
func configText(c any) (string, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return "", junctor.Errorf(junctor.CodeInvalid, "it cannot be stored: %w", err)
	}
	return string(text), nil
}
