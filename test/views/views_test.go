package views

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/test/program"
)

// document describes the API of shop.
const document = `
openapi: 3.1.0
info: {title: Shop, version: "1"}
paths:
  /pets:
    get:
      operationId: list_pets
      parameters:
        - {name: page, in: query, schema: {type: integer, minimum: 1}}
        - {name: species, in: query, schema: {type: string, enum: [dog, cat]}}
      responses:
        "200": {description: ok, content: {application/json: {schema: {type: object, properties: {total: {type: integer}, items: {type: array, items: {$ref: '#/components/schemas/Pet'}}}}}}}
    post:
      operationId: add_pet
      requestBody: {content: {application/json: {schema: {type: object, required: [name], properties: {name: {type: string}, price: {type: number}}}}}}
      responses: {"201": {description: made}}
  /pets/{petId}:
    get:
      operationId: get_pet
      parameters: [{name: petId, in: path, required: true, schema: {type: integer}}]
      responses: {"200": {description: ok, content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}}
    delete:
      operationId: delete_pet
      parameters: [{name: petId, in: path, required: true, schema: {type: integer}}]
      responses: {"204": {description: gone}}
  /forecast:
    get: {operationId: get_forecast, responses: {"200": {description: ok}}}
  /offices:
    get: {operationId: list_offices, responses: {"200": {description: ok}}}
components:
  schemas:
    Pet:
      type: object
      properties:
        id: {type: integer}
        name: {type: string}
        species: {type: string, enum: [dog, cat]}
        price: {type: number, description: In francs}
        born: {type: string, format: date}
        vaccinated: {type: boolean}
        note: {type: string}
`

// shop is the API.
func shop(t *testing.T) string {
	t.Helper()
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	pet := func(id int) map[string]any {
		return map[string]any{
			"id": id, "name": fmt.Sprintf("Pet %d", id), "species": []string{"dog", "cat"}[id%2], "price": float64(id) * 1250.25, "born": fmt.Sprintf("2024-03-%02d", 1+id%28), "vaccinated": id%3 == 0,
			"note": "Likes long walks along the river, and a nap in the sun behind the house when they are over.",
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /pets", func(w http.ResponseWriter, r *http.Request) {
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		first := 30 * (max(page, 1) - 1)
		var items []any
		for id := first; id < first+30; id++ {
			items = append(items, pet(id))
		}
		w.Header().Set("Link", fmt.Sprintf(`<http://%s/pets?page=%d>; rel="next"`, r.Host, max(page, 1)+1))
		answer(w, map[string]any{"total": 312, "items": items})
	})
	mux.HandleFunc("GET /pets/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, _ := strconv.Atoi(r.PathValue("id"))
		one := pet(id)
		one["home"] = map[string]any{"city": "Bern", "location": map[string]any{"lat": 46.95, "lon": 7.45}}
		answer(w, one)
	})
	mux.HandleFunc("DELETE /pets/{id}", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("POST /pets", func(w http.ResponseWriter, r *http.Request) {
		var sent map[string]any
		_ = json.NewDecoder(r.Body).Decode(&sent)
		sent["id"] = 999
		w.WriteHeader(http.StatusCreated)
		answer(w, sent)
	})
	mux.HandleFunc("GET /forecast", func(w http.ResponseWriter, _ *http.Request) {
		var days []string
		var warm, rain []float64
		for i := range 20 {
			days = append(days, fmt.Sprintf("2026-03-%02d", i+1))
			warm, rain = append(warm, float64(i%7)*2.5), append(rain, float64(i%4))
		}
		answer(w, map[string]any{"daily": map[string]any{"time": days, "temperature": warm, "rain_mm": rain}})
	})
	mux.HandleFunc("GET /offices", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, []map[string]any{{"name": "Bern", "lat": 46.95, "lon": 7.45}, {"name": "Lima", "lat": -12.05, "lon": -77.04}, {"name": "Tokyo", "lat": 35.68, "lon": 139.69}})
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// hard is a server whose answers are hostile, long, deep and wrong.
func hard(t *testing.T) string {
	t.Helper()
	const attack = `"><img src=x onerror="parent.__xss=1;window.__xss=1"><script>window.__xss=1</script><svg onload="window.__xss=1">`
	nasty := map[string]any{
		"name": attack, "link": "javascript:window.__xss=1", "url": "https://leak.test/" + attack, "home": "https://leak.test/page", "<b>key</b>": attack, "__proto__": map[string]any{"polluted": 1}, "style": "background:url(https://leak.test/x)",
	}
	many := make([]map[string]any, 10000)
	for i := range many {
		many[i] = map[string]any{
			"id": i, "name": fmt.Sprintf("Row %d", i), "amount": float64(i) / 3, "at": time.Unix(1.7e9+int64(i)*60, 0).UTC().Format(time.RFC3339), "lat": float64(i%160 - 80), "lon": float64(i%340 - 170), "owner": map[string]any{"name": fmt.Sprintf("Owner %d", i%9)},
		}
	}
	var deep any = "the end"
	for range 60 { // the gateway takes no more than 128 levels
		deep = map[string]any{"below": deep, "beside": []any{deep == nil}}
	}
	answers := map[string]any{
		"nasty": map[string]any{"items": []any{nasty, nasty, map[string]any{"name": 7, "link": []any{}, "url": nil, "home": map[string]any{"a": attack}}}},
		"many":  map[string]any{"items": many},
		"deep":  map[string]any{"id": 1, "name": "Deep", "tree": deep},
		"wrong": map[string]any{"items": "no list", "total": []any{1, "2", nil, map[string]any{}}, "price": true},
	}
	sdk := mcp.NewServer(&mcp.Implementation{Name: "hard", Version: "1"}, nil)
	object := json.RawMessage(`{"type":"object"}`)
	for name, answer := range answers {
		out := object
		if name == "wrong" {
			out = json.RawMessage(`{"type":"object","properties":{"name":{"type":"array","items":{"type":"object"}}}}`)
		}
		body, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		sdk.AddTool(&mcp.Tool{Name: name, Title: strings.Repeat(attack, min(1, len(name)-4)), InputSchema: object, OutputSchema: out, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{StructuredContent: json.RawMessage(body), Content: []mcp.Content{&mcp.TextContent{Text: attack}}}, nil
			})
	}
	sdk.AddTool(&mcp.Tool{Name: "silent", InputSchema: object}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: map[string]any{"a": 1}, Content: []mcp.Content{}}, nil
	})
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk }, nil))
	t.Cleanup(func() {
		_ = s.Config.Close() // streams too, which Close would wait for
		s.Close()
	})
	return s.URL
}

// Generated Views in a browser, with a host that is not ours, through the endpoints
// that every client uses.
func TestViews(t *testing.T) {
	node := program.FindNode(t)
	program.NeedChromium(t)
	instance := testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8"})
	for _, server := range []map[string]any{
		{"id": "shop", "mode": "auto-generated", "document": document, "base_url": shop(t)},
		{"id": "hard", "mode": "bring-your-own", "url": hard(t)},
	} {
		body, err := json.Marshal(server)
		if err != nil {
			t.Fatal(err)
		}
		if r := instance.Do(t, http.MethodPost, "/api/v1/servers", string(body)); r.Status != http.StatusCreated {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
	}
	out, err := node.Run(t, 5*time.Minute, "views.mjs", instance.URL, testkit.AdminKey)
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
}
