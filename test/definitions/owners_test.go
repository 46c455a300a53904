package definitions

import (
	"net/http"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/testkit"
)

// newPeople starts an instance with ann, who owns servers, and dan, who does not.
func newPeople(t *testing.T) (s *scene, ann, dan caller) {
	t.Helper()
	t.Setenv(variable, "environment-canary-90ab51c3")
	s = start(t, testkit.Settings{})
	callers, _ := s.addFixtures()
	key := s.add("/keys", body{"name": "again", "user": "ann", "scopes": []string{"tools:read", "tools:call", "servers:write"}}).Key
	return s, caller{"ann", "Authorization: Bearer " + key}, callers[0]
}

// A reference that an operator entered goes to the origin that it was entered for,
// regardless of the server's owner and of the place of the reference.
func TestReferencesStayWithTheirOrigin(t *testing.T) {
	s, _, dan := newPeople(t)
	env := "env:" + variable
	for name, own := range map[string]body{
		"upstream":  {"url": s.peer},
		"generated": {"document": api, "base_url": s.peer},
	} {
		id := s.name()
		if r := s.as(dan, http.MethodPost, "/servers", mergeBody(own, body{"id": id})); r.Status != http.StatusCreated {
			t.Fatalf("%s: %d %s", name, r.Status, r.Body)
		}
		if r := s.Do(t, http.MethodPatch, "/api/v1/servers/"+id, formatValue(body{"auth": body{"type": "bearer", "token": env}})); r.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", name, r.Status, r.Body)
		}
		to := body{"url": s.listener.URL}
		if name == "generated" {
			to = body{"base_url": s.listener.URL}
		}
		for place, b := range map[string]body{
			"the same place": {"auth": body{"type": "bearer", "token": env}},
			"a header":       {"auth": body{"type": "none"}, "headers": body{"X-Leak": env}},
			"another type":   {"auth": body{"type": "api-key", "key": env}},
			"left alone":     {},
		} {
			for way, r := range map[string]testkit.Reply{
				"patch":         s.as(dan, http.MethodPatch, "/servers/"+id, mergeBody(to, b)),
				"apply":         s.as(dan, http.MethodPost, "/apply", body{"servers": body{id: mergeBody(mergeBody(selectMembers(own, "document"), to), mergeBody(body{"auth": body{"type": "bearer", "token": env}}, b))}}),
				"apply, unseen": s.as(dan, http.MethodPost, "/apply", body{"unseen": true, "servers": body{id: mergeBody(mergeBody(selectMembers(own, "document"), to), mergeBody(body{"auth": body{"type": "bearer", "token": env}}, b))}}),
			} {
				if r.Status/100 == 2 && !strings.Contains(r.Body, `"error"`) {
					t.Errorf("%s, %s, %s: %d %s", name, place, way, r.Status, r.Body)
				}
			}
		}
		s.as(dan, http.MethodPost, "/servers/"+id+"/test", nil)
	}
	if hits := s.secrets.Text("the listener", s.listener.receivedCount()); len(hits) > 0 {
		t.Errorf("%v", hits)
	}
}

// A user who may not change a server learns nothing of its credentials by guessing.
func TestGuessesAreNotConfirmed(t *testing.T) {
	s, _, dan := newPeople(t)
	try := func(token string) string {
		r := s.as(dan, http.MethodPost, "/apply", body{"dry_run": true, "servers": body{"hers": body{"url": s.peer, "auth": body{"type": "bearer", "token": token}}}})
		return r.Body
	}
	if right, wrong := try("her-password"), try("another-one1"); right != wrong {
		t.Errorf("the right password answers\n%s\nand a wrong one\n%s", right, wrong)
	}
}

// Prune takes away what is the caller's, and the name of what is removed is not
// free for others.
func TestPruneAndNames(t *testing.T) {
	s, ann, dan := newPeople(t)
	if r := s.as(dan, http.MethodPost, "/servers", body{"id": "his", "url": s.peer}); r.Status != http.StatusCreated {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	if r := s.as(dan, http.MethodPost, "/apply", body{"prune": true, "servers": body{}}); r.Status != http.StatusOK || !strings.Contains(r.Body, `"his"`) || strings.Contains(r.Body, `"hers"`) {
		t.Errorf("prune: %d %s", r.Status, r.Body)
	}
	for id, want := range map[string]int{"his": http.StatusNotFound, "hers": http.StatusOK, "referring": http.StatusOK, "pets": http.StatusOK} {
		if r := s.Do(t, http.MethodGet, "/api/v1/servers/"+id, ""); r.Status != want {
			t.Errorf("%s after prune: %d", id, r.Status)
		}
	}
	if r := s.as(ann, http.MethodDelete, "/servers/hers", nil); r.Status != http.StatusNoContent {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	again := body{"id": "hers", "url": s.peer}
	if r := s.as(dan, http.MethodPost, "/servers", again); r.Status != http.StatusForbidden || !strings.Contains(r.Body, "reserved") {
		t.Errorf("dan takes the name over: %d %s", r.Status, r.Body)
	}
	if r := s.as(dan, http.MethodPost, "/apply", body{"servers": body{"hers": selectMembers(again, "url")}}); r.Status/100 == 2 && !strings.Contains(r.Body, "reserved") {
		t.Errorf("dan applies the name: %d %s", r.Status, r.Body)
	}
	if r := s.as(ann, http.MethodPost, "/servers", again); r.Status != http.StatusCreated {
		t.Errorf("ann adds it again: %d %s", r.Status, r.Body)
	}
}
