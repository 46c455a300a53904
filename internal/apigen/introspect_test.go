package apigen_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen"
	"github.com/junctor-mcp/junctor/internal/apigen/graphql"
)

const introspected = `{"data":{"__schema":{"queryType":{"name":"Q"},"mutationType":null,"subscriptionType":null,"types":[
	{"kind":"OBJECT","name":"Q","fields":[{"name":"a","args":[],"type":{"kind":"NON_NULL","name":null,"ofType":{"kind":"SCALAR","name":"String"}}}]},
	{"kind":"SCALAR","name":"String"}]}}}`

// TestIntrospect asks a server that takes valid GraphQL of whom it knows.
func TestIntrospect(t *testing.T) {
	t.Parallel()
	schema := gqlparser.MustLoadSchema(&ast.Source{Input: "type Query { a: String! }"})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Query string }
		if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || json.NewDecoder(r.Body).Decode(&body) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if _, err := gqlparser.LoadQueryWithRules(schema, body.Query, nil); err != nil {
			t.Errorf("what was asked is no GraphQL: %v", err)
		}
		if r.Header.Get("Authorization") != "Bearer ours" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, introspected)
	}))
	defer server.Close()
	header := http.Header{"Authorization": {"Bearer ours"}, "Content-Type": {"text/plain"}}
	text, err := apigen.Introspect(t.Context(), server.Client(), server.URL, header, nil)
	if err != nil {
		t.Fatal(err)
	}
	if m := made(t, string(text)); len(m.Tools) != 1 || m.Tools[0].Key != "query a" {
		t.Errorf("%+v", m.Tools)
	}
	if schema, err := graphql.ParseSchema(text); err != nil {
		t.Error(err)
	} else if chosen, err := schema.CheckSelection("Q", "b: a"); err != nil || chosen != "{ b: a }" {
		t.Errorf("%q %v", chosen, err)
	}
	if header.Get("Content-Type") != "text/plain" {
		t.Error("the headers of the caller were changed")
	}
	if _, err := apigen.Introspect(t.Context(), server.Client(), server.URL, nil, nil); junctor.CodeOf(err) != junctor.CodeUpstream {
		t.Errorf("without credentials: %v", err)
	}
}

// TestIntrospectRefused: what is no schema is an error, whatever it is.
func TestIntrospectRefused(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"", "<html>__schema", "[]", `"data"`, `{"data":null}`, `{"data":{"__schema":null}}`, `{"data":[{"__schema":{}}]}`, `{"errors":[{"message":"introspection is disabled"}]}`} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
		if text, err := apigen.Introspect(t.Context(), server.Client(), server.URL, nil, nil); junctor.CodeOf(err) != junctor.CodeUpstream {
			t.Errorf("%q is taken: %s, %v", answer, text, err)
		}
		server.Close()
		if _, err := apigen.Introspect(t.Context(), server.Client(), server.URL, nil, nil); err == nil {
			t.Error("a server that is gone answers")
		}
	}
}

// TestIntrospectSaysWhyItIsRefused: an error repeats the reason of the server, whatever
// form it has, in one bounded line.
func TestIntrospectSaysWhyItIsRefused(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		"Introspection is disabled for this key.\nAsk ops.\n":                      " answers introspection with HTTP 403 and no schema: Introspection is disabled for this key.",
		"\r\n  \n\x1b[31mblocked\x07 by the firewall":                              "no schema: [31mblocked  by the firewall",
		"<!DOCTYPE html>\n<html><head><TITLE>\nAccess &amp; rights</TITLE></head>": "no schema: Access & rights",
		"<html><body>no title":     "no schema",
		`{"detail":"not for you"}`: `no schema: {"detail":"not for you"}`,
		`{"message":"no access"}`:  "no schema: no access",
		strings.Repeat("é", 1000):  "no schema: " + strings.Repeat("é", 150) + "…",
		"\x89PNG\x00\xff\xfe\x00":  "no schema",
		"":                         "no schema",
		`{"errors":[{"message":"a"},{"message":"b"}]}`: "no schema: a; b",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, answer)
		}))
		_, err := apigen.Introspect(t.Context(), server.Client(), server.URL, nil, nil)
		server.Close()
		if junctor.CodeOf(err) != junctor.CodeUpstream || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%.40q: %v; it should end with %q", answer, err, want)
		}
	}
}
