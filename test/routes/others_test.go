package routes

import (
	"net/http"
	"strings"
	"testing"
)

// ownOfCaller are the rows of the matrix that name another's thing and change
// something of the caller's own there.
func ownOfCaller() map[string]bool {
	return map[string]bool{
		"PUT /api/v1/servers/{personal}/credentials/me":    true,
		"DELETE /api/v1/servers/{personal}/credentials/me": true,
		"POST /api/v1/servers/{guarded}/login":             true,
		"DELETE /api/v1/servers/{guarded}/login":           true,
	}
}

// A developer changes nothing that belongs to another user of the same tenant, on
// any route that names such a thing. A new route is asked as soon as it is in the
// matrix.
func TestDevelopersChangeNothingOfOthers(t *testing.T) {
	t.Parallel()
	s := start(t)
	state := s.openState()
	s.maker, s.person = s.callers["admin"], "ada-"+within
	s.ownEverything()
	asked := 0
	for _, caller := range []string{"dev", "viewer", "agent"} {
		for _, r := range rows(t) {
			if r.method == http.MethodGet || !placeholder.MatchString(r.path) || ownOfCaller()[r.name] {
				continue
			}
			path := placeholder.ReplaceAllStringFunc(r.path, func(p string) string { return s.thing(p[1:len(p)-1], false) })
			before := state.read()
			body := strings.NewReplacer("NEW", s.name(), "PEER", s.peer).Replace(bodies()[r.name])
			got := s.ask(r.method, path, body, append(headers(r.name), s.callers[caller]...)...)
			asked++
			if diff := state.changed(before); diff != "" {
				t.Errorf("%s as %s: %d, changes something (-before +after):\n%s", r.name, caller, got.Status, diff)
			}
			if strings.Contains(got.Body, payload) {
				t.Errorf("%s as %s shows a payload: %.400q", r.name, caller, got.Body)
			}
		}
	}
	t.Logf("figure: %d requests about objects of others, none changes anything", asked)
}

// What is only looked at or tried changes nothing, for any caller.
func TestDryRunsChangeNothing(t *testing.T) {
	t.Parallel()
	s := start(t)
	state := s.openState()
	s.maker = s.callers["admin"]
	const document = `{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"x\",\"version\":\"1\"},\"paths\":{\"/a\":{\"get\":{\"operationId\":\"a\",\"responses\":{\"200\":{\"description\":\"ok\"}}}}}}`
	s.add("POST", "/servers", `{"id":"pets","document":"`+document+`","base_url":"`+s.peer+`"}`)
	s.add("POST", "/models", `{"name":"thinker","kind":"openai","model":"m","base_url":"`+s.peer+`","key":"k"}`)
	for name, r := range map[string]struct{ method, path, body string }{
		"apply": {"POST", "/apply", `{"dry_run":true,"prune":true,"servers":{"new-one":{"url":"PEER"},"books":{"url":"PEER","title":"other"}},
			"agents":{"clerk":{"tools":["demo/*"]},"another":{"tools":["books/*"]}},"sources":{"hook":{"style":"github","secret":"a fine secret of enough bytes"}}}`},
		"apply a file":     {"POST", "/apply", `{"dry_run":true,"file":"servers: {new-one: {url: PEER}}"}`},
		"import again":     {"POST", "/servers/pets/import", `{"dry_run":true,"document":"` + strings.ReplaceAll(document, "/a", "/b") + `"}`},
		"validate":         {"GET", "/servers/pets/validate", ""},
		"preview":          {"POST", "/servers/preview", `{"id":"books","document":"` + document + `","base_url":"PEER"}`},
		"preview in steps": {"POST", "/servers/preview/steps", `{"id":"books","document":"` + document + `","base_url":"PEER"}`},
		"probe":            {"POST", "/servers/probe", `{"id":"books","url":"PEER"}`},
		"probe in steps":   {"POST", "/servers/probe/steps", `{"id":"books","url":"PEER"}`},
		"plan a pack":      {"POST", "/packs/plan", `{"file":"{\"pack\":\"mine\",\"title\":\"x\",\"summary\":\"x\",\"servers\":{\"new-one\":{\"url\":\"PEER\"}}}"}`},
		"try a trigger":    {"POST", "/triggers/test", `{"action":{"agent":"7","tool":"x"},"event":{"type":"x"}}`},
		"try a model":      {"POST", "/models/thinker/test", ""},
	} {
		before := state.read()
		got := s.ask(r.method, "/api/v1"+r.path, strings.ReplaceAll(r.body, "PEER", s.peer), s.maker...)
		if got.Status >= 500 && name != "try a model" || got.Status == http.StatusNotFound || got.Status == http.StatusMethodNotAllowed || got.Status == http.StatusUnprocessableEntity || got.Status == http.StatusBadRequest {
			t.Errorf("%s was not tried: %d %.400q", name, got.Status, got.Body)
		}
		if diff := state.changed(before); diff != "" {
			t.Errorf("%s changes something (-before +after):\n%s", name, diff)
		}
	}
}
