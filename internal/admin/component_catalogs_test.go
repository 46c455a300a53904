package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// shelf holds one catalog.
type shelf struct{}

func (shelf) ComponentCatalogs(context.Context, *junctor.Principal) ([]ComponentCatalog, error) {
	own := ComponentCatalog{Name: "fleet", ID: "https://x/fleet", Components: []string{"fleet:Gauge"}, Document: json.RawMessage(`{"catalogId":"https://x/fleet"}`)}
	other := own
	other.Name = "demo__echo" // as requests that fit the document call everything
	return []ComponentCatalog{own, other}, nil
}

func (shelf) PutComponentCatalog(_ context.Context, _ *junctor.Principal, name string, document json.RawMessage, _ time.Time) (ComponentCatalog, error) {
	return ComponentCatalog{Name: name, Components: []string{}, Document: document}, nil
}

func (shelf) RemoveComponentCatalog(_ context.Context, _ *junctor.Principal, name string) error {
	if name == "gone" {
		return junctor.Errorf(junctor.CodeNotFound, "there is none")
	}
	return nil
}

func TestComponentCatalogs(t *testing.T) {
	t.Parallel()
	h := newWorld().handler(t)
	if rec := ask(h, "tools:read", "GET", "/component-catalogs", ""); rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), `"id":"https://x/fleet"`) || strings.Contains(rec.Body.String(), "document") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if rec := ask(h, "tools:read", "GET", "/component-catalogs/fleet", ""); rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), `"document":{"catalogId":"https://x/fleet"}`) {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	for path, want := range map[string]int{"GET /component-catalogs/gone": 404, "DELETE /component-catalogs/gone": 404, "DELETE /component-catalogs/fleet": 204} {
		method, at, _ := strings.Cut(path, " ")
		if rec := ask(h, "admin", method, at, ""); rec.Code != want {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
	if rec := ask(h, "admin", "PUT", "/component-catalogs/a", `{"document":{"z":1,"a":[]}}`); rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), `"document":{"z":1,"a":[]}`) {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if rec := ask(h, "servers:write,agents:write", "PUT", "/component-catalogs/a", `{"document":{}}`); rec.Code != http.StatusForbidden {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}
