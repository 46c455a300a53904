package operate

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit/canary"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// changed is an instance whose changes are read.
type changed struct {
	*testing.T
	in   *program.Instance
	dir  string
	args []string
}

func (c *changed) start() {
	c.Helper()
	c.in = program.Start(c.T, program.FreeAddr(c.T), c.dir, c.args...)
}

// request makes a request, and returns the body of its answer.
func (c *changed) request(method, path, body string) string {
	c.Helper()
	a, err := c.in.Request(c.Context(), method, "/api/v1"+path, body)
	if err != nil || a.Status/100 != 2 {
		c.Fatalf("%s %s: %v %d %s", method, path, err, a.Status, a.Body)
	}
	return a.Body
}

// history lists the changes that a query selects.
func (c *changed) history(query url.Values) (list []junctor.AdminChange) {
	c.Helper()
	query.Set("limit", "1000")
	var page struct{ Items []junctor.AdminChange }
	if err := json.Unmarshal([]byte(c.request(http.MethodGet, "/changes?"+query.Encode(), "")), &page); err != nil {
		c.Fatal(err)
	}
	return page.Items
}

// one returns the only change of an object.
func (c *changed) one(object, id string, entry junctor.ChangeEntry) junctor.AdminChange {
	c.Helper()
	list := c.history(url.Values{"object": {object}, "object_id": {id}})
	if len(list) != 1 || list[0].EntryPoint != entry || list[0].Status != junctor.ChangeDone || list[0].Seq == 0 {
		c.Fatalf("%s %s by %s: %+v", object, id, entry, list)
	}
	return list[0]
}

func (c *changed) verify() {
	c.Helper()
	if stdout, stderr, code := c.in.VerifyJournal(c.T); code != 0 || !strings.Contains(stdout, "changes in the database match") {
		c.Fatalf("audit verify: %d %s%s", code, stdout, stderr)
	}
}

// TestEveryChangeIsOnRecord makes changes by the API, the command line and the settings file,
// and kills the instance while it changes something.
func TestEveryChangeIsOnRecord(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		everyChange(t)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		pg, err := pgtest.Start(pgtest.Options{})
		pgtest.Need(t, err)
		t.Cleanup(pg.Stop)
		everyChange(t, "--db", pg.Database(t))
	})
}

func everyChange(t *testing.T, args ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "junctor.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("schedules:\n  tick: {cron: \"@daily\", type: tick}\n")
	secrets := canary.New(4)
	c := &changed{T: t, dir: filepath.Join(t.TempDir(), "data"), args: append([]string{"--config", file}, args...)}
	c.start()

	// By the API.
	c.request(http.MethodPost, "/servers/demo/disable", "")
	if one := c.one("server", "demo", junctor.ChangeByAPI); one.Address != "127.0.0.1" || !strings.Contains(string(one.Before), `"active"`) || !strings.Contains(string(one.After), `"inactive"`) {
		t.Errorf("%+v", one)
	}
	c.request(http.MethodPut, "/secrets/demo/one", fmt.Sprintf(`{"value":%q}`, secrets.Make("a secret")))
	c.request(http.MethodPost, "/users", `{"name":"zoe"}`)
	c.request(http.MethodPut, "/users/zoe/password", fmt.Sprintf(`{"password":%q}`, secrets.Make("a password")))
	c.request(http.MethodPost, "/sources", fmt.Sprintf(`{"id":"shop","style":"github","secret":%q}`, secrets.Make("a source's secret")))
	secrets.Add("a key", memberOf(t, c.request(http.MethodPost, "/keys", `{"name":"ci","scopes":["tools:read"]}`), "key"))
	if list := c.history(url.Values{"object": {"user"}}); len(list) < 2 || list[0].Action != "put-user-password" || list[0].ObjectID != list[1].ObjectID {
		t.Errorf("%+v", list)
	}

	// By the command line: as the operator, and with a key, which is the API. What a client says
	// about itself does not count.
	if _, stderr, code := c.in.Operate(t, "user", "add", "max"); code != 0 {
		t.Fatal(stderr)
	}
	if _, stderr, code := c.in.CLI(t, "limit", "set", "free", "--per-day", "7"); code != 0 {
		t.Fatal(stderr)
	}
	if list := c.history(url.Values{"entry_point": {"cli"}}); len(list) != 1 || list[0].Subject != "operator" || list[0].Object != "user" || !strings.Contains(string(list[0].After), "max") {
		t.Errorf("%+v", list)
	}
	if list := c.history(url.Values{"object": {"limits"}}); len(list) != 1 || list[0].EntryPoint != junctor.ChangeByAPI || list[0].Actor != "admin" || !strings.Contains(string(list[0].After), "7") {
		t.Errorf("%+v", list)
	}
	a, err := c.in.Request(t.Context(), http.MethodPut, "/api/v1/roles/Tester", "{}", "User-Agent: junctor-cli")
	if err != nil || a.Status != http.StatusOK {
		t.Fatalf("%v %d %s", err, a.Status, a.Body)
	}
	c.one("role", "Tester", junctor.ChangeByAPI)

	// By the settings file, at the start and when it is edited.
	if one := c.one("schedule", "tick", junctor.ChangeBySettings); one.Action != "put-schedule" || !strings.Contains(one.Address, "junctor.yaml") {
		t.Errorf("%+v", one)
	}
	write("schedules:\n  tock: {cron: \"@daily\", type: tock}\n")
	poll.Until(t, "the records of the edited file", time.Minute, func() bool {
		return len(c.history(url.Values{"object": {"schedule"}})) >= 3
	})

	// In the list of the journal, without an instance.
	stdout, stderr, code := c.in.Operate(t, "audit", "ls", "--object", "server/demo", "--limit", "5")
	if code != 0 || !strings.Contains(stdout, "disable-server server/demo") {
		t.Errorf("audit ls: %d %s%s", code, stdout, stderr)
	}
	c.verify()

	// A kill during changes: whatever was changed is on record.
	for round := range 3 {
		var n atomic.Int64
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				a, err := c.in.Request(t.Context(), http.MethodPut, fmt.Sprintf("/api/v1/roles/Role %d-%d", round, n.Add(1)), "{}")
				if err != nil || a.Status != http.StatusOK {
					return
				}
			}
		}()
		poll.Pause(time.Duration(100+rand.IntN(300))*time.Millisecond, "the moment of the kill")
		c.in.Kill()
		<-done
		c.start()
		var roles struct {
			Items []struct {
				Name string
				Own  bool
			}
		}
		if err := json.Unmarshal([]byte(c.request(http.MethodGet, "/roles", "")), &roles); err != nil {
			t.Fatal(err)
		}
		records := map[string]bool{}
		for _, one := range c.history(url.Values{"object": {"role"}}) {
			records[one.ObjectID] = one.Seq > 0 && one.Status != junctor.ChangeRunning
		}
		for _, role := range roles.Items {
			if role.Own && !records[role.Name] {
				t.Errorf("round %d: the role %s has no record", round, role.Name)
			}
		}
		c.verify()
	}

	all := c.request(http.MethodGet, "/changes?limit=1000", "")
	c.in.Stop(t, time.Minute)
	stdout, _, _ = program.OperateOn(t, c.dir, "audit", "export")
	for where, text := range map[string]string{"GET /changes": all, "the journal": stdout} {
		if hits := secrets.Text(where, text); len(hits) > 0 {
			t.Errorf("%v", hits)
		}
	}
}

// memberOf returns a text of an answer.
func memberOf(t *testing.T, body, name string) string {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal([]byte(body), &members); err != nil {
		t.Fatal(err)
	}
	text, _ := members[name].(string)
	if text == "" {
		t.Fatalf("%s has no %s", body, name)
	}
	return text
}
