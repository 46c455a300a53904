package junctor

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Code classifies an error. Each edge maps codes to its own terms (HTTP status,
// JSON-RPC code, exit code) in one file.
type Code string

// The codes an Error may carry.
const (
	CodeUnauthenticated Code = "unauthenticated" // no credential, or one that is not valid
	CodeDenied          Code = "denied"          // known, but not allowed
	CodeNotFound        Code = "not_found"       // does not exist, or may not be seen
	CodeInvalid         Code = "invalid"         // the request itself is wrong
	CodeConflict        Code = "conflict"        // already exists, or is in use
	CodePrecondition    Code = "precondition"    // the stored version is not the one that the change was made for
	CodeLimited         Code = "limited"         // over a limit; RetryAfter is when to retry
	CodeTooLarge        Code = "too_large"       // more bytes than allowed
	CodeTimeout         Code = "timeout"         // the deadline passed while it ran
	CodeCanceled        Code = "canceled"        // the caller disconnected or cancelled
	CodeUnreachable     Code = "unreachable"     // the other side could not be reached
	CodeUpstream        Code = "upstream"        // the other side sent an invalid or failing response
	CodeUnavailable     Code = "unavailable"     // starting, stopping, or a dependency is unreachable
	CodeInternal        Code = "internal"        // a bug or an unexpected failure in Junctor
)

// Error is the one error type that crosses packages. Message is shown to users:
// what failed, why, and what to do next, without secrets. Cause is only logged
// and may contain details.
type Error struct {
	Code       Code
	Message    string
	Cause      error
	RetryAfter time.Duration // with CodeLimited and CodeUnavailable: when to retry; 0 if unknown
	Allowance  *Allowance    // with CodeLimited: the limit that was reached, if it is the caller's own
	Scope      Scope         // with CodeDenied: the missing scope, if a scope was missing
	Violations []Violation   // with CodeInvalid: every argument that broke its schema
	TimeLimit  *TimeLimit    // the limit of time that ended a call, if one did
}

// TimeLimit is a limit of time that ended a call.
type TimeLimit struct {
	// Name is the field or setting of the limit: call_timeout, call_timeout_max,
	// drain_calls, timeout_ms, or call_seconds and seconds of an agent.
	Name   string
	SetBy  LimitSource
	Server string // its id; "" if the limit ended no call of a server
	Tool   string // with LimitOfTool: its name at the server
	Limit  time.Duration
}

// LimitSource is what set a limit of time.
type LimitSource string

// The sources of limits of time, from the weakest to the strongest.
const (
	LimitOfInstance LimitSource = "instance" // a setting
	LimitOfServer   LimitSource = "server"   // a field of the server
	LimitOfTool     LimitSource = "tool"     // a field of the server's overrides
	LimitOfBuiltin  LimitSource = "builtin"  // the program: the tool of a built-in server has its own
	LimitOfCaller   LimitSource = "caller"   // the request, or the trigger
)

// Violation is one place where arguments break their schema.
type Violation struct {
	Pointer string `json:"pointer"` // JSON pointer into the arguments; "" is the whole
	Message string `json:"message"`
}

// Errorf returns an Error. A %w operand becomes its Cause; its text is part of
// Message where the format places it.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Cause: errors.Unwrap(err)}
}

// Error returns the message that users see, without the cause.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause, for errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Cause }

// AsError converts err: an Error stays itself, errors of a context become
// timeout or canceled, and any other error becomes internal, without its text.
// It returns nil for nil.
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
	return &Error{Code: CodeInternal, Message: "internal error; see the log of this instance", Cause: err}
}

// CodeOf returns the code of err; "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	return AsError(err).Code
}
