package program

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/mcpagent"
)

// HookSecret is what a Sender signs with.
const HookSecret = "whsec_c2VjcmV0IG9mIHRoZSB0ZXN0cw=="

// eventsWithin is far above what it takes: it is here to end a broken test.
const eventsWithin = 3 * time.Minute

// Told is one delivery as a Receiver saw it.
type Told struct {
	ID         string
	Agent      string
	N          int
	Begun, End time.Time // End is zero while it lasts
}

// Receiver is an agent with the tool receive: it keeps all that it is told, also
// what comes again.
type Receiver struct {
	URL  string
	Hold func(n int) time.Duration // how long the delivery of an event takes; nil is not at all

	mu    sync.Mutex
	all   []*Told
	known map[string]bool // what it was told of
}

// everything has an agent do again what it did before.
type everything struct{}

func (everything) RunOnce(_ context.Context, _ string, do func() error) (bool, error) {
	return true, do()
}

type tick struct {
	Agent string `json:"agent"`
	N     int    `json:"n"`
}

// NewReceiver starts one, until the test ends. Hold is set before the first event.
func NewReceiver(t testing.TB) *Receiver {
	t.Helper()
	r := &Receiver{known: map[string]bool{}}
	agent := mcpagent.New("receiver", mcpagent.Options{Deduplicator: everything{}})
	mcpagent.AddHandler(agent, "receive", "Takes events", func(_ context.Context, d mcpagent.Delivery, p tick) error {
		one := &Told{ID: d.ID, Agent: p.Agent, N: p.N, Begun: time.Now()}
		r.mu.Lock()
		r.all = append(r.all, one)
		r.mu.Unlock()
		if r.Hold != nil {
			poll.Pause(r.Hold(p.N), "a receiver that takes its time is what the test asks for")
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		one.End = time.Now()
		r.known[eventKey(p.Agent, p.N)] = true
		return nil
	})
	server := httptest.NewServer(agent)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	r.URL = server.URL
	return r
}

func eventKey(agent string, n int) string { return fmt.Sprint(agent, "/", n) }

// Came is of how many events it was told.
func (r *Receiver) Came() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.known)
}

// Told is all that it was told so far, in the order of its beginnings.
func (r *Receiver) Told() []Told {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Told, len(r.all))
	for i, one := range r.all {
		out[i] = *one
	}
	return out
}

// Left is what of these events it was not told yet.
func (r *Receiver) Left(taken map[string]bool) (out []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range taken {
		if !r.known[key] {
			out = append(out, key)
		}
	}
	return out
}

// Check holds that what was taken was told, under one id each, and in the order of
// each agent. What has not come is lost when nothing has come for long.
func (r *Receiver) Check(t testing.TB, taken map[string]bool) {
	t.Helper()
	const unbounded = 24 * time.Hour // the condition ends by itself
	lost, since := r.Left(taken), time.Now()
	poll.Holds(unbounded, func() bool {
		now := r.Left(taken)
		if len(now) < len(lost) {
			since = time.Now()
		}
		lost = now
		return len(lost) == 0 || time.Since(since) >= eventsWithin
	})
	if len(lost) > 0 {
		t.Errorf("%d of %d acknowledged events are lost, such as %s", len(lost), len(taken), lost[0])
	}
	all := r.Told()
	ids, last, again := map[string]string{}, map[string]int{}, 0
	for _, one := range all {
		key := eventKey(one.Agent, one.N)
		if id, ok := ids[key]; ok {
			again++
			if id != one.ID {
				t.Errorf("%s came as %s and as %s", key, id, one.ID)
			}
			continue
		}
		ids[key] = one.ID
		if one.N <= last[one.Agent] {
			t.Errorf("agent %s was told of %d after %d", one.Agent, one.N, last[one.Agent])
		}
		last[one.Agent] = one.N
	}
	t.Logf("figure: %d events acknowledged, %d lost, %d delivered, %d of them again with the same ID", len(taken), len(lost), len(all), again)
}

// Sender posts signed messages to the source hooks, for each agent one after the
// other: what was not acknowledged is sent again.
type Sender struct {
	url   string
	pace  time.Duration // between two messages of an agent
	mu    sync.Mutex
	next  map[string]int
	taken map[string]bool
}

// NewSender makes one for what listens at a URL.
func NewSender(url string, pace time.Duration) *Sender {
	return &Sender{url: url, pace: pace, next: map[string]int{}, taken: map[string]bool{}}
}

// Taken is what was acknowledged.
func (s *Sender) Taken() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]bool{}
	for key := range s.taken {
		out[key] = true
	}
	return out
}

// Run sends for some agents until ctx ends.
func (s *Sender) Run(ctx context.Context, agents int) {
	var work sync.WaitGroup
	for i := range agents {
		agent := "h" + strconv.Itoa(i)
		work.Go(func() {
			for ctx.Err() == nil {
				s.mu.Lock()
				n := s.next[agent] + 1
				s.mu.Unlock()
				if s.post(ctx, agent, n) != http.StatusAccepted {
					rest(ctx, 5*time.Millisecond)
					continue
				}
				s.mu.Lock()
				s.next[agent] = n
				s.taken[eventKey(agent, n)] = true
				s.mu.Unlock()
				rest(ctx, s.pace)
			}
		})
	}
	work.Wait()
}

func rest(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (s *Sender) post(ctx context.Context, agent string, n int) int {
	body := fmt.Appendf(nil, `{"type":"tick","agent":%q,"n":%d}`, agent, n)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/hooks/hooks", bytes.NewReader(body))
	if err != nil {
		return 0
	}
	id, now := fmt.Sprint(agent, "-", n), time.Now()
	r.Header.Set(junctor.HeaderWebhookID, id)
	r.Header.Set(junctor.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	r.Header.Set(junctor.HeaderWebhookSignature, junctor.SignWebhook(HookSecret, id, now, body))
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// Events has an instance take what a Sender sends, and deliver it to a receiver.
func (in *Instance) Events(t testing.TB, receiver string) {
	t.Helper()
	for _, one := range []struct{ path, body string }{
		{"/servers", fmt.Sprintf(`{"id":"bot","url":%q}`, receiver)},
		{"/sources", fmt.Sprintf(`{"id":"hooks","style":"standard","secret":%q,"agent_field":"data.agent"}`, HookSecret)},
		{"/triggers", `{"name":"all","match":{"source":"hooks"},"action":{"server":"bot","tool":"receive","template":{"agent":"{{agent}}","n":"{{data.n}}"}}}`},
	} {
		if a, err := in.Request(t.Context(), http.MethodPost, "/api/v1"+one.path, one.body); err != nil || a.Status != http.StatusCreated {
			t.Fatalf("POST %s: %d %s %v", one.path, a.Status, a.Body, err)
		}
	}
}
