package events

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit/kill"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

const (
	patient = 3 * time.Minute // far above what it takes: it is here to end a broken test
	onWay   = 1000            // jobs of the Redis that wait at most: on a slow machine a test must come to its end
)

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
	poll.Until(t, "an answer of the Redis", patient, func() bool { return q.Ping(t.Context()).Err() == nil })
	return q
}

// push adds jobs, some in either of the forms of their configuration, while not
// too many are on their way.
func (q *queue) push(ctx context.Context, agents int, r *program.Receiver) {
	for i := 0; ctx.Err() == nil; i++ {
		if i%100 == 0 && len(r.Left(q.taken)) >= onWay {
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

// setUp makes sources, server and trigger.
func setUp(t *testing.T, in *program.Instance, agent, redisURL string) {
	t.Helper()
	in.Events(t, agent)
	if a, err := in.Request(t.Context(), http.MethodPost, "/api/v1/sources", fmt.Sprintf(`{"id":"jobs","style":"redis","secret":%q}`, redisURL)); err != nil || a.Status != http.StatusCreated {
		t.Fatalf("%d %s %v", a.Status, a.Body, err)
	}
}

// TestKilled kills the instance, and with it its intake and its worker, at random
// moments while events come in by messages and from a Redis. What was
// acknowledged is delivered, what comes twice has the same id, and the order of
// each agent's events is kept.
func TestKilled(t *testing.T) {
	rounds := 4
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
	r, q := program.NewReceiver(t), startRedis(t)
	addr, data := program.FreeAddr(t), t.TempDir()
	args = append([]string{"--rate-limit", "0", "--egress-allow", "127.0.0.0/8"}, args...)
	var in *program.Instance
	ready := false
	s := program.NewSender("http://"+addr, 0)
	kill.Loop{
		Rounds: rounds, Least: 50 * time.Millisecond, Most: 600 * time.Millisecond,
		Start: func(int) (kill.Process, time.Duration) {
			in = program.Start(t, addr, data, args...)
			if !ready {
				ready = true
				setUp(t, in, r.URL, q.url)
			}
			return in, in.Ready
		},
		Load: func(ctx context.Context, _ int) {
			var work sync.WaitGroup
			work.Go(func() { s.Run(ctx, 4) })
			work.Go(func() { q.push(ctx, 4, r) })
			work.Wait()
		},
		Check: func(int) {},
	}.Run(t)
	all := s.Taken()
	sent := len(all)
	maps.Copy(all, q.taken)
	if sent == 0 || len(q.taken) == 0 {
		t.Fatalf("%d events by messages and %d from the Redis: nothing was tried", sent, len(q.taken))
	}
	t.Logf("figure: %d kills, %d events sent as messages, %d jobs from a Redis", rounds, sent, len(q.taken))
	in = program.Start(t, addr, data, args...)
	r.Check(t, all)
	if t.Failed() {
		t.Logf("%s", in.Log())
	}
	in.Stop(t, patient)
}

// TestDeadJob holds that a job that fails for good comes back to those who made
// it, with the reason, and one that makes no sense at once.
func TestDeadJob(t *testing.T) {
	r, q := program.NewReceiver(t), startRedis(t)
	in := program.Start(t, program.FreeAddr(t), t.TempDir(), "--egress-allow", "127.0.0.0/8")
	setUp(t, in, r.URL, q.url)
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
	if !poll.Holds(patient, func() bool {
		var err error
		if dead, err = q.LRange(t.Context(), "action_jobs_dlq", 0, -1).Result(); err != nil {
			t.Fatal(err)
		}
		return len(dead) >= 4
	}) {
		t.Fatalf("%q\n%s", dead, in.Log())
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
		poll.Until(t, key+" to be empty", patient, func() bool { return q.Exists(t.Context(), key).Val() == 0 })
	}
}
