package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	junctor "github.com/junctor-mcp/junctor"
)

// fail turns an error of the database into one that may cross packages. doing
// says what was being done, as a verb phrase ("save the setting \"x\""). The
// database's own words stay in the cause: they can quote values.
func (s *Store) fail(ctx context.Context, err error, doing string, args ...any) error {
	if known, ok := errors.AsType[*junctor.Error](err); ok {
		return known
	}
	doing = fmt.Sprintf(doing, args...)
	code := s.codeOf(ctx, err)
	e := &junctor.Error{Code: code, Cause: err}
	switch code {
	case junctor.CodeConflict:
		e.Message = fmt.Sprintf("cannot %s: it exists already", doing)
	case junctor.CodeNotFound:
		e.Message = fmt.Sprintf("cannot %s: there is no such tenant", doing)
	case junctor.CodeInvalid:
		e.Message = fmt.Sprintf("cannot %s: a text in it has characters that the database cannot keep", doing)
	case junctor.CodeUnavailable:
		e.Message = fmt.Sprintf("cannot %s: the database cannot be used just now; the log says why", doing)
	case junctor.CodeTimeout:
		e.Message = fmt.Sprintf("cannot %s: the deadline passed while waiting for the database", doing)
	case junctor.CodeCanceled:
		e.Message = fmt.Sprintf("did not %s: the request was cancelled", doing)
	default:
		e.Message = fmt.Sprintf("cannot %s: the database refused; the log says why", doing)
	}
	return e
}

func (s *Store) codeOf(ctx context.Context, err error) junctor.Code {
	// A driver that was interrupted may answer in its own words, so the
	// context is asked as well as the error.
	for _, e := range []error{err, ctx.Err()} {
		switch {
		case errors.Is(e, context.DeadlineExceeded):
			return junctor.CodeTimeout
		case errors.Is(e, context.Canceled):
			return junctor.CodeCanceled
		}
	}
	if code := s.dialect.Code(err); code != "" {
		return code
	}
	if errors.Is(err, sql.ErrConnDone) || errors.Is(err, sql.ErrTxDone) || isClosed(err) {
		return junctor.CodeUnavailable
	}
	return junctor.CodeInternal
}

// isClosed knows the error of a *sql.DB after Close, which database/sql does
// not export.
func isClosed(err error) bool { return err.Error() == "sql: database is closed" }

// missing is the answer for what is not there, or belongs to another tenant:
// the two cannot be told apart.
func missing(format string, args ...any) error {
	return junctor.Errorf(junctor.CodeNotFound, format, args...)
}
