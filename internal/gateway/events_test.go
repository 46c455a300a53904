package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// eventStream is an open answer of the server.
type eventStream struct {
	resp   *http.Response
	events chan wire.Event // closed at the stream's end
	last   string          // id of the last event that had one
	cancel context.CancelFunc
}

// openStream sends a request and reads its answer as a stream.
func openStream(t testing.TB, i *testkit.Instance, method, path, body string, header ...string) *eventStream {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	resp := i.Open(ctx, t, method, path, body, header...)
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		text, _ := io.ReadAll(resp.Body)
		t.Fatalf("no stream: %d %s", resp.StatusCode, text)
	}
	s := &eventStream{resp: resp, events: make(chan wire.Event, 4096), cancel: cancel}
	t.Cleanup(s.close)
	go func() {
		defer close(s.events)
		r := wire.NewEventReader(resp.Body, 8<<20)
		for {
			e, err := r.Next()
			if err != nil {
				return
			}
			e.Data = append([]byte(nil), e.Data...)
			s.events <- e
		}
	}()
	return s
}

// close goes away as a client does that has lost interest.
func (s *eventStream) close() {
	s.cancel()
	_ = s.resp.Body.Close()
}

// next gives the next message; priming events are skipped.
func (s *eventStream) next(t testing.TB) answer {
	t.Helper()
	for {
		select {
		case e, ok := <-s.events:
			if !ok {
				t.Fatal("the stream has ended")
			}
			if e.HasID {
				s.last = e.ID
			}
			if len(e.Data) > 0 {
				return parse(t, string(e.Data))
			}
		case <-time.After(time.Minute):
			t.Fatal("no event")
		}
	}
}

// ends fails the test when there is something more than the stream's end.
func (s *eventStream) ends(t testing.TB) {
	t.Helper()
	for {
		select {
		case e, ok := <-s.events:
			if !ok {
				return
			}
			if len(e.Data) > 0 {
				t.Fatalf("one message more: %s", e.Data)
			}
		case <-time.After(time.Minute):
			t.Fatal("the stream does not end")
		}
	}
}

// messages reads an answer that was taken whole: a JSON object, or a stream.
func messages(t testing.TB, r testkit.Reply) []answer {
	t.Helper()
	if r.Header.Get("Content-Type") == "application/json" {
		return []answer{parse(t, r.Body)}
	}
	var all []answer
	events := wire.NewEventReader(strings.NewReader(r.Body), 8<<20)
	for {
		e, err := events.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(e.Data) > 0 {
			all = append(all, parse(t, string(e.Data)))
		}
	}
}

// status waits until the newest record of a tool is no longer running.
func status(t testing.TB, i *testkit.Instance, tool string) string {
	t.Helper()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); {
		r := i.Do(t, http.MethodGet, "/api/v1/calls?limit=1&tool="+tool, "")
		var page struct{ Items []struct{ Status string } }
		if err := json.Unmarshal([]byte(r.Body), &page); err != nil {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		if len(page.Items) > 0 && page.Items[0].Status != "running" {
			return page.Items[0].Status
		}
	}
	return "running"
}

// hears waits for a value, which must come soon.
func hears[T any](t testing.TB, what string, ch <-chan T, within time.Duration) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(within):
		t.Fatalf("%s did not happen within %v", what, within)
	}
	panic("unreachable")
}
