package oauth

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
	"github.com/junctor-mcp/junctor/internal/credential"
)

const (
	maxAnswer = 1 << 20
	maxShown  = 2 << 10          // of an answer, in a trace
	stepTime  = 20 * time.Second // for one request
	// skewed is how far a clock may be off before that is named as the cause of a
	// refusal.
	skewed = time.Minute
)

// run is a trace while it is made.
type run struct {
	c       *Client
	trace   *junctor.Trace
	secrets []string // that must not show in the trace, whoever repeats them
}

func (c *Client) run(what junctor.TraceKind, secrets ...string) *run {
	return &run{c: c, trace: &junctor.Trace{What: what, At: c.Now().UTC(), Steps: []junctor.TraceStep{}}, secrets: secrets}
}

// step begins a step in which nothing is sent.
func (r *run) step(name string) *junctor.TraceStep {
	r.trace.Steps = append(r.trace.Steps, junctor.TraceStep{Name: name})
	return &r.trace.Steps[len(r.trace.Steps)-1]
}

func (r *run) scrub(text string) string { return credential.NewScrubber(r.secrets...).Scrub(text) }

// passed ends a step that went well.
func (r *run) passed(s *junctor.TraceStep, verdict string) {
	s.OK, s.Verdict = true, r.scrub(verdict)
}

// failed ends a step, and the trace with it. The error says the same.
func (r *run) failed(s *junctor.TraceStep, code junctor.Code, verdict, remedy string) error {
	s.OK, s.Verdict, s.Remedy = false, r.scrub(verdict), r.scrub(remedy)
	r.trace.OK, r.trace.Verdict, r.trace.Remedy = false, s.Verdict, s.Remedy
	message := s.Name + ": " + s.Verdict
	if s.Remedy != "" {
		message += "; " + s.Remedy
	}
	return &junctor.Error{Code: code, Message: message}
}

// done ends a trace that went well.
func (r *run) done(verdict string) { r.trace.OK, r.trace.Verdict = true, r.scrub(verdict) }

// answer is what came back.
type answer struct {
	status int
	body   []byte
	wants  []string      // WWW-Authenticate
	skew   time.Duration // of the other side's clock to ours; 0 where it is small or not said
	err    error         // why there is none
}

func (a *answer) ok() bool { return a.err == nil && a.status/100 == 2 }

// get asks for a document.
func (r *run) get(ctx context.Context, name, address string) (*junctor.TraceStep, answer) {
	req, err := http.NewRequest(http.MethodGet, address, nil) //nolint:noctx // send gives it one
	s, a := r.send(ctx, name, req, err)
	s.Answer = r.shown(a.body, nil)
	return s, a
}

// post sends a form. What of it and of the answer is secret is masked.
func (r *run) post(ctx context.Context, name, address string, form url.Values, header http.Header) (*junctor.TraceStep, answer) {
	req, err := http.NewRequest(http.MethodPost, address, strings.NewReader(form.Encode())) //nolint:noctx // send gives it one
	if err == nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		maps.Copy(req.Header, header)
	}
	for key, values := range form {
		if !open(key) {
			r.secrets = append(r.secrets, values...)
		}
	}
	s, a := r.send(ctx, name, req, err)
	s.Sent = map[string]string{}
	for key, values := range form {
		s.Sent[key] = junctor.Masked
		if open(key) {
			s.Sent[key] = r.scrub(strings.Join(values, " "))
		}
	}
	s.Answer = r.shown(a.body, open)
	return s, a
}

// postJSON sends a document.
func (r *run) postJSON(ctx context.Context, name, address string, document any) (*junctor.TraceStep, answer) {
	body, err := json.Marshal(document)
	if err != nil {
		body = []byte("{}")
	}
	req, err := http.NewRequest(http.MethodPost, address, bytes.NewReader(body)) //nolint:noctx // send gives it one
	if err == nil {
		req.Header.Set("Content-Type", "application/json")
	}
	s, a := r.send(ctx, name, req, err)
	s.Sent = map[string]string{"body": string(body)}
	s.Answer = r.shown(a.body, open)
	return s, a
}

func (r *run) send(ctx context.Context, name string, req *http.Request, err error) (*junctor.TraceStep, answer) {
	s := r.step(name)
	if err != nil {
		return s, answer{err: junctor.Errorf(junctor.CodeInvalid, "it is not an address")}
	}
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	req.Header.Set("Accept", "application/json")
	s.Request = req.Method + " " + r.scrub(req.URL.String())
	begun := time.Now()
	resp, err := r.c.HTTP.Do(req.WithContext(ctx))
	defer func() { s.TookMS = float64(time.Since(begun).Microseconds()) / 1000 }()
	if err != nil {
		return s, answer{err: transport(ctx, err)}
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, wants: resp.Header.Values("WWW-Authenticate")}
	s.Status = resp.StatusCode
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		if skew := at.Sub(r.c.Now()).Round(time.Second); skew.Abs() > skewed {
			a.skew = skew
		}
	}
	if a.body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer)); err != nil {
		a.err = transport(ctx, err)
	}
	return s, a
}

// transport is an error of the HTTP client without the address that net/http
// puts before it.
func transport(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*junctor.Error](err); ok {
		return e
	}
	if ctx.Err() != nil {
		return &junctor.Error{Code: junctor.CodeTimeout, Message: "it did not answer in time", Cause: err}
	}
	return &junctor.Error{Code: junctor.CodeUnreachable, Message: "it could not be reached", Cause: err}
}

// open says whether what stands under a name may be shown: what is not known to
// be harmless is secret.
func open(name string) bool {
	return slices.Contains([]string{
		"grant_type", "client_id", "redirect_uri", "resource", "scope", "audience", "requested_token_type", "subject_token_type", "token_type_hint",
		"client_assertion_type", "token_type", "expires_in", "issued_token_type", "error", "error_description", "error_uri",
		"token_endpoint_auth_method", "redirect_uris", "grant_types", "response_types", "client_name", "application_type", "client_id_issued_at", "client_secret_expires_at",
	}, name)
}

// shown is an answer as a trace has it: of a JSON object what keep lets pass,
// and nil lets all.
func (r *run) shown(body []byte, keep func(string) bool) string {
	var object map[string]json.RawMessage
	if keep != nil && json.Unmarshal(body, &object) == nil {
		for name, raw := range object {
			if keep(name) {
				continue
			}
			var text string
			if json.Unmarshal(raw, &text) == nil {
				r.secrets = append(r.secrets, text)
			}
			object[name] = json.RawMessage(`"` + junctor.Masked + `"`)
		}
		body, _ = json.Marshal(object) //nolint:errchkjson // it was one
	} else if keep != nil && len(body) > 0 {
		return "(no JSON object, not shown)"
	}
	text := r.scrub(strings.ToValidUTF8(string(body), "\uFFFD"))
	if len(text) > maxShown {
		return text[:maxShown] + "…"
	}
	return text
}
