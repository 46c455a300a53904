package servers

import (
	"net/http"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/testkit"
)

// TestWhoTrustsAServer sets believe_annotations in every way that there is. The
// operator and admins may; a user who only adds servers may not, nor lead a server
// that an admin believes elsewhere.
func TestWhoTrustsAServer(t *testing.T) {
	t.Parallel()
	i, p, other := start(t, nil), newPeer(t), newPeer(t)
	developer := as(key(t, i, "servers:write,tools:read"))
	refused := func(what string, r testkit.Reply) {
		t.Helper()
		if r.Status != http.StatusForbidden || !strings.Contains(r.Body, "believe_annotations") {
			t.Errorf("%s: %d %s", what, r.Status, r.Body)
		}
	}
	taken := func(what string, r testkit.Reply, believed bool) {
		t.Helper()
		if r.Status/100 != 2 || strings.Contains(r.Body, `"believe_annotations":true`) != believed {
			t.Errorf("%s: %d %s", what, r.Status, r.Body)
		}
	}
	const at = "/api/v1/servers/peer"
	url := `"url":"` + p.URL + `"`
	refused("a developer adds", i.Do(t, "POST", "/api/v1/servers", `{"id":"peer",`+url+`,"believe_annotations":true}`, developer))
	taken("a developer adds without", i.Do(t, "POST", "/api/v1/servers", `{"id":"peer",`+url+`}`, developer), false)
	refused("a developer changes", i.Do(t, "PATCH", at, `{"believe_annotations":true}`, developer))
	refused("a developer makes one of a document", i.Do(t, "POST", "/api/v1/servers",
		`{"id":"made","base_url":"`+p.URL+`","document":"openapi: 3.1.0\ninfo: {title: T, version: '1'}\npaths: {/a: {get: {operationId: a, responses: {'200': {description: ok}}}}}\n","believe_annotations":true}`, developer))
	applied := i.Do(t, "POST", "/api/v1/apply", `{"servers":{"peer":{`+url+`,"believe_annotations":true}}}`, developer)
	if now := i.Do(t, "GET", at, "", developer); !strings.Contains(applied.Body, "believe_annotations") || strings.Contains(now.Body, `"believe_annotations":true`) {
		t.Errorf("a developer applies: %d %s; the server is %s", applied.Status, applied.Body, now.Body)
	}

	taken("an admin changes", i.Do(t, "PATCH", at, `{"believe_annotations":true}`), true)
	taken("a developer changes something else", i.Do(t, "PATCH", at, `{"title":"Peer"}`, developer), true)
	refused("a developer leads it elsewhere", i.Do(t, "PATCH", at, `{"url":"`+other.URL+`"}`, developer))
	taken("a developer leads it elsewhere, unbelieved", i.Do(t, "PATCH", at, `{"url":"`+other.URL+`","believe_annotations":false}`, developer), false)
	if status, body := operator(t, i, "PATCH", at, `{"believe_annotations":true}`); status != http.StatusOK || !strings.Contains(body, `"believe_annotations":true`) {
		t.Errorf("the operator: %d %s", status, body)
	}
	if out := i.Do(t, "GET", "/api/v1/export", ""); out.Status == http.StatusOK && !strings.Contains(out.Body, "believe_annotations") {
		t.Errorf("the export leaves it out: %s", out.Body)
	}
}

// TestWhoDeclaresAToolReadOnly sets read_only of a tool in every way that there is, with
// the same bounds: the operator and admins may, and it holds for one place alone.
func TestWhoDeclaresAToolReadOnly(t *testing.T) {
	t.Parallel()
	i, p, other := start(t, nil), newPeer(t), newPeer(t)
	developer := as(key(t, i, "servers:write,tools:read"))
	const at, stated = "/api/v1/servers/peer", `"overrides":{"echo":{"read_only":true}}`
	url := `"url":"` + p.URL + `"`
	refused := func(what string, r testkit.Reply) {
		t.Helper()
		if r.Status != http.StatusForbidden || !strings.Contains(r.Body, "overrides.echo.read_only") {
			t.Errorf("%s: %d %s", what, r.Status, r.Body)
		}
	}
	taken := func(what string, r testkit.Reply, says bool) {
		t.Helper()
		if r.Status/100 != 2 || strings.Contains(r.Body, `"read_only":true`) != says {
			t.Errorf("%s: %d %s", what, r.Status, r.Body)
		}
	}
	refused("a developer adds", i.Do(t, "POST", "/api/v1/servers", `{"id":"peer",`+url+`,`+stated+`}`, developer))
	taken("a developer adds without", i.Do(t, "POST", "/api/v1/servers", `{"id":"peer",`+url+`}`, developer), false)
	refused("a developer changes", i.Do(t, "PATCH", at, `{`+stated+`}`, developer))
	applied := i.Do(t, "POST", "/api/v1/apply", `{"servers":{"peer":{`+url+`,`+stated+`}}}`, developer)
	if now := i.Do(t, "GET", at, "", developer); !strings.Contains(applied.Body, "read_only") || strings.Contains(now.Body, `"read_only":true`) {
		t.Errorf("a developer applies: %d %s; the server is %s", applied.Status, applied.Body, now.Body)
	}

	taken("an admin changes", i.Do(t, "PATCH", at, `{`+stated+`}`), true)
	taken("a developer changes something else", i.Do(t, "PATCH", at, `{"title":"Peer"}`, developer), true)
	refused("a developer leads it elsewhere", i.Do(t, "PATCH", at, `{"url":"`+other.URL+`"}`, developer))
	if r := i.Do(t, "PATCH", at, `{"overrides":{"echo":{"read_only":true},"add":{"read_only":true}}}`, developer); r.Status != http.StatusForbidden || !strings.Contains(r.Body, "overrides.add.read_only") {
		t.Errorf("a developer says it of another tool: %d %s", r.Status, r.Body)
	}
	taken("a developer leads it elsewhere, without", i.Do(t, "PATCH", at, `{"url":"`+other.URL+`","overrides":{}}`, developer), false)
	if out := i.Do(t, "GET", "/api/v1/servers/peer", ""); strings.Contains(out.Body, "read_only") {
		t.Errorf("it is still said: %s", out.Body)
	}
}
