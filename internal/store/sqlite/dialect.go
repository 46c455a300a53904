package sqlite

import (
	"errors"
	"io/fs"
	"runtime"

	junctor "github.com/junctor-mcp/junctor"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// dialect implements store.Dialect for SQLite.
type dialect struct{}

// Bind implements store.Dialect: question marks are SQLite's own placeholders.
func (dialect) Bind(query string) string { return query }

// Code implements store.Dialect.
func (dialect) Code(err error) junctor.Code {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return ""
	}
	switch e.Code() {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return junctor.CodeConflict
	case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		return junctor.CodeNotFound
	}
	switch primaryCode(e) {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR,
		sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return junctor.CodeUnavailable
	}
	return ""
}

// Busy implements store.Dialect. Transactions take the write lock when they
// begin, so nothing has been done when this comes up.
func (dialect) Busy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && primaryCode(e) == sqlite3.SQLITE_BUSY
}

// Stuck implements store.Dialect: by the state, over which SQLite's index is.
func (dialect) Stuck(state string) string {
	switch state {
	case "held", "dead":
		return "state IN ('held', 'dead') AND state = '" + state + "'"
	}
	return "state IN ('held', 'dead')"
}

// Members implements store.Dialect.
func (dialect) Members(object string) string { return "json_each(" + object + ")" }

// Sync implements store.Dialect: between checkpoints the log is not synced.
func (dialect) Sync() string { return "PRAGMA wal_checkpoint(TRUNCATE)" }

// Durably implements store.Dialect: with FULL a commit syncs the log.
func (dialect) Durably() (before, after string) {
	return "PRAGMA synchronous = FULL", "PRAGMA synchronous = NORMAL"
}

// Skip implements store.Dialect: there is one writer.
func (dialect) Skip() string { return "" }

// Wait implements store.Dialect.
func (dialect) Wait() string { return "" }

// Row implements store.Dialect.
func (dialect) Row() string { return "rowid" }

// Among implements store.Dialect.
func (dialect) Among(rows string) string { return "rowid IN (" + rows + ")" }

// UseIndex implements store.Dialect. Without statistics, SQLite prefers any index that has
// the order to one that has few rows.
func (dialect) UseIndex(name string) string { return " INDEXED BY " + name }

// IgnoreCase implements store.Dialect: LIKE ignores the case of ASCII letters, and LOWER
// would copy every text.
func (dialect) IgnoreCase(column string) string { return column }

// Searches implements store.Dialect. A search keeps a processor of this process busy; one
// is left for other requests.
func (dialect) Searches() int { return min(2, max(1, runtime.GOMAXPROCS(0)-1)) }

// Notify implements store.Dialect: processes that share the file poll it.
func (dialect) Notify() string { return "" }

// Tell implements store.Dialect: a SQLite instance has no other replicas.
func (dialect) Tell() string { return "" }

// Now implements store.Dialect.
func (dialect) Now() string { return "CAST(unixepoch('subsec') * 1000000 AS INTEGER)" }

// Writers implements store.Dialect.
func (dialect) Writers() int { return 1 }

// primaryCode returns the code of an error without its extension.
func primaryCode(e *sqlite.Error) int { return e.Code() & 0xff }

// explainOpenError returns in plain words why a file cannot be opened.
func explainOpenError(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "its folder does not exist"
	case errors.Is(err, fs.ErrPermission):
		return "this user has no permission to read and write the file"
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch primaryCode(e) {
		case sqlite3.SQLITE_NOTADB:
			return "the file is not a SQLite database"
		case sqlite3.SQLITE_CORRUPT:
			return "the file is damaged; restore a backup"
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
			return "another process has locked the file"
		case sqlite3.SQLITE_FULL:
			return "the disk is full"
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN:
			return "this user has no permission to read and write the file or its folder"
		}
	}
	return "opening or migrating it failed; see the log for the reason"
}
