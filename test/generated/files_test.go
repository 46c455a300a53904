package generated

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/internal/testkit"
)

const uploadDocument = `openapi: 3.1.0
info: {title: Drive, version: '1'}
paths:
  /files:
    post:
      operationId: upload
      requestBody:
        required: true
        content:
          multipart/form-data:
            schema:
              type: object
              properties: {note: {type: string}, file: {type: string, format: binary}, more: {type: array, items: {type: string, format: binary}}}
      responses: {'200': {description: ok}}
  /raw:
    put:
      operationId: replace
      requestBody: {required: true, content: {application/octet-stream: {schema: {type: string, format: binary}}}}
      responses: {'200': {description: ok}}
`

// What an argument that is a file holds may be a resource of another server: it is
// read for the caller, as the caller, and recorded; what they cannot read is not
// sent, and neither is the request.
func TestFilesAreResources(t *testing.T) {
	t.Parallel()
	const bytes = "\x89PNG\r\n\x00\xff"
	shelf := mcp.NewServer(&mcp.Implementation{Name: "shelf", Version: "1"}, nil)
	for uri, content := range map[string]*mcp.ResourceContents{
		"file:///a/plan.txt": {URI: "file:///a/plan.txt", MIMEType: "text/plain", Text: "the plan"},
		"file:///a/cat.png":  {URI: "file:///a/cat.png", MIMEType: "image/png", Blob: []byte(bytes)},
	} {
		shelf.AddResource(&mcp.Resource{URI: uri, Name: uri}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{content}}, nil
		})
	}
	upstream := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return shelf }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(upstream.Close) // after the instance, which listens to it
	var seen atomic.Value
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said := r.Header.Get("Content-Type")
		if strings.HasPrefix(said, "multipart/") {
			said = ""
			parts, err := r.MultipartReader()
			if err != nil {
				t.Error(err)
				return
			}
			for {
				part, err := parts.NextPart()
				if err != nil {
					break
				}
				data, _ := io.ReadAll(part)
				said += fmt.Sprintf("%s|%s|%s|%q;", part.FormName(), part.FileName(), part.Header.Get("Content-Type"), data)
			}
		} else {
			data, _ := io.ReadAll(r.Body)
			said += fmt.Sprintf("|%q", data)
		}
		seen.Store(said)
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(api.Close)
	instance := testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8"})
	addServer(t, instance, fmt.Sprintf(`{"id":"shelf","url":%q}`, upstream.URL))
	addServer(t, instance, fmt.Sprintf(`{"id":"drive","mode":"auto-generated","document":%q,"base_url":%q}`, uploadDocument, api.URL))
	made := instance.Do(t, http.MethodPost, "/api/v1/agents", `{"name":"half","tools":["drive/*"],"resources":["shelf/file:///a/plan.txt"]}`)
	var agent struct{ Key string }
	if err := json.Unmarshal([]byte(made.Body), &agent); err != nil || agent.Key == "" {
		t.Fatalf("%v %s", err, made.Body)
	}
	for _, c := range []struct{ name, key, tool, arguments, want string }{
		{"a text", "", "upload", `{"note":"n","file":{"resource":"shelf+file:///a/plan.txt"}}`, `file|plan.txt|text/plain|"the plan";note|||"n";`},
		{"bytes, under another name", "", "upload", `{"file":{"resource":"shelf+file:///a/cat.png","filename":"dog.png"}}`, `file|dog.png|image/png|` + fmt.Sprintf("%q;", bytes)},
		{"of another type", "", "upload", `{"file":{"resource":"shelf+file:///a/cat.png","mimeType":"image/x-cat"}}`, `file|cat.png|image/x-cat|` + fmt.Sprintf("%q;", bytes)},
		{"several", "", "upload", `{"more":[{"resource":"shelf+file:///a/plan.txt"},{"filename":"b","data_base64":"aGk="}]}`, `more|plan.txt|text/plain|"the plan";more|b|application/octet-stream|"hi";`},
		{"the whole body", "", "replace", `{"body":{"resource":"shelf+file:///a/cat.png"}}`, `image/png|` + fmt.Sprintf("%q", bytes)},
		{"none there", "", "upload", `{"file":{"resource":"shelf+file:///a/none"}}`, ""},
		{"of no server", "", "upload", `{"file":{"resource":"file:///etc/passwd"}}`, ""},
		{"of this machine", "", "replace", `{"body":{"resource":"nobody+file:///etc/passwd"}}`, ""},
		{"an agent that may read it", agent.Key, "upload", `{"file":{"resource":"shelf+file:///a/plan.txt"}}`, `file|plan.txt|text/plain|"the plan";`},
		{"an agent that may not", agent.Key, "upload", `{"file":{"resource":"shelf+file:///a/cat.png"}}`, ""},
	} {
		seen.Store("")
		var header []string
		if c.key != "" {
			header = append(header, "Authorization: Bearer "+c.key)
		}
		r := instance.Do(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"drive__`+c.tool+`","arguments":`+c.arguments+`}}`, header...)
		if got := seen.Load(); got != c.want || (c.want == "") != strings.Contains(r.Body, `"isError":true`) || strings.Contains(r.Body, "root:") {
			t.Errorf("%s: the API saw %v, want %q: %s", c.name, got, c.want, r.Body)
		}
	}
	if r := instance.Do(t, http.MethodGet, "/api/v1/calls?server=shelf&agent=half", ""); strings.Count(r.Body, `"kind":"resource"`) < 2 || !strings.Contains(r.Body, `"denied"`) {
		t.Errorf("readings for an agent are not on record: %s", r.Body)
	}
}
