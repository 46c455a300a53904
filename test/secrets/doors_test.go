package secrets

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/internal/app"
	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/test/program"
)

// scene is an instance with a vault, and the ways to it.
type scene struct {
	*hunt
	*testkit.Instance
	apiKey   atomic.Value
	vaultLog testkit.Log
}

// TestNoSecretLeavesItsCall sends secrets through every endpoint: as credentials,
// in arguments, in results, in requests that are wrong in every way, into calls
// that fail, hang and crash.
func TestNoSecretLeavesItsCall(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			s := &scene{hunt: newHunt(t)}
			s.Instance = testkit.Start(t, testkit.Settings{
				"log-level": "debug", "log-format": format, "max-body": "64KiB", "call-timeout": "300ms",
			}, app.WithServer(vault(t, &s.apiKey, &s.vaultLog)))
			tail := s.follow()
			for name, call := range s.endpoints() {
				s.rightly(name, call)
				s.wrongly(name, call)
			}
			s.credentials()
			s.bodies()
			s.others()
			s.stored()
			s.search()
			s.text("the tail of calls", tail())
			s.Stop()
			s.text("the log", s.Log.String())
			s.text("the vault's log", s.vaultLog.String())
			s.tree(s.Dir)
			s.done("every endpoint, " + format + " log")
		})
	}
}

// caller calls a tool of the vault and gives all that it was told.
type caller func(tool, arguments string) string

func (s *scene) endpoints() map[string]caller {
	s.t.Helper()
	endpoints := map[string]caller{
		"/mcp/s": func(tool, arguments string) string {
			return s.Do(s.t, http.MethodPost, "/mcp/s/vault", modernBody(tool, arguments), modernHeader(tool)...).Body
		},
		"admin": func(tool, arguments string) string {
			return s.Do(s.t, http.MethodPost, "/api/v1/tools/vault__"+tool+"/call", `{"arguments":`+arguments+`}`).Body
		},
		"sse": s.sdk("2024-11-05", &mcp.SSEClientTransport{Endpoint: s.URL + "/sse", HTTPClient: &http.Client{Transport: withKey(testkit.AdminKey)}}),
	}
	for _, era := range program.Eras() {
		c := program.NewCaller(s.t, era, s.URL, testkit.AdminKey)
		endpoints[string(era)] = func(tool, arguments string) string {
			a, err := c.Call(s.t.Context(), "vault__"+tool, arguments)
			if err != nil {
				s.t.Fatal(err)
			}
			return a.Body
		}
	}
	// stdio beside the listener: the relay of a second process.
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	go func() {
		_ = gateway.RelayStdio(s.t.Context(), s.Dir+"/"+app.SocketName, inR, outW, testkit.AdminKey)
		outW.Close()
	}()
	s.t.Cleanup(func() { inW.Close(); outR.Close() })
	endpoints["stdio"] = s.sdk("2025-11-25", &mcp.IOTransport{Reader: outR, Writer: inW})
	return endpoints
}

func modernBody(tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,`+
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, tool, arguments)
}

func modernHeader(tool string) []string {
	return []string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: " + tool}
}

type withKey string

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}

// sdk is a caller through the official client.
func (s *scene) sdk(version string, transport mcp.Transport) caller {
	s.t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "secrets", Version: "1"}, nil)
	session, err := c.Connect(s.t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { session.Close() })
	return func(tool, arguments string) string {
		ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
		defer cancel()
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "vault__" + tool, Arguments: json.RawMessage(arguments)})
		if err != nil {
			return err.Error()
		}
		b, err := json.Marshal(res)
		if err != nil {
			s.t.Fatal(err)
		}
		return string(b)
	}
}

// rightly makes calls that a tool answers: their results are the caller's own.
func (s *scene) rightly(endpoint string, call caller) {
	s.t.Helper()
	args := func(what string) string {
		return fmt.Sprintf(`{"user":"eve","password":%q,"token":%q,"credentials_json":%q}`,
			s.plant("password, "+what+" through "+endpoint), s.plant("token, "+what+" through "+endpoint), s.plant("credentials, "+what+" through "+endpoint))
	}
	result := "result through " + endpoint
	s.apiKey.Store(s.plant(result))
	told := call("login", args("login"))
	if !strings.Contains(told, "welcome, eve") {
		s.t.Errorf("%s: login was answered %s", endpoint, told)
	}
	s.text("the answer to a login through "+endpoint, told, result)

	told = call("fail", args("fail"))
	s.text("the answer of a tool that fails, through "+endpoint, told, "password, fail through "+endpoint)
	for _, tool := range []string{"crash", "hang", "unknown"} {
		s.text("the answer of "+tool+" through "+endpoint, call(tool, args(tool)))
	}
}

// wrongly breaks every rule of a schema with a secret.
func (s *scene) wrongly(endpoint string, call caller) {
	s.t.Helper()
	var values []string
	for _, m := range []string{"password", "token", "credentials_json"} {
		values = append(values, fmt.Sprintf("%q:%q", m, s.plant("wrong "+m+" through "+endpoint)))
	}
	for _, m := range []string{"mode", "fixed", "count", "when", "either", "unknown"} {
		values = append(values, fmt.Sprintf("%q:%q", m, s.plantUnnamed("wrong "+m+" through "+endpoint)))
	}
	item := s.plantUnnamed("wrong list through " + endpoint)
	values = append(values, fmt.Sprintf(`"list":[%q,%q]`, item, item))
	told := call("strict", "{"+strings.Join(values, ",")+"}")
	if strings.Contains(told, `"fine"`) {
		s.t.Errorf("%s: wrong arguments were taken", endpoint)
	}
	s.text("the answer to wrong arguments through "+endpoint, told)
	s.text("the answer to arguments that are no object, through "+endpoint, call("strict", fmt.Sprintf("[%q]", s.plantUnnamed("arguments that are no object, through "+endpoint))))
}

// credentials shows keys that are none to every path, in every place that a key
// could be in.
func (s *scene) credentials() {
	s.t.Helper()
	paths := []string{"/mcp", "/mcp/s/vault", "/mcp/request", "/mcp/tools", "/sse", "/messages", "/api/v1/keys", "/metrics", "/stdio", "/nowhere"}
	for _, path := range paths {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			at := " at " + method + " " + path
			body := ""
			if method == http.MethodPost {
				body = modernBody("login", `{}`)
			}
			query := url.Values{"key": {s.plant("query" + at)}}
			for what, header := range map[string][]string{
				"bearer" + at:  {"Authorization: Bearer " + s.plant("bearer"+at)},
				"api key" + at: {"Authorization:", "X-API-Key: " + s.plant("api key"+at)},
				"basic" + at:   {"Authorization: Basic " + s.plant("basic"+at)},
				"both" + at:    {"Authorization: Bearer " + s.plant("bearer of both"+at), "X-API-Key: " + s.plant("api key of both"+at), "Cookie: session=" + s.plant("cookie"+at)},
			} {
				s.text("the answer to "+what, s.Do(s.t, method, path+"?"+query.Encode(), body, header...).Body)
			}
		}
	}
}

// bodies sends what is no request, with the right key.
func (s *scene) bodies() {
	s.t.Helper()
	for _, path := range []string{"/mcp", "/mcp/request", "/messages", "/api/v1/keys", "/api/v1/tools/vault__login/call"} {
		for what, form := range map[string]string{
			"broken JSON":     `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"password":%q`,
			"no JSON":         `password=%s`,
			"a double member": `{"jsonrpc":"2.0","id":1,"password":%q,"password":2}`,
			"an id":           `{"jsonrpc":"2.0","id":[%q],"method":"tools/call"}`,
			"no method":       `{"jsonrpc":"2.0","id":1,"token":%q}`,
			"a wrong type":    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%q}`,
			"a wrong version": `{"jsonrpc":%q,"id":1,"method":"tools/call","params":{}}`,
			"a batch":         `[{"jsonrpc":"2.0","id":1,"token":%q}]`,
			"a wrong scope":   `{"name":"k","scopes":["tools:call"],"password":%q}`,
			"a bad escape":    `{"jsonrpc":"2.0","token":"%s\q"}`,
			"too much":        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"password":%q,"fill":"` + strings.Repeat("x", 70<<10) + `"}}`,
		} {
			name := what + " to " + path
			s.text("the answer to "+name, s.Do(s.t, http.MethodPost, path, fmt.Sprintf(form, s.plant(name))).Body)
		}
	}
}

// others puts secrets into what a request has besides.
func (s *scene) others() {
	s.t.Helper()
	post := func(name, method, params string, header ...string) {
		s.t.Helper()
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
		s.text("the answer to "+name, s.Do(s.t, http.MethodPost, "/mcp", body, header...).Body)
	}
	legacy := "MCP-Protocol-Version: 2025-11-25"
	post("an unknown session", "tools/list", `{}`, legacy, "Mcp-Session-Id: "+s.plant("session id"))
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"token":%q}`
	modern := func(method, name string) []string {
		return []string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: " + method, "Mcp-Name: " + name}
	}
	post("_meta", "tools/call", fmt.Sprintf(`{"name":"demo__fail","arguments":{},`+meta+`}`, s.plant("_meta")), modern("tools/call", "demo__fail")...)
	post("a request state", "tools/call", fmt.Sprintf(`{"name":"demo__ask","arguments":{},"requestState":%q,`+meta+`}`, s.plant("request state"), s.plant("_meta beside a request state")),
		modern("tools/call", "demo__ask")...)
	post("a prompt's argument", "prompts/get", fmt.Sprintf(`{"name":"demo__nothing","arguments":{"token":%q},`+meta+`}`, s.plant("prompt argument"), s.plant("_meta of a prompt")),
		modern("prompts/get", "demo__nothing")...)
	uri := "demo+https://example.com/file?token=" + url.QueryEscape(s.plant("resource URI"))
	// The protocol wants a missing resource's URI repeated to who asked for it.
	read := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":%q,`+meta+`}}`, uri, s.plant("_meta of a resource"))
	s.text("the answer to a resource's URI", s.Do(s.t, http.MethodPost, "/mcp", read, modern("resources/read", uri)...).Body, "resource URI")
	post("another name in the header", "tools/call", fmt.Sprintf(`{"name":"demo__echo","arguments":{"text":%q},`+meta+`}`, s.plantUnnamed("text under a wrong header"), s.plant("_meta under a wrong header")),
		modern("tools/call", "demo__add")...)

	// A person who pastes a key where its id belongs.
	for _, r := range []struct{ method, path, body string }{
		{http.MethodDelete, "/api/v1/keys/%s", ""},
		{http.MethodGet, "/api/v1/keys/%s", ""},
		{http.MethodPost, "/api/v1/keys/%s/rotate", ""},
	} {
		name := "a key in the path of " + r.method + " " + r.path
		s.text("the answer to "+name, s.Do(s.t, r.method, fmt.Sprintf(r.path, url.PathEscape(s.plant(name))), r.body).Body)
	}
	// The answers name the object that does not exist; nothing keeps the name.
	for _, r := range []struct{ method, path, body string }{
		{http.MethodPut, "/api/v1/users/%s/password", `{"password":"long enough for one"}`},
		{http.MethodPatch, "/api/v1/servers/%s", `{"title":"x"}`},
	} {
		name := "a key in the path of " + r.method + " " + r.path
		s.text("the answer to "+name, s.Do(s.t, r.method, fmt.Sprintf(r.path, url.PathEscape(s.plant(name))), r.body).Body, name)
	}
	// A key that exists: shown once, to the one who made it.
	made := s.Do(s.t, http.MethodPost, "/api/v1/keys", `{"name":"k","scopes":["tools:read"]}`)
	var key struct{ Key string }
	if err := json.Unmarshal([]byte(made.Body), &key); err != nil || key.Key == "" {
		s.t.Fatalf("POST /api/v1/keys: %d %s", made.Status, made.Body)
	}
	s.set.Add("a key that exists", key.Key)
	s.text("the answer to a key that may not", s.Do(s.t, http.MethodPost, "/mcp/request", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"x"}}}`,
		"Authorization: Bearer "+key.Key).Body)
}

// stored keeps secrets with the instance, which gives them back to nobody.
func (s *scene) stored() {
	s.t.Helper()
	for _, r := range []struct{ method, path, form string }{
		{http.MethodPut, "/api/v1/secrets/ocr/vision", `{"value":%q}`},
		{http.MethodPut, "/api/v1/secrets/ocr/vision", `{"value":[%q]}`},
		{http.MethodPut, "/api/v1/secrets/no%%20such/name", `{"value":%q}`},
		{http.MethodPut, "/api/v1/secrets/ocr/vision", `{"value":"x","more":%q}`},
	} {
		name := "a stored secret, as " + r.form
		s.text("the answer to "+name, s.Do(s.t, r.method, strings.ReplaceAll(r.path, "%%", "%"), fmt.Sprintf(r.form, s.plant(name))).Body)
	}
	if got := s.Do(s.t, http.MethodPut, "/api/v1/secrets/ocr/google_vision", fmt.Sprintf(`{"value":%q}`, s.plant("a secret that is kept"))); got.Status >= 300 {
		s.t.Errorf("a secret could not be stored: %d %s", got.Status, got.Body)
	}
}

// follow reads the calls as they happen, and gives all that was said when it is
// called.
func (s *scene) follow() func() string {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/api/v1/calls/tail", http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testkit.AdminKey)
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("GET /api/v1/calls/tail: %v %v", resp, err)
	}
	said := make(chan string)
	go func() {
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body) // until it is left
		said <- string(text)
	}()
	return func() string {
		cancel()
		text := <-said
		if !strings.Contains(text, "vault") {
			s.t.Errorf("the tail of calls tells of no call: %.200s", text)
		}
		return text
	}
}

// search looks at everything that an instance says about itself, and into its
// files while it runs.
func (s *scene) search() {
	s.t.Helper()
	var doc struct {
		Paths map[string]map[string]any
	}
	openapi := s.Do(s.t, http.MethodGet, "/api/v1/openapi.json", "").Body
	if err := json.Unmarshal([]byte(openapi), &doc); err != nil || len(doc.Paths) == 0 {
		s.t.Fatalf("openapi.json: %v", err)
	}
	paths := []string{"/metrics", "/readyz", "/healthz", "/", "/mcp/tools"}
	for path, methods := range doc.Paths {
		if methods["get"] != nil && !strings.Contains(path, "{") && path != "/me/credentials" && path != "/calls/tail" && path != "/packs/export" { // for users: test/usercredentials; without an end: follow; without a server that could be in a pack: internal/pack
			paths = append(paths, path)
		}
	}
	for _, path := range paths {
		if !strings.HasPrefix(path, "/api/") && doc.Paths[path] != nil {
			path = "/api/v1" + path
		}
		r := s.Do(s.t, http.MethodGet, path, "")
		if r.Status != http.StatusOK && r.Status != http.StatusBadRequest && r.Status != http.StatusUnprocessableEntity {
			s.t.Errorf("GET %s: %d %s", path, r.Status, r.Body)
		}
		s.text("GET "+path, r.Body)
	}
	s.text("the log", s.Log.String())
	s.tree(s.Dir)
}
