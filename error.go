package junctor

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Code says what kind of thing went wrong. Each edge maps codes to its own
// language (HTTP status, JSON-RPC code, exit code) in one file.
type Code string

// The codes an Error may carry.
const (
	CodeUnauthenticated Code = "unauthenticated" // no credential, or one that is not valid
	CodeDenied          Code = "denied"          // known, but not allowed
	CodeNotFound        Code = "not_found"       // does not exist, or may not be seen
	CodeInvalid         Code = "invalid"         // the request itself is wrong
	CodeConflict        Code = "conflict"        // already exists, or is in use
	CodePrecondition    Code = "precondition"    // changed since the version that the change is for
	CodeLimited         Code = "limited"         // over a rate limit; RetryAfter says when to come back
	CodeTooLarge        Code = "too_large"       // more bytes than the door takes
	CodeTimeout         Code = "timeout"         // the deadline passed while it ran
	CodeCanceled        Code = "canceled"        // the caller went away or said stop
	CodeUnreachable     Code = "unreachable"     // the other side could not be reached
	CodeUpstream        Code = "upstream"        // the other side answered, wrongly
	CodeUnavailable     Code = "unavailable"     // not now: starting, stopping, or a dependency is away
	CodeInternal        Code = "internal"        // a fault of ours
)

// Error is the one error type that crosses packages. Message is for people: it
// says what went wrong, where, and what to do, and holds nothing secret. Cause
// is for the log and may say more.
type Error struct {
	Code       Code
	Message    string
	Cause      error
	RetryAfter time.Duration // with CodeLimited and CodeUnavailable: when to come back; 0 is unknown
	Allowance  *Allowance    // with CodeLimited: the limit that was reached, where it is one of the party's own
	Scope      Scope         // with CodeDenied: the scope that was missing, where it was one
	Violations []Violation   // with CodeInvalid: every argument that broke its schema
}

// Violation is one place where arguments break their schema.
type Violation struct {
	Pointer string `json:"pointer"` // JSON pointer into the arguments; "" is the whole
	Message string `json:"message"`
}

// Errorf makes an Error. A %w operand becomes its Cause, and is not part of
// what people see unless the format places it there.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Cause: errors.Unwrap(err)}
}

func (e *Error) Error() string { return e.Message }

// Unwrap gives the cause to errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Cause }

// AsError gives err as an Error: itself when it is one, timeout and canceled
// for the errors of a context, and internal, with nothing of its text shown,
// for the rest. It returns nil for nil.
func AsError(err error) *Error {
	var e *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: CodeTimeout, Message: "the deadline passed before there was an answer", Cause: err}
	case errors.Is(err, context.Canceled):
		return &Error{Code: CodeCanceled, Message: "the request was cancelled", Cause: err}
	}
	return &Error{Code: CodeInternal, Message: "internal error; the log of this instance says more", Cause: err}
}

// CodeOf is the code of err; "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	return AsError(err).Code
}
