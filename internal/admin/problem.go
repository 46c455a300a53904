package admin

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// statusClientClosed is the status of an answer that no client waits for any more.
const statusClientClosed = 499

// statusOf returns the HTTP status of a code. No other place maps codes to statuses.
func statusOf(code junctor.Code) int {
	switch code {
	case junctor.CodeUnauthenticated:
		return http.StatusUnauthorized
	case junctor.CodeDenied:
		return http.StatusForbidden
	case junctor.CodeNotFound:
		return http.StatusNotFound
	case junctor.CodeInvalid:
		return http.StatusUnprocessableEntity
	case junctor.CodeConflict:
		return http.StatusConflict
	case junctor.CodePrecondition:
		return http.StatusPreconditionFailed
	case junctor.CodeLimited:
		return http.StatusTooManyRequests
	case junctor.CodeTooLarge:
		return http.StatusRequestEntityTooLarge
	case junctor.CodeTimeout:
		return http.StatusGatewayTimeout
	case junctor.CodeCanceled:
		return statusClientClosed
	case junctor.CodeUnreachable, junctor.CodeUpstream:
		return http.StatusBadGateway
	case junctor.CodeUnavailable:
		return http.StatusServiceUnavailable
	case junctor.CodeInternal:
	}
	return http.StatusInternalServerError
}

// codeOf returns the code for a status that huma chose itself.
func codeOf(status int) junctor.Code {
	switch {
	case status == http.StatusRequestEntityTooLarge:
		return junctor.CodeTooLarge
	case status == http.StatusRequestTimeout:
		return junctor.CodeTimeout
	case status >= 400 && status < 500:
		return junctor.CodeInvalid
	}
	return junctor.CodeInternal
}

// Problem is the body of every error: RFC 9457, with the code of package junctor.
type Problem struct { //nolint:errname // the name that RFC 9457 gives it
	Type   string       `json:"type" doc:"Always about:blank; code identifies the kind of problem."`
	Title  string       `json:"title" doc:"Meaning of the HTTP status."`
	Status int          `json:"status" doc:"HTTP status code."`
	Code   junctor.Code `json:"code" doc:"Stable error code for programs."`
	Detail string       `json:"detail" doc:"What failed, where, and what to do, for people."`
	Errors []Fault      `json:"errors,omitempty" nullable:"false" doc:"All invalid parts of the request."`
	Step   string       `json:"step,omitempty" doc:"The step that failed, if a server could not be reached: address, tls, http, authentication, protocol or list."`
	Hint   string       `json:"hint,omitempty" doc:"How to fix it."`

	Limit *junctor.Allowance `json:"limit,omitempty" doc:"The exceeded limit and when it resets. Only with the code limited."`

	Policy []PolicyProblem `json:"policy,omitempty" nullable:"false" doc:"What is wrong with rules, with line and column in their conditions."`

	Current   any    `json:"current,omitempty" doc:"The stored version, as a GET returns it. The header ETag names the version. Only with the code precondition."`
	ChangedBy string `json:"changed_by,omitempty" doc:"Who last changed the object, if known. Only with the code precondition."`

	// retryAfter and etag become headers, not members of the body.
	retryAfter time.Duration
	etag       string
}

// Fault is one invalid part of a request.
type Fault struct {
	In      string `json:"in" enum:"path,query,body,arguments" doc:"Invalid part of the request; arguments are the arguments of a tool."`
	Pointer string `json:"pointer" doc:"JSON pointer to the invalid value in that part; empty for the whole part."`
	Message string `json:"message" doc:"Why the value is invalid."`
}

// Error implements error, so that a route can return a Problem.
func (p *Problem) Error() string { return p.Detail }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter: a problem has a media type of its own.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// GetHeaders implements huma.HeadersError.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.retryAfter > 0 {
		// Rounded up: a client that comes back a moment too early is refused again.
		h.Set("Retry-After", strconv.FormatInt(int64((p.retryAfter+time.Second-1)/time.Second), 10))
	}
	if p.etag != "" {
		h.Set("ETag", p.etag)
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="junctor"`)
	}
	return h
}

// setStatus sets the status, and the title that belongs to it.
func (p *Problem) setStatus(status int) {
	p.Status = status
	p.Title = cmp.Or(http.StatusText(status), "Client Closed Request")
}

// newProblem returns err as a problem. It shows nothing of the text of an error that is
// not a junctor.Error: such a text can quote secrets.
func newProblem(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	e := junctor.AsError(err)
	p := &Problem{Type: "about:blank", Code: e.Code, Detail: e.Message, retryAfter: e.RetryAfter, Limit: e.Allowance}
	p.setStatus(statusOf(e.Code))
	for _, v := range e.Violations {
		p.Errors = append(p.Errors, Fault{In: "arguments", Pointer: v.Pointer, Message: v.Message})
	}
	if probe, ok := errors.AsType[*junctor.ProbeError](err); ok {
		p.Step, p.Hint = probe.Probe.Failed, probe.Probe.Hint
	}
	return p
}

// newHumaProblem returns huma's own refusal of a request as a problem. It leaves out the
// values that huma would echo, because one of them may be a secret in the wrong place.
func newHumaProblem(m *huma.ErrorModel) *Problem {
	p := &Problem{Type: "about:blank", Code: codeOf(m.Status)}
	p.setStatus(m.Status)
	if p.Code == junctor.CodeInternal {
		p.Detail = "internal error; see the log of this instance"
		return p
	}
	p.Detail = m.Detail
	for _, d := range m.Errors {
		if d == nil {
			continue
		}
		in, pointer := pointerOf(d.Location)
		p.Errors = append(p.Errors, Fault{In: in, Pointer: pointer, Message: d.Message})
	}
	if len(p.Errors) > 0 {
		first := p.Errors[0]
		p.Detail = "the request is not valid: " + first.Message + " (" + first.In + first.Pointer + ")"
	}
	return p
}

// pointerOf converts huma's notation of a place, such as body.scopes[0], into the part of
// the request and a JSON pointer, such as /scopes/0.
func pointerOf(location string) (in, pointer string) {
	in, rest, _ := strings.Cut(location, ".")
	if rest == "" {
		return cmp.Or(in, "body"), ""
	}
	rest = strings.NewReplacer("~", "~0", "/", "~1", "[", "/", "]", "", ".", "/").Replace(rest)
	return in, "/" + rest
}

// transformError is the transformer that turns huma's own refusals into problems before
// they are written.
func transformError(_ huma.Context, _ string, v any) (any, error) {
	var m *huma.ErrorModel
	if err, ok := v.(error); ok && errors.As(err, &m) {
		return newHumaProblem(m), nil
	}
	return v, nil
}

// Refuse answers with an error in the form of this API. It is for handlers in front of the
// API that refuse a request themselves.
func Refuse(w http.ResponseWriter, err error) { writeProblem(w, newProblem(err)) }

// writeProblem writes a problem outside of huma.
func writeProblem(w http.ResponseWriter, p *Problem) {
	maps.Copy(w.Header(), p.GetHeaders())
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // it fails only if the client has gone
}
