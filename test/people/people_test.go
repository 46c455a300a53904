// Package people holds the story of users, their keys and tenants to the whole
// program, and to replicas of it: what they choose stays, what is taken from them is
// gone everywhere, what one of them began nobody else goes on with, and nobody meets
// anybody of another tenant.
package people

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/test/program"
	"github.com/junctor-mcp/junctor/test/topology"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// patience is far above what anything here takes: it is here to end a broken test.
const patience = 90 * time.Second

// newPeer starts an MCP server of the official SDK. Its tool ask asks its client.
func newPeer(t *testing.T) string {
	t.Helper()
	sdk := mcp.NewServer(&mcp.Implementation{Name: "peer", Version: "1"}, nil)
	mcp.AddTool(sdk, &mcp.Tool{Name: "find"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "found"}}}, nil, nil
	})
	mcp.AddTool(sdk, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		said, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "?", RequestedSchema: map[string]any{"type": "object"}})
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "it was said: " + said.Action}}}, nil, nil
	})
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk }, nil))
	t.Cleanup(func() {
		_ = s.Config.Close() // streams too, which Close would wait for
		s.Close()
	})
	return s.URL
}

func startInstance(t *testing.T, s testkit.Settings) *testkit.Instance {
	t.Helper()
	all := testkit.Settings{"egress-allow": "127.0.0.0/8"}
	maps.Copy(all, s)
	return testkit.Start(t, all)
}

// onBoth runs a test on one instance and on replicas.
func onBoth(t *testing.T, test func(t *testing.T, i *topology.Site)) {
	t.Helper()
	topology.Both(t, testkit.Settings{"egress-allow": "127.0.0.0/8", "call-timeout": "10m"}, test)
}

func asKey(key string) string { return "Authorization: Bearer " + key }

// requester is an instance, or replicas.
type requester interface {
	Do(t testing.TB, method, path, body string, header ...string) testkit.Reply
}

// answer is what tests look at in answers of the admin API.
type answer struct {
	ID, Key, Owner, Sources string
	AdminKey                struct{ Key string } `json:"admin_key"`
	Person                  junctor.User
	Items                   []struct{ ID, Name, Exposed, Subject, Owner string }
	Agents, Servers         []string
	RemovedServers          []string `json:"removed_servers"`
}

// request asks the admin API and fails the test where it answers otherwise.
func request(t testing.TB, i requester, method, path, body string, want int, header ...string) (out answer) {
	t.Helper()
	r := i.Do(t, method, "/api/v1"+path, body, header...)
	if r.Status != want {
		t.Fatalf("%s %s: %d %s", method, path, r.Status, r.Body)
	}
	if want < 300 && r.Body != "" {
		if err := json.Unmarshal([]byte(r.Body), &out); err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
	}
	return out
}

// addMember adds a user and makes a key of theirs.
func addMember(t testing.TB, i requester, name, role, scopes string) (id, key string) {
	t.Helper()
	id = request(t, i, "POST", "/users", `{"name":"`+name+`","role":"`+role+`"}`, 201).ID
	made := request(t, i, "POST", "/keys", `{"name":"k","user":"`+name+`","scopes":["`+strings.ReplaceAll(scopes, ",", `","`)+`"]}`, 201)
	return id, made.Key
}

// Property 1: what a user chose is what the endpoint shows them, in this process
// and in every later one, whatever other users choose.
func TestProperty1SourcesStay(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); sourcesStay(t, nil) })
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		pg, err := pgtest.Start(pgtest.Options{})
		pgtest.Need(t, err)
		t.Cleanup(pg.Stop)
		sourcesStay(t, testkit.Settings{"db": pg.Database(t)})
	})
}

func sourcesStay(t *testing.T, s testkit.Settings) {
	t.Helper()
	settings := testkit.Settings{"data-dir": t.TempDir()}
	maps.Copy(settings, s)
	i := startInstance(t, settings)
	request(t, i, "POST", "/servers", `{"id":"notes","url":"`+newPeer(t)+`"}`, 201)
	keys, chosen := map[string]string{}, map[string]junctor.Sources{}
	for _, name := range []string{"ann", "bob"} {
		_, keys[name] = addMember(t, i, name, "developer", "tools:read,tools:call")
		chosen[name] = junctor.SourcesBoth
	}
	hold := func(rt *rapid.T) {
		for name, key := range keys {
			if got := request(t, i, "GET", "/me", "", 200, asKey(key)).Person.Sources; got != chosen[name] {
				rt.Fatalf("%s chose %s and has %s", name, chosen[name], got)
			}
			tools := i.Do(t, "GET", "/mcp/tools", "", asKey(key)).Body
			if got, want := strings.Contains(tools, "notes__find"), chosen[name].Shows(junctor.ModeBYO); got != want {
				rt.Fatalf("%s chose %s, and notes is shown: %v", name, chosen[name], got)
			}
			if !strings.Contains(tools, `"echo"`) {
				rt.Fatalf("%s does not see what is built in", name)
			}
			own := i.Do(t, "POST", "/mcp/s/notes", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, asKey(key))
			if own.Status != 200 {
				rt.Fatalf("the server's own endpoint: %d %s", own.Status, own.Body)
			}
		}
	}
	n, restarts := 0, 1
	rapid.Check(t, func(rt *rapid.T) {
		n++
		name := rapid.SampledFrom([]string{"ann", "bob"}).Draw(rt, "user")
		chosen[name] = rapid.SampledFrom([]junctor.Sources{junctor.SourcesGenerated, junctor.SourcesBYO, junctor.SourcesBoth}).Draw(rt, "sources")
		request(t, i, "PUT", "/me/sources", `{"sources":"`+string(chosen[name])+`"}`, 200, asKey(keys[name]))
		if rapid.IntRange(0, 19).Draw(rt, "restart") == 0 {
			restarts++
			i.Stop()
			i = startInstance(t, settings)
		}
		hold(rt)
	})
	i.Stop()
	i = startInstance(t, settings)
	rapid.Check(t, hold)
	t.Logf("figure: property 1 on %s: %d choices of sources, each effective at once and after %d restarts", t.Name()[strings.LastIndex(t.Name(), "/")+1:], n, restarts)
}

// While keys of all kinds are rotated, no call fails: not with the former token
// in its grace, not with the new one, not in a session that began before.
func TestRotationUnderLoad(t *testing.T) {
	t.Parallel()
	i := startInstance(t, nil)
	request(t, i, "POST", "/users", `{"name":"ann","role":"developer","tier":"unlimited"}`, 201)
	request(t, i, "POST", "/agents", `{"name":"qa","tools":["demo/*"],"tier":"unlimited"}`, 201)
	owners := map[string]string{"user": `,"user":"ann"`, "service": ``, "agent": `,"agent":"qa"`}
	var calls atomic.Int64
	for kind, owner := range owners {
		made := request(t, i, "POST", "/keys", `{"name":"k","scopes":["tools:read","tools:call"]`+owner+`}`, 201)
		var stop atomic.Bool
		var wg sync.WaitGroup
		session := ""
		turns := map[*program.Caller]*atomic.Int64{}
		run := func(c *program.Caller) {
			turns[c] = new(atomic.Int64)
			n := turns[c]
			wg.Go(func() {
				for !stop.Load() {
					a, err := c.Call(t.Context(), "demo__echo", `{"text":"x"}`)
					if err != nil || !a.OK {
						t.Errorf("%s, %s: %d %s, %v", kind, c.Era, a.Status, a.Body, err)
						return
					}
					calls.Add(1)
					n.Add(1)
				}
			})
		}
		add := func(key string) {
			for _, era := range program.Eras() {
				c := program.NewCaller(t, era, i.URL, key)
				if era == program.Legacy && session == "" {
					session = c.Session
				} else if era == program.Legacy {
					c.Session = session // which began with another token
				}
				run(c)
			}
		}
		// each waits until everybody has called once more, whole.
		each := func() {
			for _, n := range turns {
				for seen := n.Load(); n.Load() < seen+2 && !t.Failed(); {
					if i.Do(t, "GET", "/readyz", "").Status != 200 {
						t.Error("not ready")
					}
				}
			}
		}
		add(made.Key)
		each()
		next := request(t, i, "POST", "/keys/"+made.ID+"/rotate", `{"grace_seconds":600}`, 200).Key
		add(next)
		each()
		stop.Store(true)
		wg.Wait()
		request(t, i, "POST", "/keys/"+made.ID+"/rotate", `{}`, 200)
		for name, old := range map[string]string{"first": made.Key, "second": next} {
			if r := i.Do(t, "GET", "/mcp/tools", "", asKey(old)); r.Status != 401 {
				t.Errorf("%s: the %s token opens still: %d", kind, name, r.Status)
			}
		}
	}
	t.Logf("%d calls, none failed", calls.Load())
}

// A deleted user opens nothing, leaves nothing of their own and takes nothing
// from others; what they did stays on record.
func TestDeletedUser(t *testing.T) {
	t.Parallel()
	i := startInstance(t, nil)
	id, key := addMember(t, i, "ann", "developer", "tools:read,tools:call,servers:write,agents:write,keys:write")
	url := newPeer(t)
	request(t, i, "POST", "/servers", `{"id":"mine","url":"`+url+`","private":true,"headers":{"X-Token":"canary-of-ann"}}`, 201, asKey(key))
	request(t, i, "POST", "/servers", `{"id":"ours","url":"`+url+`"}`, 201, asKey(key))
	request(t, i, "POST", "/agents", `{"name":"qa","tools":["demo/*"]}`, 201, asKey(key))
	second := request(t, i, "POST", "/keys", `{"name":"second","scopes":["tools:call"]}`, 201, asKey(key)).Key
	request(t, i, "POST", "/tools/demo__echo/call", `{"arguments":{"text":"x"}}`, 200, asKey(key))
	if n := len(request(t, i, "GET", "/secrets?owner=mine", "", 200).Items); n != 1 {
		t.Fatalf("%d secrets of the private server", n)
	}
	stream := i.Open(t.Context(), t, "GET", "/sse", "", asKey(key))
	defer stream.Body.Close()
	if stream.StatusCode != http.StatusOK {
		t.Fatalf("/sse: %d", stream.StatusCode)
	}

	gone := request(t, i, "DELETE", "/users/ann", "", 200)
	if fmt.Sprint(gone.RemovedServers, gone.Servers, gone.Agents) != "[mine] [ours] [qa]" {
		t.Errorf("%+v", gone)
	}
	for _, k := range []string{key, second} {
		if r := i.Do(t, "GET", "/api/v1/whoami", "", asKey(k)); r.Status != 401 {
			t.Errorf("a key opens still: %d", r.Status)
		}
	}
	buf := make([]byte, 4096)
	for { // the open stream ends by itself
		if _, err := stream.Body.Read(buf); err != nil {
			break
		}
	}
	request(t, i, "GET", "/servers/mine", "", 404)
	if n := len(request(t, i, "GET", "/secrets?owner=mine", "", 200).Items); n != 0 {
		t.Errorf("%d credentials are left", n)
	}
	for _, path := range []string{"/servers/ours", "/agents/qa"} {
		if owner := request(t, i, "GET", path, "", 200).Owner; owner == "" || owner == "user:"+id {
			t.Errorf("%s belongs to %q", path, owner)
		}
	}
	found := false
	for _, c := range request(t, i, "GET", "/calls", "", 200).Items {
		found = found || c.Subject == id
	}
	if !found {
		t.Error("what the user did is not on record any more")
	}
	request(t, i, "DELETE", "/users/ann", "", 404)
}

// A developer changes what they added, sees what others added, and a viewer
// changes nothing. A key that was revoked holds nothing open.
func TestUsersChangeOnlyTheirOwn(t *testing.T) {
	t.Parallel()
	onBoth(t, onesOwn)
}

func onesOwn(t *testing.T, i *topology.Site) {
	t.Helper()
	url := newPeer(t)
	const scopes = "tools:read,tools:call,servers:write,agents:write,keys:write"
	_, ann := addMember(t, i, "ann", "developer", scopes)
	_, bob := addMember(t, i, "bob", "developer", scopes)
	request(t, i, "POST", "/users", `{"name":"vic","role":"viewer"}`, 201)
	request(t, i, "POST", "/keys", `{"name":"k","user":"vic","scopes":["servers:write"]}`, 422)
	request(t, i, "PATCH", "/users/vic", `{"tier":"por"}`, 422) // which would bind nobody
	request(t, i, "POST", "/users", `{"name":"eve","tier":"por"}`, 422)
	vic := request(t, i, "POST", "/keys", `{"name":"k","user":"vic","scopes":["tools:read","audit:read"]}`, 201).Key
	request(t, i, "POST", "/servers", `{"id":"notes","url":"`+url+`"}`, 201, asKey(ann))
	for _, try := range [][3]string{{"PATCH", "/servers/notes", `{"title":"x"}`}, {"POST", "/servers/notes/disable", ""}, {"DELETE", "/servers/notes", ""}, {"DELETE", "/servers/demo", ""}} {
		request(t, i, try[0], try[1], try[2], 403, asKey(bob))
		request(t, i, try[0], try[1], try[2], 403, asKey(vic))
	}
	for _, key := range []string{ann, bob, vic} {
		request(t, i, "GET", "/servers/notes", "", 200, asKey(key))
	}
	request(t, i, "PATCH", "/servers/notes", `{"title":"x"}`, 200, asKey(ann))
	request(t, i, "POST", "/servers", `{"id":"x","url":"`+url+`"}`, 403, asKey(vic))
	request(t, i, "PATCH", "/servers/notes", `{"title":"y"}`, 200) // an admin

	made := request(t, i, "POST", "/keys", `{"name":"stream","scopes":["tools:read"]}`, 201, asKey(ann))
	request(t, i, "DELETE", "/keys/"+made.ID, "", 404, asKey(bob))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stream := i.Open(ctx, t, "GET", "/sse", "", asKey(made.Key))
	defer stream.Body.Close()
	other := i.Open(ctx, t, "GET", "/sse", "", asKey(ann))
	defer other.Body.Close()
	request(t, i, "DELETE", "/keys/"+made.ID, "", 204, asKey(ann))
	buf := make([]byte, 4096)
	for {
		if _, err := stream.Body.Read(buf); err != nil {
			break
		}
	}
	if ctx.Err() != nil {
		t.Fatal("the stream of a key that was revoked stays open")
	}
	if _, err := other.Body.Read(buf); err != nil { // its greeting is still there to be read
		t.Errorf("the stream of another key: %v", err)
	}
	request(t, i, "DELETE", "/servers/notes", "", 204, asKey(ann))
}

// The wall: with the same names on both sides, a credential of one tenant never
// sees or changes anything of the other.
func TestTenantsApart(t *testing.T) {
	t.Parallel()
	onBoth(t, tenantsApart)
}

func tenantsApart(t *testing.T, i *topology.Site) {
	t.Helper()
	url := newPeer(t)
	admins := map[string]string{"default": testkit.AdminKey}
	for _, tenant := range []string{"acme", "beta"} {
		admins[tenant] = request(t, i, "POST", "/tenants", `{"id":"`+tenant+`"}`, 201).AdminKey.Key
	}
	type side struct{ user, key, keyID string }
	sides := map[string]side{}
	for tenant, admin := range admins {
		u := request(t, i, "POST", "/users", `{"name":"ann","role":"admin"}`, 201, asKey(admin))
		k := request(t, i, "POST", "/keys", `{"name":"k","user":"ann","scopes":["admin"]}`, 201, asKey(admin))
		request(t, i, "POST", "/servers", `{"id":"notes","url":"`+url+`","title":"of `+tenant+`"}`, 201, asKey(k.Key))
		request(t, i, "POST", "/agents", `{"name":"qa","tools":["notes/*"]}`, 201, asKey(k.Key))
		sides[tenant] = side{u.ID, k.Key, k.ID}
	}
	for tenant, s := range sides {
		for other, o := range sides {
			if other == tenant {
				continue
			}
			for _, try := range [][3]string{
				{"GET", "/users/" + o.user, ""},
				{"PATCH", "/users/" + o.user, `{"role":"viewer"}`},
				{"DELETE", "/users/" + o.user, ""},
				{"PUT", "/users/" + o.user + "/password", `{"password":"a fine long password"}`},
				{"POST", "/users/" + o.user + "/link", ""},
				{"DELETE", "/keys/" + o.keyID, ""},
				{"POST", "/keys/" + o.keyID + "/rotate", "{}"},
			} {
				request(t, i, try[0], try[1], try[2], 404, asKey(s.key))
			}
			if tools := i.Do(t, "GET", "/api/v1/servers/notes", "", asKey(s.key)).Body; !strings.Contains(tools, "of "+tenant) || strings.Contains(tools, "of "+other) {
				t.Errorf("%s sees %s", tenant, tools)
			}
		}
		for _, path := range []string{"/users", "/keys", "/logins", "/agents"} {
			body := i.Do(t, "GET", "/api/v1"+path, "", asKey(s.key)).Body
			for other, o := range sides {
				if other != tenant && (strings.Contains(body, o.user) || strings.Contains(body, o.keyID)) {
					t.Errorf("%s of %s show what is of %s", path, tenant, other)
				}
			}
		}
		// Limits bind from the first call on, in a tenant that is a moment old too.
		r := i.Do(t, "POST", "/mcp/request", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"notes__find","arguments":{}}}`, asKey(s.key))
		if r.Status != 200 || r.Header.Get("RateLimit-Limit") == "" {
			t.Errorf("%s: %d %s, limit %q", tenant, r.Status, r.Body, r.Header.Get("RateLimit-Limit"))
		}
		// What concerns the instance is for the operator's tenant.
		for _, path := range []string{"/tenants", "/settings"} {
			want := 403
			if tenant == "default" {
				want = 200
			}
			request(t, i, "GET", path, "", want, asKey(s.key))
		}
		if r := i.Do(t, "GET", "/metrics", "", asKey(s.key)); (r.Status == 200) != (tenant == "default") {
			t.Errorf("%s reads the metrics of all: %d", tenant, r.Status)
		}
	}
	// A key of this machine is not for a tenant's admin.
	request(t, i, "POST", "/servers", `{"id":"env","url":"`+url+`","headers":{"X-A":"env:HOME"}}`, 403, asKey(admins["acme"]))
}
