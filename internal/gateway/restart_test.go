package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// A session is its id: another process that has the keys goes on with it.
func TestSessionsSurviveARestart(t *testing.T) {
	t.Parallel()
	dir := testkit.Settings{"data-dir": t.TempDir()}
	i, _ := start(t, dir)
	large := `{"elicitation":{},"experimental":{"x":"` + strings.Repeat("y", 3<<10) + `"}}`
	key := newKey(t, i, "tools:call")
	level, big, gone, theirs := open(t, i, "2025-11-25", "{}", ""), open(t, i, "2025-11-25", large, ""), open(t, i, "2025-06-18", "{}", ""), open(t, i, "2025-06-18", "{}", key)
	level.post(t, request("1", "logging/setLevel", `"level":"alert"`))
	level.post(t, request("2", "resources/subscribe", `"uri":"probe+probe://a"`))
	gone.do(t, http.MethodDelete, "")
	lost := openStream(t, i, http.MethodPost, "/mcp", progressCall("3", "2", false), level.headers()...)
	lost.next(t)
	stop(i)

	again, p := start(t, dir)
	for _, s := range []*session{level, big, gone, theirs} {
		s.i = again
	}
	if got := levels(t, level.post(t, request("1", "tools/call", `"name":"probe__levels"`))); !cmp.Equal(got, []string{"alert", "emergency"}) {
		t.Errorf("the log level is forgotten: %v", got)
	}
	notes := openStream(t, again, http.MethodGet, "/mcp", "", level.headers()...)
	p.server.Updated("probe://a")
	if a := notes.next(t); a.Method != wire.NotificationResourceUpdated || a.Params["uri"] != "probe+probe://a" {
		t.Errorf("%+v", a)
	}
	if len(big.id) > 2<<10 {
		t.Errorf("the id holds the capabilities: %d bytes", len(big.id))
	}
	st := openStream(t, again, http.MethodPost, "/mcp", request("1", "tools/call", `"name":"demo__ask"`), big.headers()...)
	if a := st.next(t); a.Method != wire.MethodElicitationCreate {
		t.Errorf("%+v", a)
	}
	if r := gone.post(t, request("1", "ping")); r.Status != http.StatusNotFound {
		t.Errorf("a deleted session is back: %d", r.Status)
	}
	if r := theirs.post(t, request("1", "ping")); r.Status != http.StatusOK {
		t.Errorf("the key's session: %d %s", r.Status, r.Body)
	}
	theirs.key = ""
	if r := theirs.post(t, request("1", "ping")); r.Status != http.StatusNotFound {
		t.Errorf("the key's session by the admin: %d", r.Status)
	}
	if r := level.do(t, http.MethodGet, "", "Last-Event-ID: "+lost.last); r.Status != http.StatusBadRequest {
		t.Errorf("a stream of the former process: %d", r.Status)
	}
}
