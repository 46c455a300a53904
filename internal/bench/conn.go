package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"time"
)

// endpoint is an MCP endpoint over plain HTTP.
type endpoint struct {
	Addr string `json:"addr"` // host:port
	Path string `json:"path"`
	Key  string `json:"key,omitempty"` // sent as a bearer token
}

// buildURL returns the URL of the endpoint, as serverSpec needs it.
func (e endpoint) buildURL() string { return "http://" + e.Addr + e.Path }

// conn is one client connection. Requests are prepared bytes, and responses are
// parsed no further than needed, because the load generator shares the machine
// with the process that it measures. A request is never sent twice.
type conn struct {
	// Address of the server, to dial again.
	addr    string
	netConn net.Conn // nil while closed
	// Stops watching the context.
	stopWatch func() bool
	reader    *bufio.Reader
	// Memory for bodies; grows to the largest.
	buf []byte
}

// dialConn opens a connection. The caller closes it.
func dialConn(ctx context.Context, addr string, deadline time.Time) (*conn, error) {
	c := &conn{addr: addr}
	return c, c.redial(ctx, deadline)
}

// redial opens the connection again. Its exchanges fail when ctx ends. The
// deadline is set once for all of them: setting it for each would cost more than
// parsing the response.
func (c *conn) redial(ctx context.Context, deadline time.Time) error {
	c.close()
	d := net.Dialer{Deadline: deadline}
	nc, err := d.DialContext(ctx, "tcp", c.addr)
	if err != nil {
		return err
	}
	if err := nc.SetDeadline(deadline); err != nil {
		_ = nc.Close()
		return err
	}
	c.netConn = nc
	c.stopWatch = context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
	if c.reader == nil {
		c.reader = bufio.NewReaderSize(nc, 64<<10)
	}
	c.reader.Reset(nc)
	return nil
}

// close closes the connection, if it is open.
func (c *conn) close() {
	if c.netConn != nil {
		c.stopWatch()
		_ = c.netConn.Close()
		c.netConn = nil
	}
}

// exchange sends a complete HTTP request and reads the response, which is valid
// until the next exchange. After an error the connection is closed.
func (c *conn) exchange(req []byte) (answer, error) {
	if c.netConn == nil {
		return answer{}, net.ErrClosed
	}
	if _, err := c.netConn.Write(req); err != nil {
		c.close()
		return answer{}, err
	}
	a, err := readAnswer(c.reader, c.buf)
	if cap(a.body) > cap(c.buf) {
		c.buf = a.body[:0]
	}
	if err != nil {
		c.close()
		return a, asUnexpectedEOF(err)
	}
	if a.closesConn {
		c.close()
	}
	return a, nil
}

// session is the state that a connection has with the server.
type session struct {
	version string
	id      string // legacy era only
}

// handshake opens a session in the legacy era; the modern era has none.
func (c *conn) handshake(e endpoint, version string) (session, error) {
	s := session{version: version}
	if version >= versionModern {
		return s, nil
	}
	hello := fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":%s}}`, version, clientInfo)
	a, err := c.exchange(buildPost(e, session{}, "", "", []byte(hello)))
	if err != nil {
		return s, fmt.Errorf("initialize: %w", err)
	}
	var m struct {
		Result *struct {
			ProtocolVersion string `json:"protocolVersion"`
		} `json:"result"`
	}
	if err := json.Unmarshal(a.jsonMessage(), &m); err != nil || a.status != 200 || m.Result == nil {
		return s, fmt.Errorf("initialize: status %d, answer %.200q", a.status, a.body)
	}
	s.version, s.id = m.Result.ProtocolVersion, a.session
	a, err = c.exchange(buildPost(e, s, "", "", []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)))
	if err != nil {
		return s, fmt.Errorf("notifications/initialized: %w", err)
	}
	if a.status/100 != 2 {
		return s, fmt.Errorf("notifications/initialized: status %d, answer %.200q", a.status, a.body)
	}
	return s, nil
}

// clientInfo is how the load generator introduces itself.
const clientInfo = `{"name":"junctor-bench","version":"1"}`

// modernMeta is the _meta of each request of the modern era.
const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + versionModern + `","io.modelcontextprotocol/clientInfo":` + clientInfo + `,"io.modelcontextprotocol/clientCapabilities":{}}`

// buildPost returns a complete HTTP request. method and name go into the headers
// of the modern era, which repeat values of the body.
func buildPost(e endpoint, s session, method, name string, body []byte) []byte {
	b := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n", e.Path, e.Addr)
	header := func(name, value string) {
		if value != "" {
			b = append(append(append(append(b, name...), ": "...), value...), "\r\n"...)
		}
	}
	if e.Key != "" {
		header("Authorization", "Bearer "+e.Key)
	}
	header("Mcp-Session-Id", s.id)
	header("MCP-Protocol-Version", s.version)
	if s.version >= versionModern {
		header("Mcp-Method", method)
		header("Mcp-Name", name)
	}
	header("Content-Length", strconv.Itoa(len(body)))
	return append(append(b, "\r\n"...), body...)
}
