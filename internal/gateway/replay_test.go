package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// apart is a process whose others are all gone.
type apart string

func (a apart) Self() string { return string(a) }

func (a apart) Forward(http.ResponseWriter, *http.Request, string, []byte) error {
	return errors.New("it is gone")
}

func (a apart) NotifyAll(context.Context, gateway.SessionEvent) {}

// shelf keeps streams in memory.
type shelf struct {
	mu      sync.Mutex
	streams map[string]*keptStream
}

type keptStream struct {
	request  []byte
	answered bool
	last     int
	messages map[int][]byte
}

func (k *shelf) StoreEvent(session, stream string, s gateway.StoredEvent) {
	k.mu.Lock()
	defer k.mu.Unlock()
	st := k.streams[session+" "+stream]
	if st == nil {
		st = &keptStream{messages: map[int][]byte{}}
		k.streams[session+" "+stream] = st
	}
	if s.Request != nil {
		st.request = s.Request
	}
	st.last, st.answered = max(st.last, s.Number), st.answered || s.IsResponse
	if s.Message != nil {
		st.messages[s.Number] = s.Message
	}
	for _, n := range s.Delete {
		delete(st.messages, n)
	}
}

func (k *shelf) LoadEvents(_ context.Context, session, stream string, after int) (r gateway.StoredEvents, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	st := k.streams[session+" "+stream]
	if st == nil {
		return r, false
	}
	r.Request, r.HasResponse = st.request, st.answered
	for n := after + 1; n <= st.last; n++ {
		if st.messages[n] == nil {
			return r, false
		}
		r.Messages = append(r.Messages, st.messages[n])
	}
	return r, true
}

// twoStacks are two processes with the same sessions, of which neither reaches the
// other.
func twoStacks(t *testing.T, k *shelf) (one, other *stack) {
	t.Helper()
	one = newStack(t, func(o *gateway.Options) { o.Replicas, o.ReplayStore = apart("one"), k })
	other = newStack(t, func(o *gateway.Options) {
		o.Replicas, o.ReplayStore, o.Sealer, o.Sessions = apart("other"), k, one.ground, one.ground
	})
	return one, other
}

// at is the session at another process.
func (s *session) at(i *testkit.Instance) *session {
	there := *s
	there.i = i
	return &there
}

// events reads an answer that is a stream: what was said, by event ids.
func events(t *testing.T, r testkit.Reply) (ids, said []string) {
	t.Helper()
	if r.Status != http.StatusOK {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	reader := wire.NewEventReader(strings.NewReader(r.Body), 8<<20)
	for {
		e, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return ids, said
		}
		if err != nil {
			t.Fatal(err)
		}
		if id := e.ID; len(e.Data) > 0 {
			if !e.HasID {
				id = ""
			}
			ids, said = append(ids, id), append(said, string(e.Data))
		}
	}
}

func resumed(t *testing.T, s *session, last string) (ids, said []string) {
	t.Helper()
	return events(t, s.do(t, http.MethodGet, "", "Last-Event-ID: "+last))
}

func refused(t *testing.T, what string, s *session, last string) {
	t.Helper()
	if r := s.do(t, http.MethodGet, "", "Last-Event-ID: "+last); r.Status != http.StatusBadRequest || !strings.Contains(r.Body, "send the original request again") {
		t.Errorf("%s: %d %s", what, r.Status, r.Body)
	}
}

// A stream of a process that is gone goes on at another one behind whatever event
// its client saw last: nothing is missing, nothing comes twice, and nobody else has it.
func TestStreamsAreReplayedByAnotherReplica(t *testing.T) {
	t.Parallel()
	one, other := twoStacks(t, &shelf{streams: map[string]*keptStream{}})
	for _, version := range []string{"2025-03-26", "2025-11-25"} {
		c := open(t, one.Instance, version, "{}", "")
		ids, said := events(t, c.post(t, progressCall("7", "5", false)))
		if len(ids) != 6 {
			t.Fatalf("%s: %q", version, said)
		}
		stream, _, _ := strings.Cut(ids[0], "-")
		for n, last := range append([]string{stream + "-0"}, ids...) {
			gotIDs, got := resumed(t, c.at(other.Instance), last)
			if !slices.Equal(gotIDs, ids[n:]) || !slices.Equal(got, said[n:]) {
				t.Errorf("%s: behind %s came %q %q; want %q %q", version, last, gotIDs, got, ids[n:], said[n:])
			}
		}
		refused(t, "another session of the same party", open(t, one.Instance, version, "{}", "").at(other.Instance), ids[0])
		refused(t, "a stream that never was", c.at(other.Instance), strings.Replace(ids[0], stream, stream+"9", 1))
		refused(t, "a stream of a process of its own", c.at(other.Instance), "pother.1.1-0")
	}
}

// Where the answer never came, that is said, as often as it is asked for.
func TestACutCallIsReplayedAsLost(t *testing.T) {
	t.Parallel()
	one, other := twoStacks(t, &shelf{streams: map[string]*keptStream{}})
	c := open(t, one.Instance, "2025-11-25", "{}", "")
	st := openStream(t, one.Instance, http.MethodPost, "/mcp", request(`"cut"`, "tools/call", `"name":"probe__block"`, `"_meta":{`+progress+`}`), c.headers()...)
	if a := st.next(t); a.Method != wire.NotificationProgress {
		t.Fatalf("%+v", a)
	}
	for range 2 {
		ids, said := resumed(t, c.at(other.Instance), st.last)
		if len(said) != 1 || ids[0] != "" {
			t.Fatalf("%q %q", ids, said)
		}
		if a := parse(t, said[0]); string(a.ID) != `"cut"` || a.Error == nil || a.Error.Data["code"] != "unavailable" || !strings.Contains(a.Error.Message, "call again only if") {
			t.Errorf("%s", said[0])
		}
	}
	one.probe.release <- struct{}{}
	if a := st.next(t); a.text() != "released" {
		t.Errorf("%+v", a)
	}
	if ids, said := resumed(t, c.at(other.Instance), st.last); len(said) != 0 {
		t.Errorf("behind the answer: %q %q", ids, said)
	}
}

// The newest of a long stream are kept: who saw less sends the request again.
func TestReplayedStreamsAreBounded(t *testing.T) {
	t.Parallel()
	const kept = 256
	one, other := twoStacks(t, &shelf{streams: map[string]*keptStream{}})
	c := open(t, one.Instance, "2025-11-25", "{}", "")
	ids, said := events(t, c.post(t, progressCall("1", "300", false)))
	first := len(ids) - kept // the first that is kept
	if gotIDs, got := resumed(t, c.at(other.Instance), ids[first-1]); !slices.Equal(gotIDs, ids[first:]) || !slices.Equal(got, said[first:]) {
		t.Errorf("%d events, want %d", len(gotIDs), kept)
	}
	refused(t, "further back", c.at(other.Instance), ids[first-2])

	long := strings.Repeat("x", 1<<20)
	ids, _ = events(t, c.post(t, request("2", "tools/call", `"name":"probe__tag"`, fmt.Sprintf(`"arguments":{"tag":%q}`, long), `"_meta":{`+progress+`}`)))
	refused(t, "before a message that is too long", c.at(other.Instance), strings.Replace(ids[0], "-1", "-0", 1))
}

// Notes that a client missed come first, and then what is new.
func TestNotesAreReplayedElsewhere(t *testing.T) {
	t.Parallel()
	one, other := twoStacks(t, &shelf{streams: map[string]*keptStream{}})
	c := open(t, one.Instance, "2025-11-25", "{}", "")
	if r := c.post(t, request("1", "resources/subscribe", `"uri":"probe+probe://a"`)); r.Status != http.StatusOK || strings.Contains(r.Body, "error") {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	notes := openStream(t, one.Instance, http.MethodGet, "/mcp", "", c.headers()...)
	one.probe.server.Updated("probe://a")
	if a := notes.next(t); a.Method != wire.NotificationResourceUpdated {
		t.Fatalf("%+v", a)
	}
	again := openStream(t, other.Instance, http.MethodGet, "/mcp", "", c.headers("Last-Event-ID: "+strings.TrimSuffix(notes.last, "1")+"0")...)
	if a := again.next(t); a.Method != wire.NotificationResourceUpdated || again.last != notes.last {
		t.Errorf("%s %+v", again.last, a)
	}
	other.probe.server.Updated("probe://a")
	if a := again.next(t); a.Method != wire.NotificationResourceUpdated || again.last == notes.last {
		t.Errorf("%s %+v", again.last, a)
	}
}
