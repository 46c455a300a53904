package limits

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// patience is far above what anything here takes.
const patience = 90 * time.Second

// site is replicas on one database and one Redis.
type site struct {
	replicas []*testkit.Instance
	addr     string
	redis    *program.Process
}

func start(t *testing.T, replicas int) *site {
	t.Helper()
	pg, err := pgtest.Start(pgtest.Options{})
	pgtest.Need(t, err)
	t.Cleanup(pg.Stop)
	s := &site{addr: program.FreeAddr(t)}
	s.redis = program.RedisAt(t, s.addr)
	url, seal := pg.Database(t), filepath.Join(t.TempDir(), "seal.key")
	for range replicas {
		s.replicas = append(s.replicas, testkit.Start(t, testkit.Settings{"db": url, "seal-key-file": seal, "redis": "redis://" + s.addr + "/0"}))
	}
	return s
}

// agent makes an agent with limits, waits until every replica knows it, and gives
// its key.
func (s *site) agent(t *testing.T, name, limits string) string {
	t.Helper()
	got := s.replicas[0].Do(t, http.MethodPost, "/api/v1/agents", fmt.Sprintf(`{"name":%q,"tools":["demo/*"],"limits":%s}`, name, limits), "Content-Type: application/json")
	var made struct{ Key string }
	if err := json.Unmarshal([]byte(got.Body), &made); err != nil || made.Key == "" {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	for i, r := range s.replicas {
		poll.Until(t, fmt.Sprintf("replica %d knows %s", i, name), patience, func() bool {
			return strings.Contains(r.Do(t, http.MethodPost, "/mcp/request", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Authorization: Bearer "+made.Key, "Content-Type: application/json").Body, `echo"`)
		})
	}
	return made.Key
}

// call makes one call at a replica and says whether it was let through.
func (s *site) call(t *testing.T, replica int, key string) bool {
	t.Helper()
	got := s.replicas[replica].Do(t, http.MethodPost, "/mcp/request", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"x"}}}`,
		"Authorization: Bearer "+key, "Content-Type: application/json")
	switch {
	case got.Status == http.StatusOK && strings.Contains(got.Body, `"result"`):
		return true
	case strings.Contains(got.Body, "as many calls"):
		return false
	}
	t.Fatalf("%d %s", got.Status, got.Body)
	return false
}

func (s *site) shared(t *testing.T, replica int) string {
	t.Helper()
	for line := range strings.Lines(s.replicas[replica].Do(t, http.MethodGet, "/metrics", "").Body) {
		if value, ok := strings.CutPrefix(line, "junctor_limits_shared "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// TestOneLimit has everybody call at all replicas at once until each refuses: what
// went through is what the limit says, neither more nor less. It runs alone: on a machine
// that is so busy that Redis takes a quarter of a second, each replica counts its own calls.
func TestOneLimit(t *testing.T) { //nolint:paralleltest // see above
	s := start(t, 3)
	for name, c := range map[string]struct {
		limits string
		want   int
	}{
		"by the day":           {`{"per_day":100}`, 100},
		"few by the day":       {`{"per_day":7}`, 7},
		"by a burst":           {`{"per_second":0.0001,"burst":60}`, 60},
		"by both":              {`{"per_second":0.0001,"burst":60,"per_day":41}`, 41},
		"one at a time, a day": {`{"per_day":50,"concurrent":64}`, 50},
	} {
		key := s.agent(t, strings.Map(func(r rune) rune {
			if r == ' ' || r == ',' {
				return '-'
			}
			return r
		}, name), c.limits)
		var mu sync.Mutex
		var wg sync.WaitGroup
		total := 0
		for n := range 6 {
			wg.Go(func() {
				for s.call(t, n%3, key) {
					mu.Lock()
					total++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		// What one replica had taken is not there for another: ask each once more.
		for n := range 3 {
			for s.call(t, n, key) {
				total++
			}
		}
		if total != c.want {
			t.Errorf("%s: %d calls went through at three replicas, and %d may", name, total, c.want)
		}
	}
}

// TestRedisUnreachable takes the Redis away: replicas go on, each for itself, and say so;
// and they share again once it is back, though it has forgotten everything.
func TestRedisUnreachable(t *testing.T) {
	t.Parallel()
	s := start(t, 2)
	key := s.agent(t, "bot", `{"per_day":60}`)
	for range 20 {
		if !s.call(t, 0, key) {
			t.Fatal("refused")
		}
	}
	s.redis.Kill()
	for n := range 40 {
		if !s.call(t, 0, key) {
			t.Fatalf("call %d was refused while the Redis is away", n)
		}
	}
	if s.call(t, 0, key) {
		t.Error("a replica that counts for itself forgot what it had counted")
	}
	if got := s.shared(t, 0); got != "0" || !strings.Contains(s.replicas[0].Log.String(), "each replica counts its own calls") {
		t.Errorf("junctor_limits_shared is %q; log:\n%s", got, s.replicas[0].Log)
	}
	s.redis = program.RedisAt(t, s.addr)
	other := s.agent(t, "other", `{"per_day":1000}`)
	poll.Until(t, "limits are shared again", patience, func() bool {
		s.call(t, 0, other)
		return s.shared(t, 0) == "1"
	})
	// What the first replica knows is known to all again, once it has asked.
	if s.call(t, 0, key) {
		t.Error("the first replica forgot its own count")
	}
}
