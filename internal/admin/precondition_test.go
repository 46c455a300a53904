package admin

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// askWith is ask with the header If-Match.
func askWith(h http.Handler, scopes, method, path, body, match string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, Prefix+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+scopes)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("If-Match", match)
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec
}

// unversionedWrites are the changes that compare no versions, each with the reason.
func unversionedWrites() map[string]string {
	return map[string]string{
		"put-user-password": "a password is not shown, so that none was read before",
		"put-my-password":   "the same; the former password is asked for",
		"put-secret":        "a secret is not shown, so that none was read before",
		"put-my-credential": "the same",
		"put-role":          "a role is there or not: adding it twice is adding it once",
		"approve-app":       "it names the page that was looked at by its digest",
	}
}

// TestEveryChangeComparesVersions holds every PATCH and PUT of the API to If-Match: it
// compares versions, or stands in the list above.
func TestEveryChangeComparesVersions(t *testing.T) {
	t.Parallel()
	h, err := New(newWorld().options())
	if err != nil {
		t.Fatal(err)
	}
	exempt := unversionedWrites()
	compared := 0
	for path, item := range h.api().huma.OpenAPI().Paths {
		for method, op := range map[string]*huma.Operation{"PATCH": item.Patch, "PUT": item.Put} {
			if op == nil {
				continue
			}
			takes := slices.ContainsFunc(op.Parameters, func(p *huma.Param) bool { return p.In == "header" && p.Name == "If-Match" })
			_, listed := exempt[op.OperationID]
			delete(exempt, op.OperationID)
			if takes == listed {
				t.Errorf("%s %s (%s): takes If-Match: %v, is exempt: %v", method, path, op.OperationID, takes, listed)
			}
			if !takes {
				continue
			}
			compared++
			if op.Responses["200"].Headers["ETag"] == nil {
				t.Errorf("%s %s answers no ETag", method, path)
			}
			if item.Get != nil && item.Get.Responses["200"].Headers["ETag"] == nil {
				t.Errorf("GET %s answers no ETag", path)
			}
		}
	}
	if len(exempt) > 0 || compared < 10 {
		t.Errorf("%d changes compare versions; exempt and not there: %v", compared, exempt)
	}
}

func TestIfMatch(t *testing.T) {
	t.Parallel()
	w := newWorld()
	at := w.servers[0].UpdatedAt
	w.events.trigger = junctor.Trigger{Name: "low", Title: "Low", UpdatedAt: at, Action: junctor.Action{Server: "notes", Tool: "add"}}
	w.events.source = junctor.Source{ID: "shop", UpdatedAt: at}
	w.limits.state = LimitState{LimitPolicy: junctor.DefaultLimits(), UpdatedAt: at, UpdatedBy: "key:k2"}
	w.staff.tag = junctor.ToolTag{Tool: "demo__echo", At: at}
	h := w.handler(t)
	const tag, other = `"2026-01-02T03:04:05Z"`, `"2026-01-02T03:04:05.000001Z"`
	for _, tt := range []struct{ path, body string }{
		{"PUT /tools/demo__echo/tag", `{"roles":["QA"]}`},
		{"/servers/demo", `{"state":"inactive"}`},
		{"/agents/demo__echo", `{"role":"QA"}`},
		{"/models/demo__echo", `{"model":"other"}`},
		{"/triggers/low", `{"title":"Other"}`},
		{"/sources/shop", `{"title":"Other"}`},
		{"/limits", `{"tiers":{"pro":{"per_second":7}}}`},
	} {
		t.Run(tt.path, func(t *testing.T) {
			method, path, ok := strings.Cut(tt.path, " ")
			if !ok {
				method, path = "PATCH", tt.path
			}
			for _, match := range []string{other, "W/" + other} {
				rec := askWith(h, "admin", method, path, tt.body, match)
				var p Problem
				if err := json.Unmarshal(rec.Body.Bytes(), &p); err != nil || rec.Code != http.StatusPreconditionFailed || p.Code != junctor.CodePrecondition ||
					!strings.Contains(p.Detail, "was changed") || !strings.Contains(p.Hint, "If-Match") || p.Current == nil {
					t.Errorf("another version: %d %s, %v", rec.Code, rec.Body, err)
				}
			}
			for _, match := range []string{"*", "2026-01-02T03:04:05Z", `"1"`, tag + ", " + other, `"0001-01-01T00:00:00Z"`} {
				if rec := askWith(h, "admin", method, path, tt.body, match); rec.Code != http.StatusUnprocessableEntity || !strings.Contains(rec.Body.String(), "ETag") {
					t.Errorf("If-Match: %s: %d %s", match, rec.Code, rec.Body)
				}
			}
			for _, match := range []string{tag, "W/" + tag} {
				if rec := askWith(h, "admin", method, path, tt.body, match); rec.Code != http.StatusOK || rec.Header().Get("ETag") == "" {
					t.Errorf("the same version: %d %s, ETag %q", rec.Code, rec.Body, rec.Header().Get("ETag"))
				}
			}
		})
	}
	rec := askWith(h, "admin", "PATCH", "/limits", `{}`, other)
	if body := rec.Body.String(); rec.Header().Get("ETag") != tag || !strings.Contains(body, `"changed_by":"key:k2"`) || !strings.Contains(body, "by key:k2 at 2026-01-02T03:04:05Z") {
		t.Errorf("who changed it: %s, ETag %q", rec.Body, rec.Header().Get("ETag"))
	}
	for _, path := range []string{"/servers/demo", "/tools/demo__echo"} {
		if rec := ask(h, "admin", "GET", path, ""); rec.Header().Get("ETag") != tag {
			t.Errorf("GET %s answers the ETag %q, want %q", path, rec.Header().Get("ETag"), tag)
		}
	}
}

// TestIfMatchWhereNothingCompares holds routes without versions to saying so: a client
// that sends the header relies on it.
func TestIfMatchWhereNothingCompares(t *testing.T) {
	t.Parallel()
	h := newWorld().handler(t)
	const tag = `"2026-01-02T03:04:05Z"`
	for _, tt := range [][3]string{{"PUT", "/secrets/o/n", `{"value":"x"}`}, {"DELETE", "/servers/demo", ""}, {"POST", "/servers/demo/disable", ""}} {
		if rec := askWith(h, "admin", tt[0], tt[1], tt[2], tag); rec.Code != http.StatusUnprocessableEntity || !strings.Contains(rec.Body.String(), "If-Match") {
			t.Errorf("%s %s: %d %s", tt[0], tt[1], rec.Code, rec.Body)
		}
	}
	if rec := ask(h, "admin", "GET", "/servers/demo", ""); rec.Code != http.StatusOK {
		t.Errorf("the server was deleted: %d", rec.Code)
	}
}
