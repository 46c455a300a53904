package worker

import (
	"errors"
	"net/http"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Kind says what went wrong with an attempt.
type Kind string

// The kinds.
const (
	KindEndpointNotFound     Kind = "endpoint_not_found"
	KindToolNotFound         Kind = "tool_not_found"
	KindTimeout              Kind = "timeout"
	KindAuthenticationFailed Kind = "authentication_failed"
	KindBridgeUnavailable    Kind = "bridge_unavailable" // the endpoint cannot be reached, or does not answer as it should
	KindFileVerification     Kind = "file_verification"
	KindInvalidArguments     Kind = "invalid_arguments"
	KindToolError            Kind = "tool_error" // the tool ran and says that it failed
	KindLimited              Kind = "limited"
	KindGone                 Kind = "gone"
	KindInternal             Kind = "internal"
	KindStopped              Kind = "stopped" // this process ended meanwhile
)

// outcome is what became of an attempt.
type outcome struct {
	class  queue.Class
	kind   Kind // "" where it went well
	status int  // of HTTP, where it failed by one
	err    error
	after  time.Duration
	answer []byte // the tool's result
	ran    bool   // the endpoint was asked
	call   string // its record
	note   string // how the file was proved
}

// ill says whether the endpoint is to blame, for its breaker.
func (o *outcome) ill() bool {
	return o.class == queue.Retry && (o.kind == KindTimeout || o.kind == KindBridgeUnavailable)
}

// httpAnswer is an error that came of an HTTP answer.
type httpAnswer interface{ HTTPStatus() int }

// classify says what follows from the error of a call. ran says that the
// endpoint was asked.
func classify(err error, ran bool) outcome {
	e := junctor.AsError(err)
	o := outcome{class: queue.Retry, kind: KindBridgeUnavailable, err: err, after: e.RetryAfter, ran: ran}
	as := func(c queue.Class, k Kind) outcome {
		o.class, o.kind = c, k
		return o
	}
	var answered httpAnswer
	if errors.As(err, &answered) {
		o.status = answered.HTTPStatus()
	}
	switch o.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return as(queue.Hold, KindAuthenticationFailed)
	case http.StatusGone:
		return as(queue.Hold, KindGone)
	case http.StatusNotFound:
		return as(queue.Fatal, KindEndpointNotFound)
	}
	if said, ok := errors.AsType[*wire.Error](err); ok {
		switch said.Code {
		case wire.CodeInternal:
			return as(queue.Retry, KindBridgeUnavailable)
		case wire.CodeMethodNotFound:
			return as(queue.Fatal, KindToolNotFound)
		case wire.CodeInvalidParams:
			return as(queue.Fatal, KindInvalidArguments)
		}
		return as(queue.Fatal, KindToolError)
	}
	if refusedWay(e) {
		return as(queue.Hold, KindEndpointNotFound)
	}
	switch e.Code {
	case junctor.CodeTimeout:
		return as(queue.Retry, KindTimeout)
	case junctor.CodeUnauthenticated:
		return as(queue.Hold, KindAuthenticationFailed)
	case junctor.CodeNotFound:
		return as(queue.Fatal, KindToolNotFound)
	case junctor.CodeInvalid, junctor.CodeTooLarge, junctor.CodeConflict, junctor.CodePrecondition:
		return as(queue.Fatal, KindInvalidArguments)
	case junctor.CodeDenied:
		return as(queue.Hold, KindAuthenticationFailed)
	case junctor.CodeLimited:
		return as(notYet(ran), KindLimited)
	case junctor.CodeCanceled:
		return as(queue.Unbegun, KindStopped)
	case junctor.CodeUnavailable:
		// The endpoint is left alone just now, or this instance is not able: no attempt.
		return as(notYet(ran && e.RetryAfter == 0), KindBridgeUnavailable)
	case junctor.CodeInternal:
		return as(queue.Retry, KindInternal)
	case junctor.CodeUnreachable, junctor.CodeUpstream:
	}
	return o
}

// notYet is what becomes of an attempt that may not have been one.
func notYet(was bool) queue.Class {
	if was {
		return queue.Retry
	}
	return queue.Unbegun
}

// refusedWay says whether egress refused the way to the endpoint: somebody has
// to allow it.
func refusedWay(e *junctor.Error) bool {
	for inner := e; inner != nil; {
		if inner.Code == junctor.CodeDenied && inner != e {
			return true
		}
		next, ok := errors.AsType[*junctor.Error](inner.Cause)
		if !ok {
			return false
		}
		inner = next
	}
	return false
}
