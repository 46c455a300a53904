// Package model has the providers behind an API: Anthropic's Messages API, OpenAI's
// chat completions API, which many other servers offer too, and remote agents that
// speak A2A and take a model's place.
//
// Package agent asks the providers. app creates one for each stored model, with an
// HTTP client of egress and the decrypted key. Providers read nothing from the
// environment. They do not retry either, because only the turn runner of package agent
// knows whether a retry is safe.
//
// The makers' SDKs are not used: of each, one streaming call would be (ADR 54).
// testdata has what they send and read, and the tests hold this package against it.
//
// Read model.go first (errors that all providers share), then event_stream.go,
// anthropic.go and openai.go, then remote_agent.go and remote_answer.go.
package model

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// Options describe a provider.
type Options struct {
	Kind    junctor.ModelKind
	BaseURL string // "" is the maker's own service
	Key     seal.Secret
	Client  *http.Client // of egress; must have no timeout, because answers are streams

	// Catalogs are ids of A2UI catalogs that can be shown beside the built-in ones.
	Catalogs []string

	drainTimeout time.Duration // how long the rest of a body is waited for; 0: the default
}

// New returns a provider. It opens no connection.
func New(o Options) (agent.Provider, error) {
	if o.Client == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "a model needs an HTTP client")
	}
	switch o.Kind {
	case junctor.ModelAnthropic:
		return newAnthropic(o)
	case junctor.ModelOpenAI:
		return newOpenAI(o)
	case junctor.ModelA2A:
		return newRemoteAgent(o)
	}
	return nil, junctor.Errorf(junctor.CodeInvalid, "unknown kind of model %q", string(o.Kind))
}

// apiClient sends the requests of all providers. It turns every failure and every error
// status into an *agent.ProviderError, so that all providers report errors alike, and
// removes the key from texts of the other side.
type apiClient struct {
	client       *http.Client
	key          string
	drainTimeout time.Duration
}

func newAPIClient(o Options) *apiClient {
	return &apiClient{client: o.Client, key: o.Key.Reveal(), drainTimeout: cmp.Or(o.drainTimeout, defaultDrainTimeout)}
}

// newStatusFault returns the fault of an error status. Only statuses that can
// change by themselves are worth a retry.
func (d *apiClient) newStatusFault(at *url.URL, resp *http.Response, body []byte) error {
	explanation := d.formatProblem(body)
	f := &agent.ProviderError{RetryAfter: parseRetryAfter(resp.Header, time.Now())}
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		f.Message = fmt.Sprintf("%s rejects the key of the model (%d)%s; store another key with: junctor model add", at.Host, code, explanation)
	case code == http.StatusNotFound:
		f.Message = fmt.Sprintf("%s has no such model, or no API at %s (404)%s; check the name and the base URL of the model", at.Host, at.Path, explanation)
	case code == http.StatusTooManyRequests:
		f.Retryable, f.Message = true, fmt.Sprintf("%s limits requests (429)%s", at.Host, explanation)
	// The server's own trouble, or a proxy's before it.
	case code == http.StatusRequestTimeout || code >= 500:
		f.Retryable, f.Message = true, fmt.Sprintf("%s cannot answer now (%d)%s", at.Host, code, explanation)
	default:
		f.Message = fmt.Sprintf("%s rejects the request (%d)%s", at.Host, code, explanation)
	}
	return f
}

// formatProblem returns the error text in a response body, cleaned and prefixed
// with a colon and followed by the type of the error; "" if there is none.
func (d *apiClient) formatProblem(body []byte) string {
	p := parseProblem(body)
	text := p.message
	if p.kind != "" {
		text = strings.TrimSpace(text + " (" + p.kind + ")")
	}
	if text = d.cleanText(text); text == "" {
		return ""
	}
	return ": " + text
}

// cleanText makes text of the other side safe for an error message: without the
// key, on one line and at most 300 bytes long.
func (d *apiClient) cleanText(text string) string {
	if d.key != "" {
		text = strings.ReplaceAll(text, d.key, "(the key)")
	}
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + "…"
	}
	return text
}

// toFault returns the fault of a request that failed, or of an answer that broke
// off. It returns the context's error if the context has ended.
func (d *apiClient) toFault(ctx context.Context, at *url.URL, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if f, ok := errors.AsType[*agent.ProviderError](err); ok {
		return f
	}
	if e, ok := errors.AsType[*junctor.Error](err); ok {
		switch e.Code { //nolint:exhaustive // all other codes may succeed later
		// The policy of egress forbids the address: a retry cannot help.
		case junctor.CodeDenied:
			return &agent.ProviderError{Cause: err, Message: "the model cannot be reached: " + e.Message}
		case junctor.CodeTooLarge:
			return &agent.ProviderError{Cause: err, Message: e.Message}
		}
		return &agent.ProviderError{Cause: err, Retryable: true, Message: e.Message}
	}
	return &agent.ProviderError{Cause: err, Retryable: true, Message: fmt.Sprintf("the answer of %s broke off: %s", at.Host, d.cleanText(err.Error()))}
}

// newInvalidEventFault returns the fault of an event that is no JSON.
func (d *apiClient) newInvalidEventFault(host string, err error) error {
	return &agent.ProviderError{Cause: err, Retryable: true, Message: fmt.Sprintf("%s sent an invalid event: %s", host, d.cleanText(err.Error()))}
}

// newBrokenOffFault returns the fault of a stream that ended before the answer did.
func newBrokenOffFault(host string) error {
	return &agent.ProviderError{Retryable: true, Message: "the answer of " + host + " broke off"}
}

// parseRetryAfter returns how long the server asks to wait; 0 if it does not say.
func parseRetryAfter(h http.Header, now time.Time) time.Duration {
	// OpenAI sends milliseconds beside the standard header, which has whole
	// seconds.
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return boundSeconds(ms / 1000)
	}
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds > 0 {
		return boundSeconds(seconds)
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return min(at.Sub(now), maxRetryAfter)
	}
	return 0
}

// maxRetryAfter bounds the wait that a server can ask for.
const maxRetryAfter = 24 * time.Hour

// boundSeconds converts seconds to a duration of at most maxRetryAfter. It accepts
// infinities and values that would overflow.
func boundSeconds(seconds float64) time.Duration {
	return junctor.BoundDuration(seconds, time.Second, maxRetryAfter)
}

// textWithSpeaker returns the text of a message, with the speaker's name before it
// if the conversation has several speakers.
func textWithSpeaker(m agent.Message) string {
	if m.Name == "" || m.Role != agent.RoleUser {
		return m.Text
	}
	return m.Name + ": " + m.Text
}

// schemaOrEmpty returns the input schema of a tool, or that of an empty object: the
// APIs require a schema.
func schemaOrEmpty(t agent.Tool) json.RawMessage {
	if len(bytes.TrimSpace(t.Schema)) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Schema
}

// continuePrompt is the user message that is added where an API requires one: at
// the end of a conversation that ends with the model's own message, and at the
// start of one that starts with it.
const continuePrompt = "Go on."
