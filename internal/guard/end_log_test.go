package guard_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// TestCallsThatFailAreLogged holds that a call which was refused or failed has a
// line in the log, one that succeeded has none, and that many are not all logged.
func TestCallsThatFailAreLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		r := newRigWith(t, slog.New(slog.NewJSONHandler(&out, nil)))
		lines := func() (all []map[string]any) {
			for line := range strings.SplitSeq(strings.TrimSpace(out.String()), "\n") {
				var one map[string]any
				if line != "" && json.Unmarshal([]byte(line), &one) == nil && one["call"] != nil {
					all = append(all, one)
				}
			}
			out.Reset()
			return all
		}
		if _, err := r.Do(t.Context(), tool("echo", `{"text":"x"}`), nil); err != nil {
			t.Fatal(err)
		}
		if got := lines(); len(got) != 0 {
			t.Errorf("a success is logged: %v", got)
		}
		_, _ = r.Do(t.Context(), tool("nothing", `{}`), nil)
		secret := tool("echo", `{"text":"x","password":7}`)
		secret.Principal = caller(junctor.ScopeToolsRead)
		_, _ = r.Do(t.Context(), secret, nil)
		hang := tool("hang-short", `{}`)
		hang.Timeout = 3 * time.Second
		_, _ = r.Do(t.Context(), hang, nil)
		got := lines()
		if len(got) != 3 {
			t.Fatalf("logged: %v", got)
		}
		for i, want := range []struct{ msg, status, code string }{
			{"call refused", "invalid", "not_found"}, {"call refused", "denied", "denied"}, {"call failed", "timeout", "timeout"},
		} {
			if one := got[i]; one["msg"] != want.msg || one["status"] != want.status || one["code"] != want.code || one["reason"] == nil || one["call"] == "" {
				t.Errorf("%d: %v, want %+v", i, one, want)
			}
		}
		time.Sleep(2 * time.Second)
		for range 100 {
			_, _ = r.Do(t.Context(), tool("nothing", `{}`), nil)
		}
		if got := lines(); len(got) == 0 || len(got) > 40 {
			t.Errorf("of 100 refusals in a moment %d are logged", len(got))
		}
		time.Sleep(2 * time.Second)
		_, _ = r.Do(t.Context(), tool("nothing", `{}`), nil)
		if got := lines(); len(got) != 1 || got[0]["not_logged"] == nil {
			t.Errorf("it does not say how many were left out: %v", got)
		}
	})
}
