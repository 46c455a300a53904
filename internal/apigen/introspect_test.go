package apigen_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
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
	if schema, err := graphql.Parse(text); err != nil {
		t.Error(err)
	} else if chosen, err := schema.Select("Q", "b: a"); err != nil || chosen != "{ b: a }" {
		t.Errorf("%q %v", chosen, err)
	}
	if header.Get("Content-Type") != "text/plain" {
		t.Error("the headers of whoever asks were changed")
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
