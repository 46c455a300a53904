package upstream

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// httpReply is an HTTP response, over a line or from an HTTP client.
type httpReply struct {
	status int
	length int64 // of the body; -1 if unknown
	header headerGetter
	body   io.ReadCloser
}

// headerGetter gives the first value of a header field; "" if it is missing.
type headerGetter interface{ Get(name string) string }

// newReply makes a reply of the response of an HTTP client.
func newReply(resp *http.Response) httpReply {
	return httpReply{status: resp.StatusCode, length: resp.ContentLength, header: resp.Header, body: resp.Body}
}

// readBody reads a whole body, up to most bytes, and appends it to buf. size is the
// announced length, or -1. The byte budget of party pays for the memory.
func (o *Options) readBody(ctx context.Context, party limit.Party, buf []byte, body io.Reader, size, most int64) ([]byte, error) {
	buf, err := o.ByteBudget.ReadAll(ctx, party, buf, body, size, most)
	switch {
	case err == nil:
		return buf, nil
	case errors.Is(err, limit.ErrTooLong):
		return nil, tooLargeError(most)
	}
	return nil, memoryError(err)
}

// memoryError turns an error of the byte budget into one that causes no retry: the call
// ran, and only its result was not read.
func memoryError(err error) error {
	e, ok := errors.AsType[*junctor.Error](err)
	if !ok || e.Code != junctor.CodeLimited && e.Code != junctor.CodeUnavailable && e.Code != junctor.CodeTooLarge {
		return err
	}
	return &junctor.Error{Code: junctor.CodeTooLarge, RetryAfter: e.RetryAfter, Message: "the server answered, but Junctor did not read the result: " + e.Message, Cause: errNoMemory}
}

// errNoMemory marks a result that was not read because the byte budget was used up.
const errNoMemory linkError = "not enough memory for the result"

// tooLargeError is the error of an answer above the limit.
func tooLargeError(most int64) error {
	return junctor.Errorf(junctor.CodeTooLarge, "the server's response is larger than the limit of %d bytes; --max-result sets the limit", most)
}

// discardBody closes a body that is not needed. It reads a short rest first, so that the
// connection can be reused.
func discardBody(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 4<<10)
	_ = body.Close()
}

// maxErrorBody is how much of the body of an error response is read.
const maxErrorBody = 64 << 10

// statusError gives the error of a response that is no success.
func (l *httpLink) statusError(resp httpReply) error {
	return l.opts.statusError(resp, l.currentHeader(), l.hasSession, l.modernEra)
}

// statusError turns a response that is no success into an error. carried are the headers
// of the request, session means that it had a session id, and modern that the server is
// known to be modern.
//
// The code decides what happens next: only CodeUnavailable with RetryAfter is retried,
// and the cause errNotBegun makes the caller open a new link.
func (o *Options) statusError(resp httpReply, carried http.Header, session, modern bool) error {
	body, _ := io.ReadAll(io.LimitReader(resp.body, maxErrorBody)) // too small for the byte budget; a part of it may still say why
	status, who := resp.status, "server "+o.ID
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return refusalError(who, resp, carried.Get("Authorization") != "")
	case status == http.StatusNotFound && session:
		return &junctor.Error{Code: junctor.CodeUnavailable, Message: who + " has ended its session", Cause: errNotBegun}
	}
	if e := parseBodyError(body); e != nil {
		if modern && e.Code == wire.CodeUnsupportedVersion {
			return &junctor.Error{Code: junctor.CodeUpstream, Message: who + " no longer supports the protocol version " + wire.ModernVersion, Cause: errNotBegun}
		}
		return e
	}
	said := who + " answered with HTTP " + strconv.Itoa(status)
	switch {
	case status == http.StatusRequestEntityTooLarge:
		return &junctor.Error{Code: junctor.CodeTooLarge, Message: said + ": the request is larger than the server accepts"}
	case status == http.StatusTooManyRequests:
		// No automatic retry: the server asked for fewer requests.
		return &junctor.Error{Code: junctor.CodeUpstream, Message: said + ": too many requests; try again later", RetryAfter: parseRetryAfter(resp.header)}
	case status == http.StatusServiceUnavailable && resp.header.Get("Retry-After") != "":
		return &junctor.Error{Code: junctor.CodeUnavailable, Message: said, RetryAfter: max(parseRetryAfter(resp.header), time.Millisecond)}
	case modern && (status == http.StatusBadRequest || status == http.StatusNotFound || status == http.StatusMethodNotAllowed):
		// A modern server would say why. This one is no longer modern.
		return &junctor.Error{Code: junctor.CodeUpstream, Message: said, Cause: &httpStatusError{status, errNotBegun}}
	}
	return &junctor.Error{Code: junctor.CodeUpstream, Message: said, Cause: &httpStatusError{status: status}}
}

// httpStatusError keeps the HTTP status of a response as a cause of an error.
type httpStatusError struct {
	status int
	cause  error
}

// Error implements error.
func (h *httpStatusError) Error() string { return "HTTP " + strconv.Itoa(h.status) }

// Unwrap gives the cause, for errors.Is.
func (h *httpStatusError) Unwrap() error { return h.cause }

// HTTPStatus gives the status to callers that do not know this package.
func (h *httpStatusError) HTTPStatus() int { return h.status }

// statusOf gives the HTTP status that an error came from; 0 for none.
func statusOf(err error) int {
	if h, ok := errors.AsType[*httpStatusError](err); ok {
		return h.status
	}
	return 0
}

// Refusal is the response of a server that refused the credentials of a request, or
// requires some. It is a cause of errors with CodeUnauthenticated.
type Refusal struct { //nolint:errname // it is a response of a server
	Status    int
	Given     bool      // the request had credentials
	Challenge string    // value of WWW-Authenticate
	Date      time.Time // by the server's clock; zero if it does not say
}

// Error implements error.
func (r *Refusal) Error() string { return "refused with HTTP " + strconv.Itoa(r.Status) }

// HTTPStatus gives the status to callers that do not know this package.
func (r *Refusal) HTTPStatus() int { return r.Status }

// RefusalOf gives the refusal that an error came from; nil for none.
func RefusalOf(err error) *Refusal {
	r, _ := errors.AsType[*Refusal](err)
	return r
}

// refusalError is the error of a response that refuses credentials. given means that the
// request had some.
func refusalError(who string, resp httpReply, given bool) error {
	status := resp.status
	refusal := &Refusal{Status: status, Given: given, Challenge: resp.header.Get("WWW-Authenticate")}
	refusal.Date, _ = http.ParseTime(resp.header.Get("Date"))
	what, remedy := " rejected the credentials", "check the credentials that are stored for it"
	if !given {
		what, remedy = " requires credentials", "none are stored for it"
	}
	return &junctor.Error{
		Code: junctor.CodeUnauthenticated, Cause: &httpStatusError{status, refusal},
		Message: who + what + " (HTTP " + strconv.Itoa(status) + "): " + remedy,
	}
}

// parseBodyError gives the JSON-RPC error in a body; nil if it has none.
func parseBodyError(body []byte) *wire.Error {
	var m wire.Message
	if len(body) == 0 || m.Parse(body) != nil {
		return nil //nolint:nilerr // what is no message holds no error
	}
	e, ok := wire.ParseError(m.Error)
	if !ok {
		return nil
	}
	return e
}

// parseRetryAfter reads Retry-After: seconds, or a date. It returns 0 if there is none,
// and at most a day.
func parseRetryAfter(h headerGetter) time.Duration {
	v := h.Get("Retry-After")
	if n, err := strconv.ParseUint(v, 10, 64); err == nil {
		return junctor.BoundDuration(float64(n), time.Second, 24*time.Hour)
	}
	if at, err := http.ParseTime(v); err == nil {
		return min(max(time.Until(at), 0), 24*time.Hour)
	}
	return 0
}

// isStream reports whether a response is an event stream. ok is false if it is neither
// that nor JSON.
func isStream(h headerGetter) (stream, ok bool) {
	kind := h.Get("Content-Type")
	if kind != "application/json" {
		kind, _, _ = mime.ParseMediaType(kind)
	}
	switch kind {
	case "text/event-stream":
		return true, true
	case "application/json":
		return false, true
	}
	return false, false
}
