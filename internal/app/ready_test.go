package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/testkit"
)

// What an operator watches is there, says the truth, and needs a key where it
// tells more than alive or not.
func TestHealthAndMetrics(t *testing.T) {
	t.Parallel()
	i := testkit.Start(t, nil)
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"x"}}}`
	i.Do(t, http.MethodPost, "/mcp/request", call)
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusOK, "/metrics": http.StatusUnauthorized} {
		if r := i.Do(t, http.MethodGet, path, "", "Authorization:"); r.Status != want {
			t.Errorf("%s without a key: %d", path, r.Status)
		}
	}
	r := i.Do(t, http.MethodGet, "/metrics", "")
	for _, want := range []string{
		`mcp_calls_total{status="success",tool_name="demo__echo"} 1`, "mcp_call_duration_seconds_bucket", "junctor_journal_ok 1",
		"junctor_journal_degraded 0", "junctor_history_dropped_records 0", "junctor_unauthenticated_total 1", "junctor_sessions 0",
	} {
		if !strings.Contains(r.Body, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

// An endpoint that is switched off is not found by any caller.
func TestAdminAndMetricsOff(t *testing.T) {
	t.Parallel()
	i := testkit.Start(t, testkit.Settings{"endpoints-off": "admin,metrics"})
	for _, path := range []string{"/api/v1/tools", "/metrics"} {
		if r := i.Do(t, http.MethodGet, path, ""); r.Status != http.StatusNotFound {
			t.Errorf("%s: %d", path, r.Status)
		}
	}
}
