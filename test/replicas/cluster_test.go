package replicas

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], playing) {
		os.Exit(play())
	}
	os.Exit(program.Main(m))
}

// patience is far above what anything here takes.
const patience = 90 * time.Second

// cluster is three replicas of the program behind a balancer that sends every
// request to another one than the request before.
type cluster struct {
	*testing.T
	front    *program.Balancer
	url      string // of it
	replicas []*program.Instance
	db       string // the URL of their database
	dead     map[int]bool
}

func startCluster(t *testing.T, args ...string) *cluster {
	t.Helper()
	return launchCluster(t, func(int) []string { return args })
}

// launchCluster is startCluster with arguments for each replica.
func launchCluster(t *testing.T, args func(n int) []string) *cluster {
	t.Helper()
	all := program.StartCluster(t, program.ClusterOptions{NoRedis: true, Args: []string{"--call-timeout", "10m"}, Spec: func(_ *program.Cluster, n int, s *program.Spec) {
		s.Args = append(s.Args, args(n)...)
	}})
	return &cluster{T: t, front: all.Balancer, url: all.URL, replicas: all.Replicas(), db: all.DB, dead: map[int]bool{}}
}

// at is the replica that had the last request.
func (c *cluster) at() int { return c.front.At() }

// skip has the next request miss a replica.
func (c *cluster) skip() { c.front.Skip() }

// leave has a replica that ends get no more requests.
func (c *cluster) leave(n int) {
	c.dead[n] = true
	c.front.Out(n, true)
}

// kill ends a replica the hard way.
func (c *cluster) kill(n int) {
	c.leave(n)
	c.replicas[n].Kill()
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
	for n, in := range c.replicas {
		c.until(fmt.Sprintf("%s at replica %d", what, n), func() bool { return c.dead[n] || holds(in) })
	}
}

func (c *cluster) until(what string, holds func() bool) {
	c.Helper()
	poll.Until(c, what, patience, holds)
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
