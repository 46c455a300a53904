package access

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/output"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// canary is in everything that others may not learn: arguments, results, the
// name of a private server, the words of a command and what it writes.
const canary = "canary"

// readRoutes are the routes of the admin API that show something, without the
// names in their paths, and the paths to ask at each. CALL stands for every call
// that there is, each by its id, DELIVERY and EVENT likewise. A route that is not
// here fails the test: the author of a new one says here how it is held to the rule.
func readRoutes() map[string][]string {
	return map[string][]string{
		"GET /servers":                    {""},
		"GET /server-health":              {""},
		"GET /servers/{}":                 {"/servers/canary-vault", "/servers/shop", "/servers/box", "/servers/demo"},
		"GET /servers/{}/offer":           {"/servers/canary-vault/offer", "/servers/shop/offer"},
		"GET /servers/{}/document":        {"/servers/shop/document"},
		"GET /servers/{}/validate":        {"/servers/shop/validate"},
		"GET /servers/{}/suggestions":     {"/servers/shop/suggestions"},
		"GET /servers/{}/login":           {"/servers/shop/login"},
		"GET /servers/{}/traces":          {"/servers/shop/traces", "/servers/canary-vault/traces"},
		"GET /servers/{}/credentials/me":  {"/servers/shop/credentials/me"},
		"GET /tools":                      {"", "/tools?q=say"},
		"GET /tools/{}":                   {"/tools/shop__say", "/tools/canary-vault__say"},
		"GET /tools/changes":              {""},
		"GET /apps":                       {""},
		"GET /apps/{}":                    {"/apps/dashboard__show"},
		"GET /views":                      {""},
		"GET /views/{}":                   {"/views/" + strings.Repeat("a", 26)},
		"GET /views/{}/tools":             {"/views/" + strings.Repeat("a", 26) + "/tools"},
		"GET /views/{}/log":               {"/views/" + strings.Repeat("a", 26) + "/log"},
		"GET /views/mail":                 nil, // waits for what concerns one's own Views
		"GET /roles":                      {""},
		"GET /agents":                     {""},
		"GET /agents/{}":                  {"/agents/hers"},
		"GET /agents/{}/tools":            {"/agents/hers/tools"},
		"GET /component-catalogs":         {""},
		"GET /component-catalogs/{}":      {"/component-catalogs/bank"},
		"GET /models":                     {""},
		"GET /models/{}":                  {"/models/none"},
		"GET /keys":                       {""},
		"GET /users":                      {""},
		"GET /users/{}":                   {"/users/olga"},
		"GET /logins":                     {"", "/logins?user=olga"},
		"GET /consents":                   {"", "/consents?user=olga"},
		"GET /tenants":                    {""},
		"GET /whoami":                     {""},
		"GET /me":                         {""},
		"GET /me/credentials":             {""},
		"GET /chains":                     {""},
		"GET /chains/events":              {""},
		"GET /chains/agents":              {""},
		"GET /calls":                      {"", "/calls?limit=2", "/calls?user=olga", "/calls?agent=hers", "/calls?server=canary-vault", "/calls?tool=say", "/calls?tool=canary-old"},
		"GET /calls/tail":                 nil, // followed while the calls are made
		"GET /calls/history":              {"", "/calls/history?limit=2", "/calls/history?user=olga", "/calls/history?agent=hers", "/calls/history?text=canary", "/calls/history?server=shop", "/calls/history?tool=say"},
		"GET /calls/export":               {"", "/calls/export?format=csv", "/calls/export?user=olga", "/calls/export?text=canary"},
		"GET /calls/{}":                   {"/calls/CALL"},
		"GET /metrics":                    {"/metrics", "/metrics?by=server", "/metrics?by=tool", "/metrics?by=user", "/metrics?by=agent", "/metrics?by=caller", "/metrics?by=agent_tool", "/metrics?by=user_tool", "/metrics?by=key", "/metrics?by=policy"},
		"GET /metrics/deliveries":         {"", "/metrics/deliveries?trigger=ping"},
		"GET /metrics/servers":            {"", "/metrics/servers?server=canary-vault"},
		"GET /attention":                  {""},
		"GET /usage":                      {"", "/usage?by=server", "/usage?by=user", "/usage?by=agent", "/usage?by=caller", "/usage?by=entry_point", "/usage?by=day", "/usage?by=tool&user=olga"},
		"GET /events":                     {""},
		"GET /events/{}":                  {"/events/EVENT"},
		"GET /triggers":                   {""},
		"GET /triggers/ready":             {""},
		"GET /triggers/{}":                {"/triggers/ping"},
		"GET /sources":                    {""},
		"GET /sources/{}":                 {"/sources/none"},
		"GET /schedules":                  {""},
		"GET /schedules/times":            {"/schedules/times?cron=@daily"},
		"GET /rooms":                      {""},
		"GET /rooms/{}":                   {"/rooms/ROOM"},
		"GET /rooms/{}/messages":          {"/rooms/ROOM/messages"},
		"GET /rooms/{}/search":            {"/rooms/ROOM/search?q=a"},
		"GET /rooms/{}/export":            {"/rooms/ROOM/export"},
		"GET /rooms/{}/tools":             {"/rooms/ROOM/tools"},
		"GET /rooms/{}/approvals":         {"/rooms/ROOM/approvals"},
		"GET /rooms/{}/stream":            {"/rooms/ROOM/stream"}, // refused, so that it ends
		"GET /limits":                     {""},
		"GET /policies":                   {""},
		"GET /policies/{}":                {"/policies/none"},
		"GET /policy-templates":           {""},
		"GET /calls/{}/policies":          {"/calls/CALL/policies"},
		"GET /secrets":                    {""},
		"GET /secrets/{}/{}":              {"/secrets/shop/none"},
		"GET /cluster":                    {""},
		"GET /settings":                   {""},
		"GET /settings/file":              {""},
		"GET /version":                    {""},
		"GET /openapi.json":               {""},
		"GET /reference":                  {""},
		"GET /export":                     {"", "/export?format=json"},
		"GET /packs":                      {""},
		"GET /packs/export":               {"", "/packs/export?server=box", "/packs/export?server=shop", "/packs/export?server=canary-vault"},
		"GET /audit/export":               {""},
		"GET /changes":                    {"", "/changes?q=canary"},
		"GET /changes/{}":                 {"/changes/none"},
		"GET /deliveries":                 {""},
		"GET /deliveries/{}":              {"/deliveries/DELIVERY"},
		"GET /endpoints":                  {""},
		"GET /agent-tokens":               {""},
		"POST /servers/{}/test":           {"/servers/box/test", "/servers/shop/test", "/servers/canary-vault/test"},
		"POST /servers/{}/test/steps":     {"/servers/box/test/steps", "/servers/canary-vault/test/steps"},
		"POST /apply":                     {""},
		"POST /tools/{}/call (dashboard)": {"/tools/dashboard__show/call"},
	}
}

// readBodies are what is sent along.
func readBodies() map[string]string {
	return map[string]string{
		"POST /apply":                     `{"servers":{"box":{"command":["sh"]},"shop":{"url":"https://other.example/mcp"}},"dry_run":true,"unseen":true}`,
		"POST /tools/{}/call (dashboard)": `{"arguments":{"minutes":60}}`,
	}
}

// exposure is an instance where olga, a developer, has a private server, has made
// calls with canaries in them, and others of her tenant look at everything.
type exposure struct {
	*testkit.Instance
	t       *testing.T
	olga    string
	others  map[string]string // header lines of who may learn nothing
	room    string
	talk    string // the room in which an agent made a call
	shopURL string
	tails   map[string]*output.Buffer
}

// What a developer has is not for the other developers, viewers, agents and
// services of the tenant to read, whichever route they ask.
func TestNobodyReadsWhatIsAnothers(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		startExposure(t, testkit.Settings{}).checkAll()
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		startExposure(t, testkit.Settings{"db": postgres.Database(t)}).checkAll()
	})
}

// Whom an open instance lets in without a credential reads tools and calls them,
// and nothing of how servers are reached.
func TestOpenInstanceShowsNoCommands(t *testing.T) {
	t.Parallel()
	e := startExposure(t, testkit.Settings{"open": "true"})
	ids := e.collectIDs()
	const nobody = "Authorization:"
	n := 0
	for route, paths := range readRoutes() {
		method, pattern, _ := strings.Cut(strings.Fields(route)[0]+" "+strings.Fields(route)[1], " ")
		for _, path := range paths {
			if path == "" {
				path = pattern
			}
			for _, path := range ids.in(path) {
				e.checkHidden("caller without a credential", nobody, method, path, readBodies()[route])
				if e.Do(t, method, "/api/v1"+path, readBodies()[route], nobody).Status == http.StatusOK {
					n++
				}
			}
		}
	}
	if body := e.request(200, "GET", "/export", "", nobody); strings.Contains(body, "command") || strings.Contains(body, "env") || strings.Contains(body, "headers") {
		t.Errorf("the export says how servers are reached: %s", body)
	}
	if body := e.request(200, "GET", "/servers/box", "", nobody); !strings.Contains(body, `"restricted":true`) {
		t.Errorf("the server is not shown without its command: %s", body)
	}
	if n < 10 {
		t.Errorf("only %d routes answer: nothing was tested", n)
	}
	if got := e.crash(nobody); strings.Contains(strings.ToLower(got), canary) {
		t.Errorf("the error of a call quotes the command: %s", got)
	}
}

// crashScript is a server that answers its handshake and its lists, and when it is
// called prints its words and ends.
const crashScript = `while read -r line; do
id=$(printf %s "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p')
case "$line" in
*'"server/discover"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id";;
*'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"crash","version":"1"}}}\n' "$id";;
*'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"boom","inputSchema":{"type":"object"}}]}}\n' "$id";;
*'"tools/call"'*) echo "canary-crashed with $*" >&2; exit 7;;
esac
done`

// crash calls the tool of the server that ends then, and gives all that the caller
// gets, over the admin API and over MCP.
func (e *exposure) crash(as string) string {
	e.t.Helper()
	got := e.Do(e.t, "POST", "/api/v1/tools/crash__boom/call", `{"arguments":{}}`, as).Body
	got += e.Do(e.t, "POST", "/mcp", modernCall("crash__boom", "{}"), append(modernHeader("tools/call", "crash__boom"), as)...).Body
	if !strings.Contains(got, "crash") {
		e.t.Errorf("the call did not fail: %s", got)
	}
	return got
}

// stderrIsPrivate holds that the error of a call does not quote what the command
// wrote, that admins see that with the server, and nobody the secrets in it.
func (e *exposure) stderrIsPrivate() {
	e.t.Helper()
	for who, as := range e.others {
		if who == "viewer" {
			continue // calls nothing
		}
		if got := e.crash(as); strings.Contains(strings.ToLower(got), canary) {
			e.t.Errorf("the error that the %s gets quotes the command: %s", who, got)
		}
		if got := e.request(200, "GET", "/calls/history?server=crash&limit=1000", "", e.olga); strings.Contains(strings.ToLower(got), canary) {
			e.t.Errorf("the history quotes the command: %s", got)
		}
		e.checkHidden(who, as, "GET", "/servers/crash", "")
	}
	e.until("the admin sees why it ended", func() bool {
		return strings.Contains(e.request(200, "GET", "/servers/crash", ""), "canary-crashed with --token=*** canary-plain")
	})
	for _, path := range []string{"/servers/crash", "/calls/history?limit=1000&server=crash", "/calls?limit=1000&server=crash"} {
		if body := e.request(200, "GET", path, ""); strings.Contains(body, "canary-word-token") {
			e.t.Errorf("%s shows a word of the command: %s", path, body)
		}
	}
}

// sayServer is an MCP server whose tools repeat what they hear, with a canary of
// their own, and which has a resource for every name.
func sayServer(t *testing.T, tools ...string) string {
	t.Helper()
	sdk := mcp.NewServer(&mcp.Implementation{Name: "say", Version: "1"}, nil)
	for _, name := range tools {
		sdk.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{IsError: name == "fail", Content: []mcp.Content{&mcp.TextContent{Text: "canary-result heard " + string(r.Params.Arguments)}}}, nil
		})
	}
	sdk.AddResourceTemplate(&mcp.ResourceTemplate{Name: "note", URITemplate: "note://{id}"}, func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "canary-note"}}}, nil
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(func() {
		_ = web.Config.Close() // streams too
		web.Close()
	})
	return web.URL
}

func startExposure(t *testing.T, settings testkit.Settings) *exposure {
	t.Helper()
	settings["egress-allow"], settings["allow-commands"], settings["reserved-id-days"] = "127.0.0.0/8", "true", "0"
	settings["builtin"] = "demo,ocr,dashboard"
	e := &exposure{t: t, Instance: testkit.Start(t, settings), others: map[string]string{}, tails: map[string]*output.Buffer{}}
	e.olga = e.user("olga", junctor.UserDeveloper)
	dan := e.user("dan", junctor.UserDeveloper)
	e.others["developer"], e.others["viewer"] = dan, e.user("vic", junctor.UserViewer)

	e.shopURL = sayServer(t, "say", "fail", "hush")
	e.request(201, "POST", "/servers", fmt.Sprintf(`{"id":"shop","url":"%s/canary-path?key=canary-query","headers":{"X-Canary":"canary-header"}}`, e.shopURL))
	e.request(201, "POST", "/servers", fmt.Sprintf(`{"id":"canary-vault","url":%q,"private":true}`, e.shopURL), e.olga)
	e.request(201, "POST", "/servers", fmt.Sprintf(`{"id":"reused","url":%q,"private":true}`, sayServer(t, "canary-old")), e.olga)
	e.request(200, "POST", "/apply", `{"unseen":true,"servers":{"box":{"command":["sh","-c","echo canary-stderr >&2; exit 1","canary-word","--token=canary-token","--api-key","canary-key"],"env":{"CANARY_NAME":"canary-value"}}}}`)
	e.request(200, "POST", "/apply", `{"servers":{"crash":{"command":["sh","-c",`+quote(crashScript)+`,"sh","--token=canary-word-token","canary-plain"]}}}`)
	e.room = readCreated(e.request(201, "POST", "/rooms", `{"name":"canary-room"}`, e.olga)).ID

	e.request(201, "POST", "/triggers", `{"name":"ping","match":{"type":"ping"},"action":{"server":"shop","tool":"hush","raise":true}}`)
	e.request(201, "POST", "/triggers", `{"name":"tell","match":{"type":"tell"},"action":{"server":"shop","tool":"hush","template":{"text":"canary-told"}}}`)
	e.request(201, "POST", "/triggers", `{"name":"vaulted","match":{"type":"vaulted"},"action":{"server":"canary-vault","tool":"say"}}`)

	key := func(body string, as ...string) string {
		return "Authorization: Bearer " + readCreated(e.request(201, "POST", "/agents", body, as...)).Key
	}
	hers := key(`{"name":"hers","tools":["shop/*"]}`, e.olga)
	e.others["agent"] = key(`{"name":"his","tools":["shop/*","demo/*","dashboard/*","crash/*"],"resources":["events/*"]}`, dan)
	e.others["service"] = "Authorization: Bearer " + readCreated(e.request(201, "POST", "/keys", `{"name":"svc","scopes":["tools:read","tools:call","bridge:call","events:send","servers:write","agents:write","keys:write","audit:read"]}`)).Key
	for who := range e.others {
		if who != "agent" {
			e.followRun(who)
		}
	}
	e.call("canary-vault__say", "private", e.olga)
	e.call("shop__say", "public", e.olga)
	e.call("shop__fail", "failed", e.olga)
	e.call("demo__echo", "builtin", e.olga)
	e.call("reused__canary-old", "removed", e.olga)
	e.call("shop__say", "agent", hers)
	e.Do(t, "POST", "/api/v1/tools/canary-unknown/call", `{"arguments":{"text":"canary-unknown"}}`, e.olga)
	e.Do(t, "POST", "/api/v1/tools/demo__echo/call", `{"arguments":{"text":"canary-x","canary-wrong":true}}`, e.olga)
	read := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"note://canary-uri",%s}}`, modernMeta)
	if r := e.Do(t, "POST", "/mcp/s/shop", read, append(modernHeader("resources/read", "note://canary-uri"), e.olga)...); r.Status != 200 || !strings.Contains(r.Body, "canary-note") {
		t.Fatalf("resource: %d %s", r.Status, r.Body)
	}
	adhoc := fmt.Sprintf(`{"endpoint":{"url":%q},"tool_name":"say","arguments":{"text":"canary-adhoc"}}`, e.shopURL)
	if r := e.Do(t, "POST", "/mcp/call", adhoc, e.olga); r.Status != 200 {
		t.Fatalf("adhoc: %d %s", r.Status, r.Body)
	}
	e.request(202, "POST", "/events", `{"type":"ping"}`)
	e.request(202, "POST", "/events", `{"type":"tell","agent":"hers"}`)
	e.request(202, "POST", "/events", `{"type":"vaulted"}`)
	e.talkInRoom(dan)
	e.request(204, "DELETE", "/servers/reused", "", e.olga)
	e.request(201, "POST", "/servers", fmt.Sprintf(`{"id":"reused","url":%q}`, e.shopURL), dan)
	return e
}

// talkInRoom has an agent of dan's, whom an admin seated in a room that he is not
// in, make a call there for olga.
func (e *exposure) talkInRoom(dan string) {
	e.t.Helper()
	e.request(201, "POST", "/agents", `{"name":"seated","tools":["shop/*"],"brain":{"rules":"intents:\n  - match: 'say (?P<what>.+)'\n    calls:\n      - tool: shop__say\n        arguments: {text: '{{what}}'}\n    say: 'done'\nfallback: 'Hm.'\n"}}`, dan)
	e.talk = readCreated(e.request(201, "POST", "/rooms", `{"name":"talk","approvals":"never","members":[{"user":"olga"},{"agent":"seated"}]}`)).ID
	e.request(200, "POST", "/rooms/"+e.talk+"/runs", fmt.Sprintf(`{"threadId":%q,"runId":"run-1","messages":[{"id":"m1","role":"user","content":"say canary-inroom"}]}`, e.talk), e.olga)
}

// user makes a user with a key of all that the role has, and gives its header.
func (e *exposure) user(name string, role junctor.UserRole) string {
	e.t.Helper()
	e.request(201, "POST", "/users", fmt.Sprintf(`{"name":%q,"role":%q}`, name, role))
	return "Authorization: Bearer " + readCreated(e.request(201, "POST", "/keys", fmt.Sprintf(`{"name":%q,"user":%q,"scopes":%s}`, name, name, quote(role.Scopes())))).Key
}

// request asks the admin API, as the admin unless a header says otherwise.
func (e *exposure) request(status int, method, path, body string, header ...string) string {
	e.t.Helper()
	r := e.Do(e.t, method, "/api/v1"+path, body, header...)
	if r.Status != status {
		e.t.Fatalf("%s %s %s: %d, want %d\n%s", method, path, body, r.Status, status, r.Body)
	}
	return r.Body
}

func (e *exposure) call(tool, label, as string) {
	e.t.Helper()
	e.request(200, "POST", "/tools/"+tool+"/call", fmt.Sprintf(`{"arguments":{"text":"canary-%s"}}`, label), as)
}

// thing is what is read of answers.
type thing struct {
	ID, Key, Kind, Server, Name, User string
	Items                             []thing
}

func readCreated(body string) (out thing) {
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		panic(err)
	}
	return out
}

// followRun reads the tail as somebody, until the test ends.
func (e *exposure) followRun(who string) {
	f := &output.Buffer{}
	e.tails[who] = f
	ctx, cancel := context.WithCancel(e.t.Context())
	resp := e.Open(ctx, e.t, "GET", "/api/v1/calls/tail", "", e.others[who])
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(f, resp.Body)
	}()
	e.t.Cleanup(func() {
		cancel()
		<-done
		_ = resp.Body.Close()
	})
}

// until waits for something that happens beside requests.
func (e *exposure) until(what string, holds func() bool) {
	e.t.Helper()
	poll.Until(e.t, what, patience, holds)
}

func (e *exposure) checkAll() {
	e.t.Helper()
	ids := e.collectIDs()
	e.routesAreKnown()
	for who, as := range e.others {
		for route, paths := range readRoutes() {
			method, pattern, _ := strings.Cut(strings.Fields(route)[0]+" "+strings.Fields(route)[1], " ")
			for _, path := range paths {
				if path == "" {
					path = pattern
				}
				for _, path := range ids.in(path) {
					e.checkHidden(who, as, method, path, readBodies()[route])
				}
			}
		}
		if f := e.tails[who]; f != nil && strings.Contains(strings.ToLower(f.String()), canary) {
			e.t.Errorf("the tail of the %s: %s", who, f)
		}
	}
	e.feedbackIsPrivate()
	e.confirmsNothing()
	e.metadataIsSeen()
	e.commandIsMasked()
	e.stderrIsPrivate()
}

// ids are those of what was made, by the word that stands for them in a path.
type ids map[string][]string

func (i ids) in(path string) []string {
	for word, list := range i {
		if strings.Contains(path, word) {
			var out []string
			for _, id := range list {
				out = append(out, strings.ReplaceAll(path, word, id))
			}
			return out
		}
	}
	return []string{path}
}

// collectIDs waits until everything is on record, as an admin sees it: where nothing
// is there, it is no wonder that nobody sees it.
func (e *exposure) collectIDs() ids {
	e.t.Helper()
	var history, deliveries, events string
	e.until("the calls are in the history", func() bool {
		history = e.request(200, "GET", "/calls/history?limit=1000", "")
		return !slices.ContainsFunc([]string{
			"canary-private", "canary-public", "canary-failed", "canary-builtin", "canary-removed", "canary-agent", "canary-adhoc", "canary-unknown", "note://canary-uri", `"hush"`, "canary-inroom", "canary-told",
		}, func(s string) bool { return !strings.Contains(history, s) })
	})
	e.until("the delivery has an answer", func() bool {
		deliveries = e.request(200, "GET", "/deliveries", "")
		events = e.request(200, "GET", "/events", "")
		// The trigger may not call the private server; that it was to is on record.
		return strings.Count(deliveries, `"done"`) >= 2 && strings.Contains(deliveries, "canary-vault") && strings.Contains(events, "canary-result")
	})
	e.request(204, "POST", "/endpoints/stop", `{"endpoint":"server:canary-vault"}`) // so that it is listed
	e.until("the command has complained", func() bool { return strings.Contains(e.request(200, "GET", "/servers/box", ""), "canary-stderr") })
	if mine := e.request(200, "GET", "/calls/history?limit=1000", "", e.olga); !strings.Contains(mine, "canary-private") || !strings.Contains(mine, "canary-agent") || !strings.Contains(mine, "canary-adhoc") {
		e.t.Errorf("she does not read her own calls and those of her agent: %s", mine)
	}
	if mine := e.request(200, "GET", "/calls/history?limit=1000&text=canary-private", "", e.olga); len(readCreated(mine).Items) == 0 {
		e.t.Error("she does not find her own call by its text")
	}
	if mine := e.request(200, "GET", "/calls/history?limit=1000", "", e.olga); !strings.Contains(mine, "canary-inroom") {
		e.t.Errorf("she does not read the calls of a room that she is in: %s", mine)
	}
	for _, list := range []string{"/deliveries", "/endpoints", "/triggers"} {
		for who, as := range map[string]string{"the admin": "", "the owner of the server": e.olga} {
			if body := e.request(200, "GET", list, "", headerLine(as)...); !strings.Contains(body, "canary-vault") {
				e.t.Errorf("%s does not show %s the private server: %s", list, who, body)
			}
		}
	}
	out := ids{"ROOM": {e.room, e.talk}}
	for word, body := range map[string]string{"CALL": history, "DELIVERY": deliveries, "EVENT": events} {
		for _, one := range readCreated(body).Items {
			out[word] = append(out[word], one.ID)
		}
	}
	return out
}

// headerLine is a header as Do takes it; none for the admin's.
func headerLine(line string) []string {
	if line == "" {
		return nil
	}
	return []string{line}
}

// routesAreKnown holds that every route that shows something is asked.
func (e *exposure) routesAreKnown() {
	e.t.Helper()
	known, placeholder := readRoutes(), regexp.MustCompile(`\{\w+\}`)
	n := 0
	for _, route := range e.App.Routes() {
		path, ok := strings.CutPrefix(route, "GET /api/v1")
		if !ok {
			continue
		}
		n++
		if _, ok := known["GET "+placeholder.ReplaceAllString(path, "{}")]; !ok {
			e.t.Errorf("%s shows something and is not in readRoutes: say there how it is asked", route)
		}
	}
	if n < 60 {
		e.t.Errorf("only %d routes: the list is broken", n)
	}
}

// checkHidden asks as somebody who may learn nothing.
func (e *exposure) checkHidden(who, as, method, path, body string) {
	e.t.Helper()
	r := e.Do(e.t, method, "/api/v1"+path, body, as)
	if r.Status >= 500 {
		e.t.Errorf("%s %s by the %s: %d %s", method, path, who, r.Status, r.Body)
	}
	told := strings.ToLower(r.Body)
	for _, said := range []string{"canary-vault", "canary-unknown", "canary-old"} { // an error repeats what was asked for
		if (r.Status == http.StatusNotFound || r.Status == http.StatusUnprocessableEntity) && strings.Contains(path, said) {
			told = strings.ReplaceAll(told, said, "")
		}
	}
	if path == "/openapi.json" {
		return // says nothing of anybody
	}
	if at := strings.Index(told, canary); at >= 0 {
		e.t.Errorf("%s %s tells the %s: …%s…", method, path, who, told[max(0, at-200):min(len(told), at+200)])
	}
}

// feedbackIsPrivate holds that what an agent was told is read by it, its owner and
// admins, over MCP as elsewhere.
func (e *exposure) feedbackIsPrivate() {
	e.t.Helper()
	const uri = "junctor://agents/hers/feedback"
	read := func(as string) string {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":%q,%s}}`, uri, modernMeta)
		return e.Do(e.t, "POST", "/mcp/s/events", body, append(modernHeader("resources/read", uri), headerLine(as)...)...).Body
	}
	for who, as := range e.others {
		if got := strings.ToLower(read(as)); strings.Contains(got, canary) {
			e.t.Errorf("the %s reads what another's agent was told: %s", who, got)
		}
	}
	for who, as := range map[string]string{"admin": "", "agent's owner": e.olga} {
		if got := read(as); !strings.Contains(got, "canary-told") || !strings.Contains(got, "canary-result") {
			e.t.Errorf("the %s does not read what the agent was told: %s", who, got)
		}
	}
}

// confirmsNothing holds that what cannot be read cannot be looked for either.
func (e *exposure) confirmsNothing() {
	e.t.Helper()
	for who, as := range e.others {
		if who == "agent" {
			continue
		}
		for _, query := range []string{"/calls/history?text=canary", "/calls/history?text=canary-public", "/calls/history?tool=note://canary-uri", "/calls?tool=note://canary-uri", "/calls/history?server=canary-vault", "/calls?server=canary-vault", "/usage?server=canary-vault", "/usage?tool=canary-old", "/deliveries?endpoint=server:canary-vault", "/deliveries?trigger=vaulted", "/calls/history?text=canary-inroom"} {
			r := e.Do(e.t, "GET", "/api/v1"+query, "", as)
			if r.Status == http.StatusUnprocessableEntity {
				e.isAnsweredAsUnknown(who, as, query, r.Body)
				continue
			}
			if got := readCreated(e.request(200, "GET", query, "", as)).Items; len(got) > 0 {
				e.t.Errorf("%s confirms to the %s that there is: %+v", query, who, got)
			}
		}
		if body := e.request(200, "GET", "/calls/export?text=canary", "", as); strings.TrimSpace(body) != "" {
			e.t.Errorf("the export confirms to the %s: %s", who, body)
		}
	}
}

// isAnsweredAsUnknown holds that a filter which was refused is answered to the word as one
// that names nothing at all.
func (e *exposure) isAnsweredAsUnknown(who, as, query, body string) {
	e.t.Helper()
	const nothing = "no-such-thing"
	path, value, _ := strings.Cut(query, "=")
	want := e.Do(e.t, "GET", "/api/v1"+path+"="+nothing, "", as)
	if got := strings.ReplaceAll(body, value, nothing); want.Status != http.StatusUnprocessableEntity || got != want.Body {
		e.t.Errorf("%s tells the %s\n%s\nand of what is not there\n%d %s", query, who, got, want.Status, want.Body)
	}
}

// metadataIsSeen holds that the rule does not hide too much: that calls were made
// on servers that somebody may know of is for them to see.
func (e *exposure) metadataIsSeen() {
	e.t.Helper()
	for who, as := range e.others {
		if who == "agent" {
			continue
		}
		for _, list := range []string{"/calls?limit=1000", "/calls/history?limit=1000"} {
			seen := map[string]int{}
			for _, c := range readCreated(e.request(200, "GET", list, "", as)).Items {
				seen[c.Server+"/"+c.Name]++
			}
			for _, want := range []string{"shop/say", "shop/fail", "shop/", "demo/echo", "shop/hush"} {
				if seen[want] == 0 {
					e.t.Errorf("%s shows the %s no call of %s: %v", list, who, want, seen)
				}
			}
		}
		if sums := e.request(200, "GET", "/usage?by=server", "", as); !strings.Contains(sums, `"demo"`) {
			e.t.Errorf("the sums of the %s have no built-in server: %s", who, sums)
		}
		e.until("the tail shows a call", func() bool { return strings.Contains(e.tails[who].String(), `"shop"`) })
		// Page by page it is the same list. Calls are written behind their answers: it is
		// compared once nothing more comes.
		var all, paged []string
		e.until("the history is whole", func() bool {
			all, paged = e.history(as), e.pages(who, as)
			return slices.Equal(all, e.history(as))
		})
		if !slices.Equal(all, paged) {
			e.t.Errorf("the %s sees %d calls, and %d page by page", who, len(all), len(paged))
		}
	}
}

// commandIsMasked holds that nobody reads a secret in a command, and that what is
// shown can be sent back.
func (e *exposure) commandIsMasked() {
	e.t.Helper()
	for _, path := range []string{"/servers", "/servers/box", "/export", "/packs/export?server=box"} {
		body := e.request(200, "GET", path, "")
		if strings.Contains(body, "canary-token") || strings.Contains(body, "canary-key") {
			e.t.Errorf("%s shows a secret: %s", path, body)
		}
		if !strings.Contains(body, "canary-word") {
			e.t.Errorf("%s does not show an admin the command: %s", path, body)
		}
	}
	var box struct{ Command []string }
	if err := json.Unmarshal([]byte(e.request(200, "GET", "/servers/box", "")), &box); err != nil {
		e.t.Fatal(err)
	}
	same := fmt.Sprintf(`{"unseen":true,"dry_run":true,"servers":{"box":{"command":%s,"env":{"CANARY_NAME":"***"}}}}`, quote(box.Command))
	if body := e.request(200, "POST", "/apply", same); strings.Contains(body, `"command"`) {
		e.t.Errorf("what is shown is taken for another command: %s", body)
	}
	box.Command[0] = "env"
	other := fmt.Sprintf(`{"unseen":true,"servers":{"box":{"command":%s,"env":{"CANARY_NAME":"***"}}}}`, quote(box.Command))
	if body := e.request(422, "POST", "/apply", other); !strings.Contains(body, "enter the word again") {
		e.t.Errorf("another program is given the stored words: %s", body)
	}
}

// history are the ids of the calls that somebody is shown.
func (e *exposure) history(as string) (ids []string) {
	e.t.Helper()
	for _, c := range readCreated(e.request(200, "GET", "/calls/history?limit=1000", "", as)).Items {
		ids = append(ids, c.ID)
	}
	return ids
}

// pages are the same, in pages of two.
func (e *exposure) pages(who, as string) (ids []string) {
	e.t.Helper()
	for cursor := ""; ; {
		var page struct {
			Items []thing
			Next  string
		}
		if err := json.Unmarshal([]byte(e.request(200, "GET", "/calls/history?limit=2&cursor="+cursor, "", as)), &page); err != nil {
			e.t.Fatal(err)
		}
		for _, c := range page.Items {
			ids = append(ids, c.ID)
		}
		if cursor = page.Next; cursor == "" {
			return ids
		}
		if len(page.Items) != 2 {
			e.t.Errorf("a page of the %s has %d calls and is not the last", who, len(page.Items))
		}
	}
}
