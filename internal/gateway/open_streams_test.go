package gateway_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// Streams that stay open are counted by party, whichever endpoint they use, and a
// closed one makes room.
func TestOpenStreamsAreBounded(t *testing.T) {
	t.Parallel()
	s := newStack(t, func(o *gateway.Options) { o.MaxStreams = 2 })
	open := func() (status int, end func()) {
		ctx, cancel := context.WithCancel(t.Context())
		resp := s.Open(ctx, t, http.MethodGet, "/sse", "")
		if resp.StatusCode == http.StatusOK {
			if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		return resp.StatusCode, func() { cancel(); _, _ = io.Copy(io.Discard, resp.Body); _ = resp.Body.Close() }
	}
	first, endFirst := open()
	second, endSecond := open()
	if first != http.StatusOK || second != http.StatusOK {
		t.Fatalf("statuses %d and %d", first, second)
	}
	defer endSecond()
	if third, end := open(); third != http.StatusTooManyRequests {
		t.Errorf("the third stream got %d", third)
	} else {
		end()
	}
	endFirst()
	poll.Until(t, "room that a closed stream makes", time.Minute, func() bool {
		status, end := open()
		end()
		return status == http.StatusOK
	})
}

// A body that does not come is not waited for, and a call that takes longer than
// a body may is not cut off by the same deadline.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	s := newStack(t, func(o *gateway.Options) { o.BodyTimeout = 50 * time.Millisecond })
	host := strings.TrimPrefix(s.URL, "http://")
	sendHalf := func() {
		t.Helper()
		conn, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := io.WriteString(conn, "POST /mcp/request HTTP/1.1\r\nHost: "+host+"\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"); err != nil {
			t.Fatal(err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("no answer to half a body: %v", err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("status %d", resp.StatusCode)
		}
	}
	sendHalf()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/mcp/request", strings.NewReader(request("1", "tools/call", `"name":"probe__block"`)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	ended := make(chan error, 1)
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		ended <- err
	}()
	hears(t, "the start", s.probe.started, 10*time.Second)
	// Bodies that began after the call's have run out of time: its own deadline has
	// passed. Two of them leave time for a cancellation to arrive.
	sendHalf()
	sendHalf()
	select {
	case err := <-s.probe.ended:
		t.Errorf("a long call was cancelled: %v", err)
	default:
	}
	cancel()
	<-ended
}
