package app_test

import (
	"database/sql"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // to break the database

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// A change of the settings file that the database does not take is put into force once
// it does, and not only with the next edit.
func TestSettingsThatTheDatabaseDidNotTake(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "junctor.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("schedules: {}\n")
	i := testkit.Start(t, testkit.Settings{"config": file})
	ok := func() bool {
		return strings.Contains(i.Do(t, http.MethodGet, "/metrics", "").Body, "\njunctor_file_ok 1\n")
	}
	if !ok() {
		t.Fatal("the file is not in force")
	}
	db, err := sql.Open("sqlite", filepath.Join(i.Dir, "junctor.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rename := func(from, to string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), "PRAGMA busy_timeout = 60000; ALTER TABLE "+from+" RENAME TO "+to); err != nil {
			t.Fatal(err)
		}
	}
	rename("schedules", "schedules_away")
	write("schedules:\n  nightly: {cron: '0 3 * * *', type: report.due}\n")
	poll.Until(t, "the change is refused", time.Minute, func() bool { return !ok() })
	rename("schedules_away", "schedules")
	poll.Until(t, "the change is in force without another edit", time.Minute, func() bool {
		return ok() && strings.Contains(i.Do(t, http.MethodGet, "/api/v1/schedules", "").Body, "nightly")
	})
}

// A trigger's tool is looked for in the tenant of the trigger, whichever that is.
func TestTriggersOfEveryTenantNameToolsThatThereAre(t *testing.T) {
	t.Parallel()
	w := newSourceWorld(t)
	document := `{"openapi":"3.1.0","info":{"title":"Pets","version":"1"},"servers":[{"url":"https://pets.example"}],"paths":{"/pets":{"get":{"operationId":"list_pets","responses":{"200":{"description":"ok"}}}}}}`
	for who, header := range map[string][]string{"default": nil, "acme": {w.admin}} {
		body, err := json.Marshal(map[string]any{"id": "pets", "mode": "auto-generated", "document": document})
		if err != nil {
			t.Fatal(err)
		}
		if r := w.Do(t, http.MethodPost, "/api/v1/servers", string(body), header...); r.Status != http.StatusCreated {
			t.Fatalf("%s: %d %s", who, r.Status, r.Body)
		}
		add := func(name, tool string) testkit.Reply {
			return w.Do(t, http.MethodPost, "/api/v1/triggers", `{"name":"`+name+`","action":{"server":"pets","tool":"`+tool+`"}}`, header...)
		}
		if r := add("right", "list_pets"); r.Status != http.StatusCreated {
			t.Errorf("%s: %d %s", who, r.Status, r.Body)
		}
		if r := add("wrong", "nothing"); r.Status != http.StatusUnprocessableEntity || !strings.Contains(r.Body, "has no tool") {
			t.Errorf("%s: a tool that there is not: %d %s", who, r.Status, r.Body)
		}
	}
}

// An agent's token is read where a reference says whenever it is sent, and only those
// may enter a reference who may have this machine's files read.
func TestTokensByReference(t *testing.T) {
	t.Parallel()
	peer := newAgent(t)
	i := testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8"})
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put := func(token string, header ...string) testkit.Reply {
		t.Helper()
		body, err := json.Marshal(map[string]any{"url": peer.URL, "header": "X-Agent-Token", "token": token})
		if err != nil {
			t.Fatal(err)
		}
		return i.Do(t, http.MethodPut, "/api/v1/agent-tokens/42", string(body), header...)
	}
	if r := put("file:" + file); r.Status != http.StatusUnprocessableEntity {
		t.Errorf("a file that there is not: %d %s", r.Status, r.Body)
	}
	write("another-token")
	begin := time.Now().Add(-time.Minute)
	r := put("file:" + file)
	var stored junctor.AgentEndpoint
	if err := json.Unmarshal([]byte(r.Body), &stored); err != nil || r.Status != http.StatusOK || stored.Reference != "file:"+file || stored.CreatedAt.Before(begin) {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	order := junctor.Order{Event: "e1", Trigger: "t", Agent: "42", Target: junctor.Target{Agent: "42"}, Tool: "agent.receiveFeedback", Arguments: []byte(`{"score":7}`)}
	ids, err := i.App.Place(t.Context(), junctor.DefaultTenant, order)
	if err != nil {
		t.Fatal(err)
	}
	awaitState(t, i, ids[0], "held", "authentication_failed")
	write(agentsToken) // as a secret manager does
	if r := i.Do(t, http.MethodPost, "/api/v1/deliveries/actions", `{"action":"release","ids":["`+ids[0]+`"]}`); r.Status != http.StatusOK {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	awaitState(t, i, ids[0], "done", "")
	if r := i.Do(t, http.MethodPost, "/api/v1/tenants", `{"id":"acme"}`); r.Status == http.StatusCreated {
		var made struct {
			AdminKey struct {
				Key string `json:"key"`
			} `json:"admin_key"`
		}
		if err := json.Unmarshal([]byte(r.Body), &made); err != nil {
			t.Fatal(err)
		}
		if r := put("file:"+file, "Authorization: Bearer "+made.AdminKey.Key); r.Status != http.StatusForbidden {
			t.Errorf("an admin of another tenant: %d %s", r.Status, r.Body)
		}
	} else {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	if r := put("plain-token"); r.Status != http.StatusOK || strings.Contains(r.Body, "reference") {
		t.Errorf("a token in its place: %d %s", r.Status, r.Body)
	}
}

// What is said of limits is changed, and the others stay.
func TestLimitsThatAreNotNamedStay(t *testing.T) {
	t.Parallel()
	i := testkit.Start(t, nil)
	for _, step := range []struct{ method, path, body, want string }{
		{"PATCH", "/limits", `{"tiers":{"free":{"per_day":7}}}`, `"free":{"per_second":10,"burst":20,"per_day":7,"concurrent":8}`},
		{"PATCH", "/limits", `{"tools":{"demo/echo":{"per_second":2,"burst":4}}}`, `"demo/echo":{"per_second":2,"burst":4}`},
		{"PATCH", "/limits", `{"tools":{"demo/echo":{"concurrent":3}}}`, `"demo/echo":{"per_second":2,"burst":4,"concurrent":3}`},
		{"PATCH", "/limits", `{"tools":{"demo/echo":{"per_second":0}}}`, `"demo/echo":{"concurrent":3}`},
		{"POST", "/agents", `{"name":"bot","limits":{"per_second":2,"concurrent":1}}`, `"limits":{"per_second":2,"concurrent":1}`},
		{"PATCH", "/agents/bot", `{"limits":{"per_day":9}}`, `"limits":{"per_second":2,"per_day":9,"concurrent":1}`},
		{"PATCH", "/agents/bot", `{"limits":{"concurrent":0}}`, `"limits":{"per_second":2,"per_day":9}`},
		{"PATCH", "/agents/bot", `{"title":"Bot"}`, `"limits":{"per_second":2,"per_day":9}`},
		{"PATCH", "/agents/bot", `{"limits":null}`, `"title":"Bot"`},
	} {
		if r := i.Do(t, step.method, "/api/v1"+step.path, step.body); r.Status >= 300 || !strings.Contains(r.Body, step.want) {
			t.Errorf("%s %s %s: %d %s, want %s", step.method, step.path, step.body, r.Status, r.Body, step.want)
		}
	}
	if r := i.Do(t, "GET", "/api/v1/agents/bot", ""); strings.Contains(r.Body, `"limits"`) {
		t.Errorf("they are not taken away: %s", r.Body)
	}
}

// TestNamesOfUnknownToolsAreRefused holds for the API what holds for the command line: limits
// and overrides of a tool that does not exist would have no effect. Nothing of the request is
// stored.
func TestNamesOfUnknownToolsAreRefused(t *testing.T) {
	t.Parallel()
	i := testkit.Start(t, testkit.Settings{"allow-commands": "true", "egress-allow": "127.0.0.0/8"})
	for _, c := range []struct{ method, path, body, want string }{
		{"PATCH", "/limits", `{"tools":{"demo/ecko":{"per_second":2}}}`, "did you mean echo?"},
		{"PATCH", "/limits", `{"tools":{"nosuch/echo":{"per_second":2}}}`, `there is no server \"nosuch\"`},
		{"PATCH", "/limits", `{"tiers":{"free":{"per_day":7}},"tools":{"demo/ecko":{"per_second":2}}}`, "did you mean echo?"},
		{"POST", "/servers", `{"id":"pets","document":` + strconv.Quote(petsDocument) + `,"overrides":{"getPets":{"hide":true}}}`, `has no tool \"getPets\"; did you mean get_pet`},
	} {
		if r := i.Do(t, c.method, "/api/v1"+c.path, c.body); r.Status != http.StatusUnprocessableEntity && r.Status != http.StatusBadRequest || !strings.Contains(r.Body, c.want) {
			t.Errorf("%s %s %s: %d %s, want %s", c.method, c.path, c.body, r.Status, r.Body, c.want)
		}
	}
	if r := i.Do(t, "GET", "/api/v1/limits", ""); strings.Contains(r.Body, "ecko") || strings.Contains(r.Body, `"per_day":7`) {
		t.Errorf("a refused change was stored: %s", r.Body)
	}
	if r := i.Do(t, "GET", "/api/v1/servers/pets", ""); r.Status != http.StatusNotFound {
		t.Errorf("a refused server was stored: %d %s", r.Status, r.Body)
	}
	accepted := `{"id":"pets","document":` + strconv.Quote(petsDocument) + `,"overrides":{"getPets":{"hide":true}},"allow_unknown_tools":true}`
	if r := i.Do(t, "POST", "/api/v1/servers", accepted); r.Status != http.StatusCreated {
		t.Errorf("with allow_unknown_tools: %d %s", r.Status, r.Body)
	}
	// Another change of the server keeps the override of the unknown tool.
	if r := i.Do(t, "PATCH", "/api/v1/servers/pets", `{"title":"Pets"}`); r.Status != http.StatusOK {
		t.Errorf("a change of the title: %d %s", r.Status, r.Body)
	}
}

// petsDocument is a small API with one tool.
const petsDocument = `{"openapi":"3.0.0","info":{"title":"Pets","version":"1"},"servers":[{"url":"http://127.0.0.1:1"}],"paths":{"/pets/{id}":{"get":{"operationId":"getPet","parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}}],"responses":{"200":{"description":"one"}}}}}}`
