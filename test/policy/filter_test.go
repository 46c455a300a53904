package policy

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/policymodel"
)

// TestRulesChangeWhileAFilterIsAsked changes rules while a webhook has not answered yet
// about a call, and then about a result: once the change is answered, it decides.
func TestRulesChangeWhileAFilterIsAsked(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}, 10), make(chan struct{}, 10)
	filter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
		_, _ = w.Write([]byte(`{"verdict":"allow"}`))
	}))
	t.Cleanup(filter.Close)
	b := newBackend(t)
	in := testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8", "builtin": ""})
	must := func(status int, method, path, body string) {
		t.Helper()
		if r := in.Do(t, method, "/api/v1"+path, body); r.Status != status {
			t.Fatalf("%s %s: %d %s", method, path, r.Status, r.Body)
		}
	}
	must(http.StatusCreated, "POST", "/servers", fmt.Sprintf(`{"id":"files","url":%q}`, b.URL+"/files"))
	for _, phase := range []string{"call", "result"} {
		must(http.StatusOK, "PUT", "/policies", fmt.Sprintf(`{"rules":[{"name":"asked","phase":%q,"verdict":"deny","filter":{"url":%q,"timeout":"30s"},"target":{"items":["files/*"]}}]}`, phase, filter.URL))
		ended := make(chan string, 1)
		go func() {
			ended <- in.Do(t, "POST", "/api/v1/tools/files__"+policymodel.ReadingTool+"/call", fmt.Sprintf(`{"arguments":{"nonce":%q}}`, phase)).Body
		}()
		select {
		case <-asked:
		case answer := <-ended:
			t.Fatalf("%s: nobody asked the filter: %s", phase, answer)
		case <-time.After(patience):
			t.Fatalf("%s: nobody asked the filter", phase)
		}
		must(http.StatusOK, "PUT", "/policies/denying", fmt.Sprintf(`{"phase":%q,"verdict":"deny","message":"the rule denies","target":{"items":["files/*"]}}`, phase))
		for range cap(release) {
			select {
			case release <- struct{}{}: // however often it is asked
			default:
			}
		}
		if answer := <-ended; !strings.Contains(answer, "the rule denies") || strings.Contains(answer, "ran "+phase) {
			t.Errorf("%s: the call ended by former rules: %s", phase, answer)
		}
		if n := b.count(phase); n != map[string]int{"call": 0, "result": 1}[phase] {
			t.Errorf("%s: %d calls reached the server", phase, n)
		}
		for len(release) > 0 {
			<-release
		}
		for len(asked) > 0 {
			<-asked
		}
	}
}
