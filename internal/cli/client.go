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

// maxAnswer bounds what is read of one answer.
const maxAnswer = 64 << 20

// client speaks the admin API of one running instance.
type client struct {
	http *http.Client
	base string // scheme and host, nothing behind
	key  string // "" on the operator's own socket
	name string // what the person knows the instance by
	hint string // what to do when it cannot be reached

	version time.Time // of what is changed, as it was read; zero where nothing was
}

// list is one page of anything.
type list[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}

// get reads what is at path into out.
func (c *client) get(ctx context.Context, path string, out any) error {
	return c.do(ctx, http.MethodGet, path, nil, out)
}

// do sends one request below /api/v1. in and out may be nil.
func (c *client) do(ctx context.Context, method, path string, in, out any) error {
	res, err := c.send(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if out == nil {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return c.lost(ctx, err)
	}
	if err := json.Unmarshal(data, out); err != nil {
		return junctor.Errorf(junctor.CodeUpstream, "%s answered something that is not of this API; is it a Junctor of another version? %w", c.name, err)
	}
	return nil
}

// copy writes what is at path to w, however long it is. An answer that breaks
// off is an error.
func (c *client) copy(ctx context.Context, path string, w io.Writer) error {
	res, err := c.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	out := &written{w: w}
	if _, err := io.Copy(out, res.Body); err != nil {
		if out.err != nil {
			return out.err
		}
		return junctor.Errorf(junctor.CodeUpstream, "%s broke off in the middle of its answer; what was written is not whole: %w", c.name, err)
	}
	return nil
}

// written remembers that it was writing, not reading, that failed.
type written struct {
	w   io.Writer
	err error
}

func (w *written) Write(b []byte) (int, error) {
	n, err := w.w.Write(b)
	w.err = err
	return n, err
}

// send gives the answer to a request, whose body the caller closes, or the
// error that it was.
func (c *client) send(ctx context.Context, method, path string, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return nil, junctor.Errorf(junctor.CodeInvalid, "the request cannot be written as JSON: %w", err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+"/api/v1"+path, body)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "%s cannot be asked: %w", c.name, err)
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
		return nil, c.lost(ctx, err)
	}
	if res.StatusCode < 300 {
		return res, nil
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, c.lost(ctx, err)
	}
	return nil, c.refusal(res, data)
}

// lost says why there was no answer.
func (c *client) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return junctor.AsError(ctx.Err())
	}
	// The URL is known to the person; the reason is what they need.
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

// refusal reads a problem back into the error that it was.
func (c *client) refusal(res *http.Response, data []byte) error {
	var p struct {
		Code   junctor.Code
		Detail string
		Errors []struct{ In, Pointer, Message string }
	}
	if json.Unmarshal(data, &p) != nil || p.Code == "" {
		return junctor.Errorf(junctor.CodeUpstream, "%s answered %s, and not as Junctor does", c.name, res.Status)
	}
	e := &junctor.Error{Code: p.Code, Message: p.Detail}
	for _, f := range p.Errors {
		if f.In == "arguments" {
			e.Violations = append(e.Violations, junctor.Violation{Pointer: f.Pointer, Message: f.Message})
		}
	}
	if n, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(n) * time.Second
	}
	return e
}

// explain is an error for the person: its message, every violation, and when to
// come back.
func explain(err error) string {
	var b strings.Builder
	b.WriteString(printable(err.Error()))
	var e *junctor.Error
	if !errors.As(err, &e) {
		return b.String()
	}
	for _, v := range e.Violations {
		line := v.Pointer + ": " + v.Message
		if v.Pointer == "" {
			line = v.Message
		}
		if !strings.Contains(e.Message, v.Message) || len(e.Violations) > 1 {
			b.WriteString("\n  " + printable(line))
		}
	}
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, "\n  try again in %s", e.RetryAfter)
	}
	return b.String()
}

// path joins segments that may hold anything.
func path(segments ...string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(s))
	}
	return b.String()
}
