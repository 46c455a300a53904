package program

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
)

// Era is which of the ways to call a tool over HTTP a Caller takes.
type Era string

// The ways.
const (
	Modern Era = "modern" // /mcp, 2026-07-28
	Legacy Era = "legacy" // /mcp, 2025-11-25, in a session
	Plain  Era = "plain"  // /mcp/request
)

// Eras lists them.
func Eras() []Era { return []Era{Modern, Legacy, Plain} }

// Caller calls tools over connections of its own. It speaks by hand, so that a
// test sees what is on the wire.
type Caller struct {
	Era     Era
	Session string // of the legacy era

	base string // of the instance
	key  string
	http http.Client
	id   int
}

// NewCaller makes a caller; one of the legacy era opens its session.
func NewCaller(t testing.TB, era Era, base, key string) *Caller {
	t.Helper()
	c := &Caller{Era: era, base: base, key: key}
	c.http.Transport = &http.Transport{}
	t.Cleanup(c.http.CloseIdleConnections)
	if era != Legacy {
		return c
	}
	const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"caller","version":"1"}}}`
	res, body, err := c.post(t.Context(), hello, "")
	if err != nil {
		t.Fatal(err)
	}
	c.Session = res.Header.Get("Mcp-Session-Id")
	if res.StatusCode != http.StatusOK || c.Session == "" {
		t.Fatalf("initialize: status %d, session %q\n%s", res.StatusCode, c.Session, body)
	}
	if res, body, err := c.post(t.Context(), `{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""); err != nil || res.StatusCode != http.StatusAccepted {
		t.Fatalf("notifications/initialized: %v, %s", err, body)
	}
	return c
}

// Answer is what a call led to.
type Answer struct {
	Status int
	Body   string
	Header http.Header
	OK     bool   // the tool ran and did not fail
	Text   string // of the result's first content
}

// Call calls a tool by its shown name with arguments, a JSON object. An error
// means that no whole answer came.
func (c *Caller) Call(ctx context.Context, tool, arguments string) (Answer, error) {
	c.id++
	meta := ""
	if c.Era == Modern {
		meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	}
	name, err := json.Marshal(tool)
	if err != nil {
		return Answer{}, err
	}
	return c.Send(ctx, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%s,"arguments":%s%s}}`, c.id, name, arguments, meta), tool)
}

// Send posts a body as a call of the tool, whatever the body is.
func (c *Caller) Send(ctx context.Context, body, tool string) (Answer, error) {
	res, text, err := c.post(ctx, body, tool)
	if err != nil {
		return Answer{}, err
	}
	var msg struct {
		Result *struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	a := Answer{Status: res.StatusCode, Body: text, Header: res.Header}
	if json.Unmarshal([]byte(text), &msg) == nil && msg.Result != nil {
		a.OK = a.Status == http.StatusOK && !msg.Result.IsError
		if len(msg.Result.Content) > 0 {
			a.Text = msg.Result.Content[0].Text
		}
	}
	return a, nil
}

// Key is the key that the caller shows.
func (c *Caller) Key() string { return c.key }

// From has the caller's connections come from an address of this machine, from now
// on.
func (c *Caller) From(ip string) {
	c.http.CloseIdleConnections()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	c.http.Transport = &http.Transport{DialContext: d.DialContext}
}

// CloseIdle closes the connections that nobody uses now.
func (c *Caller) CloseIdle() { c.http.CloseIdleConnections() }

func (c *Caller) post(ctx context.Context, body, tool string) (*http.Response, string, error) {
	path := "/mcp"
	if c.Era == Plain {
		path = "/mcp/request"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	switch {
	case c.Era == Legacy && c.Session != "":
		req.Header.Set("Mcp-Session-Id", c.Session)
		req.Header.Set("MCP-Protocol-Version", "2025-11-25")
	case c.Era == Modern:
		req.Header.Set("MCP-Protocol-Version", "2026-07-28")
		req.Header.Set("Mcp-Method", "tools/call")
		req.Header.Set("Mcp-Name", tool)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res, string(text), err
}
