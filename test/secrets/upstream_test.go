package secrets

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// careless is an MCP server that repeats its credentials wherever it can say
// anything.
func careless(w http.ResponseWriter, r *http.Request) {
	said := strings.Join(slices.Concat(r.Header["Authorization"], r.Header["X-Api-Key"], r.Header["X-Mine"], r.Header["X-Extra"]), " ") + " " + r.URL.RawQuery
	if _, password, ok := r.BasicAuth(); ok {
		said += " " + password
	}
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name string }
	}
	b, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(b, &m)
	text, _ := json.Marshal("you said " + said)
	answer := func(format string, args ...any) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, fmt.Sprintf(format, args...))
	}
	if r.URL.Path == "/refuses" {
		w.Header().Set("WWW-Authenticate", `Bearer error_description="`+said+`"`)
		http.Error(w, "not valid: "+said, http.StatusUnauthorized)
		return
	}
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "initialize":
		answer(`"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{},"prompts":{}},"serverInfo":{"name":%[1]s,"version":%[1]s},"instructions":%[1]s}`, text)
	case m.Method == "resources/list":
		answer(`"result":{"resources":[{"uri":"note://a","name":"a","description":%s}]}`, text)
	case m.Method == "prompts/list":
		answer(`"result":{"prompts":[{"name":"p","description":%s}]}`, text)
	case m.Method == "tools/list":
		var tools []string
		for _, name := range carelessTools() {
			tools = append(tools, fmt.Sprintf(`{"name":%q,"description":%s,"inputSchema":{"type":"object","properties":{"a":{"description":%[2]s}}}}`, name, text))
		}
		answer(`"result":{"tools":[%s]}`, strings.Join(tools, ","))
	case m.Params.Name == "result":
		answer(`"result":{"content":[{"type":"text","text":%s}]}`, text)
	case m.Params.Name == "tool-error":
		answer(`"result":{"isError":true,"content":[{"type":"text","text":%s}]}`, text)
	case m.Params.Name == "error":
		answer(`"error":{"code":-32000,"message":%s,"data":{"header":%s}}`, text, text)
	case m.Params.Name == "status":
		http.Error(w, said, http.StatusInternalServerError)
	case m.Params.Name == "late-401":
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+said+`"`)
		http.Error(w, said, http.StatusUnauthorized)
	case m.Params.Name == "type":
		w.Header().Set("Content-Type", "text/plain; "+url.QueryEscape(said))
		_, _ = io.WriteString(w, said)
	case m.Params.Name == "garbage":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, said)
	case m.Params.Name == "redirect":
		w.Header().Set("Location", "http://10.0.0.1/?"+url.QueryEscape(said))
		w.WriteHeader(http.StatusTemporaryRedirect)
	default:
		answer(`"error":{"code":-32601,"message":%s}`, text)
	}
}

func carelessTools() []string {
	return []string{"result", "tool-error", "error", "status", "type", "garbage", "redirect", "late-401"}
}

// TestNoCredentialOfAServerLeaves gives credentials to servers, in every way
// there is, that repeat them in every way there is, and to commands that print
// them. What a tool returns as its result is passed on to its caller as it came,
// and to nobody else.
func TestNoCredentialOfAServerLeaves(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			h := newHunt(t)
			h.servers(format)
			h.done("credentials of servers, " + format + " log")
		})
	}
}

func (h *hunt) servers(format string) {
	h.t.Helper()
	peer := httptest.NewServer(http.HandlerFunc(careless))
	h.t.Cleanup(peer.Close)
	token := h.plant("the access token")
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, secret, _ := r.BasicAuth()
		if strings.HasSuffix(r.URL.Path, "/refuses") {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"error":"invalid_request","error_description":%q}`, secret)
			return
		}
		_, _ = fmt.Fprintf(w, `{"access_token":%q,"expires_in":3600}`, token)
	}))
	h.t.Cleanup(issuer.Close)
	file := filepath.Join(h.t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(h.plant("file:")+"\n"), 0o600); err != nil {
		h.t.Fatal(err)
	}
	output := filepath.Join(h.t.TempDir(), "output")
	if err := os.WriteFile(output, []byte(h.plant("cmd:")+"\n"), 0o600); err != nil {
		h.t.Fatal(err)
	}
	data := h.t.TempDir()
	in := program.Launch(h.t, program.Spec{
		Addr: program.FreeAddr(h.t), DataDir: data,
		Args: []string{"--log-level", "debug", "--log-format", format, "--egress-allow", "127.0.0.0/8", "--call-timeout", "5s"},
		Env:  []string{"SOME_TOKEN=" + h.plant("env:")},
	})
	in.WaitReady(h.t)
	q := func(name string) string { return `"` + h.plant(name) + `"` }
	connections := map[string]string{
		"bearer":   `"auth":{"type":"bearer","token":` + q("bearer token") + `}`,
		"api-key":  `"auth":{"type":"api-key","key":` + q("API key") + `,"header":"X-Mine"}`,
		"key":      `"auth":{"type":"api-key","key":` + q("API key in the usual header") + `}`,
		"basic":    `"auth":{"type":"basic","username":"me","password":` + q("password") + `}`,
		"header":   `"headers":{"X-Extra":` + q("header") + `}`,
		"oauth":    fmt.Sprintf(`"auth":{"type":"oauth-client","client_id":"me","secret":%s,"token_url":%q}`, q("client secret"), issuer.URL),
		"from-env": `"auth":{"type":"bearer","token":"env:SOME_TOKEN"}`, "from-file": `"auth":{"type":"bearer","token":"file:` + file + `"}`,
		"from-cmd": `"auth":{"type":"bearer","token":"cmd:cat ` + output + `"}`,
	}
	ids := []string{}
	for id, more := range connections {
		query := "?key=" + url.QueryEscape(h.plant("query of "+id)) + "&x=" + url.QueryEscape(h.plant("second of the query of "+id))
		body := fmt.Sprintf(`{"id":%q,"url":%q,%s}`, id, peer.URL+"/"+query, more)
		h.operator(in, "POST", "/api/v1/servers/probe", body, http.StatusOK)
		h.operator(in, "POST", "/api/v1/servers", body, http.StatusCreated)
		refused := strings.Replace(body, peer.URL+"/", peer.URL+"/refuses", 1)
		h.operator(in, "POST", "/api/v1/servers/probe", refused, 0)
		h.operator(in, "POST", "/api/v1/servers", strings.Replace(refused, id, "no-"+id, 1), 0)
		h.operator(in, "PATCH", "/api/v1/servers/"+id, `{"title":"t","headers":{"X-Extra":`+q("header put to "+id)+`}}`, http.StatusOK)
		ids = append(ids, id)
	}
	h.operator(in, "POST", "/api/v1/servers", fmt.Sprintf(`{"id":"no-token","url":%q,"auth":{"type":"oauth-client","client_id":"me","secret":%s,"token_url":%q}}`,
		peer.URL, q("client secret of no use"), issuer.URL+"/refuses"), 0)
	for _, bad := range []string{
		`{"id":"bad","url":"https://me:` + url.QueryEscape(h.plant("password in the URL")) + `@127.0.0.1/"}`,
		`{"id":"bad","url":"http://10.0.0.1/?` + url.QueryEscape(h.plant("query of a forbidden URL")) + `"}`,
		`{"id":"bad","url":"https://127.0.0.1:1/?` + url.QueryEscape(h.plant("query of a dead URL")) + `"}`,
		`{"id":"bad","url":"nonsense ` + h.plant("what is no URL") + `"}`,
		`{"id":"bad","url":"https://x","headers":{"X-Y":"` + h.plant("header with a line break") + `\r\nX: y"}}`,
		`{"id":"bad","url":"https://x","auth":{"type":"bearer","toke":"` + h.plant("a member that is none") + `"}}`,
		`{"id":"bad","url":"https://x","auth":{"type":"` + h.plant("a type that is none") + `"}}`,
		`{"id":"bad","url":"https://x","auth":{"type":"bearer","token":["` + h.plant("a token that is a list") + `"]}}`,
	} {
		h.operator(in, "POST", "/api/v1/servers", bad, 0)
	}
	h.commandServer(in, output)
	for _, id := range ids {
		for _, tool := range carelessTools() {
			h.ask(in, id, tool)
		}
		h.operator(in, "POST", "/api/v1/servers/"+id+"/test", "", 0)
		h.lists(in, id)
	}
	h.adhoc(in, peer.URL, format)
	h.everything(in, format)
	h.backup(in, "", format)
	h.tree(data)
	in.Kill()
	h.text("the output", in.Log())
	h.tree(data)
}

// operator asks through the socket, and looks through the answer. status 0 is
// any that is no success.
func (h *hunt) operator(in *program.Instance, method, path, body string, status int) string {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := egress.Local(in.DataDir + "/junctor.sock").Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	if status != 0 && resp.StatusCode != status {
		h.t.Errorf("%s %s: %d %s", method, path, resp.StatusCode, b)
	}
	h.text(method+" "+path, fmt.Sprint(resp.Header, string(b)))
	return string(b)
}

// ask calls a tool through every endpoint. Its result, and nothing else, may hold
// what it repeats.
func (h *hunt) ask(in *program.Instance, id, tool string) {
	h.t.Helper()
	var own []string
	if tool == "result" || tool == "tool-error" {
		own = h.names()
	}
	name := id + "__" + tool
	for _, era := range program.Eras() {
		a, err := program.NewCaller(h.t, era, in.URL, program.AdminKey).Call(h.t.Context(), name, `{}`)
		if err != nil {
			h.t.Fatal(err)
		}
		h.text(fmt.Sprintf("the answer of %s, %s", name, era), a.Body, own...)
	}
	for path, body := range map[string]string{
		"/api/v1/tools/" + name + "/call": `{"arguments":{}}`,
		"/mcp/call":                       fmt.Sprintf(`{"endpoint":{"server":%q},"tool_name":%q}`, id, tool),
	} {
		a, err := in.Request(h.t.Context(), http.MethodPost, path, body)
		if err != nil {
			h.t.Fatal(err)
		}
		h.text(path+" of "+name, a.Body, own...)
	}
}

// lists looks through all that is shown of what a server offers.
func (h *hunt) lists(in *program.Instance, id string) {
	h.t.Helper()
	h.operator(in, "GET", "/api/v1/servers/"+id, "", http.StatusOK)
	if said := h.operator(in, "GET", "/api/v1/tools?server="+id, "", http.StatusOK); !strings.Contains(said, "you said ***") && !strings.Contains(said, "you said Bearer ***") && !strings.Contains(said, "you said Basic ***") {
		h.t.Errorf("the tools of %s do not say what their server says: %s", id, said)
	}
	const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	for _, method := range []string{"tools/list", "resources/list", "prompts/list", "server/discover"} {
		a, err := in.Request(h.t.Context(), http.MethodPost, "/mcp/s/"+id, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+modern+`}}`, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: "+method)
		if err != nil {
			h.t.Fatal(err)
		}
		if a.Status != http.StatusOK || method != "server/discover" && !strings.Contains(a.Body, "you said") {
			h.t.Errorf("%s of %s: %d %s", method, id, a.Status, a.Body)
		}
		h.text(method+" of "+id, a.Body)
	}
}

// adhoc calls endpoints with headers of the caller.
func (h *hunt) adhoc(in *program.Instance, at, run string) {
	h.t.Helper()
	for _, tool := range carelessTools() {
		name := "header of an endpoint, " + tool + ", " + run
		query := "query of an endpoint, " + tool + ", " + run
		body := fmt.Sprintf(`{"endpoint":{"url":%q,"headers":{"Authorization":"Bearer %s"}},"tool_name":%q}`, at+"/?k="+url.QueryEscape(h.plant(query)), h.plant(name), tool)
		a, err := in.Request(h.t.Context(), http.MethodPost, "/mcp/call", body)
		if err != nil {
			h.t.Fatal(err)
		}
		var own []string
		if tool == "result" || tool == "tool-error" {
			own = []string{name, query}
		}
		h.text("/mcp/call of an endpoint, "+tool, a.Body, own...)
	}
}

// commandServer brings a command that prints what it was given.
func (h *hunt) commandServer(in *program.Instance, output string) {
	h.t.Helper()
	script := `read l; echo "I was given $A $B $C" >&2; echo "{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":{\"code\":1,\"message\":\"no: $A $B $C\"}}"; echo "$A is no message"; sleep 1; exit 3`
	text, _ := json.Marshal([]string{"sh", "-c", script})
	body := fmt.Sprintf(`{"id":"printer","transport":"stdio","command":%s,"env":{"A":%q,"B":"env:SOME_TOKEN","C":"cmd:cat %s"}}`, text, h.plant("a variable"), output)
	h.operator(in, "POST", "/api/v1/servers/probe", body, 0)
	h.operator(in, "POST", "/api/v1/servers", body, 0)
}

// everything reads what an instance tells of itself.
func (h *hunt) everything(in *program.Instance, run string) {
	h.t.Helper()
	paths := []string{"/metrics", "/readyz", "/api/v1/servers", "/api/v1/tools", "/api/v1/calls?limit=500", "/api/v1/secrets", "/api/v1/settings", "/api/v1/usage"}
	var list struct{ Items []struct{ ID string } }
	a, err := in.Request(h.t.Context(), http.MethodGet, "/api/v1/calls?limit=500", "")
	if err == nil {
		err = json.Unmarshal([]byte(a.Body), &list)
	}
	if err != nil || len(list.Items) == 0 {
		h.t.Fatalf("%v %s", err, a.Body)
	}
	for _, call := range list.Items {
		paths = append(paths, "/api/v1/calls/"+call.ID)
	}
	poll.Until(h.t, "call "+list.Items[0].ID+" in the history", time.Minute, func() bool { // it is written beside the calls
		a, err := in.Request(h.t.Context(), http.MethodGet, "/api/v1/calls/"+list.Items[0].ID, "")
		if err != nil {
			h.t.Fatal(err)
		}
		return a.Status == http.StatusOK
	})
	for _, path := range paths {
		a, err := in.Request(h.t.Context(), http.MethodGet, path, "")
		if err != nil {
			h.t.Fatal(err)
		}
		h.text("GET "+path+", "+run, a.Body)
	}
	for _, args := range [][]string{{"server", "ls"}, {"server", "show", "bearer"}, {"server", "show", "oauth"}, {"server", "test", "basic"}, {"audit", "ls"}, {"doctor"}, {"usage"}} {
		stdout, stderr, _ := in.CLI(h.t, args...)
		h.text(strings.Join(args, " "), stdout+stderr)
	}
}

// names are those of all secrets so far.
func (h *hunt) names() []string {
	var all []string
	for n := range h.set.Len() {
		all = append(all, h.set.Name(n))
	}
	return all
}
