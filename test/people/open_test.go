package people

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/app"
	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/topology"
)

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// wire is a client on a pair of streams.
type wire struct {
	in    *io.PipeWriter
	out   *bufio.Reader
	ended chan struct{} // closed when the instance has let go of it
}

// stdio connects a client as junctor stdio does: through the socket of a running
// instance, or inside the process.
func stdio(t *testing.T, i *testkit.Instance, key string, relayed bool) *wire {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	w := &wire{inW, bufio.NewReader(outR), make(chan struct{})}
	go func() {
		defer close(w.ended)
		if relayed {
			_ = gateway.RelayStdio(t.Context(), filepath.Join(i.Dir, app.SocketName), inR, outW, key)
		} else {
			_ = i.App.ServeStdio(t.Context(), inR, outW, key)
		}
		_ = outW.Close()
	}()
	t.Cleanup(func() { _ = inW.Close(); _ = outR.Close() })
	return w
}

// call calls the echo over the wire; it is io.EOF where the instance has ended it.
func (w *wire) call() (string, error) {
	if _, err := fmt.Fprintf(w.in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"hello"},%s}}`+"\n", meta); err != nil {
		return "", io.EOF
	}
	return w.out.ReadString('\n')
}

func (w *wire) waitEnded(t *testing.T) {
	t.Helper()
	select {
	case <-w.ended:
	case <-time.After(time.Minute):
		t.Error("it is still open")
	}
}

// openFunc is a stream that an instance holds open.
type openFunc struct {
	over func() error // waits for the end
}

func openReading(t *testing.T, i *testkit.Instance, method, path, body, key string, header ...string) openFunc {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	resp := i.Open(ctx, t, method, path, body, append(header, asKey(key))...)
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %d", method, path, resp.StatusCode)
	}
	return openFunc{func() error {
		done := make(chan error, 1)
		go func() { _, err := io.Copy(io.Discard, resp.Body); done <- err }()
		select {
		case <-done: // the end, or a cut
			return nil
		case <-time.After(time.Minute):
			return errors.New("it is still open")
		}
	}}
}

// openEndpoints opens one on every endpoint; of replicas that is none inside the process.
func openEndpoints(t *testing.T, i *testkit.Instance, key string) map[string]openFunc {
	t.Helper()
	hello := i.Do(t, "POST", "/mcp", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, asKey(key))
	session := "Mcp-Session-Id: " + hello.Header.Get("Mcp-Session-Id")
	out := map[string]openFunc{
		"/sse":   openReading(t, i, "GET", "/sse", "", key),
		"legacy": openReading(t, i, "GET", "/mcp", "", key, session, "Accept: text/event-stream"),
		"modern": openReading(t, i, "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+meta+`}}`, key,
			"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen"),
	}
	for name, relayed := range map[string]bool{"stdio": false, "stdio, through the socket": true} {
		if !relayed && i.App == nil {
			continue
		}
		w := stdio(t, i, key, relayed)
		if got, err := w.call(); err != nil || !strings.Contains(got, "hello") {
			t.Fatalf("%s: %v %s", name, err, got)
		}
		out[name] = openFunc{func() error {
			w.waitEnded(t)
			return nil
		}}
	}
	return out
}

// Whatever was opened with a key ends with it, on every endpoint; what another key
// of the same user opened goes on.
func TestRevokedKeyEndsWhatIsOpen(t *testing.T) {
	t.Parallel()
	onBoth(t, revokedKeyEnds)
}

func revokedKeyEnds(t *testing.T, i *topology.Site) {
	t.Helper()
	_, other := addMember(t, i, "ann", "developer", "tools:read,tools:call")
	made := request(t, i, "POST", "/keys", `{"name":"going","user":"ann","scopes":["tools:read","tools:call"]}`, 201)
	going := openEndpoints(t, i.Instance, made.Key)
	stays := stdio(t, i.Instance, other, true)
	if _, err := stays.call(); err != nil {
		t.Fatal(err)
	}
	request(t, i, "DELETE", "/keys/"+made.ID, "", 204)
	for name, o := range going {
		if err := o.over(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := stays.call(); err != nil || !strings.Contains(got, "hello") {
		t.Errorf("another key of the same user: %v %s", err, got)
	}
}

// What is open ends when the key that opened it expires, though nothing is sent.
func TestExpiredKeyEndsWhatIsOpen(t *testing.T) {
	t.Parallel()
	i := startInstance(t, nil)
	until := time.Now().Add(15 * time.Second)
	key := request(t, i, "POST", "/keys", `{"name":"short","scopes":["tools:read","tools:call"],"expires_at":"`+until.UTC().Format(time.RFC3339Nano)+`"}`, 201).Key
	for name, o := range openEndpoints(t, i, key) {
		if err := o.over(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if early := time.Until(until); early > 100*time.Millisecond {
			t.Errorf("%s: ended %s before its key", name, early)
		}
	}
}

// What is open ends when the token that opened it does after a rotation: with the
// grace, and at once where the key is rotated again. What the new one opens stays.
func TestRotatedKeyEndsWhatIsOpen(t *testing.T) {
	t.Parallel()
	onBoth(t, rotatedKeyEnds)
}

func rotatedKeyEnds(t *testing.T, site *topology.Site) {
	t.Helper()
	i := site.Instance
	made := request(t, i, "POST", "/keys", `{"name":"turning","scopes":["tools:read","tools:call"]}`, 201)
	rotate := func(seconds int) string {
		return request(t, i, "POST", "/keys/"+made.ID+"/rotate", fmt.Sprintf(`{"grace_seconds":%d}`, seconds), 200).Key
	}
	before := openEndpoints(t, i, made.Key)
	second := rotate(3600)
	during := openEndpoints(t, i, made.Key) // the grace
	stays := openEndpoints(t, i, second)
	const grace = 4
	until := time.Now().Add(grace * time.Second)
	third := stdio(t, i, rotate(grace), true)
	for _, opened := range []map[string]openFunc{before, during} {
		for name, o := range opened {
			if err := o.over(); err != nil {
				t.Errorf("%s, of the first token: %v", name, err)
			}
		}
	}
	for name, o := range stays {
		if err := o.over(); err != nil {
			t.Errorf("%s, of the second token: %v", name, err)
		}
		if early := time.Until(until); early > 100*time.Millisecond {
			t.Errorf("%s: ended %s before its token", name, early)
		}
	}
	if got, err := third.call(); err != nil || !strings.Contains(got, "hello") {
		t.Errorf("the third token: %v %s", err, got)
	}
}

// What is open is judged by what holds now: a role that was taken, and a key
// whose time has come, count on a connection that was opened before.
func TestOpenConnectionsFollow(t *testing.T) {
	t.Parallel()
	i := startInstance(t, nil)
	id, key := addMember(t, i, "ann", "developer", "tools:read,tools:call")
	for _, relayed := range []bool{false, true} {
		w := stdio(t, i, key, relayed)
		if got, err := w.call(); err != nil || !strings.Contains(got, "hello") {
			t.Fatalf("%v %s", err, got)
		}
		request(t, i, "PATCH", "/users/"+id, `{"role":"viewer"}`, 200)
		if got, err := w.call(); err != nil || !strings.Contains(got, "tools:call") || strings.Contains(got, "hello") {
			t.Errorf("a viewer calls: %v %s", err, got)
		}
		request(t, i, "PATCH", "/users/"+id, `{"role":"developer"}`, 200)
		if got, err := w.call(); err != nil || !strings.Contains(got, "hello") {
			t.Errorf("a developer again: %v %s", err, got)
		}
	}
	// On HTTP+SSE, each message may come with another key of the party.
	reads := request(t, i, "POST", "/keys", `{"name":"reads","user":"ann","scopes":["tools:read"]}`, 201).Key
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream := i.Open(ctx, t, "GET", "/sse", "", asKey(key))
	defer stream.Body.Close()
	events := bufio.NewReader(stream.Body)
	next := func() string {
		for {
			line, err := events.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				return strings.TrimSpace(data)
			}
		}
	}
	at := next()
	for who, want := range map[string]string{key: "hello", reads: "tools:call"} {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__echo","arguments":{"text":"hello"},%s}}`, meta)
		if r := i.Do(t, "POST", at, body, asKey(who)); r.Status != http.StatusAccepted {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		if got := next(); !strings.Contains(got, want) {
			t.Errorf("want %s: %s", want, got)
		}
	}
	until := time.Now().Add(15 * time.Second)
	short := request(t, i, "POST", "/keys", `{"name":"short","user":"ann","scopes":["tools:call"],"expires_at":"`+until.UTC().Format(time.RFC3339Nano)+`"}`, 201)
	w := stdio(t, i, short.Key, true)
	if got, err := w.call(); err != nil || !strings.Contains(got, "hello") {
		t.Fatalf("%v %s", err, got)
	}
	poll.Pause(time.Until(until)+100*time.Millisecond, "a key expires by the clock alone")
	if got, err := w.call(); err == nil {
		t.Errorf("an expired key calls: %s", got)
	}
	w.waitEnded(t)
}

// The agents of a user who is switched off are too: what they have open ends,
// and their keys open nothing until the user is switched on again.
func TestAgentsOfADisabledUserEnd(t *testing.T) {
	t.Parallel()
	onBoth(t, agentsOfADisabledUserEnd)
}

func agentsOfADisabledUserEnd(t *testing.T, site *topology.Site) {
	t.Helper()
	i := site.Instance
	id, key := addMember(t, i, "ann", "developer", "tools:read,tools:call,agents:write")
	if r := i.Do(t, "POST", "/api/v1/agents", `{"name":"bot","tools":["demo/echo"]}`, asKey(key)); r.Status != http.StatusCreated {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	bot := request(t, i, "POST", "/keys", `{"name":"bots","agent":"bot","scopes":["tools:read","tools:call"]}`, 201).Key
	for range site.Each { // one at each
		defer func(o openFunc) {
			if err := o.over(); err != nil {
				t.Errorf("a stream of the agent: %v", err)
			}
		}(openReading(t, i, "GET", "/sse", "", bot))
	}
	w := stdio(t, i, bot, true)
	if got, err := w.call(); err != nil || !strings.Contains(got, "hello") {
		t.Fatalf("%v %s", err, got)
	}
	request(t, i, "PATCH", "/users/"+id, `{"disabled":true}`, 200)
	w.waitEnded(t)
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	if r := i.Do(t, "POST", "/mcp", list, asKey(bot)); r.Status != http.StatusUnauthorized {
		t.Errorf("while the user is disabled: %d %s", r.Status, r.Body)
	}
	request(t, i, "PATCH", "/users/"+id, `{"disabled":false}`, 200)
	if r := i.Do(t, "POST", "/mcp", list, asKey(bot)); r.Status != http.StatusOK || !strings.Contains(r.Body, "demo__echo") {
		t.Errorf("once enabled again: %d %s", r.Status, r.Body)
	}
}
