package upstream

import (
	"errors"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// linkError is the kind of failure of a link. It is the cause of a
// *junctor.Error, for errors.Is.
type linkError string

// Error implements error.
func (e linkError) Error() string { return string(e) }

const (
	errNotBegun    linkError = "the link ended before the request was sent"
	errInterrupted linkError = "the link was lost during the request"
	errExited      linkError = "the process of the server has exited"
	errNoStream    linkError = "the server has no stream for its own messages"
)

// isLinkOver reports whether the link that gave err cannot be used any more.
func isLinkOver(err error) bool { return errors.Is(err, errNotBegun) || errors.Is(err, errInterrupted) }

// cannotHaveRun reports whether the request that failed with err surely did not run.
func cannotHaveRun(err error) bool {
	if errors.Is(err, errNotBegun) {
		return true
	}
	if _, own := errors.AsType[*wire.Error](err); own {
		return false
	}
	switch e := junctor.AsError(err); e.Code {
	case junctor.CodeUnreachable:
		return true
	case junctor.CodeUnavailable:
		return e.RetryAfter > 0
	default:
		return false
	}
}

// isMethodMissing reports whether the server does not know the method.
func isMethodMissing(err error) bool {
	e, own := errors.AsType[*wire.Error](err)
	return own && e.Code == wire.CodeMethodNotFound
}
