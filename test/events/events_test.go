package events

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit/kill"
	"github.com/junctor-mcp/junctor/mcpagent"
	"github.com/junctor-mcp/junctor/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

const (
	secret  = "whsec_c2VjcmV0IG9mIHRoZSB0ZXN0cw=="
	patient = 3 * time.Minute // far above what it takes: it is here to end a broken test
	onWay   = 1000            // jobs of the Redis that wait at most: on a slow machine a test must come to its end
)

// told is one delivery as the agent saw it.
type told struct {
	id    string
	agent string
	n     int
}

// receiver is the agent: it keeps all that it is told, also what comes again.
type receiver struct {
	url   string
	mu    sync.Mutex
	all   []told
	known map[string]bool // what it was told of
}

// everything has an agent do again what it did before.
type everything struct{}

func (everything) Once(_ context.Context, _ string, do func() error) (bool, error) {
	return true, do()
}

type payload struct {
	Agent string `json:"agent"`
	N     int    `json:"n"`
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{known: map[string]bool{}}
	agent := mcpagent.New("receiver", mcpagent.Options{Seen: everything{}})
	mcpagent.On(agent, "receive", "Takes events", func(_ context.Context, d mcpagent.Delivery, p payload) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.all = append(r.all, told{d.ID, p.Agent, p.N})
		r.known[fmt.Sprint(p.Agent, "/", p.N)] = true
		return nil
	})
	server := httptest.NewServer(agent)
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// came is of how many events it was told.
func (r *receiver) came() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.known)
}

// left is what it was not told of yet.
func (r *receiver) left(taken map[string]bool) (out []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range taken {
		if !r.known[key] {
			out = append(out, key)
		}
	}
	return out
}

// check holds that what was taken was told, under one id each, and in order. What
// has not come is lost when nothing has come for long.
func (r *receiver) check(t *testing.T, taken map[string]bool) {
	t.Helper()
	lost, since := r.left(taken), time.Now()
	for len(lost) > 0 && time.Since(since) < patient {
		time.Sleep(50 * time.Millisecond)
		now := r.left(taken)
		if len(now) < len(lost) {
			since = time.Now()
		}
		lost = now
	}
	if len(lost) > 0 {
		t.Errorf("%d of %d acknowledged events are lost, such as %s", len(lost), len(taken), lost[0])
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	ids, last, again := map[string]string{}, map[string]int{}, 0
	for _, one := range r.all {
		key := fmt.Sprint(one.agent, "/", one.n)
		if id, ok := ids[key]; ok {
			again++
			if id != one.id {
				t.Errorf("%s came as %s and as %s", key, id, one.id)
			}
			continue
		}
		ids[key] = one.id
		if one.n <= last[one.agent] {
			t.Errorf("agent %s was told of %d after %d", one.agent, one.n, last[one.agent])
		}
		last[one.agent] = one.n
	}
	t.Logf("figure: %d events acknowledged, %d lost, %d delivered, %d of them again under the same id", len(taken), len(lost), len(r.all), again)
}

// sender posts signed messages, for each agent one after the other: what was not
// acknowledged is sent again.
type sender struct {
	url   string
	next  map[string]int
	taken map[string]bool
	mu    sync.Mutex
}

func (s *sender) run(ctx context.Context, agents int) {
	var work sync.WaitGroup
	for i := range agents {
		agent := "h" + strconv.Itoa(i)
		work.Go(func() {
			for ctx.Err() == nil {
				s.mu.Lock()
				n := s.next[agent] + 1
				s.mu.Unlock()
				if s.post(ctx, agent, n) != http.StatusAccepted {
					continue
				}
				s.mu.Lock()
				s.next[agent] = n
				s.taken[fmt.Sprint(agent, "/", n)] = true
				s.mu.Unlock()
			}
		})
	}
	work.Wait()
}

func (s *sender) post(ctx context.Context, agent string, n int) int {
	body := fmt.Appendf(nil, `{"type":"tick","agent":%q,"n":%d}`, agent, n)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/hooks/hooks", bytes.NewReader(body))
	if err != nil {
		return 0
	}
	id, now := fmt.Sprint(agent, "-", n), time.Now()
	r.Header.Set(junctor.HeaderWebhookID, id)
	r.Header.Set(junctor.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	r.Header.Set(junctor.HeaderWebhookSignature, junctor.SignWebhook(secret, id, now, body))
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond):
		}
		return 0
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// queue is the Redis of somebody else, with jobs in it.
type queue struct {
	*redis.Client
	url   string
	made  map[string]int
	taken map[string]bool
}

// startRedis starts a Redis of the test's own, in its own folder.
func startRedis(t *testing.T) *queue {
	t.Helper()
	addr := program.Redis(t)
	q := &queue{Client: redis.NewClient(&redis.Options{Addr: addr}), url: "redis://" + addr, made: map[string]int{}, taken: map[string]bool{}}
	t.Cleanup(func() { _ = q.Close() })
	for deadline := time.Now().Add(patient); q.Ping(t.Context()).Err() != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the Redis does not answer")
		}
	}
	return q
}

// push adds jobs, some in either of the forms of their configuration, while not
// too many are on their way.
func (q *queue) push(ctx context.Context, agents int, r *receiver) {
	for i := 0; ctx.Err() == nil; i++ {
		if i%100 == 0 && len(r.left(q.taken)) >= onWay {
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
			i--
			continue
		}
		agent := "r" + strconv.Itoa(i%agents)
		n := q.made[agent] + 1
		config := map[string]any{"tool_name": "receive", "endpoint": map[string]any{"server": "bot"}, "payload_template": map[string]any{"agent": "{{agent_id}}", "n": "{{n}}"}}
		if i%2 == 1 {
			config = map[string]any{"tool_name": "receive", "endpoint": map[string]any{"server": "bot"}, "arguments_template": `{"agent":"{{agent_id}}","n":"{{n}}"}`, "timeout_ms": 20000}
		}
		job, err := json.Marshal(map[string]any{
			"id": fmt.Sprint(agent, "-", n), "trigger_id": "t", "event_id": "e", "action_type": "mcp", "priority": 1, "created_at": "2026-01-01T00:00:00Z",
			"event_data": map[string]any{"event_type": "tick", "agent_id": agent, "n": n}, "config": config,
		})
		if err != nil || q.LPush(ctx, "action_jobs", job).Err() != nil {
			continue
		}
		q.made[agent] = n
		q.taken[fmt.Sprint(agent, "/", n)] = true
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// setUp makes source, server and trigger.
func setUp(t *testing.T, in *program.Instance, agent, redisURL string) {
	t.Helper()
	for _, one := range []struct{ path, body string }{
		{"/servers", fmt.Sprintf(`{"id":"bot","url":%q}`, agent)},
		{"/sources", fmt.Sprintf(`{"id":"hooks","style":"standard","secret":%q,"agent_field":"data.agent"}`, secret)},
		{"/sources", fmt.Sprintf(`{"id":"jobs","style":"redis","secret":%q}`, redisURL)},
		{"/triggers", `{"name":"all","match":{"source":"hooks"},"action":{"server":"bot","tool":"receive","template":{"agent":"{{agent}}","n":"{{data.n}}"}}}`},
	} {
		if a, err := in.Request(t.Context(), http.MethodPost, "/api/v1"+one.path, one.body); err != nil || a.Status != http.StatusCreated {
			t.Fatalf("POST %s: %d %s %v", one.path, a.Status, a.Body, err)
		}
	}
}

// TestKilled kills the instance, and with it its intake and its worker, at random
// moments while events come in by messages and from a Redis. What was
// acknowledged is delivered, what comes twice has the same id, and the order of
// each agent's events is kept.
func TestKilled(t *testing.T) {
	rounds := 10
	if program.Long() {
		rounds = 100
	}
	t.Run("sqlite", func(t *testing.T) { killed(t, rounds) })
	t.Run("postgres", func(t *testing.T) {
		pg, err := pgtest.Start(pgtest.Options{})
		pgtest.Need(t, err)
		t.Cleanup(pg.Stop)
		killed(t, rounds, "--db", pg.Database(t))
	})
}

func killed(t *testing.T, rounds int, args ...string) {
	t.Helper()
	r, q := newReceiver(t), startRedis(t)
	addr, data := program.FreeAddr(t), t.TempDir()
	args = append([]string{"--rate-limit", "0", "--egress-allow", "127.0.0.0/8"}, args...)
	var in *program.Instance
	ready := false
	s := &sender{url: "http://" + addr, next: map[string]int{}, taken: map[string]bool{}}
	kill.Loop{
		Rounds: rounds, Least: 50 * time.Millisecond, Most: 600 * time.Millisecond,
		Start: func(int) (kill.Process, time.Duration) {
			in = program.Start(t, addr, data, args...)
			if !ready {
				ready = true
				setUp(t, in, r.url, q.url)
			}
			return in, in.Ready
		},
		Load: func(ctx context.Context, _ int) {
			var work sync.WaitGroup
			work.Go(func() { s.run(ctx, 4) })
			work.Go(func() { q.push(ctx, 4, r) })
			work.Wait()
		},
		Check: func(int) {},
	}.Run(t)
	all := map[string]bool{}
	for key := range s.taken {
		all[key] = true
	}
	for key := range q.taken {
		all[key] = true
	}
	if len(s.taken) == 0 || len(q.taken) == 0 {
		t.Fatalf("%d events by messages and %d from the Redis: nothing was tried", len(s.taken), len(q.taken))
	}
	t.Logf("figure: %d kills, %d events by messages, %d jobs from a Redis", rounds, len(s.taken), len(q.taken))
	in = program.Start(t, addr, data, args...)
	r.check(t, all)
	if t.Failed() {
		t.Logf("%s", in.Log())
	}
	in.Stop(t, patient)
}

// TestDeadJob holds that a job that fails for good comes back to those who made
// it, with the reason, and one that makes no sense at once.
func TestDeadJob(t *testing.T) {
	r, q := newReceiver(t), startRedis(t)
	in := program.Start(t, program.FreeAddr(t), t.TempDir(), "--egress-allow", "127.0.0.0/8")
	setUp(t, in, r.url, q.url)
	for id, config := range map[string]string{
		"no-tool": `{"tool_name":"nope","endpoint":{"server":"bot"}}`,
		"command": `{"tool_name":"receive","endpoint":{"transport":"stdio","command":"sh","args":["-c","touch /tmp/x"]}}`,
		"header":  `{"tool_name":"receive","endpoint":{"url":"https://example.com","headers":{"Host":"x"}}}`,
	} {
		job := fmt.Sprintf(`{"id":%q,"action_type":"mcp","config":%s,"event_data":{"event_type":"x","agent_id":7}}`, id, config)
		if err := q.LPush(t.Context(), "action_jobs", job).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.LPush(t.Context(), "action_jobs", "no job").Err(); err != nil {
		t.Fatal(err)
	}
	var dead []string
	for deadline := time.Now().Add(patient); len(dead) < 4; time.Sleep(50 * time.Millisecond) {
		var err error
		if dead, err = q.LRange(t.Context(), "action_jobs_dlq", 0, -1).Result(); err != nil || time.Now().After(deadline) {
			t.Fatalf("%q %v\n%s", dead, err, in.Log())
		}
	}
	ids := map[string]string{}
	for _, text := range dead {
		var d struct {
			Job      json.RawMessage `json:"job"`
			Error    string          `json:"error"`
			FailedAt time.Time       `json:"failed_at"`
		}
		var job struct{ ID string }
		if err := json.Unmarshal([]byte(text), &d); err != nil || d.Error == "" || d.FailedAt.IsZero() {
			t.Errorf("%s: %v", text, err)
		}
		_ = json.Unmarshal(d.Job, &job) // one is a text
		ids[job.ID] = d.Error
	}
	if len(ids) != 4 {
		t.Errorf("dead: %v", ids)
	}
	for _, key := range []string{"action_jobs", "action_jobs:taken"} {
		for deadline := time.Now().Add(patient); q.Exists(t.Context(), key).Val() != 0; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s is not empty", key)
			}
		}
	}
}
