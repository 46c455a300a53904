package a2a

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/test/program"
)

// kitFolder names the folder of the protocol's own test kit. It is in no package
// registry, so anyone who wants to run it gets it: see docs/guides/a2a.md.
const kitFolder = "JUNCTOR_A2A_KIT"

// TestKit runs the protocol's own test kit against a published agent of a whole
// instance: an agent of rules, whose tools hand over what the kit wants to see.
func TestKit(t *testing.T) {
	kit := os.Getenv(kitFolder)
	if kit == "" {
		t.Skip(kitFolder + " names no folder of the A2A test kit; tools/prove.sh a2a runs it")
	}
	rules, err := os.ReadFile("testdata/kit.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files := serveCards(t)
	var to *url.URL
	front := httptest.NewServer(&httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host
			translate(r.Out)
		},
	})
	t.Cleanup(front.Close)
	i := start(t, t.TempDir(), append(local, "--public-url", front.URL)...)
	if to, err = url.Parse(i.URL); err != nil {
		t.Fatal(err)
	}
	i.request(201, "POST", "/api/v1/servers", fmt.Sprintf(`{"id":"files","url":%q,"believe_annotations":true}`, files.URL))
	agent, err := json.Marshal(map[string]any{
		"name": "kit", "published": true, "tools": []string{"files/file", "files/link", "files/data", "files/book", "demo/slow"}, "brain": map[string]any{"rules": string(rules)},
	})
	if err != nil {
		t.Fatal(err)
	}
	i.request(201, "POST", "/api/v1/agents", string(agent))

	for level, wrong := range map[string]map[string]string{"must": requiredClauses(), "should or may": nil} {
		if said := runKit(t, kit, front.URL, level, wrong); !t.Failed() {
			t.Logf("figure: %s", said)
		}
	}
}

// requiredClauses are tests of the kit that fail although the rule holds, by name, with
// what they say then. The rule is that a file of a kind that is not read is
// answered with ContentTypeNotSupportedError: the kit sends one, and takes every
// error for a failure. TestRules of internal/a2a has the rule.
func requiredClauses() map[string]string {
	const refused = `"application/x-unsupported-tck-type": this agent accepts`
	return map[string]string{"test_must_requirement[CORE-SEND-003-jsonrpc]": refused, "test_must_requirement[CORE-SEND-003-http_json]": refused}
}

// forbiddenClauses are the reasons for which a test of the kit does not apply, by what it
// says then. Any other means that it could not look.
func forbiddenClauses() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		"for gRPC": regexp.MustCompile(`(?i)transport 'grpc' not configured|grpc transport not configured`),
		"for agents without a capability that this one has": regexp.MustCompile(`^Agent supports |cannot trigger|as required$`),
		"without anything to send":                          regexp.MustCompile(`No requirements at this level|missing required keys`),
	}
}

// translate makes a request of the kit one that a client of an instance would
// send. The kit has no keys; it says no version where it asks for the card; and it
// tells its agent what to do by the id of a message, of which agents of rules
// know nothing.
func translate(r *http.Request) {
	r.Header.Set("Authorization", "Bearer "+program.AdminKey)
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/agent-card.json") {
		r.Header.Set("A2A-Version", "1.0")
	}
	if r.Method != http.MethodPost || r.Body == nil {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		body = spokenText(body)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Del("Content-Length")
}

// spokenText is a body whose message says its id; any other is left as it is.
func spokenText(body []byte) []byte {
	var whole map[string]any
	if json.Unmarshal(body, &whole) != nil {
		return body
	}
	request := whole
	if params, ok := whole["params"].(map[string]any); ok {
		request = params
	}
	message, _ := request["message"].(map[string]any)
	id, _ := message["messageId"].(string)
	parts, _ := message["parts"].([]any)
	if id == "" || len(parts) == 0 {
		return body
	}
	message["parts"] = append(parts, map[string]any{"text": id})
	switch {
	case strings.HasPrefix(id, "tck-input-required"):
		request["metadata"] = map[string]any{"approvals": "ask"}
	case strings.HasPrefix(id, "tck-message-response"):
		request["metadata"] = map[string]any{"answer": "message"}
	}
	if out, err := json.Marshal(whole); err == nil {
		return out
	}
	return body
}

// serveCards is an MCP server whose tools hand over what the kit wants to see.
func serveCards(t *testing.T) *httptest.Server {
	t.Helper()
	sdk := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)
	you := &mcp.Annotations{Audience: []mcp.Role{"user"}}
	for name, content := range map[string]mcp.Content{
		"file": &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///output.txt", MIMEType: "text/plain", Blob: []byte("tck")}, Annotations: you},
		"link": &mcp.ResourceLink{URI: "https://example.com/output.txt", Name: "output.txt", MIMEType: "text/plain", Annotations: you},
		"data": &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///data.json", MIMEType: "application/json", Text: `{"key":"value","count":42}`}, Annotations: you},
		"book": &mcp.TextContent{Text: "booked"},
	} {
		mcp.AddTool(sdk, &mcp.Tool{Name: name, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: name != "book"}}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{content}}, nil, nil
		})
	}
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk }, nil))
	t.Cleanup(func() {
		_ = web.Config.Close()
		web.Close()
	})
	return web
}

// runKit runs the kit's tests of a level, and gives the figures. wrong are tests
// that may fail, by name, with what they must say.
func runKit(t *testing.T, kit, at, level string, wrong map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	report, settings := filepath.Join(dir, "report.xml"), filepath.Join(dir, "pytest.ini")
	if err := os.WriteFile(settings, []byte("[pytest]\n"), 0o600); err != nil { // the kit's own wants a newer pytest than Debian has
		t.Fatal(err)
	}
	plugins, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, "/usr/bin/python3", "-m", "pytest", "tests/compatibility", "-c", settings, "--rootdir", kit, "-p", "nogrpc", "-p", "no:cacheprovider",
		"--ignore", "tests/compatibility/grpc", "-m", level, "--sut-host", at, "--transport", "jsonrpc,http_json", "--webhook-host", "127.0.0.1", "-q", "-W", "ignore", "--junitxml", report)
	run.Dir = kit
	run.Env = append(os.Environ(), "PYTHONPATH="+plugins+":"+kit, "PYTHONDONTWRITEBYTECODE=1", "NO_PROXY=127.0.0.1")
	said, failed := run.CombinedOutput()
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatalf("the kit did not run: %v\n%s", failed, said)
	}
	var suites struct {
		Cases []struct {
			Name    string `xml:"name,attr"`
			Failure *note  `xml:"failure"`
			Error   *note  `xml:"error"`
			Skipped *note  `xml:"skipped"`
		} `xml:"testsuite>testcase"`
	}
	if err := xml.Unmarshal(text, &suites); err != nil {
		t.Fatal(err)
	}
	passed, missed, odd, skipped := 0, 0, 0, map[string]int{}
	for _, c := range suites.Cases {
		switch {
		case c.Error != nil:
			t.Errorf("%s: %s", c.Name, c.Error.Message)
		case c.Failure != nil && wrong[c.Name] != "" && strings.Contains(c.Failure.Message, wrong[c.Name]):
			odd++
		case c.Failure != nil:
			t.Errorf("%s: %s", c.Name, c.Failure.Message)
		case c.Skipped != nil && c.Skipped.Type == "pytest.xfail":
			missed++
			t.Logf("%s: %s", c.Name, c.Skipped.Message)
		case c.Skipped != nil:
			why := ""
			for reason, said := range forbiddenClauses() {
				if said.MatchString(c.Skipped.Message) {
					why = reason
				}
			}
			if why == "" {
				t.Errorf("%s could not look: %s", c.Name, c.Skipped.Message)
			}
			skipped[why]++
			if why != "for gRPC" {
				t.Logf("%s: %s", c.Name, c.Skipped.Message)
			}
		default:
			passed++
		}
	}
	if passed < 20 {
		t.Errorf("only %d passed: %v\n%s", passed, failed, said)
	}
	out := fmt.Sprintf("the A2A test kit, %s, on JSON-RPC and HTTP+JSON: %d passed, %d failed", strings.ToUpper(level), passed, odd)
	if odd > 0 {
		out += " because the kit takes the error that the rule requires for a failure"
	}
	if missed > 0 {
		out += fmt.Sprintf(", %d not met", missed)
	}
	out += "; skipped:"
	for _, why := range slices.Sorted(maps.Keys(skipped)) {
		out += fmt.Sprintf(" %d %s,", skipped[why], why)
	}
	return strings.TrimRight(out, ",:")
}

// note is why a test of the kit did not pass.
type note struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
}
