package people

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/test/topology"
)

// What somebody began is theirs: a session, its streams and its questions, a call
// that waits for input, the pair of streams of HTTP+SSE. Anyone else who has come by the
// id of it, in the same tenant or in another, hears nothing of it, changes nothing,
// and does not spoil it, whichever replica they ask.
func TestWhatAnotherBegan(t *testing.T) {
	t.Parallel()
	onBoth(t, anotherBegan)
}

func anotherBegan(t *testing.T, i *topology.Site) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	h := &keyHolder{Site: i, t: t, ctx: ctx}
	request(t, i, "POST", "/servers", `{"id":"notes","url":"`+newPeer(t)+`"}`, 201)
	_, h.key = addMember(t, i, "ann", "developer", "tools:read,tools:call")
	_, bob := addMember(t, i, "bob", "developer", "tools:read,tools:call")
	acme := request(t, i, "POST", "/tenants", `{"id":"acme"}`, 201).AdminKey.Key
	h.openAll()
	for who, key := range map[string]string{"another user": bob, "an admin": testkit.AdminKey, "the admin of another tenant": acme} {
		own := h.session(key)
		// Each has requests in a number that is no multiple of the replicas', so that
		// all of them meet each request.
		for range i.Each {
			h.checkForeign(who, key)
		}
		for range i.Each {
			h.checkOwn(who, own)
		}
	}
	h.goOn()
}

// keyHolder is somebody with something begun.
type keyHolder struct {
	*topology.Site
	t   *testing.T
	ctx context.Context
	key string

	in       []string     // the headers of her session
	asking   *eventStream // the call in it that asks her something
	question string       // the id of what it asks
	lost     string       // the last event that she had of a stream
	pipe     *eventStream // HTTP+SSE
	post     string       // where its other half is
	state    string       // of a call that waits for input
}

// eventStream is a stream of events.
type eventStream struct {
	t     *testing.T
	body  *bufio.Reader
	close func()
}

// nextEvent is the next event with data.
func (h *eventStream) nextEvent() (id, data string) {
	h.t.Helper()
	for {
		line, err := h.body.ReadString('\n')
		if err != nil {
			h.t.Fatalf("the stream ended: %v", err)
		}
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case name == "id":
			id = value
		case name == "data" && value != "":
			return id, value
		}
	}
}

// findEvent reads on until an event has a text in it.
func (h *eventStream) findEvent(text string) (id, data string) {
	h.t.Helper()
	for {
		if id, data = h.nextEvent(); strings.Contains(data, text) {
			return id, data
		}
	}
}

func (h *keyHolder) open(method, path, body string, header ...string) *eventStream {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.ctx)
	h.t.Cleanup(cancel)
	resp := h.Open(ctx, h.t, method, path, body, append([]string{asKey(h.key)}, header...)...)
	if resp.StatusCode != http.StatusOK {
		h.t.Fatalf("%s %s: %d", method, path, resp.StatusCode)
	}
	stop := func() {
		cancel()
		_ = resp.Body.Close()
	}
	h.t.Cleanup(stop)
	return &eventStream{h.t, bufio.NewReader(resp.Body), stop}
}

// session begins one, and gives its headers.
func (h *keyHolder) session(key string) []string {
	h.t.Helper()
	hello := h.Do(h.t, "POST", "/mcp", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"x","version":"1"}}}`, asKey(key))
	id := hello.Header.Get("Mcp-Session-Id")
	if hello.Status != http.StatusOK || id == "" {
		h.t.Fatalf("initialize: %d %s", hello.Status, hello.Body)
	}
	header := []string{asKey(key), "Mcp-Session-Id: " + id, "Mcp-Protocol-Version: 2025-11-25"}
	h.status(http.StatusAccepted, "initialized", h.Do(h.t, "POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, header...))
	return header
}

func (h *keyHolder) status(want int, what string, r testkit.Reply) {
	h.t.Helper()
	if r.Status != want {
		h.t.Errorf("%s: %d %s, want %d", what, r.Status, r.Body, want)
	}
}

// openAll has one of everything be under way.
func (h *keyHolder) openAll() {
	h.t.Helper()
	h.in = h.session(h.key)
	h.asking = h.open("POST", "/mcp", `{"jsonrpc":"2.0","id":"asking","method":"tools/call","params":{"name":"demo__ask"}}`, h.in...)
	_, asked := h.asking.findEvent("elicitation/create")
	var question struct{ ID json.RawMessage }
	if err := json.Unmarshal([]byte(asked), &question); err != nil {
		h.t.Fatal(err)
	}
	h.question = string(question.ID)

	slow := h.open("POST", "/mcp", `{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"demo__slow","arguments":{"steps":2,"delay_ms":100},"_meta":{"progressToken":"of ann"}}}`, h.in...)
	h.lost, _ = slow.findEvent("notifications/progress")
	slow.close()

	h.pipe = h.open("GET", "/sse", "")
	_, h.post = h.pipe.nextEvent()

	var waits struct{ Result struct{ RequestState string } }
	r := h.askQuestion(h.key, "")
	if err := json.Unmarshal([]byte(r.Body), &waits); err != nil || waits.Result.RequestState == "" {
		h.t.Fatalf("a call that asks for input: %d %s", r.Status, r.Body)
	}
	h.state = fmt.Sprintf(`,"inputResponses":{%s},"requestState":%q`, answers(h.t, r.Body), waits.Result.RequestState)
}

// askQuestion calls the tool that asks for input, as a modern client does.
func (h *keyHolder) askQuestion(key, more string) testkit.Reply {
	h.t.Helper()
	return h.Do(h.t, "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"notes__ask","arguments":{}`+more+
		`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`,
		asKey(key), "Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: notes__ask")
}

// answers declines all that a call asks for.
func answers(t *testing.T, body string) string {
	t.Helper()
	var asked struct {
		Result struct{ InputRequests map[string]any }
	}
	if err := json.Unmarshal([]byte(body), &asked); err != nil {
		t.Fatal(err)
	}
	var all []string
	for name := range asked.Result.InputRequests {
		all = append(all, fmt.Sprintf(`%q:{"action":"decline"}`, name))
	}
	return strings.Join(all, ",")
}

const ping = `{"jsonrpc":"2.0","id":7,"method":"ping"}`

// answerQuestion is the answer to her question, as somebody gives it.
func (h *keyHolder) answerQuestion(name string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":%q,"colour":"red"}}}`, h.question, name)
}

// checkForeign is what somebody tries with ids that are hers.
func (h *keyHolder) checkForeign(who, key string) {
	h.t.Helper()
	theirs := slices.Concat(h.in[1:], []string{asKey(key)})
	for what, r := range map[string]testkit.Reply{
		"uses her session":     h.Do(h.t, "POST", "/mcp", ping, theirs...),
		"resumes her stream":   h.Do(h.t, "GET", "/mcp", "", append([]string{"Last-Event-Id: " + h.lost}, theirs...)...),
		"answers her question": h.Do(h.t, "POST", "/mcp", h.answerQuestion("Mallory"), theirs...),
		"cancels her call":     h.Do(h.t, "POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"asking"}}`, theirs...),
		"ends her session":     h.Do(h.t, "DELETE", "/mcp", "", theirs...),
		"posts to her stream":  h.Do(h.t, "POST", h.post, ping, asKey(key)),
	} {
		h.status(http.StatusNotFound, who+" "+what, r)
	}
	if r := h.askQuestion(key, h.state); r.Status < 400 || strings.Contains(r.Body, "it was said") {
		h.t.Errorf("%s goes on with her call: %d %s", who, r.Status, r.Body)
	}
}

// checkOwn is what somebody tries in a session of their own.
func (h *keyHolder) checkOwn(who string, in []string) {
	h.t.Helper()
	h.status(http.StatusBadRequest, who+" resumes her stream in another session", h.Do(h.t, "GET", "/mcp", "", append([]string{"Last-Event-Id: " + h.lost}, in...)...))
	h.status(http.StatusAccepted, who+" answers her question in another session", h.Do(h.t, "POST", "/mcp", h.answerQuestion("Mallory"), in...))
	h.status(http.StatusAccepted, who+" cancels her call in another session", h.Do(h.t, "POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"asking"}}`, in...))
	h.status(http.StatusOK, who+" uses their own session", h.Do(h.t, "POST", "/mcp", ping, in...))
}

// goOn has her go on with everything, as if nobody had tried.
func (h *keyHolder) goOn() {
	h.t.Helper()
	h.status(http.StatusAccepted, "her answer", h.Do(h.t, "POST", "/mcp", h.answerQuestion("Ada"), h.in...))
	if _, said := h.asking.findEvent(`"asking"`); !strings.Contains(said, "Hello, Ada!") {
		h.t.Errorf("her call says %s", said)
	}
	h.open("GET", "/mcp", "", append([]string{"Last-Event-Id: " + h.lost}, h.in...)...).findEvent(`"id":"slow","result"`)
	h.status(http.StatusAccepted, "her message", h.Do(h.t, "POST", h.post, `{"jsonrpc":"2.0","id":"mine","method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"to ann"},`+meta+`}}`, asKey(h.key)))
	if _, said := h.pipe.nextEvent(); !strings.Contains(said, `"mine"`) || !strings.Contains(said, "to ann") {
		h.t.Errorf("the first that she hears is %s", said)
	}
	if r := h.askQuestion(h.key, h.state); r.Status != http.StatusOK || !strings.Contains(r.Body, "it was said: decline") {
		h.t.Errorf("she goes on with her call: %d %s", r.Status, r.Body)
	}
	h.status(http.StatusOK, "her session", h.Do(h.t, "POST", "/mcp", ping, h.in...))
}
