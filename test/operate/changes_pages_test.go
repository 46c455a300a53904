package operate

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
	"github.com/junctor-mcp/junctor/internal/testkit/visitor"
)

// newest returns the newest change of a kind, and checks who made it, how it came in and of
// what it is.
func (c *changed) newest(action, object string, entry junctor.ChangeEntry, actor string) junctor.AdminChange {
	c.Helper()
	list := c.history(url.Values{"action": {action}})
	if len(list) == 0 {
		c.Fatalf("%s left no record", action)
	}
	one := list[0]
	if one.Object != object || one.EntryPoint != entry || one.Actor != actor || one.Subject == "" || one.Status != junctor.ChangeDone || one.Seq == 0 {
		c.Errorf("%s: %+v", action, one)
	}
	return one
}

// expectValues checks the values of a change: each has a text, or none if the text is empty.
func (c *changed) expectValues(one *junctor.AdminChange, before, after string) {
	c.Helper()
	for name, v := range map[string]struct{ have, want string }{"before": {string(one.Before), before}, "after": {string(one.After), after}} {
		if !strings.Contains(v.have, v.want) || v.want == "" && v.have != "" {
			c.Errorf("%s of %s: %s, want %q", name, one.Action, v.have, v.want)
		}
	}
}

// member reads a text of the answer to a request.
func (c *changed) member(method, path, body, name string) string {
	c.Helper()
	return memberOf(c.T, c.request(method, path, body), name)
}

// TestDecisionsOfUsersAreOnRecord makes the changes that no plain request of an admin makes: the
// settings of a start, the consent to a program, a login in a browser, and the decision on a
// waiting call.
func TestDecisionsOfUsersAreOnRecord(t *testing.T) {
	t.Parallel()
	c := &changed{T: t, dir: filepath.Join(t.TempDir(), "data"), args: []string{"--egress-allow", "127.0.0.0/8"}}
	c.start()
	settled := func(n int) { // the settings are recorded while the instance serves
		t.Helper()
		poll.Until(t, "the record of the settings", time.Minute, func() bool {
			list := c.history(url.Values{"action": {"change-settings"}})
			return len(list) >= n && list[0].Seq > 0
		})
	}
	settled(1)
	one := c.newest("change-settings", "settings", junctor.ChangeByStart, "operator")
	c.expectValues(&one, "", `"egress-allow":"127.0.0.0/8"`)
	first := string(one.After)
	c.in.Stop(t, time.Minute)
	c.args = append(c.args, "--log-level", "debug")
	c.start()
	settled(2)
	one = c.newest("change-settings", "settings", junctor.ChangeByStart, "operator")
	c.expectValues(&one, first, `"log-level":"debug"`)

	c.request(http.MethodPost, "/users", `{"name":"ann","role":"developer"}`)
	key := "Authorization: Bearer " + c.member(http.MethodPost, "/keys", `{"name":"k","user":"ann","scopes":["tools:read","tools:call"]}`, "key")
	link := c.member(http.MethodPost, "/users/ann/link", "", "url")
	browser := visitor.New(t, c.in.URL)
	browser.SignIn(link, link)
	c.consent(browser)
	c.logInAtServer(browser, key)
	c.decideOnCall()
	c.verify()
}

// consent has ann let a program act for her.
func (c *changed) consent(browser *visitor.Visitor) {
	c.Helper()
	const callback = "http://127.0.0.1:5000/callback"
	a, err := c.in.Request(c.Context(), http.MethodPost, "/oauth/register", `{"client_name":"Pad","redirect_uris":["`+callback+`"],"token_endpoint_auth_method":"none"}`, "Authorization:")
	if err != nil || a.Status != http.StatusCreated {
		c.Fatalf("%v %d %s", err, a.Status, a.Body)
	}
	client := memberOf(c.T, a.Body, "client_id")
	if a, err = c.in.Request(c.Context(), http.MethodGet, "/.well-known/oauth-authorization-server", ""); err != nil {
		c.Fatal(err)
	}
	sum := sha256.Sum256([]byte(strings.Repeat("v", 43)))
	ask := func(scope string) {
		browser.Consent(memberOf(c.T, a.Body, "authorization_endpoint") + "?" + url.Values{
			"response_type": {"code"}, "client_id": {client}, "redirect_uri": {callback}, "code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])},
			"code_challenge_method": {"S256"}, "resource": {c.in.URL + "/mcp"}, "scope": {scope},
		}.Encode())
	}
	ask("tools:read")
	one := c.newest("grant-consent", "consent", junctor.ChangeByConsole, "ann")
	c.expectValues(&one, "", `"client_name":"Pad"`)
	if !strings.Contains(string(one.After), `"id":"`+one.ObjectID+`"`) || one.ObjectID == "" || one.User == "" {
		c.Errorf("%+v", one)
	}
	ask("tools:read tools:call") // more rights of the same program
	one = c.newest("grant-consent", "consent", junctor.ChangeByConsole, "ann")
	c.expectValues(&one, `"scopes":["tools:read"]`, `"tools:call"`)
}

var (
	connectPage = regexp.MustCompile(`http[^\s"\\]+/connect/notes\?ticket=[^\s"\\]+`)
	leadsAway   = regexp.MustCompile(`<a href="([^"]+)">Continue</a>`)
)

// logInAtServer has an admin log in at a server by the API, and ann by the pages.
func (c *changed) logInAtServer(browser *visitor.Visitor, key string) {
	c.Helper()
	g := upstreams.NewGuarded(c.T, upstreams.Modern)
	c.request(http.MethodPost, "/servers", fmt.Sprintf(`{"id":"notes","url":%q,"auth":{"type":"oauth"},"credentials":"per-user"}`, g.URL))
	var started struct {
		Login            string `json:"login"`
		AuthorizationURL string `json:"authorization_url"`
	}
	if err := json.Unmarshal([]byte(c.request(http.MethodPost, "/servers/notes/login", `{"shared":true}`)), &started); err != nil {
		c.Fatal(err)
	}
	answer, err := json.Marshal(map[string]string{"login": started.Login, "url": g.Browse(c.T, started.AuthorizationURL, "the-lists").String()})
	if err != nil {
		c.Fatal(err)
	}
	c.request(http.MethodPost, "/servers/notes/login/finish", string(answer))
	one := c.newest("finish-server-login", "server-login", junctor.ChangeByAPI, "admin")
	c.expectValues(&one, `"state":`, `"state":"live"`)
	if one.ObjectID != "notes" || one.Address != "127.0.0.1" {
		c.Errorf("%+v", one)
	}

	a, err := c.in.Request(c.Context(), http.MethodPost, "/mcp/request", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"notes__whoami","arguments":{}}}`, key)
	address := strings.ReplaceAll(connectPage.FindString(a.Body), `\u0026`, "&")
	if err != nil || address == "" {
		c.Fatalf("no address to log in at: %v %s", err, a.Body)
	}
	to, err := url.Parse(address)
	if err != nil {
		c.Fatal(err)
	}
	p := browser.Do(http.MethodPost, to.Scheme+"://"+to.Host+to.Path, to.Query(), "same-origin")
	away := leadsAway.FindStringSubmatch(p.Body)
	if away == nil {
		c.Fatalf("%d %s", p.Status, p.Body)
	}
	back := g.Browse(c.T, html.UnescapeString(away[1]), "ann-there")
	if p, _ = browser.Open(back.String(), "cross-site"); p.Status != http.StatusOK || !strings.Contains(p.Body, "You are logged in to") {
		c.Fatalf("%d %s", p.Status, p.Body)
	}
	one = c.newest("finish-server-login", "server-login", junctor.ChangeByConsole, "ann")
	c.expectValues(&one, `"state":`, `"state":"live"`)
	if one.ObjectID != "notes" || one.User == "" || string(one.Before) == string(one.After) {
		c.Errorf("%+v\n%s\n%s", one, one.Before, one.After)
	}
	values := string(one.Before) + string(one.After)
	for _, secret := range g.Secrets() {
		if strings.Contains(values, secret) {
			c.Errorf("a token of the login is in the record")
		}
	}
}

var interruptID = regexp.MustCompile(`"interrupts":\[\{"id":"([^"]+)"`)

// decideOnCall has an agent call a tool that waits, and denies the call.
func (c *changed) decideOnCall() {
	c.Helper()
	c.request(http.MethodPost, "/servers", fmt.Sprintf(`{"id":"plain","url":%q}`, upstreams.Start(c.T, upstreams.Modern).URL))
	c.request(http.MethodPost, "/agents", `{"name":"doer","tools":["plain/seen"],"brain":{"rules":"intents:\n  - match: 'do it'\n    calls:\n      - tool: plain__seen\n    say: 'Done.'\nfallback: 'What?'\n"}}`)
	room := c.member(http.MethodPost, "/rooms", `{"name":"Den","members":[{"agent":"doer"}]}`, "id")
	events := c.request(http.MethodPost, "/rooms/"+room+"/runs", fmt.Sprintf(`{"threadId":%q,"runId":"r1","messages":[{"id":"m1","role":"user","content":"do it"}]}`, room))
	waiting := interruptID.FindStringSubmatch(events)
	if waiting == nil {
		c.Fatalf("no call waits: %s", events)
	}
	if list := c.history(url.Values{"action": {"run-room"}}); len(list) > 0 {
		c.Errorf("a message is on record as a change: %+v", list)
	}
	c.request(http.MethodPost, "/rooms/"+room+"/runs", fmt.Sprintf(`{"threadId":%q,"runId":"r2","messages":[],"resume":[{"interruptId":%q,"status":"resolved","payload":{"allow":false,"reason":"not today"}}]}`, room, waiting[1]))
	one := c.newest("run-room", "approval", junctor.ChangeByAPI, "admin")
	c.expectValues(&one, "", `{"id":"`+waiting[1]+`","allow":false,"reason":"not today"}`)
	if one.ObjectID != room {
		c.Errorf("%+v", one)
	}
}
