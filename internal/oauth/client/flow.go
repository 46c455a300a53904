package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// Bounds of one request.
const (
	maxResponse  = 1 << 20
	maxShownBody = 2 << 10 // bytes of a response in a trace
	stepTimeout  = 20 * time.Second
	// maxClockSkew is how far a clock may be off before it is named as the cause of
	// a refusal.
	maxClockSkew = time.Minute
)

// flow is one OAuth operation, such as a login or a renewal, with the trace that it
// records. It is used by one goroutine.
type flow struct {
	client  *Client
	trace   *junctor.Trace
	secrets []string // must not appear in the trace, even if a server repeats them
}

// newFlow starts a flow. The trace hides the given secrets and those that later
// requests send or receive.
func (c *Client) newFlow(what junctor.TraceKind, secrets ...string) *flow {
	return &flow{client: c, trace: &junctor.Trace{What: what, At: c.Now().UTC(), Steps: []junctor.TraceStep{}}, secrets: secrets}
}

// beginStep adds a step to the trace. The pointer is valid until the next
// beginStep.
func (f *flow) beginStep(name string) *junctor.TraceStep {
	f.trace.Steps = append(f.trace.Steps, junctor.TraceStep{Name: name})
	return &f.trace.Steps[len(f.trace.Steps)-1]
}

// scrubText removes the secrets of the flow from a text.
func (f *flow) scrubText(text string) string { return seal.NewScrubber(f.secrets...).Scrub(text) }

// passStep ends a successful step.
func (f *flow) passStep(s *junctor.TraceStep, verdict string) {
	s.OK, s.Verdict = true, f.scrubText(verdict)
}

// failStep ends a failed step and with it the trace. The returned error has the
// same text, so that users see it without reading the trace.
func (f *flow) failStep(s *junctor.TraceStep, code junctor.Code, verdict, remedy string) error {
	s.OK, s.Verdict, s.Remedy = false, f.scrubText(verdict), f.scrubText(remedy)
	f.trace.OK, f.trace.Verdict, f.trace.Remedy = false, s.Verdict, s.Remedy
	message := s.Name + ": " + s.Verdict
	if s.Remedy != "" {
		message += "; " + s.Remedy
	}
	return &junctor.Error{Code: code, Message: message}
}

// succeed ends a successful trace.
func (f *flow) succeed(verdict string) { f.trace.OK, f.trace.Verdict = true, f.scrubText(verdict) }

// response is an HTTP response. If err is set there was none, or its body could not
// be read.
type response struct {
	status     int
	body       []byte
	challenges []string      // WWW-Authenticate headers
	skew       time.Duration // of the server's clock against ours; 0 if within maxClockSkew or unknown
	err        error
}

// succeeded reports whether the status is 2xx.
func (r *response) succeeded() bool { return r.err == nil && r.status/100 == 2 }

// getDocument requests a public document and shows it in the trace.
func (f *flow) getDocument(ctx context.Context, name, address string) (*junctor.TraceStep, response) {
	req, err := http.NewRequest(http.MethodGet, address, nil) //nolint:noctx // sendRequest adds the context
	s, res := f.sendRequest(ctx, name, req, err)
	s.Answer = f.showBody(res.body, nil)
	return s, res
}

// postForm sends a form. In the trace, all values of the form and the response are
// masked except those that isPublicField allows.
func (f *flow) postForm(ctx context.Context, name, address string, form url.Values, header http.Header) (*junctor.TraceStep, response) {
	req, err := http.NewRequest(http.MethodPost, address, strings.NewReader(form.Encode())) //nolint:noctx // sendRequest adds the context
	if err == nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		maps.Copy(req.Header, header)
	}
	for key, values := range form {
		if !isPublicField(key) {
			f.secrets = append(f.secrets, values...)
		}
	}
	s, res := f.sendRequest(ctx, name, req, err)
	s.Sent = map[string]string{}
	for key, values := range form {
		s.Sent[key] = junctor.Masked
		if isPublicField(key) {
			s.Sent[key] = f.scrubText(strings.Join(values, " "))
		}
	}
	s.Answer = f.showBody(res.body, isPublicField)
	return s, res
}

// postJSON sends a JSON document, which must contain no secrets.
func (f *flow) postJSON(ctx context.Context, name, address string, document any) (*junctor.TraceStep, response) {
	body, err := json.Marshal(document)
	if err != nil {
		body = []byte("{}")
	}
	req, err := http.NewRequest(http.MethodPost, address, bytes.NewReader(body)) //nolint:noctx // sendRequest adds the context
	if err == nil {
		req.Header.Set("Content-Type", "application/json")
	}
	s, res := f.sendRequest(ctx, name, req, err)
	s.Sent = map[string]string{"body": string(body)}
	s.Answer = f.showBody(res.body, isPublicField)
	return s, res
}

// sendRequest sends a request as a step of the trace, within stepTimeout. err is
// the error of building the request, passed in so that it becomes part of the step
// too.
func (f *flow) sendRequest(ctx context.Context, name string, req *http.Request, err error) (*junctor.TraceStep, response) {
	s := f.beginStep(name)
	if err != nil {
		return s, response{err: junctor.Errorf(junctor.CodeInvalid, "not a valid URL")}
	}
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	req.Header.Set("Accept", "application/json")
	s.Request = req.Method + " " + f.scrubText(req.URL.String())
	begun := time.Now()
	resp, err := f.client.HTTP.Do(req.WithContext(ctx))
	defer func() { s.TookMS = float64(time.Since(begun).Microseconds()) / 1000 }()
	if err != nil {
		return s, response{err: transportError(ctx, err)}
	}
	defer resp.Body.Close()
	res := response{status: resp.StatusCode, challenges: resp.Header.Values("WWW-Authenticate")}
	s.Status = resp.StatusCode
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		if skew := at.Sub(f.client.Now()).Round(time.Second); skew.Abs() > maxClockSkew {
			res.skew = skew
		}
	}
	if res.body, err = io.ReadAll(io.LimitReader(resp.Body, maxResponse)); err != nil {
		res.err = transportError(ctx, err)
	}
	return s, res
}

// transportError converts an error of the HTTP client. It drops the URL that
// net/http puts before the message, since it may contain a secret.
func transportError(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*junctor.Error](err); ok {
		return e
	}
	if ctx.Err() != nil {
		return &junctor.Error{Code: junctor.CodeTimeout, Message: "no response in time", Cause: err}
	}
	return &junctor.Error{Code: junctor.CodeUnreachable, Message: "cannot connect", Cause: err}
}

// isPublicField reports whether the value of a form or JSON field may be shown in a
// trace. It is an allowlist: unknown fields count as secret.
func isPublicField(name string) bool {
	return slices.Contains([]string{
		"grant_type", "client_id", "redirect_uri", "resource", "scope", "audience", "requested_token_type", "subject_token_type", "token_type_hint",
		"client_assertion_type", "token_type", "expires_in", "issued_token_type", "error", "error_description", "error_uri",
		"token_endpoint_auth_method", "redirect_uris", "grant_types", "response_types", "client_name", "application_type", "client_id_issued_at", "client_secret_expires_at",
	}, name)
}

// showBody returns a response body for the trace. Of a JSON object only the fields
// that keep allows are shown, and the other values become secrets of the flow. A
// body that is no JSON object is not shown at all. A nil keep shows everything.
func (f *flow) showBody(body []byte, keep func(string) bool) string {
	var object map[string]json.RawMessage
	if keep != nil && json.Unmarshal(body, &object) == nil {
		for name, raw := range object {
			if keep(name) {
				continue
			}
			var text string
			if json.Unmarshal(raw, &text) == nil {
				f.secrets = append(f.secrets, text)
			}
			object[name] = json.RawMessage(`"` + junctor.Masked + `"`)
		}
		body, _ = json.Marshal(object) //nolint:errchkjson // it was one
	} else if keep != nil && len(body) > 0 {
		return "(not a JSON object, not shown)"
	}
	text := f.scrubText(strings.ToValidUTF8(string(body), "\uFFFD"))
	if len(text) > maxShownBody {
		return text[:maxShownBody] + "…"
	}
	return text
}
