//go:build linux

package deploy

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// TestReplacedBehindHAProxy runs what deploy/compose says, without its containers:
// HAProxy, with the file that is there, in front of two replicas with the settings
// that are there. Each is told to end and started again while clients call. No
// call fails.
func TestReplacedBehindHAProxy(t *testing.T) {
	t.Parallel()
	s := startComposed(t)
	l := &clients{}
	stop := l.call(t, "http://"+s.front)
	for n := range s.running {
		s.answers(t, n)
		s.running[n].Signal(t, syscall.SIGTERM)
		if code, ok := s.running[n].Wait(patience); !ok || code != 0 {
			t.Fatalf("replica %d, told to end: exit code %d, ended %t", n, code, ok)
		}
		from := l.answered.Load()
		poll.Until(t, "the other one answers", patience, func() bool { return l.answered.Load() >= from+20 })
		s.running[n] = program.Launch(t, s.specs[n])
		s.running[n].WaitReady(t)
		s.answers(t, n)
	}
	stop()
	if failed := l.failed; len(failed) > 0 {
		t.Errorf("%d of %d calls failed; the first:\n%s", len(failed), l.answered.Load()+int64(len(failed)), strings.Join(failed[:min(len(failed), 10)], "\n"))
	}
	t.Logf("figure: two replicas replaced one after the other behind HAProxy, under load: %d calls, %d failed", l.answered.Load(), len(l.failed))
}

// composition is what runs of the compose file.
type composition struct {
	front   string // where HAProxy listens
	specs   []program.Spec
	running []*program.Instance
}

func startComposed(t *testing.T) *composition {
	t.Helper()
	haproxy, err := exec.LookPath("haproxy")
	if err != nil {
		program.Missing(t, "haproxy; tools/install.sh debian installs it")
	}
	pg, err := pgtest.Start(pgtest.Options{})
	pgtest.Need(t, err)
	t.Cleanup(pg.Stop)
	db, redis := pg.Database(t), program.Redis(t)
	project, _ := readComposition(t)
	s := &composition{front: program.FreeAddr(t)}
	for _, name := range []string{"one", "two"} {
		env, addr := maps.Clone(project.Services[name].Environment), program.FreeAddr(t)
		// Where things are is all that is another way here.
		for _, where := range []string{"JUNCTOR_LISTEN", "JUNCTOR_SANDBOX_LISTEN", "PGPASSWORD"} {
			delete(env, where)
		}
		env["JUNCTOR_PUBLIC_URL"], env["JUNCTOR_REPLICA_URL"], env["JUNCTOR_TRUSTED_PROXY"] = "http://"+s.front, "http://"+addr, "127.0.0.0/8"
		env["JUNCTOR_DB"], env["JUNCTOR_REDIS"] = db, "redis://"+redis+"/0"
		spec := program.Spec{Addr: addr, DataDir: t.TempDir(), Env: envPairs(env), Args: []string{"--rate-limit", "0"}}
		in := program.Launch(t, spec)
		in.WaitReady(t)
		s.specs, s.running = append(s.specs, spec), append(s.running, in)
	}
	env := maps.Clone(project.Services["balancer"].Environment)
	env["BIND"], env["HEALTH_HOST"], env["JUNCTOR_ONE"], env["JUNCTOR_TWO"] = s.front, s.front, s.specs[0].Addr, s.specs[1].Addr
	program.Serve(t, s.front, envPairs(env), haproxy, "-db", "-f", filepath.Join(program.Root(t), "deploy", "compose", "haproxy.cfg"))
	return s
}

func envPairs(env map[string]string) (all []string) {
	for key, value := range env {
		all = append(all, key+"="+value)
	}
	return all
}

// answers waits until a replica has answered some calls since it was started.
func (s *composition) answers(t *testing.T, n int) {
	t.Helper()
	poll.Until(t, fmt.Sprintf("replica %d answers", n), patience, func() bool {
		calls, _ := strconv.Atoi(metric(t, s.running[n], `mcp_calls_total{status="success",tool_name="demo__echo"}`))
		return calls >= 20
	})
}

// clients call through HAProxy, and note what fails.
type clients struct {
	answered atomic.Int64

	mu     sync.Mutex
	failed []string
}

// call has clients of every kind call until stop is called, which waits for what is
// under way. HAProxy tells clients apart by their addresses, so each has its own.
func (l *clients) call(t *testing.T, front string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var all sync.WaitGroup
	for n := range 4 * len(program.Eras()) {
		c := program.NewCaller(t, program.Eras()[n%len(program.Eras())], front, program.AdminKey)
		c.From(fmt.Sprintf("127.0.0.%d", 2+n))
		all.Go(func() { l.repeat(ctx, n, c) })
	}
	stop = sync.OnceFunc(func() {
		cancel()
		all.Wait()
	})
	t.Cleanup(stop)
	return stop
}

// repeat makes one call after the other, some of them long ones.
func (l *clients) repeat(ctx context.Context, who int, c *program.Caller) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for n := 1; ctx.Err() == nil; n++ {
		want := fmt.Sprintf("%d of client %d", n, who)
		tool, arguments := "demo__echo", fmt.Sprintf(`{"text":%q}`, want)
		if c.Era == program.Plain && n%50 == 0 {
			tool, arguments, want = "demo__slow", `{"steps":4,"delay_ms":500}`, ""
		}
		whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		a, err := c.Call(whole, tool, arguments)
		cancel()
		if err == nil && a.OK && (want == "" || a.Text == want) {
			l.answered.Add(1)
		} else {
			l.mu.Lock()
			l.failed = append(l.failed, fmt.Sprintf("%s, call %d of client %d, %s: %v %d %s", time.Now().Format("15:04:05.000"), n, who, c.Era, err, a.Status, a.Body))
			l.mu.Unlock()
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}
