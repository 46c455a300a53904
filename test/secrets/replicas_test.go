package secrets

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/test/program"
)

// TestRotationAcrossReplicas replaces the sealing key of two instances on one
// PostgreSQL: by one command, where they share a key file, and by restarts, one at
// a time, where a command gives each its keys. Sessions are used at both by turns
// all the while; no call fails but those that meet nobody.
func TestRotationAcrossReplicas(t *testing.T) {
	t.Parallel()
	pg, err := pgtest.Start(pgtest.Options{})
	pgtest.Need(t, err)
	t.Cleanup(pg.Stop)
	t.Run("one key file", func(t *testing.T) {
		t.Parallel()
		s := newReplicas(t, pg.Database(t), filepath.Join(t.TempDir(), "seal.key"), "")
		s.during(t, func() {
			for n := range 4 { // each opens the key of every secret
				s.rotate(t, n%2)
			}
		})
	})
	t.Run("keys of a command", func(t *testing.T) {
		t.Parallel()
		keys := filepath.Join(t.TempDir(), "keys")
		key := func(n byte) string {
			return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(rune('a'+n)), 32)))
		}
		put := func(list ...string) {
			if err := os.WriteFile(keys, []byte(strings.Join(list, ",")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		put(key(0))
		s := newReplicas(t, pg.Database(t), "", "cmd:cat "+keys)
		s.during(t, func() {
			for _, list := range [][]string{{key(0), key(1)}, {key(1), key(0)}} {
				put(list...)
				s.restart(t)
			}
			s.rotate(t, 0)
			put(key(1)) // which alone does not open what another one sealed: they would not start
			s.restart(t)
		})
	})
}

// replicas are two instances, of which one may be away.
type replicas struct {
	specs [2]program.Spec
	gates [2]sync.RWMutex // read-locked by calls
	in    [2]*program.Instance
}

func newReplicas(t *testing.T, db, file, key string) *replicas {
	t.Helper()
	s := &replicas{}
	for i := range s.in {
		s.specs[i] = program.Spec{Addr: program.FreeAddr(t), DataDir: t.TempDir(), Args: []string{"--db", db, "--rate-limit", "0"}}
		if file != "" {
			s.specs[i].Args = append(s.specs[i].Args, "--seal-key-file", file)
		} else {
			s.specs[i].Env = []string{"JUNCTOR_SEAL_KEY=" + key}
		}
		s.in[i] = program.Launch(t, s.specs[i])
		s.in[i].WaitReady(t)
	}
	for n := range 8 {
		a, err := s.in[n%2].Request(t.Context(), http.MethodPut, fmt.Sprintf("/api/v1/secrets/ocr/one-%d", n), `{"value":"a secret of somebody"}`)
		if err != nil || a.Status >= 300 {
			t.Fatalf("secret %d: %d %s, %v", n, a.Status, a.Body, err)
		}
	}
	return s
}

// restart restarts one after the other, each while nobody calls it, as a balancer
// sees to it.
func (s *replicas) restart(t *testing.T) {
	t.Helper()
	for i := range s.in {
		s.gates[i].Lock()
		s.in[i].Stop(t, time.Minute)
		s.in[i] = program.Launch(t, s.specs[i])
		s.in[i].WaitReady(t)
		s.gates[i].Unlock()
	}
}

func (s *replicas) rotate(t *testing.T, at int) {
	t.Helper()
	if stdout, stderr, code := s.in[at].CLI(t, "secret", "rotate"); code != 0 {
		t.Errorf("a rotation: exit code %d\n%s%s", code, stdout, stderr)
	}
}

// during does something while callers of every era use both by turns, with
// sessions that either opened.
func (s *replicas) during(t *testing.T, do func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var load sync.WaitGroup
	var calls atomic.Int64
	for n := range 3 * 2 {
		era := program.Eras()[n%3]
		callers := [2]*program.Caller{program.NewCaller(t, era, s.in[0].URL, program.AdminKey), program.NewCaller(t, era, s.in[1].URL, program.AdminKey)}
		callers[1-n%2].Session = callers[n%2].Session
		load.Go(func() {
			for at := 0; ctx.Err() == nil; at = 1 - at {
				s.gates[at].RLock()
				a, err := callers[at].Call(t.Context(), "demo__echo", `{"text":"still here"}`)
				callers[at].CloseIdle()
				s.gates[at].RUnlock()
				if err != nil || !a.OK {
					t.Errorf("a %s call at replica %d: %d %s, %v", era, at, a.Status, a.Body, err)
					return
				}
				calls.Add(1)
			}
		})
	}
	do()
	cancel()
	load.Wait()
	if !t.Failed() {
		t.Logf("figure: sealing keys rotated across two replicas under load: %d calls, 0 failed", calls.Load())
	}
}
