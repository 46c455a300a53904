// Package model is the providers behind an API: those that speak the Messages
// API of Anthropic, and those that speak the chat completions of OpenAI, which
// many servers do, local ones too. Each stands on its maker's SDK. An agent
// elsewhere, spoken to by A2A, takes a model's place in the same way.
//
// agent asks them; app makes one for each stored model, with a client of egress
// and the sealed key. The SDKs are told all there is to know: nothing is taken
// from the environment, and nothing is tried again here, since the loop knows
// what may be.
package model

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// Options of a provider.
type Options struct {
	Kind    junctor.ModelKind
	BaseURL string // "" is the maker's own
	Key     seal.Secret
	Client  *http.Client // of egress; without a bound of time, since answers are streams

	// Catalogs are ids of catalogues of components that can be shown here, beside those
	// that come with the program.
	Catalogs []string
}

// New makes a provider. Nothing is dialled before it is asked.
func New(o Options) (agent.Provider, error) {
	if o.Client == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "a model needs an HTTP client")
	}
	switch o.Kind {
	case junctor.ModelAnthropic:
		return newAnthropic(o), nil
	case junctor.ModelOpenAI:
		return newOpenAI(o), nil
	case junctor.ModelA2A:
		return newRemote(o)
	}
	return nil, junctor.Errorf(junctor.CodeInvalid, "%q is not a kind of model", string(o.Kind))
}

// door is the HTTP client that the SDKs are given. It makes one kind of fault of
// everything that is no answer.
type door struct {
	client *http.Client
	key    string
}

// Do implements what both SDKs want.
func (d *door) Do(r *http.Request) (*http.Response, error) {
	resp, err := d.client.Do(r) //nolint:gosec // egress judges where it goes
	if err != nil {
		return nil, d.fault(r.Context(), r.URL, err)
	}
	if resp.StatusCode < http.StatusMultipleChoices {
		return resp, nil
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // what there is of it will do
	return nil, d.refused(r.URL, resp, body)
}

// refused is the fault of an answer that is none.
func (d *door) refused(at *url.URL, resp *http.Response, body []byte) error {
	said := d.said(body)
	f := &agent.FaultError{After: retryAfter(resp.Header, time.Now())}
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		f.Message = fmt.Sprintf("%s does not take the key of the model (%d)%s; enter another with: junctor model add", at.Host, code, said)
	case code == http.StatusNotFound:
		f.Message = fmt.Sprintf("%s has no such model, or nothing at %s (404)%s", at.Host, at.Path, said)
	case code == http.StatusTooManyRequests:
		f.Again, f.Message = true, fmt.Sprintf("%s wants fewer requests (429)%s", at.Host, said)
	case code == http.StatusRequestTimeout || code >= 500:
		f.Again, f.Message = true, fmt.Sprintf("%s cannot answer now (%d)%s", at.Host, code, said)
	default:
		f.Message = fmt.Sprintf("%s does not take the request (%d)%s", at.Host, code, said)
	}
	return f
}

// said is what the other side says of an error, short, and without the key.
func (d *door) said(body []byte) string {
	var problem struct {
		Message string          `json:"message"`
		Error   json.RawMessage `json:"error"`
	}
	text := ""
	if json.Unmarshal(body, &problem) == nil {
		var inner struct {
			Message string `json:"message"`
		}
		if json.Unmarshal(problem.Error, &inner) != nil {
			_ = json.Unmarshal(problem.Error, &text)
		}
		text = cmp.Or(inner.Message, text, problem.Message)
	}
	if text = d.clean(text); text == "" {
		return ""
	}
	return ": " + text
}

// clean makes text of others fit for a message.
func (d *door) clean(text string) string {
	if d.key != "" {
		text = strings.ReplaceAll(text, d.key, "(the key)")
	}
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + "…"
	}
	return text
}

// fault is what became of a request that was not answered, or of an answer that
// broke off.
func (d *door) fault(ctx context.Context, at *url.URL, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if f, ok := errors.AsType[*agent.FaultError](err); ok {
		return f
	}
	if e, ok := errors.AsType[*junctor.Error](err); ok {
		switch e.Code { //nolint:exhaustive // the others are the model's trouble
		case junctor.CodeDenied:
			return &agent.FaultError{Cause: err, Message: "the model cannot be reached: " + e.Message}
		case junctor.CodeTooLarge:
			return &agent.FaultError{Cause: err, Message: e.Message}
		}
		return &agent.FaultError{Cause: err, Again: true, Message: e.Message}
	}
	return &agent.FaultError{Cause: err, Again: true, Message: fmt.Sprintf("the answer of %s broke off, or makes no sense: %s", at.Host, d.clean(err.Error()))}
}

// broken is the fault of a stream that ended before the answer did.
func broken(host string) error {
	return &agent.FaultError{Again: true, Message: "the answer of " + host + " broke off"}
}

// retryAfter reads when the other side wants to be asked again; 0 where it does
// not say.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return bounded(ms / 1000)
	}
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds > 0 {
		return bounded(seconds)
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return min(at.Sub(now), mostRetryAfter)
	}
	return 0
}

// mostRetryAfter is the longest that is believed.
const mostRetryAfter = 24 * time.Hour

func bounded(seconds float64) time.Duration {
	return junctor.BoundDuration(seconds, time.Second, mostRetryAfter)
}

// speech is what a message says, and who says it where there are several.
func speech(m agent.Message) string {
	if m.Name == "" || m.Role != agent.RoleUser {
		return m.Text
	}
	return m.Name + ": " + m.Text
}

// schemaOf is what a tool takes: an object of nothing, where it says nothing.
func schemaOf(t agent.Tool) json.RawMessage {
	if len(bytes.TrimSpace(t.Schema)) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Schema
}

// goOn is said to a model whose own words are the last ones.
const goOn = "Go on."

// hostOf is whom errors name.
func hostOf(base, otherwise string) *url.URL {
	u, err := url.Parse(base)
	if base == "" || err != nil {
		return &url.URL{Scheme: "https", Host: otherwise}
	}
	return u
}
