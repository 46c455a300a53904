package postgres

import (
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"

	junctor "github.com/junctor-mcp/junctor"

	"github.com/jackc/pgx/v5/pgconn"
)

// dialect implements store.Dialect for PostgreSQL.
type dialect struct{}

// Bind implements store.Dialect: it numbers the placeholders.
func (dialect) Bind(query string) string {
	var b strings.Builder
	b.Grow(len(query) + 32)
	for n := 1; ; n++ {
		before, after, found := strings.Cut(query, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(n))
		query = after
	}
}

// SQLSTATE codes, from appendix A of PostgreSQL's manual.
const (
	uniqueViolation     = "23505"
	foreignKeyViolation = "23503"
	untranslatable      = "22P05"
	badCharacter        = "22021"
	serialization       = "40001"
	deadlock            = "40P01"
	readOnly            = "25006"
	idleInTransaction   = "25P03"
	noDatabase          = "3D000"
	noPrivilege         = "42501"
)

// Stuck implements store.Dialect: by the phase, which leasing does not change.
func (dialect) Stuck(state string) string {
	switch state {
	case "held":
		return "phase IN (2, 3) AND phase = 2"
	case "dead":
		return "phase IN (2, 3) AND phase = 3"
	}
	return "phase IN (2, 3)"
}

// Members implements store.Dialect.
func (dialect) Members(object string) string {
	return "json_each_text(CAST(" + object + " AS json))"
}

// Sync implements store.Dialect: a commit is on disk.
func (dialect) Sync() string { return "" }

// Durably implements store.Dialect: a commit is on disk.
func (dialect) Durably() (before, after string) { return "", "" }

// Skip implements store.Dialect.
func (dialect) Skip() string { return " FOR UPDATE SKIP LOCKED" }

// Wait implements store.Dialect.
func (dialect) Wait() string { return " FOR UPDATE" }

// Row implements store.Dialect.
func (dialect) Row() string { return "ctid" }

// Among implements store.Dialect. For an array the planner expects few elements; it may
// plan a join as a scan of the whole table.
func (dialect) Among(rows string) string { return "ctid = ANY (ARRAY(" + rows + "))" }

// UseIndex implements store.Dialect: the planner knows which index has the fewest rows.
func (dialect) UseIndex(string) string { return "" }

// IgnoreCase implements store.Dialect.
func (dialect) IgnoreCase(column string) string { return "LOWER(" + column + ")" }

// Searches implements store.Dialect. The pool of the history has at least two connections
// more, so a read that takes a moment never waits for searches.
func (dialect) Searches() int { return 2 }

// Notify implements store.Dialect; Listen receives it.
func (dialect) Notify() string { return "SELECT pg_notify('" + jobsChannel + "', '')" }

// Tell implements store.Dialect; Listen receives it.
func (dialect) Tell() string { return "SELECT pg_notify('" + replicasChannel + "', ?)" }

// Now implements store.Dialect.
func (dialect) Now() string { return "(extract(epoch from clock_timestamp()) * 1000000)::bigint" }

// Writers implements store.Dialect. More writers would make batches smaller, which costs
// more than it gains: while one waits for the disk, the other takes everything that came
// meanwhile.
func (dialect) Writers() int { return 2 }

// Code implements store.Dialect.
func (dialect) Code(err error) junctor.Code {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		if isConnectionLost(err) {
			return junctor.CodeUnavailable
		}
		return ""
	}
	switch e.Code {
	case uniqueViolation:
		return junctor.CodeConflict
	case foreignKeyViolation:
		return junctor.CodeNotFound
	case untranslatable, badCharacter:
		return junctor.CodeInvalid
	case serialization, deadlock, readOnly, idleInTransaction, noPrivilege:
		return junctor.CodeUnavailable
	}
	switch e.Code[:2] {
	case "08", // connection
		"28", "3D", // who we are, or the database, is not known
		"53", "55", "57", "58", "XX": // resources, locks, intervention, system, internal
		return junctor.CodeUnavailable
	}
	return ""
}

// isConnectionLost reports that the connection broke, or none could be made.
func isConnectionLost(err error) bool {
	_, connect := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	return connect || network || errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || strings.Contains(err.Error(), "conn closed")
}

// Busy implements store.Dialect: the transaction was undone for the sake of
// another one.
func (dialect) Busy(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == serialization || e.Code == deadlock)
}

// explainOpenError returns in plain words why a database cannot be opened.
func explainOpenError(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch {
		case e.Code == noDatabase:
			return "the server has no database of that name; create it first (createdb)"
		case strings.HasPrefix(e.Code, "28"):
			return "the server does not accept the user or password"
		case e.Code == noPrivilege, e.Code == readOnly:
			return "this user has no permission to write the database"
		case strings.HasPrefix(e.Code, "53"):
			return "the server has no free connections, memory or disk space"
		case strings.HasPrefix(e.Code, "57"):
			return "the server is starting or stopping"
		}
	}
	if isConnectionLost(err) {
		return "the server is unreachable"
	}
	return "opening or migrating it failed; see the log for the reason"
}
