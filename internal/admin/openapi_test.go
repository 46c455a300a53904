package admin

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"

	junctor "github.com/junctor-mcp/junctor"
)

var update = flag.Bool("update", false, "write golden files")

// operations walks what is registered, not what the table says.
func operations(a *api) map[string]*huma.Operation {
	all := map[string]*huma.Operation{}
	for _, item := range a.huma.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Delete, item.Patch, item.Head, item.Options, item.Trace} {
			if op != nil {
				all[op.OperationID] = op
			}
		}
	}
	return all
}

func TestEveryRouteHasAClass(t *testing.T) {
	t.Parallel()
	w := newWorld()
	a := newAPI(w.options())
	ops, h := operations(a), w.handler(t)
	for id, op := range ops {
		scope, ok := requiredScopes()[id]
		if !ok {
			t.Errorf("%s %s (%s) is not in the table of scopes", op.Method, op.Path, id)
			continue
		}
		path := regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(op.Path, "x")
		if rec := ask(h, "", op.Method, path, ""); rec.Code != 401 {
			t.Errorf("%s %s without a credential answers %d", op.Method, op.Path, rec.Code)
		}
		// Every scope but the right one.
		other := "events:send"
		if scope == junctor.ScopeEventsSend {
			other = "tools:read"
		}
		rec := ask(h, other, op.Method, path, "")
		if want := scope != scopeAnyone; (rec.Code == 403) != want {
			t.Errorf("%s %s with another scope answers %d", op.Method, op.Path, rec.Code)
		}
	}
	for id := range requiredScopes() {
		if ops[id] == nil {
			t.Errorf("%s is in the table of scopes, and no route", id)
		}
	}
	if err := newAPI(newWorld().options()).checkScope(callerOf(t.Context()), "no-such-operation"); err == nil {
		t.Error("a route without a class was let through")
	}
}

// A read deadline that outlives the body ends the context of a running call.
func TestCallHasNoReadDeadline(t *testing.T) {
	t.Parallel()
	op := operations(newAPI(newWorld().options()))["call-tool"]
	if op.BodyReadTimeout >= 0 {
		t.Errorf("BodyReadTimeout of call-tool is %v", op.BodyReadTimeout)
	}
}

func TestDocument(t *testing.T) {
	t.Parallel()
	rec := ask(newWorld().handler(t), "tools:read", "GET", "/openapi.json", "")
	if rec.Code != 200 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	var got bytes.Buffer
	if err := json.Indent(&got, bytes.TrimSpace(rec.Body.Bytes()), "", "  "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	golden := filepath.Join("testdata", "openapi.json")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the document has changed; look at it with go test -run Document ./internal/admin -update && git diff")
	}
}

// What the routes answer is what the document says they answer.
func TestAnswersFitTheDocument(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.servers = append(w.servers, junctor.Server{ // to be exported
		ID: "notes", Tenant: "default", Mode: junctor.ModeBYO, State: junctor.StateActive, Connection: junctor.Connection{Transport: junctor.TransportHTTP, URL: "https://h.example/mcp"},
	})
	h := w.handler(t)
	ask(h, "admin", "POST", "/keys", `{"name":"a","scopes":["admin"]}`)
	ask(h, "admin", "PUT", "/secrets/ocr/demo__echo", `{"value":"x"}`)
	doc, err := jsonschema.UnmarshalJSON(ask(h, "admin", "GET", "/openapi.json", "").Body)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("doc.json", doc); err != nil {
		t.Fatal(err)
	}
	for id, op := range operations(newAPI(w.options())) {
		if op.Method != http.MethodGet || op.Responses["200"].Content["application/json"] == nil {
			continue
		}
		path := strings.NewReplacer("{id}", "demo", "{name}", "demo__echo", "{owner}", "ocr", "{user}", "u1").Replace(op.Path)
		who := "admin"
		if strings.Contains(id, "-my-") {
			who = "admin,user=u1"
		}
		rec := ask(h, who, "GET", path, "")
		if rec.Code != http.StatusOK {
			t.Errorf("%s answers %d: %s", id, rec.Code, rec.Body)
		}
		pointer := "doc.json#/paths/" + strings.ReplaceAll(op.Path, "/", "~1") + "/get/responses/200/content/application~1json/schema"
		check(t, c, id, pointer, rec.Body.Bytes())
	}
	check(t, c, "a problem", "doc.json#/components/schemas/Problem", ask(h, "admin", "GET", "/calls?x=y", "").Body.Bytes())
	check(t, c, "a new key", "doc.json#/components/schemas/CreatedKey", ask(h, "admin", "POST", "/keys", `{"name":"a","scopes":["admin"]}`).Body.Bytes())
}

func check(t *testing.T, c *jsonschema.Compiler, name, pointer string, body []byte) {
	t.Helper()
	schema, err := c.Compile(pointer)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("%s does not fit its schema: %v\n%s", name, err, body)
	}
}

func BenchmarkRegister(b *testing.B) {
	o := newWorld().options()
	for b.Loop() {
		newAPI(o)
	}
}
