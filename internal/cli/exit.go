package cli

import (
	"errors"
	"fmt"

	junctor "github.com/junctor-mcp/junctor"
)

// The exit codes that scripts branch on.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitDenied      = 4
	exitUnreachable = 5
	exitChanged     = 6 // somebody else changed it since it was read
)

// exitOf is the one place where the codes of junctor become exit codes.
func exitOf(err error) int {
	var e *junctor.Error
	switch {
	case err == nil:
		return exitOK
	case isUsage(err):
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

// failure is an error of a command that did run. silent means that the command
// has already said all there is to say.
type failure struct {
	err    error
	silent bool
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// said ends a command with exit code 1 and no further word.
func said(what string) error { return &failure{err: errors.New(what), silent: true} }

// usageError says that the command line is wrong.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// isUsage says whether err is about the command line itself, so that pointing
// to its help is of use. What cobra says before a command runs is.
func isUsage(err error) bool {
	var usage *usageError
	var failed *failure
	return errors.As(err, &usage) || !errors.As(err, &failed)
}
