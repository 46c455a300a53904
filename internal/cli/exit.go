package cli

import (
	"errors"
	"fmt"

	junctor "github.com/junctor-mcp/junctor"
)

// The exit codes. Scripts depend on them, so a code never changes its meaning.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitDenied      = 4
	exitUnreachable = 5
	exitChanged     = 6 // somebody else changed the thing since it was read
)

// exitCode returns the exit code for an error. It is the only place that maps
// the codes of package junctor.
func exitCode(err error) int {
	var e *junctor.Error
	switch {
	case err == nil:
		return exitOK
	case isUsageError(err):
		return exitUsage
	case !errors.As(err, &e):
		return exitFailed
	}
	switch e.Code {
	case junctor.CodeInvalid:
		return exitUsage
	case junctor.CodeNotFound:
		return exitNotFound
	case junctor.CodeDenied, junctor.CodeUnauthenticated:
		return exitDenied
	case junctor.CodeUnreachable:
		return exitUnreachable
	case junctor.CodePrecondition:
		return exitChanged
	case junctor.CodeConflict, junctor.CodeLimited, junctor.CodeTooLarge, junctor.CodeTimeout, junctor.CodeCanceled,
		junctor.CodeUpstream, junctor.CodeUnavailable, junctor.CodeInternal:
	}
	return exitFailed
}

// failure is the error of a command that ran. silent means that the command has
// printed the reason already.
type failure struct {
	err    error
	silent bool
}

// Error implements error.
func (f *failure) Error() string { return f.err.Error() }

// Unwrap returns the error of the command.
func (f *failure) Unwrap() error { return f.err }

// silentFailure returns an error that ends a command with exit code 1 and
// prints nothing.
func silentFailure(what string) error { return &failure{err: errors.New(what), silent: true} }

// usageError is a mistake in the command line. It leads to exit code 2 and a
// hint to --help.
type usageError struct{ text string }

// Error implements error.
func (e *usageError) Error() string { return e.text }

// usageErrorf returns a usageError with a formatted text, which names the flag
// or argument.
func usageErrorf(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// isUsageError reports whether an error is about the command line itself. An
// error that is no failure came from cobra, before the command ran.
func isUsageError(err error) bool {
	var usage *usageError
	var failed *failure
	return errors.As(err, &usage) || !errors.As(err, &failed)
}
