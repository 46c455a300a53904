package cli

import (
	"bytes"
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
)

// maxAnswer bounds the bytes that are read of one response, so that a wrong
// address cannot fill the memory.
const maxAnswer = 64 << 20

// adminClient sends requests to the admin API of one running instance.
type adminClient struct {
	// http comes from internal/egress, which is the only package that dials.
	http    *http.Client
	baseURL string // scheme and host, without a slash at the end
	key     string // "" on the operator's own socket, which needs none
	name    string // of the instance in errors: its URL or its data directory
	hint    string // says what to do if the instance is not reached; may be ""

	// version is the updated_at of the thing that is changed, as it was read.
	// It is sent as If-Match. Zero sends none.
	version time.Time
}

// listPage is one page of a list of the admin API. Next is the cursor of the
// next page; "" on the last one.
type listPage[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}

// addPage appends one page of the list, and returns the cursor of the next one.
func (l *listPage[T]) addPage(data []byte) (next string, err error) {
	var page listPage[T]
	err = json.Unmarshal(data, &page)
	l.Items = append(l.Items, page.Items...)
	if l.Items == nil {
		l.Items = page.Items
	}
	return page.Next, err
}

// longList is a list of which all pages are wanted. *listPage implements it.
type longList interface {
	addPage(data []byte) (next string, err error)
}

// maxPages bounds the pages that are read of one list, so that an instance whose list
// never ends does not hold the command.
const maxPages = 10000

// readPages reads all pages of a list. A path with a limit asks for one page alone, and
// exchange decodes it.
func (c *adminClient) readPages(ctx context.Context, path string, list longList) error {
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	at := path
	for range maxPages {
		data, err := c.read(ctx, http.MethodGet, at, nil)
		if err != nil {
			return err
		}
		next, err := list.addPage(data)
		if err != nil {
			return c.notThisAPI(err)
		}
		if next == "" {
			return nil
		}
		at = path + separator + "cursor=" + url.QueryEscape(next)
	}
	return junctor.Errorf(junctor.CodeTooLarge, "the list %s has more than %d pages; narrow it with a filter", path, maxPages)
}

// get decodes the response to a GET request into out.
func (c *adminClient) get(ctx context.Context, path string, out any) error {
	return c.exchange(ctx, http.MethodGet, path, nil, out)
}

// exchange sends one request below /api/v1, with in as its JSON body, and
// decodes the response into out. in and out may be nil. Errors have the code
// that the instance gave, or CodeUnreachable, or CodeUpstream if something else
// than Junctor answers. A *listPage gets the items of all pages, unless the path has a
// limit.
func (c *adminClient) exchange(ctx context.Context, method, path string, in, out any) error {
	if list, ok := out.(longList); ok && method == http.MethodGet && !hasLimit(path) {
		return c.readPages(ctx, path, list)
	}
	data, err := c.read(ctx, method, path, in)
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(data, out); err != nil {
		return c.notThisAPI(err)
	}
	return nil
}

// hasLimit reports whether a path has the parameter limit.
func hasLimit(path string) bool {
	_, query, _ := strings.Cut(path, "?")
	values, err := url.ParseQuery(query)
	return err == nil && values.Has("limit")
}

// notThisAPI is the error for a response that cannot be decoded.
func (c *adminClient) notThisAPI(err error) error {
	return junctor.Errorf(junctor.CodeUpstream, "%s sent a response that is not of this API; check that it is a Junctor of the same version: %w", c.name, err)
}

// read sends one request and returns the body of the response.
func (c *adminClient) read(ctx context.Context, method, path string, in any) ([]byte, error) {
	res, err := c.send(ctx, method, path, in)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, c.connectionError(ctx, err)
	}
	return data, nil
}

// copyTo writes the response to a GET request to w, of any length. A response
// that ends early is an error, because an incomplete export looks like a
// complete one.
func (c *adminClient) copyTo(ctx context.Context, path string, w io.Writer) error {
	res, err := c.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	out := &errorTrackingWriter{w: w}
	if _, err := io.Copy(out, res.Body); err != nil {
		if out.err != nil {
			return out.err
		}
		return junctor.Errorf(junctor.CodeUpstream, "%s ended its response early; the output is incomplete: %w", c.name, err)
	}
	return nil
}

// errorTrackingWriter remembers the error of its last write. io.Copy does not
// say whether reading or writing failed, and the message differs.
type errorTrackingWriter struct {
	w   io.Writer
	err error
}

// Write implements io.Writer.
func (w *errorTrackingWriter) Write(b []byte) (int, error) {
	n, err := w.w.Write(b)
	w.err = err
	return n, err
}

// send sends a request and returns a response with a status below 300. The
// caller closes its body. Any other response is returned as an error.
func (c *adminClient) send(ctx context.Context, method, path string, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return nil, junctor.Errorf(junctor.CodeInvalid, "the request cannot be encoded as JSON: %w", err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.baseURL+"/api/v1"+path, body)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "%s cannot be requested: %w", c.name, err)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	if !c.version.IsZero() {
		req.Header.Set("If-Match", `"`+c.version.UTC().Format(time.RFC3339Nano)+`"`)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.connectionError(ctx, err)
	}
	// Redirects are not followed: they would carry the key to another address.
	if res.StatusCode < 300 {
		return res, nil
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, c.connectionError(ctx, err)
	}
	return nil, c.readRefusal(res, data)
}

// connectionError returns the error for a request without a response. The URL
// is left out: the user knows it, and the reason is easier to find without it.
// If the command was canceled, that is the error.
func (c *adminClient) connectionError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return junctor.AsError(ctx.Err())
	}
	// The reason is behind the method and the URL.
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	var e *junctor.Error
	if errors.As(err, &e) && e.Code != junctor.CodeUnreachable {
		return e
	}
	if c.hint != "" {
		return &junctor.Error{Code: junctor.CodeUnreachable, Message: c.hint, Cause: err}
	}
	return &junctor.Error{Code: junctor.CodeUnreachable, Message: fmt.Sprintf("%s cannot be reached: %v", c.name, err), Cause: err}
}

// readRefusal turns a problem document of the admin API back into the error
// that the instance had, with its violations and the time to wait.
func (c *adminClient) readRefusal(res *http.Response, data []byte) error {
	var p struct {
		Code   junctor.Code
		Detail string
		Errors []struct{ In, Pointer, Message string }
	}
	if json.Unmarshal(data, &p) != nil || p.Code == "" {
		return junctor.Errorf(junctor.CodeUpstream, "%s responded with %s, and is not a Junctor; check JUNCTOR_URL", c.name, res.Status)
	}
	e := &junctor.Error{Code: p.Code, Message: p.Detail}
	for _, f := range p.Errors {
		// Only violations of a tool's arguments are shown one by one. The
		// detail already says what else is wrong.
		if f.In == "arguments" {
			e.Violations = append(e.Violations, junctor.Violation{Pointer: f.Pointer, Message: f.Message})
		}
	}
	if n, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(n) * time.Second
	}
	return e
}

// formatError returns an error for people: its message, each violation that the
// message does not contain, and when to try again.
func formatError(err error) string {
	var b strings.Builder
	b.WriteString(stripControls(err.Error()))
	var e *junctor.Error
	if !errors.As(err, &e) {
		return b.String()
	}
	for _, v := range e.Violations {
		line := v.Pointer + ": " + v.Message
		if v.Pointer == "" {
			line = v.Message
		}
		// The message of a single violation often repeats it.
		if !strings.Contains(e.Message, v.Message) || len(e.Violations) > 1 {
			b.WriteString("\n  " + stripControls(line))
		}
	}
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, "\n  try again in %s", e.RetryAfter)
	}
	return b.String()
}

// apiPath joins segments to a path and escapes them: names may contain any
// character.
func apiPath(segments ...string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(s))
	}
	return b.String()
}
