package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

const shopKey = "shop-canary"

// shop is an API with its documentation, which can become another one.
type shop struct {
	*httptest.Server
	mu       sync.Mutex
	document string
}

func newShop(t *testing.T) *shop {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(program.Root(t), "test", "apis", "testdata", "shop-30.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s := &shop{document: planted(t, string(text))}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /openapi.yaml", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		_, _ = fmt.Fprint(w, s.document)
	})
	// The page calls it when the API is to get another documentation.
	mux.HandleFunc("POST /change", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.document = changed(t, s.document)
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /v1/items", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Shop-Key") != shopKey {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"items":[{"id":7,"name":"kite","price":12.5}],"trace":%q}`, r.Header.Get("X-Trace"))
	})
	mux.HandleFunc("GET /v1/hours/{day}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"day":%q,"open":"9 to 5"}`, r.PathValue("day"))
	})
	mux.HandleFunc("POST /model/chat/completions", suggest)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// suggest answers as chat completions do, with what a model may think of the
// shop's tools.
func suggest(w http.ResponseWriter, _ *http.Request) {
	text, _ := json.Marshal(`{"tools":[
		{"tool":"get_item","name":"look_at_item","description":"Look at one item of the shop: its name, what it costs, and how many there are.","roles":["Finance"],"category":"Goods"},
		{"tool":"search","name":"find_everything","description":"Find <b>anything</b>."},
		{"tool":"nowhere","description":"There is no such tool."}]}`)
	w.Header().Set("Content-Type", "text/event-stream")
	const piece = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}` + "\n\n"
	_, _ = fmt.Fprintf(w, piece+piece+"data: [DONE]\n\n", `{"role":"assistant","content":`+string(text)+`}`, "null", `{}`, `"stop"`)
}

// replaced is a text with another piece in it, which has to be there.
func replaced(t *testing.T, text, old, with string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Errorf("the document has no %q any more", old)
	}
	return strings.Replace(text, old, with, 1)
}

// planted has a reference that leads nowhere: what a person is to see at its line.
func planted(t *testing.T, text string) string {
	t.Helper()
	return replaced(t, text, `summary: Get an item
      responses: {"200": {description: ok, content: {application/json: {schema: {$ref: "#/components/schemas/Item"}}}}}`, `summary: Get an item
      responses: {"200": {description: ok, content: {application/json: {schema: {$ref: "#/components/schemas/Thing"}}}}}`)
}

// changed has one operation more, one less, and one that wants more of its
// callers.
func changed(t *testing.T, text string) string {
	t.Helper()
	text = replaced(t, text, `    delete:
      operationId: deleteItem
      summary: Delete an item
      security: [{account: ["orders:write"]}]
      responses: {"204": {description: gone}}
`, "")
	text = replaced(t, text, `{name: cursor, in: query, schema`, `{name: cursor, in: query, required: true, schema`)
	return replaced(t, text, "  /search:\n", "  /hours/{day}:\n    get: {operationId: openingHours, summary: When it is open, parameters: [{name: day, in: path, required: true, schema: {type: string}}], responses: {\"200\": {description: ok}}}\n  /search:\n")
}

// large is a document of 13 MB, with one mistake near its end.
func large(t *testing.T) string {
	t.Helper()
	const operations = 1300
	var b strings.Builder
	b.WriteString("openapi: 3.1.0\ninfo: {title: Large, version: \"1\"}\nservers: [{url: \"https://large.example.com\"}]\npaths:\n")
	filler := strings.Repeat("      # nothing is said here, at length, so that the document is a long one\n", 140)
	for i := range operations {
		fmt.Fprintf(&b, "  /things%d:\n    get:\n      operationId: things%d\n      summary: Things of the kind %d\n%s      responses: {\"200\": {description: ok", i, i, i, filler)
		if i == operations-2 {
			b.WriteString(`, content: {application/json: {schema: {$ref: "#/components/schemas/Nowhere"}}}`)
		}
		b.WriteString("}}\n")
	}
	name := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// An API's documentation becomes a server, is edited, called, and read again.
func TestAPIs(t *testing.T) {
	t.Parallel()
	r, s := start(t), newShop(t)
	folder := ""
	if *shots != "" {
		var err error
		if folder, err = filepath.Abs(*shots); err != nil {
			t.Fatal(err)
		}
	}
	r.Tell(t, "model", "add", "local", "--kind", "openai", "--model", "m", "--url", s.URL+"/model")
	r.run(t, "apis_console.mjs", r.Link(t, "ada"), s.URL, shopKey, large(t), folder)
}
