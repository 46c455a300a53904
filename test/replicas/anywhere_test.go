package replicas

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/test/program"
)

// TestSessionAnywhere has a legacy client whose every request reaches another
// replica than the one before.
func TestSessionAnywhere(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	s := c.session("/mcp", `{"elicitation":{}}`)
	for n := range 6 {
		want := fmt.Sprintf("hello %d", n)
		if got := s.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":%q}}}`, n, want)); !strings.Contains(got, want) {
			t.Fatalf("call %d: %s", n, got)
		}
	}

	// A question that one replica asks is answered at another.
	for n := range 3 {
		call := s.open("POST", s.path, fmt.Sprintf(`{"jsonrpc":"2.0","id":"ask-%d","method":"tools/call","params":{"name":"demo__ask"}}`, n), s.header...)
		asked := c.at()
		var question struct{ ID json.RawMessage }
		if err := json.Unmarshal([]byte(call.find("elicitation/create").data), &question); err != nil {
			t.Fatal(err)
		}
		if n == 1 {
			c.skip()
		}
		s.tell(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":"Ada %d","colour":"Teal"}}}`, question.ID, n))
		if c.at() == asked {
			t.Fatal("the answer went to the replica that asked: nothing was tried")
		}
		call.find(fmt.Sprintf("Hello, Ada %d!", n))
		call.close()
	}

	// A stream that was lost goes on at another.
	for n := range 3 {
		call := s.open("POST", s.path, fmt.Sprintf(`{"jsonrpc":"2.0","id":"slow-%d","method":"tools/call","params":{"name":"demo__slow","arguments":{"steps":4,"delay_ms":200},"_meta":{"progressToken":"p"}}}`, n), s.header...)
		ran := c.at()
		seen := call.find("notifications/progress")
		call.close()
		if n == 1 {
			c.skip()
		}
		rest := s.open("GET", s.path, "", append([]string{"Last-Event-Id: " + seen.id}, s.header...)...)
		if c.at() == ran {
			t.Fatal("the stream was resumed where it was lost: nothing was tried")
		}
		rest.find(fmt.Sprintf(`"id":"slow-%d","result"`, n))
		rest.close()
	}

	// A call is cancelled at another.
	call := s.open("POST", s.path, `{"jsonrpc":"2.0","id":"long","method":"tools/call","params":{"name":"demo__slow","arguments":{"steps":100,"delay_ms":1000},"_meta":{"progressToken":"p"}}}`, s.header...)
	call.find("notifications/progress")
	begun := time.Now()
	s.tell(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"long"}}`)
	for more := true; more; {
		_, more = call.next()
	}
	if err := call.lines.Err(); err != nil {
		t.Fatalf("the call was not cancelled: %v", err)
	}
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("the call ended by itself, after %v", took)
	}
	t.Logf("figure: a call ends %d ms after it was cancelled at another replica", time.Since(begun).Milliseconds())

	// What is ended at one is ended at all, by the time that its client is told.
	for range 5 {
		if status, body := c.do("DELETE", s.path, "", s.header...); status != http.StatusNoContent {
			t.Fatalf("DELETE: %d %s", status, body)
		}
		for _, in := range c.replicas {
			a, err := in.Request(t.Context(), "POST", s.path, `{"jsonrpc":"2.0","id":9,"method":"ping"}`, s.header...)
			if err != nil || a.Status != http.StatusNotFound {
				t.Errorf("a session that has ended: %d %s (%v)", a.Status, a.Body, err)
			}
		}
		s = c.session("/mcp", `{}`)
		for range c.replicas { // each of them holds it now
			s.ask(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		}
	}
}

// TestTwoHalvesAnywhere is HTTP+SSE: what is posted at one replica is answered on
// the stream of another.
func TestTwoHalvesAnywhere(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	s := c.open("GET", "/sse", "")
	e, ok := s.next()
	if !ok || e.name != "endpoint" {
		t.Fatalf("%+v", e)
	}
	for n, message := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"two"}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"three"}}}`,
	} {
		if status, body := c.do("POST", e.data, message); status != http.StatusAccepted {
			t.Fatalf("%d %s", status, body)
		}
		s.find(fmt.Sprintf(`"id":%d`, n+1))
	}
	s.close()
}

// asking is a server of the legacy era: its tool asks the client, and it has a
// resource that its tool touch changes, which has an App.
func asking(t *testing.T) string {
	t.Helper()
	const page = "ui://asking/page.html"
	fine := func(text string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	}
	sdk := mcp.NewServer(&mcp.Implementation{Name: "asking", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	mcp.AddTool(sdk, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "?", RequestedSchema: map[string]any{"type": "object"}})
		if err != nil {
			return nil, nil, err
		}
		return fine("it was said: " + res.Action), nil, nil
	})
	mcp.AddTool(sdk, &mcp.Tool{Name: "touch", Meta: mcp.Meta{"ui": map[string]any{"resourceUri": page}}}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		return fine("touched"), nil, sdk.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "note://a"})
	})
	sdk.AddResource(&mcp.Resource{URI: "note://a", Name: "a"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "note://a", Text: "a"}}}, nil
	})
	sdk.AddResource(&mcp.Resource{URI: page, Name: "page", MIMEType: "text/html;profile=mcp-app"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: page, MIMEType: "text/html;profile=mcp-app", Text: "<!doctype html><script>1</script>"}}}, nil
	})
	srv := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk }, nil))
	t.Cleanup(func() {
		_ = srv.Config.Close() // replicas still listen
		srv.Close()
	})
	return srv.URL
}

// add adds the server at one replica, and waits for it at all.
func (c *cluster) add(id, at string) {
	c.Helper()
	if status, body := c.do("POST", "/api/v1/servers", fmt.Sprintf(`{"id":%q,"url":%q}`, id, at)); status != http.StatusCreated {
		c.Fatalf("%d %s", status, body)
	}
	c.all("the server is there", func(in *program.Instance) bool {
		a, err := in.Request(c.Context(), "POST", "/mcp/s/"+id, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		return err == nil && strings.Contains(a.Body, `"touch"`)
	})
}

// TestSubscribedOnAnotherReplica subscribes at one replica and listens at another, while
// a third has the resource changed.
func TestSubscribedOnAnotherReplica(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	c.add("asking", asking(t))
	s := c.session("/mcp/s/asking", `{}`)
	notes := s.open("GET", s.path, "", s.header...)
	listens := c.at()
	s.ask(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"note://a"}}`)
	if c.at() == listens {
		t.Fatal("it was subscribed where it is listened: nothing was tried")
	}
	heard := make(chan event, 1)
	go func() {
		for {
			e, ok := notes.next()
			if !ok || strings.Contains(e.data, "notifications/resources/updated") {
				heard <- e
				return
			}
		}
	}()
	for n := 2; ; n++ { // what is told may come a moment later
		if got := s.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"touch","arguments":{}}}`, n)); !strings.Contains(got, "touched") {
			t.Fatal(got)
		}
		select {
		case e := <-heard:
			if !strings.Contains(e.data, "note://a") {
				t.Fatalf("the stream ended: %q", e.data)
			}
			return
		case <-time.After(200 * time.Millisecond):
		}
		if n > 400 {
			t.Fatal("nothing was heard of the resource")
		}
	}
}

// waiting is a modern client's call that asks for input.
type waiting struct {
	Result struct {
		InputRequests map[string]any
		RequestState  string
	}
}

func (c *cluster) modern(more string) (status int, body string) {
	c.Helper()
	return c.do("POST", "/mcp/s/asking", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{}`+more+
		`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`,
		"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: ask")
}

// park begins a call that waits at a replica, and gives what goes on with it.
func (c *cluster) park() (at int, more string) {
	c.Helper()
	status, body := c.modern("")
	var waits waiting
	if err := json.Unmarshal([]byte(body), &waits); err != nil || waits.Result.RequestState == "" {
		c.Fatalf("%d %s", status, body)
	}
	answers := map[string]any{}
	for name := range waits.Result.InputRequests {
		answers[name] = map[string]string{"action": "decline"}
	}
	said, err := json.Marshal(answers)
	if err != nil {
		c.Fatal(err)
	}
	return c.at(), fmt.Sprintf(`,"inputResponses":%s,"requestState":%q`, said, waits.Result.RequestState)
}

// TestParkedElsewhere has calls that wait in one replica for input, which comes to
// another.
func TestParkedElsewhere(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	c.add("asking", asking(t))
	for n := range 4 {
		at, more := c.park()
		if n%2 == 1 {
			c.skip()
		}
		status, body := c.modern(more)
		if c.at() == at {
			t.Fatal("the input came where the call waits: nothing was tried")
		}
		if status != http.StatusOK || !strings.Contains(body, "it was said: decline") {
			t.Fatalf("round %d: %d %s", n, status, body)
		}
		if status, body := c.modern(more); status != http.StatusBadRequest {
			t.Fatalf("a state was used twice: %d %s", status, body)
		}
	}

	// Where the replica is gone, it is said so, and the call can be made again.
	at, more := c.park()
	c.kill(at)
	status, body := c.modern(more)
	if status != http.StatusServiceUnavailable || !strings.Contains(body, `"unavailable"`) || !strings.Contains(body, "make the call again") {
		t.Fatalf("the replica is gone: %d %s", status, body)
	}
	_, more = c.park()
	if status, body := c.modern(more); status != http.StatusOK || !strings.Contains(body, "it was said: decline") {
		t.Fatalf("made again: %d %s", status, body)
	}
}
