package model

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// maxEventBytes limits one event of an answer. The HTTP client limits the whole
// answer.
const maxEventBytes = 16 << 20

// maxProblemBytes is how much of the body of an error response is read.
const maxProblemBytes = 64 << 10

// apiRequest is one request to a model API.
type apiRequest struct {
	url    *url.URL
	header http.Header // beside those that every request has
	body   any         // encoded as JSON
}

// streamEvents sends a request and returns the events of its answer, up to the end of
// the stream. An error is the last item; it is a fault, or the error of the context.
// The stream may have ended before the answer: the caller knows what the last event of
// an answer is.
func (d *apiClient) streamEvents(ctx context.Context, r apiRequest) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		exchange, cancel := context.WithCancel(ctx)
		defer cancel()
		resp, err := d.sendRequest(exchange, r) //nolint:bodyclose // closeBody does
		if err != nil {
			yield(wire.Event{}, err)
			return
		}
		defer d.closeBody(resp.Body, cancel)
		body := &endNoter{r: resp.Body}
		events := wire.NewEventReader(body, maxEventBytes)
		for {
			e, err := events.Next()
			switch {
			case err == nil:
				if len(e.Data) > 0 && !yield(e, nil) {
					return
				}
			case errors.Is(err, wire.ErrTooLong):
				yield(wire.Event{}, &agent.ProviderError{Cause: err, Message: fmt.Sprintf("an event in the answer of %s is longer than %d MiB", r.url.Host, maxEventBytes>>20)})
				return
			// An event that is cut off by the end of the body is left out, like
			// by every reader of the format.
			case body.ended && ctx.Err() == nil:
				return
			default:
				yield(wire.Event{}, d.toFault(ctx, r.url, err))
				return
			}
		}
	}
}

// sendRequest sends a request and returns the response if it can be an event stream. The
// caller closes its body.
func (d *apiClient) sendRequest(ctx context.Context, r apiRequest) (*http.Response, error) {
	body, err := json.Marshal(r.body)
	if err != nil {
		return nil, &agent.ProviderError{Cause: err, Message: "the request to " + r.url.Host + " cannot be encoded: " + d.cleanText(err.Error())}
	}
	// With a bytes.Reader, net/http can repeat the body after a redirect.
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url.String(), bytes.NewReader(body))
	if err != nil {
		return nil, d.toFault(ctx, r.url, err)
	}
	req.Header = r.header.Clone()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "junctor")
	// Streams are requested in the body. This is the value that the official SDKs
	// send, so every gateway knows it.
	req.Header.Set("Accept", "application/json")
	resp, err := d.client.Do(req)
	if err != nil {
		return nil, d.toFault(ctx, r.url, err)
	}
	if resp.StatusCode < http.StatusMultipleChoices && !isDocument(resp) {
		return resp, nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxProblemBytes)) // a partial body is enough for an error text
	if resp.StatusCode >= http.StatusMultipleChoices {
		return nil, d.newStatusFault(r.url, resp, text)
	}
	return nil, &agent.ProviderError{Message: fmt.Sprintf("%s sent no event stream, but %s (%d)%s; check the base URL of the model, and that the server can stream", r.url.Host, d.cleanText(resp.Header.Get("Content-Type")), resp.StatusCode, d.formatProblem(text))}
}

// isDocument reports whether a response is JSON or HTML, as a wrong address or a server
// without streams sends it. Some servers send streams with another type, or with none, so
// the first byte counts too. It can wait for that byte, and replaces the body.
func isDocument(resp *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind != "application/json" && kind != "text/html" {
		return false
	}
	buffered := bufio.NewReader(resp.Body)
	first, _ := buffered.Peek(1) // an error comes again when the body is read
	resp.Body = struct {
		io.Reader
		io.Closer
	}{buffered, resp.Body}
	return len(first) == 0 || bytes.ContainsAny(first, "{[<\"")
}

// defaultDrainTimeout is how long the rest of a body is waited for.
const defaultDrainTimeout = 100 * time.Millisecond

// closeBody closes the body of an answer. It reads a short rest first, so that the
// connection can be used for the next request: the end of a body often arrives behind
// the last event. cancel ends the request.
func (d *apiClient) closeBody(body io.ReadCloser, cancel context.CancelFunc) {
	late := time.AfterFunc(d.drainTimeout, cancel)
	_, _ = io.CopyN(io.Discard, body, 4<<10)
	late.Stop()
	_ = body.Close()
}

// endNoter notes whether a body was read to its regular end: a connection that was cut
// has another error.
type endNoter struct {
	r     io.Reader
	ended bool
}

// Read implements io.Reader.
func (e *endNoter) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	e.ended = err == io.EOF
	return n, err
}

// decodeEvent decodes the JSON of an event. Members of an unexpected type stay empty:
// compatible servers differ in members that do not matter.
func decodeEvent(data []byte, event any) error {
	err := json.Unmarshal(data, event)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil
	}
	return err
}

// newEventFault returns the fault of an error that arrived as an event. Only errors of
// the request itself are not worth a retry.
func (d *apiClient) newEventFault(host string, data []byte) error {
	explanation := d.formatProblem(data)
	if explanation == "" {
		if text := d.cleanText(string(data)); !json.Valid(data) && text != "" {
			explanation = ": " + text
		}
	}
	retryable := true
	switch parseProblem(data).kind {
	case "invalid_request_error", "authentication_error", "permission_error", "not_found_error", "request_too_large", "billing_error":
		retryable = false
	}
	return &agent.ProviderError{Retryable: retryable, Message: host + " broke off its answer" + explanation}
}

// problem is what an error body says.
type problem struct {
	message, kind string
}

// parseProblem reads the error formats of both APIs and of servers like them: the APIs
// answer {"error":{"message":…,"type":…}}, many local servers {"error":"…"} and gateways
// before them {"message":"…"}.
func parseProblem(body []byte) problem {
	var outer struct {
		Message string          `json:"message"`
		Error   json.RawMessage `json:"error"`
	}
	if decodeEvent(body, &outer) != nil {
		return problem{}
	}
	var inner struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    string `json:"code"`
	}
	text := ""
	if len(outer.Error) > 0 && json.Unmarshal(outer.Error, &text) != nil {
		_ = decodeEvent(outer.Error, &inner)
	}
	return problem{message: cmp.Or(inner.Message, text, outer.Message), kind: cmp.Or(inner.Type, inner.Code)}
}

// tokenCount converts a number of tokens. Some servers send counts as floating point.
func tokenCount(n float64) int {
	return int(min(max(n, 0), 1<<30)) // JSON has no NaN
}

// newEndpoint returns the URL of an API's method below the base URL of a model, or below
// the maker's if the model has none.
func newEndpoint(baseURL, makersURL, method string) (*url.URL, error) {
	u, err := url.Parse(cmp.Or(baseURL, makersURL))
	if err != nil || u.Host == "" {
		return nil, junctor.Errorf(junctor.CodeInvalid, "base_url must be a URL with a host, such as %s", makersURL)
	}
	return u.JoinPath(method), nil
}
