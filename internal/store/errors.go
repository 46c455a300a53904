package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	junctor "github.com/junctor-mcp/junctor"
)

// wrapError turns an error of the database into a junctor.Error, and passes a
// junctor.Error on. doing is a verb phrase that completes "cannot ...", such as `save the
// setting "x"`. The database's own text stays in the cause, because it can quote stored
// values.
func (s *Store) wrapError(ctx context.Context, err error, doing string, args ...any) error {
	if known, ok := errors.AsType[*junctor.Error](err); ok {
		return known
	}
	doing = fmt.Sprintf(doing, args...)
	code := s.codeOf(ctx, err)
	e := &junctor.Error{Code: code, Cause: err}
	switch code {
	case junctor.CodeConflict:
		e.Message = fmt.Sprintf("cannot %s: it already exists", doing)
	case junctor.CodeNotFound:
		e.Message = fmt.Sprintf("cannot %s: the tenant does not exist", doing)
	case junctor.CodeInvalid:
		e.Message = fmt.Sprintf("cannot %s: a text contains characters that the database cannot store", doing)
	case junctor.CodeUnavailable:
		e.Message = fmt.Sprintf("cannot %s: the database is unavailable; see the log for the reason", doing)
	case junctor.CodeTimeout:
		e.Message = fmt.Sprintf("cannot %s: the deadline passed while waiting for the database", doing)
	case junctor.CodeCanceled:
		e.Message = fmt.Sprintf("did not %s: the request was cancelled", doing)
	default:
		e.Message = fmt.Sprintf("cannot %s: the database returned an error; see the log for the reason", doing)
	}
	return e
}

// codeOf returns the code of an error that the database gave for a statement with this
// context.
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

// isClosed recognises the error of a *sql.DB after Close, which database/sql does not
// export.
func isClosed(err error) bool { return err.Error() == "sql: database is closed" }

// notFound is the error for a row that does not exist or belongs to another tenant. The
// two cannot be told apart.
func notFound(format string, args ...any) error {
	return junctor.Errorf(junctor.CodeNotFound, format, args...)
}
