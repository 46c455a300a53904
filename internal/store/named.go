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

// namedKind is a kind of thing that has a name and keeps its members in a column config.
// The text is the word that commands and messages use for it. The functions of this file
// are the queries that all such kinds share.
type namedKind string

const (
	kindSource   namedKind = "source"
	kindTrigger  namedKind = "trigger"
	kindSchedule namedKind = "schedule"
)

// notFound is the error for a thing of this kind that the tenant does not have.
func (n namedKind) notFound(name string) error {
	return notFound("unknown %s %q; list the existing names with junctor %s ls", n, name, n)
}

// versionedRow names the row of a thing, for a change of the version that was read. where
// has one parameter, the name.
func (n namedKind) versionedRow(table, where, name string, version time.Time) *versionedRow {
	return &versionedRow{table: table, where: where, key: []any{name}, version: version, label: fmt.Sprintf("the %s %q", n, name), notFound: n.notFound(name)}
}

// decodeConfig reads the column config of a thing into c.
func (n namedKind) decodeConfig(name, config string, c any) error {
	if err := json.Unmarshal([]byte(config), c); err != nil {
		return fmt.Errorf("cannot read the config of the %s %q: %w", n, name, err)
	}
	return nil
}

// listNamed returns the things that a query selects.
func listNamed[T any](ctx context.Context, s *Store, n namedKind, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	found, err := readAll(ctx, s, scan, query, args...)
	if err != nil {
		return nil, s.wrapError(ctx, err, "list the %ss", n)
	}
	return found, nil
}

// readNamed returns the tenant's thing of that name. The query has two parameters, the
// tenant and the name. It is not_found if there is none.
func readNamed[T any](ctx context.Context, t *Tenant, n namedKind, name string, scan func(scanner) (T, error), query string) (T, error) {
	found, err := readOne(ctx, t.s, scan, query, string(t.id), name)
	if errors.Is(err, sql.ErrNoRows) {
		return found, n.notFound(name)
	}
	if err != nil {
		return found, t.s.wrapError(ctx, err, "read the %s %q", n, name)
	}
	return found, nil
}

// changeNamed runs a statement on the thing of that name; not_found if it touches no row.
// doing is a verb for messages.
func (t *Tenant) changeNamed(ctx context.Context, doing string, n namedKind, name, query string, args ...any) error {
	rows, err := t.s.execWrite(ctx, query, args...)
	if err == nil && rows == 0 {
		err = n.notFound(name)
	}
	if err != nil {
		return t.s.wrapError(ctx, err, doing+" the %s %q", n, name)
	}
	return nil
}

// encodeConfig encodes a config column as JSON. A value that cannot be encoded
// is invalid input of the caller, not a failure of the store.
func encodeConfig(c any) (string, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return "", junctor.Errorf(junctor.CodeInvalid, "cannot store the value: %w", err)
	}
	return string(text), nil
}
