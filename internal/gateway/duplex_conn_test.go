package gateway_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// talk is a client on a connection that carries messages both ways.
type talk struct {
	send func(t testing.TB, message string)
	in   chan string // what the server says; closed at its end

	endpoint string     // of HTTP+SSE
	close    func()     // ends the client's half
	done     chan error // what ServeStdio returned
}

// next gives the next message of the server.
func (c *talk) next(t testing.TB) answer {
	t.Helper()
	return parse(t, c.nextText(t))
}

func (c *talk) nextText(t testing.TB) string {
	t.Helper()
	select {
	case m, ok := <-c.in:
		if !ok {
			t.Fatal("the server has hung up")
		}
		return m
	case <-time.After(time.Minute):
		t.Fatal("the server says nothing")
	}
	return ""
}

func (c *talk) handshake(t testing.TB, version, caps string) {
	t.Helper()
	c.send(t, initializeBody(version, caps))
	if a := c.next(t); a.Result["protocolVersion"] != version || string(a.ID) != "0" {
		t.Fatalf("initialize: %+v", a)
	}
	c.send(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// openStdio runs the stdio endpoint on pipes.
func openStdio(t testing.TB, i *testkit.Instance, key string) *talk {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &talk{in: make(chan string, 1024), done: make(chan error, 1), close: func() { _ = inW.Close() }}
	c.send = func(t testing.TB, message string) {
		t.Helper()
		if _, err := io.WriteString(inW, message+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	go func() {
		err := i.App.ServeStdio(context.Background(), inR, outW, key)
		_ = outW.Close()
		_ = inR.Close()
		c.done <- err
	}()
	go func() {
		defer close(c.in)
		r := bufio.NewReader(outR)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			c.in <- strings.TrimSuffix(line, "\n")
		}
	}()
	t.Cleanup(func() { _ = inW.Close(); _ = outR.Close() })
	return c
}

// openSSE opens the HTTP+SSE endpoint.
func openSSE(t testing.TB, i *testkit.Instance, key string) *talk {
	t.Helper()
	var header []string
	if key != "" {
		header = []string{"Authorization: Bearer " + key}
	}
	ctx, cancel := context.WithCancel(context.Background())
	resp := i.Open(ctx, t, http.MethodGet, "/sse", "", header...)
	c := &talk{in: make(chan string, 1024), close: cancel}
	t.Cleanup(func() { cancel(); _ = resp.Body.Close() })
	events := wire.NewEventReader(resp.Body, 8<<20)
	first, err := events.Next()
	if err != nil || first.Name != "endpoint" || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("first event: %+v %v", first, err)
	}
	c.endpoint = string(first.Data)
	c.send = func(t testing.TB, message string) {
		t.Helper()
		if r := i.Do(t, http.MethodPost, c.endpoint, message, header...); r.Status != http.StatusAccepted {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
	}
	go func() {
		defer close(c.in)
		for {
			e, err := events.Next()
			if err != nil {
				return
			}
			c.in <- string(e.Data)
		}
	}()
	return c
}
