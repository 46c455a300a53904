package upstream

import (
	"errors"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// linkError marks what became of a link; it is the cause of an Error.
type linkError string

func (e linkError) Error() string { return string(e) }

const (
	errGone   linkError = "the link is over, and the request was not begun"
	errLost   linkError = "the link broke while the request was under way"
	errSilent linkError = "the server says nothing by itself"
)

// over says whether the link that gave err is of no more use.
func over(err error) bool { return errors.Is(err, errGone) || errors.Is(err, errLost) }

// notRun says that the request of which err came cannot have run.
func notRun(err error) bool {
	if errors.Is(err, errGone) {
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

// missing says that the server does not know the method.
func missing(err error) bool {
	e, own := errors.AsType[*wire.Error](err)
	return own && e.Code == wire.CodeMethodNotFound
}
