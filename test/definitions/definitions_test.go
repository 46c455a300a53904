// Package definitions offers every kind of definition that would do harm through
// every way a definition can enter, as every kind of caller who may not bring it.
// Nothing may run, be read or be taken over.
package definitions

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/junctor-mcp/junctor/internal/proc"
	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/canary"
	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
)

// TestMain lets the test binary play the reapers of the commands that instances in
// this process start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == proc.ReaperVerb {
		os.Exit(proc.RunReaper(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// body is a JSON object that describes a server, or a part of one.
type body = map[string]any

// offer is a definition that its caller may not bring.
type offer struct {
	name string
	body body
	text string // what it does in one text, for ways in that take no server
}

// caller is somebody who may not bring any of the offers.
type caller struct {
	name   string
	header string
}

// entry is a way for a definition to enter. It sends one request or several.
type entry struct {
	name string
	send func(s *scene, c caller, o offer) []testkit.Reply
	// stores says that offers of an operator do nothing here yet: they are kept, or
	// are no definitions. For all others TestOffersOfAnOperatorAct shows that they act.
	stores bool
}

// scene is an instance, what its host keeps, and the programs that listen for it.
type scene struct {
	*testkit.Instance
	t        *testing.T
	peer     string // an honest MCP server
	listener *listener
	secrets  *canary.Set
	marker   string // a file that no command may make
	made     int
}

// listener takes down what reaches it, and answers like the host of an API
// document.
type listener struct {
	*httptest.Server
	mu   sync.Mutex
	text strings.Builder
}

const api = `{"openapi":"3.1.0","info":{"title":"x","version":"1"},"paths":{"/a":{"get":{"operationId":"a","responses":{"200":{"description":"ok"}}}}}}`

func listen(t *testing.T) *listener {
	t.Helper()
	l := &listener{}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		l.mu.Lock()
		fmt.Fprintln(&l.text, r.Method, r.URL.String(), r.Header, string(content))
		l.mu.Unlock()
		if strings.Contains(r.URL.Path, "openapi") {
			_, _ = io.WriteString(w, api)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(l.Close)
	return l
}

func (l *listener) receivedCount() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

const variable = "DEFINITIONS_CANARY"

func start(t *testing.T, settings testkit.Settings) *scene {
	t.Helper()
	s := &scene{t: t, peer: upstreams.Start(t, upstreams.Modern).URL, listener: listen(t), secrets: canary.New(0), marker: filepath.Join(t.TempDir(), "ran")}
	maps.Copy(settings, testkit.Settings{"egress-allow": "127.0.0.0/8"})
	s.Instance = testkit.Start(t, settings)
	s.secrets.Add("the environment", os.Getenv(variable))
	s.secrets.Add("a file", s.file())
	if key, err := os.ReadFile(filepath.Join(s.Dir, "seal.key")); err == nil {
		s.secrets.Add("seal.key", strings.TrimSpace(string(key)))
	}
	return s
}

// file is a file of the host with a secret in it, and an API document beside it.
func (s *scene) file() string {
	s.t.Helper()
	const secret = "file-canary-4c1e7a55d2"
	for name, text := range map[string]string{
		"token": secret, "openapi.json": strings.Replace(api, `"ok"`, `"`+secret+`"`, 1),
		"part.json": `{"get":{"operationId":"leak","description":"` + secret + `","responses":{"200":{"description":"` + secret + `"}}}}`,
	} {
		if err := os.WriteFile(filepath.Join(s.Dir, "..", name), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	return secret
}

func (s *scene) path(name string) string {
	path, err := filepath.Abs(filepath.Join(s.Dir, "..", name))
	if err != nil {
		s.t.Fatal(err)
	}
	return path
}

// add makes something with the admin key.
func (s *scene) add(path string, b body) (out struct{ ID, Name, Key string }) {
	s.t.Helper()
	r := s.Do(s.t, http.MethodPost, "/api/v1"+path, formatValue(b))
	if r.Status/100 != 2 {
		s.t.Fatalf("%s: %d %s", path, r.Status, r.Body)
	}
	_ = json.Unmarshal([]byte(r.Body), &out)
	return out
}

func formatValue(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func (s *scene) name() string {
	s.made++
	return fmt.Sprintf("thing-%d", s.made)
}

// as sends a request for somebody.
func (s *scene) as(c caller, method, path string, b any) testkit.Reply {
	content := ""
	if b != nil {
		content = formatValue(b)
	}
	return s.Do(s.t, method, "/api/v1"+path, content, c.header)
}

func mergeBody(b body, more body) body {
	out := body{}
	maps.Copy(out, b)
	maps.Copy(out, more)
	return out
}

// offers are the definitions that nobody of the callers may bring.
func (s *scene) offers() []offer {
	to := s.listener.URL
	run := "cmd:touch " + s.marker
	file, own := "file:"+s.path("token"), "file:"+filepath.Join(s.Dir, "seal.key")
	env := "env:" + variable
	web := func(more body) body {
		return mergeBody(body{"url": to, "base_url": to, "document_url": to + "/openapi.json"}, more)
	}
	bearer := func(token string) body { return web(body{"auth": body{"type": "bearer", "token": token}}) }
	header := func(value string) body { return web(body{"headers": body{"X-Leak": value}}) }
	document := func(address string) body { return body{"base_url": to, "document_url": address} }
	relative := strings.Replace(api, `"/a":{`, `"/b":{"$ref":"part.json"},"/a":{`, 1)
	return []offer{
		{"a command", body{"command": []string{"touch", s.marker}, "transport": "stdio"}, run},
		{"a command through a shell", body{"command": []string{"sh", "-c", "touch " + s.marker}, "transport": "stdio"}, run},
		{"bearer cmd:", bearer(run), run},
		{"bearer env:", bearer(env), env},
		{"bearer file:", bearer(file), file},
		{"bearer the sealing key", bearer(own), own},
		{"bearer an own variable", bearer("env:JUNCTOR_ADMIN_KEY"), "env:JUNCTOR_ADMIN_KEY"},
		{"header cmd:", header(run), run},
		{"header env:", header(env), env},
		{"header file:", header(file), file},
		{"query env:", web(body{"url": to + "/mcp?" + env, "base_url": to + "/?" + env}), env},
		{"basic cmd:", web(body{"auth": body{"type": "basic", "username": "u", "password": run}}), run},
		{"client secret env:", web(body{"auth": body{"type": "oauth-client", "client_id": "c", "client_secret": env, "token_url": to + "/token"}}), env},
		{"subject cmd:", web(body{"auth": body{"type": "oauth-client", "grant": "token-exchange", "subject": run, "token_url": to + "/token"}}), run},
		{"a document that is a file", document("file://" + s.path("openapi.json")), "file://" + s.path("token")},
		{"a file in capitals", document("FILE://" + s.path("openapi.json")), "FILE://" + s.path("token")},
		{"a file of the host", document("file://localhost" + s.path("openapi.json")), file},
		{"a file beside a text", mergeBody(document("FILE://"+s.path("openapi.json")), body{"document": relative}), file},
		{"a file beside a text, small", mergeBody(document("file://"+s.path("openapi.json")), body{"document": relative}), file},
	}
}

func selectMembers(b body, names ...string) body {
	out := body{}
	for _, name := range names {
		if v, ok := b[name]; ok {
			out[name] = v
		}
	}
	return out
}

// upstream is the part of an offer that describes an upstream server; generated the
// part that describes one made of a document.
func upstream(b body) body {
	return selectMembers(b, "url", "command", "transport", "auth", "headers", "env", "cwd")
}

func generated(b body) body {
	return selectMembers(b, "base_url", "document_url", "document", "auth", "headers", "command", "transport")
}

// entries are the ways in.
func entries() []entry {
	post := func(path string, shape func(body) body, more body) func(*scene, caller, offer) []testkit.Reply {
		return func(s *scene, c caller, o offer) []testkit.Reply {
			return []testkit.Reply{s.as(c, http.MethodPost, path, mergeBody(shape(o.body), mergeBody(more, body{"id": s.name()})))}
		}
	}
	look := func(path string, shape func(body) body) func(*scene, caller, offer) []testkit.Reply {
		return func(s *scene, c caller, o offer) []testkit.Reply {
			return []testkit.Reply{s.as(c, http.MethodPost, path, shape(o.body))}
		}
	}
	apply := func(shape func(body) body, more body) func(*scene, caller, offer) []testkit.Reply {
		return func(s *scene, c caller, o offer) []testkit.Reply {
			return []testkit.Reply{s.as(c, http.MethodPost, "/apply", mergeBody(body{"servers": body{s.name(): shape(o.body), "hers": shape(o.body)}}, more))}
		}
	}
	// mine is a server that the caller has, if the caller may have one.
	mine := func(kind body) func(*scene, caller) (string, []testkit.Reply) {
		return func(s *scene, c caller) (string, []testkit.Reply) {
			id := s.name()
			b := mergeBody(kind, body{"id": id})
			if b["url"] == "peer" {
				b["url"] = s.peer
			}
			return id, []testkit.Reply{s.as(c, http.MethodPost, "/servers", b)}
		}
	}
	patch := func(of func(*scene, caller) (string, []testkit.Reply), shape func(body) body) func(*scene, caller, offer) []testkit.Reply {
		return func(s *scene, c caller, o offer) []testkit.Reply {
			id, replies := of(s, c)
			for _, to := range []string{id, "hers", "referring", "pets"} {
				replies = append(replies, s.as(c, http.MethodPatch, "/servers/"+to, shape(o.body)))
			}
			return replies
		}
	}
	byURL, byDocument := mine(body{"url": "peer"}), mine(body{"document": api, "base_url": "https://example.com"})
	reimport := func(more body) func(*scene, caller, offer) []testkit.Reply {
		return func(s *scene, c caller, o offer) []testkit.Reply {
			id, replies := byDocument(s, c)
			for _, to := range []string{id, "pets"} {
				replies = append(replies, s.as(c, http.MethodPost, "/servers/"+to+"/import", mergeBody(selectMembers(o.body, "document", "document_url"), more)))
				replies = append(replies, s.as(c, http.MethodGet, "/servers/"+to+"/validate", nil), s.as(c, http.MethodGet, "/servers/"+to+"/document", nil))
			}
			return replies
		}
	}
	pack := func(path string) func(*scene, caller, offer) []testkit.Reply {
		return func(s *scene, c caller, o offer) []testkit.Reply {
			file := body{"pack": "mine", "title": "x", "summary": "x", "servers": body{s.name(): upstream(o.body)}}
			secret := body{
				"pack": "asks", "title": "x", "summary": "x", "questions": []body{{"name": "token", "title": "t", "secret": true}},
				"servers": body{s.name(): body{"url": s.listener.URL, "auth": body{"type": "bearer", "secret": "${token}"}}},
			}
			commands := body{}
			if argv, ok := o.body["command"]; ok {
				for id := range file["servers"].(body) {
					commands[id] = argv
				}
			}
			more := body{}
			if path == "/packs/add" {
				more["commands"] = commands
			}
			return []testkit.Reply{
				s.as(c, http.MethodPost, path, mergeBody(body{"file": formatValue(file)}, more)),
				s.as(c, http.MethodPost, path, body{"file": formatValue(secret), "answers": body{"token": o.text}}),
			}
		}
	}
	same := func(b body) body { return b }
	return []entry{
		{"add an upstream server", post("/servers", upstream, nil), false},
		{"change a server that is switched off", func(s *scene, c caller, o offer) []testkit.Reply {
			id, replies := byURL(s, c)
			return append(replies, s.as(c, http.MethodPatch, "/servers/"+id, mergeBody(upstream(o.body), body{"state": "inactive"})),
				s.as(c, http.MethodPatch, "/servers/"+id, body{"state": "active"}))
		}, true},
		{"add a generated server", post("/servers", generated, nil), false},
		{"preview", look("/servers/preview", generated), false},
		{"preview with everything", look("/servers/preview", same), false},
		{"preview the document", look("/servers/preview/document", generated), false},
		{"preview in steps", look("/servers/preview/steps", generated), false},
		{"probe", look("/servers/probe", upstream), false},
		{"probe in steps", look("/servers/probe/steps", upstream), false},
		{"change an upstream server", patch(byURL, upstream), false},
		{"change a generated server", patch(byDocument, generated), true},
		{"import again", reimport(body{"accept_breaking": true}), false},
		{"import again, dry run", reimport(body{"dry_run": true}), false},
		{"apply", apply(upstream, nil), false},
		{"apply without reaching", apply(upstream, body{"unseen": true}), false},
		{"apply, dry run", apply(upstream, body{"dry_run": true}), false},
		{"apply a generated server", apply(generated, nil), false},
		{"apply a generated server, dry run", apply(generated, body{"dry_run": true}), false},
		{"apply and prune", apply(upstream, body{"prune": true}), true},
		{"apply a file", func(s *scene, c caller, o offer) []testkit.Reply {
			return []testkit.Reply{
				s.as(c, http.MethodPost, "/apply", body{"file": formatValue(body{"servers": body{s.name(): upstream(o.body)}})}),
				s.as(c, http.MethodPost, "/apply", body{"dry_run": true, "file": formatValue(body{"servers": body{s.name(): generated(o.body)}})}),
			}
		}, false},
		{"plan a pack", pack("/packs/plan"), true},
		{"add a pack", pack("/packs/add"), false},
		{"credentials of one's own", func(s *scene, c caller, o offer) []testkit.Reply {
			return []testkit.Reply{s.as(c, http.MethodPut, "/servers/personal/credentials/me", selectMembers(o.body, "auth", "headers"))}
		}, true},
		{"a source", func(s *scene, c caller, o offer) []testkit.Reply {
			replies := []testkit.Reply{s.as(c, http.MethodPost, "/sources", body{"id": s.name(), "style": "github", "secret": o.text})}
			for _, style := range []string{"redis", "redis-stream"} {
				replies = append(replies, s.as(c, http.MethodPost, "/sources", body{"id": s.name(), "style": style, "secret": o.text}))
			}
			return append(replies, s.as(c, http.MethodPatch, "/sources/hook", body{"secret": o.text}),
				s.as(c, http.MethodPost, "/apply", body{"dry_run": true, "sources": body{s.name(): body{"style": "github", "secret": o.text}}}),
				s.as(c, http.MethodPost, "/apply", body{"sources": body{s.name(): body{"style": "github", "secret": o.text}}}))
		}, false},
		{"a model", func(s *scene, c caller, o offer) []testkit.Reply {
			name := s.name()
			return []testkit.Reply{
				s.as(c, http.MethodPost, "/models", body{"name": name, "kind": "openai", "model": "m", "base_url": s.listener.URL, "key": o.text}),
				s.as(c, http.MethodPost, "/models/"+name+"/test", nil),
				s.as(c, http.MethodPatch, "/models/thinker", body{"base_url": s.listener.URL}),
				s.as(c, http.MethodPost, "/models/thinker/test", nil),
			}
		}, true},
		{"an agent", func(s *scene, c caller, o offer) []testkit.Reply {
			return []testkit.Reply{
				s.as(c, http.MethodPost, "/agents", body{"name": s.name(), "tools": []string{"secluded/*", "hers/*"}, "brain": body{"rules": "fallback: " + formatValue(o.text)}}),
				s.as(c, http.MethodPatch, "/agents/clerk", body{"brain": body{"rules": "fallback: mine"}}),
				s.as(c, http.MethodPost, "/apply", body{"agents": body{"clerk": body{"tools": []string{"hers/*"}}}}),
				s.as(c, http.MethodPost, "/apply", body{"agents": body{}, "prune": true}),
			}
		}, true},
		{"a trigger", func(s *scene, c caller, o offer) []testkit.Reply {
			return []testkit.Reply{
				s.as(c, http.MethodPost, "/triggers", body{"name": s.name(), "match": body{"type": "x"}, "action": body{"agent": o.text, "tool": "x"}}),
				s.as(c, http.MethodPost, "/triggers/test", body{"trigger": body{"name": "t", "match": body{"type": "x"}, "action": body{"agent": o.text, "tool": "x", "arguments": body{"a": o.text}}}, "event": body{"type": "x"}}),
			}
		}, true},
		{"a secret", func(s *scene, c caller, o offer) []testkit.Reply {
			return []testkit.Reply{
				s.as(c, http.MethodPut, "/secrets/hers/credential", body{"value": o.text}),
				s.as(c, http.MethodPut, "/secrets/referring/credential", body{"value": o.text}),
			}
		}, true},
		{"a room", func(s *scene, c caller, o offer) []testkit.Reply {
			return []testkit.Reply{
				s.as(c, http.MethodPost, "/rooms", body{"name": o.text, "members": []body{{"agent": "clerk"}}}),
				s.as(c, http.MethodPatch, "/rooms/hall", body{"name": o.text, "members": []body{{"agent": "clerk"}}}),
			}
		}, true},
		{"a chain", func(s *scene, c caller, o offer) []testkit.Reply {
			return []testkit.Reply{
				s.as(c, http.MethodPost, "/chains/agents/find", body{"agent": o.text}),
				s.as(c, http.MethodPost, "/chains/main/rewind", body{"to": 1}),
			}
		}, true},
		{"a login", func(s *scene, c caller, _ offer) []testkit.Reply {
			return []testkit.Reply{
				s.as(c, http.MethodPost, "/servers/referring/login", body{"shared": true}),
				s.as(c, http.MethodPost, "/servers/hers/login", body{"shared": true}),
				s.as(c, http.MethodPost, "/servers/hers/suggestions", body{"model": "thinker"}),
			}
		}, true},
	}
}

// addFixtures makes what belongs to others.
func (s *scene) addFixtures() (callers []caller, state func() string) {
	bearer := func(key string) string { return "Authorization: Bearer " + key }
	user := func(name, role string, scopes ...string) string {
		s.add("/users", body{"name": name, "role": role})
		return bearer(s.add("/keys", body{"name": "k-" + name, "user": name, "scopes": scopes}).Key)
	}
	developer := []string{"tools:read", "tools:call", "servers:write", "agents:write"}
	hers := caller{"ann", user("ann", "developer", developer...)}
	for _, b := range []body{
		{"id": "hers", "url": s.peer, "auth": body{"type": "bearer", "token": "her-password"}},
		{"id": "secluded", "url": s.peer, "private": true},
		{"id": "pets", "document": api, "base_url": "https://example.com"},
		{"id": "personal", "url": s.peer, "credentials": "per-user"},
	} {
		if r := s.as(hers, http.MethodPost, "/servers", b); r.Status/100 != 2 {
			s.t.Fatalf("%d %s", r.Status, r.Body)
		}
	}
	s.add("/servers", body{"id": "referring", "url": s.peer, "auth": body{"type": "bearer", "token": "env:" + variable}})
	s.add("/agents", body{"name": "clerk", "tools": []string{"hers/*"}})
	s.add("/sources", body{"id": "hook", "style": "github", "secret": "a fine secret of enough bytes"})
	s.add("/models", body{"name": "thinker", "kind": "openai", "model": "m", "base_url": s.peer, "key": "model-key-canary-77e1"})
	s.secrets.Add("a model's key", "model-key-canary-77e1")

	tenant := s.Do(s.t, http.MethodPost, "/api/v1/tenants", `{"id":"elsewhere"}`)
	var elsewhere struct {
		AdminKey struct{ Key string } `json:"admin_key"`
	}
	if err := json.Unmarshal([]byte(tenant.Body), &elsewhere); err != nil {
		s.t.Fatal(err)
	}
	user("root", "admin", "tools:read")
	agent := s.add("/agents", body{"name": "bot", "tools": []string{"hers/*"}})
	callers = []caller{
		{"a developer", user("dan", "developer", developer...)},
		{"a viewer", user("vic", "viewer", "tools:read")},
		{"an admin of another tenant", bearer(elsewhere.AdminKey.Key)},
		{"an agent", bearer(agent.Key)},
		{"a narrow key of an operator", bearer(s.add("/keys", body{"name": "narrow", "user": "root", "scopes": []string{"tools:read"}}).Key)},
		{"a service that writes servers", bearer(s.add("/keys", body{"name": "deploy", "scopes": []string{"tools:read", "tools:call", "servers:write"}}).Key)},
		{"a service that lists tools", bearer(s.add("/keys", body{"name": "ci", "scopes": []string{"tools:read", "tools:call"}}).Key)},
		{"nobody", "Authorization:"},
	}
	state = func() string {
		var lines []string
		for _, path := range []string{"/servers/hers", "/servers/secluded", "/servers/referring", "/servers/pets", "/servers/personal", "/agents/clerk", "/sources/hook", "/models/thinker"} {
			r := s.Do(s.t, http.MethodGet, "/api/v1"+path, "")
			var row map[string]any
			_ = json.Unmarshal([]byte(r.Body), &row)
			lines = append(lines, fmt.Sprint(path, r.Status, formatValue(selectMembers(row, "owner", "url", "auth", "headers", "command", "api", "tools", "brain", "style", "base_url", "private"))))
		}
		return strings.Join(lines, "\n")
	}
	return callers, state
}

// TestNothingIsRunReadOrTakenOver is the table of all ways in, all offers and all
// callers.
func TestNothingIsRunReadOrTakenOver(t *testing.T) {
	t.Setenv(variable, "environment-canary-90ab51c3")
	engines := map[string]func(t *testing.T) testkit.Settings{
		"sqlite": func(*testing.T) testkit.Settings { return testkit.Settings{} },
		"postgres": func(t *testing.T) testkit.Settings {
			t.Helper()
			pg, err := pgtest.Start(pgtest.Options{})
			pgtest.Need(t, err)
			t.Cleanup(pg.Stop)
			return testkit.Settings{"db": pg.Database(t)}
		},
	}
	for _, engine := range slices.Sorted(maps.Keys(engines)) {
		t.Run(engine, func(t *testing.T) {
			s := start(t, engines[engine](t))
			callers, state := s.addFixtures()
			before, offers, ways, sent := state(), s.offers(), entries(), 0
			if len(ways) < 15 || len(offers) < 12 || len(callers) < 6 {
				t.Fatalf("%d ways in, %d offers, %d callers", len(ways), len(offers), len(callers))
			}
			for _, way := range ways {
				for _, c := range callers {
					for _, o := range offers {
						heard := len(s.listener.receivedCount())
						replies := way.send(s, c, o)
						sent += len(replies)
						what := fmt.Sprintf("%s, %s, as %s", way.name, o.name, c.name)
						if _, err := os.Stat(s.marker); err == nil {
							t.Errorf("%s: the command ran", what)
							_ = os.Remove(s.marker)
						}
						for _, hit := range s.secrets.Text("the listener", s.listener.receivedCount()[heard:]) {
							t.Errorf("%s: %v", what, hit)
						}
						for _, r := range replies {
							for _, hit := range s.secrets.Text("the answer", r.Body) {
								t.Errorf("%s: %v", what, hit)
							}
							if r.Status >= 500 && r.Status != http.StatusBadGateway && r.Status != http.StatusGatewayTimeout {
								t.Errorf("%s: %d %s", what, r.Status, r.Body)
							}
						}
					}
					if now := state(); now != before {
						t.Fatalf("%s, as %s: what belongs to others has changed:\n%s\nbefore:\n%s", way.name, c.name, now, before)
					}
				}
			}
			s.checkStored()
			t.Logf("%d ways in, %d offers, %d callers: %d requests", len(ways), len(offers), len(callers), sent)
		})
	}
}

// checkStored refuses references and commands that were stored for somebody who may
// not bring them: they would be read or run later.
func (s *scene) checkStored() {
	s.t.Helper()
	r := s.Do(s.t, http.MethodGet, "/api/v1/servers", "")
	var list struct{ Items []map[string]any }
	if err := json.Unmarshal([]byte(r.Body), &list); err != nil || len(list.Items) == 0 {
		s.t.Fatalf("%d %s", r.Status, r.Body)
	}
	for _, row := range list.Items {
		if row["id"] == "referring" {
			continue
		}
		for _, kept := range []string{"env:", "cmd:", "file:", "FILE:", s.marker} {
			if strings.Contains(formatValue(selectMembers(row, "url", "command", "auth", "headers", "env", "api")), kept) {
				s.t.Errorf("stored with %s: %s", kept, formatValue(row))
			}
		}
	}
}

// hasActed says whether a command ran or a secret of the host got out since the listener
// had heard so much.
func (s *scene) hasActed(heard int, replies []testkit.Reply) bool {
	_, err := os.Stat(s.marker)
	_ = os.Remove(s.marker)
	found := err == nil || len(s.secrets.Text("the listener", s.listener.receivedCount()[heard:])) > 0
	for _, r := range replies {
		found = found || len(s.secrets.Text("the answer", r.Body)) > 0
	}
	return found
}

// TestOffersOfAnOperatorAct shows that the table would see what it looks for: through
// each way in, an offer of somebody who may bring it runs or is read.
func TestOffersOfAnOperatorAct(t *testing.T) {
	t.Setenv(variable, "environment-canary-90ab51c3")
	s := start(t, testkit.Settings{"allow-commands": "true"})
	s.addFixtures()
	operator := caller{"an operator", "Authorization: Bearer " + testkit.AdminKey}
	for _, way := range entries() {
		if way.stores {
			continue
		}
		if !slices.ContainsFunc(s.offers(), func(o offer) bool {
			if o.name != "bearer env:" && o.name != "header env:" && o.name != "a command" {
				return false // one of each kind is enough
			}
			heard := len(s.listener.receivedCount())
			return s.hasActed(heard, way.send(s, operator, o))
		}) {
			t.Errorf("%s: no offer acts: the requests are broken, or nothing is to be feared there", way.name)
		}
	}
}

// TestAdminsCannotDefineCommands is the table for an admin where the operator does not
// allow commands: neither runs, and no file of the host is opened as a document.
func TestAdminsCannotDefineCommands(t *testing.T) {
	t.Setenv(variable, "environment-canary-90ab51c3")
	s := start(t, testkit.Settings{})
	s.addFixtures()
	admin := caller{"an admin", "Authorization: Bearer " + testkit.AdminKey}
	for _, way := range entries() {
		for _, o := range s.offers() {
			if strings.HasPrefix(o.text, "env:") || strings.Contains(o.name, "bearer file:") || strings.Contains(o.name, "header file:") {
				continue // an admin may have these read
			}
			if strings.HasPrefix(strings.ToLower(o.text), "file:") {
				o.text = "" // a reference, where a way in takes no server
			}
			heard := len(s.listener.receivedCount())
			if s.hasActed(heard, way.send(s, admin, o)) {
				t.Errorf("%s, %s", way.name, o.name)
			}
		}
	}
}
