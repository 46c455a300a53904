package secrets

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

// TestRotationUnderLoad replaces the key that secrets are sealed under again and
// again while clients of both eras call: no call fails, no session ends, and
// what was stored can be opened after a restart.
func TestRotationUnderLoad(t *testing.T) {
	t.Parallel()
	rotations := 5
	if program.Long() {
		rotations = 100
	}
	addr, data := program.FreeAddr(t), t.TempDir()
	in := program.Start(t, addr, data, "--rate-limit", "0")
	h := newHunt(t)
	for n := range 20 {
		name := fmt.Sprintf("stored secret %d", n)
		a, err := in.Request(t.Context(), http.MethodPut, fmt.Sprintf("/api/v1/secrets/ocr/one-%d", n), fmt.Sprintf(`{"value":%q}`, h.plant(name)))
		if err != nil || a.Status >= 300 {
			t.Fatalf("%s: %d %s, %v", name, a.Status, a.Body, err)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	var load sync.WaitGroup
	var calls atomic.Int64
	for i := range 6 {
		c := program.NewCaller(t, program.Eras()[i%3], in.URL, program.AdminKey)
		load.Go(func() {
			for ctx.Err() == nil {
				a, err := c.Call(t.Context(), "demo__echo", `{"text":"still here"}`)
				if err != nil || !a.OK {
					t.Errorf("a %s call during a rotation: %d %s, %v", c.Era, a.Status, a.Body, err)
					return
				}
				calls.Add(1)
			}
		})
	}
	for n := range rotations {
		if stdout, stderr, code := in.CLI(t, "secret", "rotate"); code != 0 {
			t.Errorf("rotation %d: exit code %d\n%s%s", n+1, code, stdout, stderr)
		}
	}
	cancel()
	load.Wait()
	in.Kill()
	in = program.Start(t, addr, data)
	// A rotation opens the key of every secret.
	if stdout, stderr, code := in.CLI(t, "secret", "rotate"); code != 0 {
		t.Errorf("a rotation after a restart: exit code %d\n%s%s", code, stdout, stderr)
	}
	a, err := in.Request(t.Context(), http.MethodGet, "/api/v1/secrets", "")
	if err != nil || a.Status != http.StatusOK {
		t.Errorf("GET /api/v1/secrets: %d %s, %v", a.Status, a.Body, err)
	}
	h.text("GET /api/v1/secrets", a.Body)
	h.text("the log", in.Log())
	h.tree(data)
	if t.Failed() {
		return
	}
	t.Logf("figure: %d rotations of the sealing key under load: %d calls, 0 failed", rotations, calls.Load())
}
