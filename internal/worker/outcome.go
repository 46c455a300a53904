package worker

import (
	"errors"
	"net/http"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Kind is the kind of error of an attempt.
type Kind string

// Kinds of errors.
const (
	KindEndpointNotFound     Kind = "endpoint_not_found"
	KindToolNotFound         Kind = "tool_not_found"
	KindTimeout              Kind = "timeout"
	KindAuthenticationFailed Kind = "authentication_failed"
	KindBridgeUnavailable    Kind = "bridge_unavailable" // the endpoint is unreachable, or its answer is malformed
	KindFileVerification     Kind = "file_verification"
	KindInvalidArguments     Kind = "invalid_arguments"
	KindDenied               Kind = "denied"     // a rule of the tenant or of operators
	KindToolError            Kind = "tool_error" // the tool ran and returned an error
	KindLimited              Kind = "limited"
	KindGone                 Kind = "gone"
	KindInternal             Kind = "internal"
	KindStopped              Kind = "stopped" // this process was stopping
)

// attemptOutcome is the result of an attempt.
type attemptOutcome struct {
	class      queue.Outcome
	kind       Kind // "" for success
	status     int  // the HTTP status that it failed with, if any
	err        error
	retryAfter time.Duration
	answer     []byte // the tool's result
	dispatched bool   // the call reached the endpoint
	callID     string // the id of its record in the journal
	fileNote   string // how the file was verified
}

// isEndpointFailure reports whether the endpoint is at fault, so that its
// breaker counts the attempt.
func (o *attemptOutcome) isEndpointFailure() bool {
	return o.class == queue.OutcomeRetry && (o.kind == KindTimeout || o.kind == KindBridgeUnavailable)
}

// httpStatusError is an error that stems from an HTTP response.
type httpStatusError interface{ HTTPStatus() int }

// classifyError decides what follows from the error of a call: retry, hold
// until somebody acts, or give up. dispatched means that the call reached the
// endpoint.
func classifyError(err error, ran bool) attemptOutcome {
	e := junctor.AsError(err)
	o := attemptOutcome{class: queue.OutcomeRetry, kind: KindBridgeUnavailable, err: err, retryAfter: e.RetryAfter, dispatched: ran}
	as := func(c queue.Outcome, k Kind) attemptOutcome {
		o.class, o.kind = c, k
		return o
	}
	var answered httpStatusError
	if errors.As(err, &answered) {
		o.status = answered.HTTPStatus()
	}
	switch o.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return as(queue.OutcomeHold, KindAuthenticationFailed)
	case http.StatusGone:
		return as(queue.OutcomeHold, KindGone)
	case http.StatusNotFound:
		return as(queue.OutcomeFatal, KindEndpointNotFound)
	}
	if said, ok := errors.AsType[*wire.Error](err); ok {
		switch said.Code {
		case wire.CodeInternal:
			return as(queue.OutcomeRetry, KindBridgeUnavailable)
		case wire.CodeMethodNotFound:
			return as(queue.OutcomeFatal, KindToolNotFound)
		case wire.CodeInvalidParams:
			return as(queue.OutcomeFatal, KindInvalidArguments)
		}
		return as(queue.OutcomeFatal, KindToolError)
	}
	if _, ok := errors.AsType[*guard.RuleError](err); ok {
		return as(queue.OutcomeFatal, KindDenied) // the next attempt has the same arguments
	}
	if isEgressRefusal(e) {
		return as(queue.OutcomeHold, KindEndpointNotFound)
	}
	switch e.Code {
	case junctor.CodeTimeout:
		return as(queue.OutcomeRetry, KindTimeout)
	case junctor.CodeUnauthenticated:
		return as(queue.OutcomeHold, KindAuthenticationFailed)
	case junctor.CodeNotFound:
		return as(queue.OutcomeFatal, KindToolNotFound)
	case junctor.CodeInvalid, junctor.CodeTooLarge, junctor.CodeConflict, junctor.CodePrecondition:
		return as(queue.OutcomeFatal, KindInvalidArguments)
	case junctor.CodeDenied:
		return as(queue.OutcomeHold, KindAuthenticationFailed)
	case junctor.CodeLimited:
		return as(retryOrNotStarted(ran), KindLimited)
	case junctor.CodeCanceled:
		return as(queue.OutcomeNotStarted, KindStopped)
	case junctor.CodeUnavailable:
		// The endpoint is paused, or this instance cannot make calls: not an attempt.
		return as(retryOrNotStarted(ran && e.RetryAfter == 0), KindBridgeUnavailable)
	case junctor.CodeInternal:
		return as(queue.OutcomeRetry, KindInternal)
	case junctor.CodeUnreachable, junctor.CodeUpstream:
	}
	return o
}

// retryOrNotStarted returns retry if the attempt counts, and otherwise not
// started, which costs no attempt.
func retryOrNotStarted(counts bool) queue.Outcome {
	if counts {
		return queue.OutcomeRetry
	}
	return queue.OutcomeNotStarted
}

// isEgressRefusal reports whether egress refused the connection. The delivery
// is then held until an operator allows the address.
func isEgressRefusal(e *junctor.Error) bool {
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
