package gateway

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// JSON-RPC codes of our own, outside the ranges that JSON-RPC and MCP reserve.
// data.code has the reason as a word.
const (
	codeDenied      = -31001
	codeLimited     = -31002
	codeTimeout     = -31003
	codeCanceled    = -31004
	codeUnreachable = -31005
	codeUpstream    = -31006
	codeUnavailable = -31007
	codeConflict    = -31008
	codeTooLarge    = -31009
)

// clientError is an error as a client receives it: the JSON-RPC error for the body, and
// the HTTP status for the modern era.
type clientError struct {
	rpcError   *wire.Error
	status     int // modern era only; the legacy era answers 200
	retryAfter time.Duration
}

// toClientError maps any error to that of a client. uri is that of the requested
// resource, which the error repeats if it was not found; "" for other requests.
func toClientError(err error, modern bool, uri string) clientError {
	if w, ok := errors.AsType[*wire.Error](err); ok {
		return clientError{rpcError: w, status: wireStatus(w.Code)}
	}
	e := junctor.AsError(err)
	var needs interface{ RequiredCapabilities() []byte }
	if errors.As(err, &needs) {
		data := append([]byte(`{"requiredCapabilities":`), needs.RequiredCapabilities()...)
		return clientError{rpcError: &wire.Error{Code: wire.CodeMissingCapability, Message: e.Message, Data: append(data, '}')}, status: http.StatusBadRequest}
	}
	code, status := mapErrorCode(e.Code)
	f := clientError{rpcError: &wire.Error{Code: code, Message: e.Message}, status: status, retryAfter: e.RetryAfter}
	switch {
	case e.Code == junctor.CodeNotFound && uri != "":
		if !modern {
			f.rpcError.Code = wire.CodeResourceNotFound
		}
		f.rpcError.Data = append(wire.AppendString([]byte(`{"uri":`), uri), '}')
	case code == wire.CodeInternal: // details stay in the log
	default:
		f.rpcError.Data = errorData(e)
	}
	return f
}

// errorData returns the data member of an error: the code, when to retry, the limit that
// was reached, the limit of time that ended the call, and violations of the input schema.
func errorData(e *junctor.Error) []byte {
	d := wire.AppendString([]byte(`{"code":`), string(e.Code))
	if e.RetryAfter > 0 {
		// Rounded up: a client that comes back too early is refused again.
		d = strconv.AppendInt(append(d, `,"retryAfterMs":`...), e.RetryAfter.Milliseconds()+1, 10)
	}
	if a := e.Allowance; a != nil {
		d = wire.AppendString(append(d, `,"limit":{"name":`...), a.Name)
		d = strconv.AppendInt(append(d, `,"limit":`...), int64(a.Limit), 10)
		d = strconv.AppendInt(append(d, `,"remaining":`...), int64(a.Remaining), 10)
		d = append(a.Reset.AppendFormat(append(d, `,"reset":"`...), time.RFC3339), `"}`...)
	}
	if l := e.TimeLimit; l != nil {
		d = wire.AppendString(append(d, `,"timeLimit":{"name":`...), l.Name)
		d = wire.AppendString(append(d, `,"setBy":`...), string(l.SetBy))
		for _, one := range [...]struct{ key, value string }{{"server", l.Server}, {"tool", l.Tool}} {
			if one.value != "" {
				d = wire.AppendString(append(append(append(d, `,"`...), one.key...), `":`...), one.value)
			}
		}
		d = append(strconv.AppendInt(append(d, `,"limitMs":`...), l.Limit.Milliseconds(), 10), '}')
	}
	if len(e.Violations) > 0 {
		d = append(d, `,"violations":[`...)
		for i, v := range e.Violations {
			if i > 0 {
				d = append(d, ',')
			}
			d = wire.AppendString(append(d, `{"pointer":`...), v.Pointer)
			d = append(wire.AppendString(append(d, `,"message":`...), v.Message), '}')
		}
		d = append(d, ']')
	}
	return append(d, '}')
}

// mapErrorCode is the only table from our error codes to those of MCP clients: the
// JSON-RPC code, and the HTTP status in the modern era.
func mapErrorCode(c junctor.Code) (code, status int) {
	switch c {
	case junctor.CodeInvalid, junctor.CodeNotFound:
		return wire.CodeInvalidParams, http.StatusBadRequest
	case junctor.CodeUnauthenticated:
		// An upstream server requires a credential. The client's own was accepted.
		// If the status were 401, the client would discard its valid token.
		return codeDenied, http.StatusOK
	case junctor.CodeDenied:
		return codeDenied, http.StatusForbidden
	case junctor.CodeLimited:
		return codeLimited, http.StatusTooManyRequests
	case junctor.CodeConflict, junctor.CodePrecondition:
		return codeConflict, http.StatusOK
	case junctor.CodeTooLarge:
		return codeTooLarge, http.StatusOK
	case junctor.CodeTimeout:
		return codeTimeout, http.StatusOK
	case junctor.CodeCanceled:
		return codeCanceled, http.StatusOK
	case junctor.CodeUnreachable:
		return codeUnreachable, http.StatusOK
	case junctor.CodeUpstream:
		return codeUpstream, http.StatusOK
	case junctor.CodeUnavailable:
		return codeUnavailable, http.StatusServiceUnavailable
	case junctor.CodeInternal:
	}
	return wire.CodeInternal, http.StatusOK
}

// wireStatus returns the HTTP status of a protocol error in the modern era.
func wireStatus(code int) int {
	if code == wire.CodeMethodNotFound {
		return http.StatusNotFound
	}
	if code == wire.CodeInternal {
		return http.StatusOK
	}
	return http.StatusBadRequest
}

// writeError answers with an HTTP status and a JSON-RPC error. A nil id is written as
// null: the request was never read.
func (g *Gateway) writeError(w http.ResponseWriter, status int, id []byte, e *wire.Error) {
	w.Header()["Content-Type"] = g.jsonType
	w.WriteHeader(status)
	_, _ = w.Write(wire.AppendError(nil, id, e))
}

// setRateLimitHeaders writes the remaining allowance of a caller, and in how many seconds
// it is full again. It writes nothing if no limit applies.
func setRateLimitHeaders(h http.Header, a junctor.Allowance, now time.Time) {
	if a.Limit == 0 {
		return
	}
	h.Set("RateLimit-Limit", strconv.Itoa(a.Limit))
	h.Set("RateLimit-Remaining", strconv.Itoa(a.Remaining))
	h.Set("RateLimit-Reset", strconv.Itoa(int(max(0, a.Reset.Sub(now)+time.Second-1)/time.Second)))
}

// setRetryAfter writes Retry-After in whole seconds, rounded up.
func setRetryAfter(h http.Header, d time.Duration) {
	if d > 0 {
		h.Set("Retry-After", strconv.Itoa(int((d+time.Second-1)/time.Second)))
	}
}
