package replicas

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// patience is far above what anything here takes.
const patience = 90 * time.Second

// cluster is three replicas of the program behind a proxy that sends every request
// to another one than the request before.
type cluster struct {
	*testing.T
	url   string
	nodes []*program.Instance
	pg    *pgtest.Server
	db    string // its URL
	specs []program.Spec

	mu   sync.Mutex
	last int // the node that the last request went to
	dead map[int]bool
}

func startCluster(t *testing.T, args ...string) *cluster {
	t.Helper()
	return launchCluster(t, func(int) []string { return args })
}

// launchCluster is startCluster with arguments for each replica.
func launchCluster(t *testing.T, args func(n int) []string) *cluster {
	t.Helper()
	pg, err := pgtest.Start(pgtest.Options{})
	pgtest.Need(t, err)
	t.Cleanup(pg.Stop)
	c := &cluster{T: t, pg: pg, last: -1, dead: map[int]bool{}}
	front := httptest.NewServer(http.HandlerFunc(c.serve))
	t.Cleanup(func() {
		front.CloseClientConnections() // streams
		front.Close()
	})
	c.url = front.URL
	db, seal := pg.Database(t), filepath.Join(t.TempDir(), "seal.key")
	c.db = db
	host := strings.TrimPrefix(front.URL, "http://")
	for n := range 3 {
		spec := program.Spec{Addr: program.FreeAddr(t), DataDir: t.TempDir(), Args: append([]string{
			"--db", db, "--seal-key-file", seal, "--allowed-hosts", host, "--egress-allow", "127.0.0.0/8", "--rate-limit", "0", "--call-timeout", "10m",
		}, args(n)...)}
		in := program.Launch(t, spec)
		in.WaitReady(t)
		c.nodes, c.specs = append(c.nodes, in), append(c.specs, spec)
	}
	return c
}

// serve sends a request to the next replica that lives.
func (c *cluster) serve(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	for c.last = (c.last + 1) % len(c.nodes); c.dead[c.last]; {
		c.last = (c.last + 1) % len(c.nodes)
	}
	to, err := url.Parse(c.nodes[c.last].URL)
	c.mu.Unlock()
	var body []byte
	if err == nil {
		// Whole, before it is sent on: an answer that begins before the end of the
		// body was read would cut it off (golang/go#40747).
		body, err = io.ReadAll(r.Body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	proxy := httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(to)
			p.Out.Host = p.In.Host
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	proxy.ServeHTTP(w, r)
}

// at is the replica that had the last request.
func (c *cluster) at() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// skip has the next request miss a replica.
func (c *cluster) skip() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = (c.last + 1) % len(c.nodes)
}

// kill ends a replica the hard way.
func (c *cluster) kill(n int) {
	c.mu.Lock()
	c.dead[n] = true
	c.mu.Unlock()
	c.nodes[n].Kill()
}

// send sends a request through the proxy. header lines are "Name: value".
func (c *cluster) send(ctx context.Context, method, path, body string, header ...string) *http.Response {
	c.Helper()
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+program.AdminKey)
	req.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.Fatalf("%s %s: %v", method, path, err)
	}
	return resp
}

// do is send for an answer that ends by itself.
func (c *cluster) do(method, path, body string, header ...string) (status int, answer string) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	resp := c.send(ctx, method, path, body, header...)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.Fatalf("%s %s: %v", method, path, err)
	}
	return resp.StatusCode, string(text)
}

// all waits until something holds at each replica.
func (c *cluster) all(what string, holds func(in *program.Instance) bool) {
	c.Helper()
	for n, in := range c.nodes {
		c.until(fmt.Sprintf("%s at replica %d", what, n), func() bool { return c.dead[n] || holds(in) })
	}
}

func (c *cluster) until(what string, holds func() bool) {
	c.Helper()
	for begun := time.Now(); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > patience {
			c.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// event is one of a stream.
type event struct{ id, name, data string }

// stream reads events.
type stream struct {
	*cluster
	body  io.ReadCloser
	lines *bufio.Scanner
	end   context.CancelFunc
}

// open sends a request whose answer is a stream, which must end, or be closed, in
// time.
func (c *cluster) open(method, path, body string, header ...string) *stream {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	c.Cleanup(cancel)
	resp := c.send(ctx, method, path, body, header...)
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		text, _ := io.ReadAll(resp.Body)
		c.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, text)
	}
	return &stream{cluster: c, body: resp.Body, lines: bufio.NewScanner(resp.Body), end: cancel}
}

// next is the next event with data; false at the end.
func (s *stream) next() (e event, ok bool) {
	for s.lines.Scan() {
		field, value, _ := strings.Cut(s.lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data += value
		case "":
			if s.lines.Text() == "" && e.data != "" {
				return e, true
			}
			e.data = ""
		}
	}
	return e, false
}

// find reads on until an event has a text in it.
func (s *stream) find(text string) event {
	s.Helper()
	var seen []string
	for {
		e, ok := s.next()
		if !ok {
			s.Fatalf("the stream ended (%v) before %q; it had %q", s.lines.Err(), text, seen)
		}
		if strings.Contains(e.data, text) {
			return e
		}
		seen = append(seen, e.data)
	}
}

func (s *stream) close() {
	s.end()
	_ = s.body.Close()
}

// session is a legacy client's.
type session struct {
	*cluster
	path   string
	header []string
}

func (c *cluster) session(path, capabilities string) *session {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	resp := c.send(ctx, "POST", path, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":`+capabilities+
		`,"clientInfo":{"name":"wanderer","version":"1"}}}`)
	defer resp.Body.Close()
	id := resp.Header.Get("Mcp-Session-Id")
	if resp.StatusCode != http.StatusOK || id == "" {
		c.Fatalf("initialize: %d", resp.StatusCode)
	}
	s := &session{cluster: c, path: path, header: []string{"Mcp-Session-Id: " + id, "Mcp-Protocol-Version: 2025-11-25"}}
	s.tell(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return s
}

// tell sends what has no answer.
func (s *session) tell(message string) {
	s.Helper()
	if status, body := s.do("POST", s.path, message, s.header...); status != http.StatusAccepted {
		s.Fatalf("%s: %d %s", message, status, body)
	}
}

// ask gives the answer to a request.
func (s *session) ask(message string) string {
	s.Helper()
	status, body := s.do("POST", s.path, message, s.header...)
	if status != http.StatusOK {
		s.Fatalf("%s: %d %s", message, status, body)
	}
	return body
}
