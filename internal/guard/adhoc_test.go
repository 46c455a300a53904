package guard_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/limit"
)

// An endpoint that is no registered server passes every gate but those that
// need a definition: its own scope, the limit, the record, the deadline.
func TestAdhoc(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		scope junctor.Scope
		empty bool // of tokens
		code  junctor.Code
	}{
		"allowed":         {junctor.ScopeBridgeCall, false, ""},
		"admin":           {junctor.ScopeAdmin, false, ""},
		"tools:call only": {junctor.ScopeToolsCall, false, junctor.CodeDenied},
		"over the limit":  {junctor.ScopeBridgeCall, true, junctor.CodeLimited},
	} {
		r := newRig(t)
		op := tool("echo", `{"text":"x"}`)
		op.Name, op.AdhocBackend, op.Principal = "echo", r.backend, caller(tt.scope)
		op.Scope = catalog.Scope{Server: junctor.AdhocServer}
		if tt.empty {
			r.rate = limit.Rate{PerSecond: 0.0001, Burst: 1}
			_, _ = r.Do(t.Context(), op, nil)
			r.steps, r.calls = nil, nil
		}
		_, err := r.Do(t.Context(), op, nil)
		if junctor.CodeOf(err) != tt.code {
			t.Errorf("%s: %v", name, err)
		}
		if len(r.calls) == 0 || r.calls[0].Server != junctor.AdhocServer || r.calls[0].Name != "echo" {
			t.Errorf("%s: recorded %+v", name, r.calls)
			continue
		}
		id := r.calls[0].ID
		want := fmt.Sprint([]string{"running " + id, "do " + id, "success " + id})
		if got := fmt.Sprint(r.steps); tt.code == "" && got != want || tt.code != "" && len(r.steps) != 1 {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// The tool of a delivery is counted under its name; what callers of the bridge name
// is not.
func TestDeliveredToolsAreCountedByName(t *testing.T) {
	t.Parallel()
	for entryPoint, want := range map[junctor.EntryPoint]string{junctor.EntryDelivery: "adhoc__echo success", junctor.EntryBridge: "adhoc success"} {
		r := newRig(t)
		op := tool("echo", `{"text":"x"}`)
		op.Name, op.AdhocBackend, op.Principal, op.EntryPoint = "echo", r.backend, caller(junctor.ScopeBridgeCall), entryPoint
		op.Scope = catalog.Scope{Server: junctor.AdhocServer}
		if _, err := r.Do(t.Context(), op, nil); err != nil {
			t.Fatal(err)
		}
		if len(r.observed) != 1 || r.observed[0] != want {
			t.Errorf("%s: counted as %q, want %q", entryPoint, r.observed, want)
		}
	}
}

// A caller's own deadline holds in place of the tool's.
func TestCallersDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		op := tool("hang-short", `{}`)
		op.Timeout = 3 * time.Second
		begun := time.Now()
		_, err := r.Do(t.Context(), op, nil)
		if junctor.CodeOf(err) != junctor.CodeTimeout || time.Since(begun) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}
