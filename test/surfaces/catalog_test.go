package surfaces

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/test/program"
)

const (
	fleetID = "https://fleet.example.com/catalogs/fleet-v1.json"
	fleet   = `{"catalogId": "` + fleetID + `", "components": {"fleet:Gauge": {"properties": {
		"label": {"$ref": "https://a2ui.org/specification/v0_9/common_types.json#/$defs/DynamicString"},
		"value": {"$ref": "https://a2ui.org/specification/v0_9/common_types.json#/$defs/DynamicNumber"}, "unit": {"type": "string"}}, "required": ["label", "value"]}},
	"fallbacks": {"fleet:Gauge": [{"id": "root", "component": "Card", "child": "row"}, {"id": "row", "component": "Row", "children": ["label", "value", "unit"]},
		{"id": "label", "component": "Text", "text": {"property": "label"}}, {"id": "value", "component": "Text", "text": {"property": "value"}}, {"id": "unit", "component": "Text", "text": {"property": "unit"}}]}}`
	lorry = "intents:\n  - match: speed\n    say: It drives.\n    surface:\n      catalogs: ['" + fleetID + "']\n      components:\n" +
		"        - {id: root, component: 'fleet:Gauge', label: Speed, value: 80, unit: km/h}\nfallback: what?\n"
)

// A catalog that an admin registers while the instance runs: its document is served,
// agents answer with its components, a client that names it gets them as they are, and
// the console draws what stands for them.
func TestRegisteredCatalog(t *testing.T) {
	t.Parallel()
	c := program.StartConsole(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"fleet.json": fleet, "lorry.yaml": lorry, "wrong.json": `{"components":{"Text":{}}}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, errs, code := c.Operate(t, "component-catalog", "add", "wrong", filepath.Join(dir, "wrong.json")); code == 0 || !strings.Contains(errs, "components.Text: the name must begin with a namespace") {
		t.Errorf("a wrong one: %d %s", code, errs)
	}
	if _, errs, code := c.Operate(t, "component-catalog", "add", "banking-v1", filepath.Join(dir, "fleet.json")); code == 0 || !strings.Contains(errs, "is built in") {
		t.Errorf("the name of another: %d %s", code, errs)
	}
	c.Tell(t, "component-catalog", "add", "fleet", filepath.Join(dir, "fleet.json"))
	if list := c.Tell(t, "component-catalog", "ls"); !strings.Contains(list, "fleet:Gauge") || !strings.Contains(list, "AccountCard") {
		t.Errorf("listed: %s", list)
	}
	c.Tell(t, "agent", "add", "lorry", "--rules", filepath.Join(dir, "lorry.yaml"), "--publish")

	get := func(path string) (int, string) {
		t.Helper()
		got, err := c.Request(t.Context(), http.MethodGet, path, "", "Authorization:")
		if err != nil {
			t.Fatal(err)
		}
		return got.Status, got.Body
	}
	for file, has := range map[string]string{"fleet.json": `"catalogId": "` + fleetID + `"`, "banking-v1.json": `"minimumPayment"`, "googlemaps-v1.json": `"latitude"`, "mcp-v1.json": `"fallback"`} {
		if status, body := get("/a2ui/catalogs/" + file); status != http.StatusOK || !strings.Contains(body, has) || !json.Valid([]byte(body)) {
			t.Errorf("%s: %d %s", file, status, body)
		}
	}
	for _, file := range []string{"fleet", "gone.json", "acme.fleet.json", "acme.banking-v1.json", "..json", "%2e%2e.json"} {
		if status, body := get("/a2ui/catalogs/" + file); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", file, status, body)
		}
	}
	if _, card := get("/a2a/lorry/.well-known/agent-card.json"); !strings.Contains(card, fleetID) {
		t.Errorf("the card: %s", card)
	}

	ask := func(catalogs string) string {
		t.Helper()
		got, err := c.Request(t.Context(), http.MethodPost, "/a2a/lorry/", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"speed"}],
			"metadata":{"a2uiClientCapabilities":{"v0.9":{"supportedCatalogIds":["https://a2ui.org/specification/v0_9/catalogs/basic/catalog.json"%s]}}}}}}`, catalogs), "A2A-Version: 1.0")
		if err != nil {
			t.Fatal(err)
		}
		return got.Body
	}
	if text := ask(`,"` + fleetID + `"`); !strings.Contains(text, `"component":"fleet:Gauge"`) {
		t.Errorf("to a client that has it: %s", text)
	}
	if text := ask(""); strings.Contains(text, "fleet") || !strings.Contains(text, `"text":"80"`) {
		t.Errorf("to a client that does not: %s", text)
	}

	out, err := c.Node.Run(t, 5*time.Minute, "catalog.mjs", c.Link(t, "ada"), "what is its speed?", os.Getenv("JUNCTOR_PICTURE"))
	if err != nil || strings.TrimSpace(string(out)) != "Speed 80 km/h" {
		t.Errorf("in the console: %v %q", err, out)
	}
	c.Tell(t, "component-catalog", "rm", "fleet")
	if status, _ := get("/a2ui/catalogs/fleet.json"); status != http.StatusNotFound {
		t.Errorf("it is removed, and still served: %d", status)
	}
	// The rules still name its component, which nobody can draw any more.
	if text := ask(`,"` + fleetID + `"`); strings.Contains(text, "fleet:Gauge") || !strings.Contains(text, "It drives.") {
		t.Errorf("it is removed, and still sent: %s", text)
	}
	run, err := c.Request(t.Context(), http.MethodPost, "/api/v1/agents/lorry/runs", `{"message":"speed"}`)
	if err != nil || strings.Contains(run.Body, "fleet:Gauge") || !strings.Contains(run.Body, "It drives.") {
		t.Errorf("it is removed, and still shown: %v %s", err, run.Body)
	}
}
