package upstream

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// wireServer is a server written by hand: it answers with the bytes it is told
// to, and remembers the bytes it got.
type wireServer struct {
	modern  bool
	session string                                                        // given by initialize
	stream  bool                                                          // answer with event streams
	call    func(w http.ResponseWriter, r *http.Request, m *wire.Message) // of tools/call; nil: echo
	tools   string                                                        // the tools of the list
	resumed func(w http.ResponseWriter, r *http.Request)                  // of a GET with Last-Event-Id

	mu       sync.Mutex
	bodies   []string // of tools/call
	headers  []http.Header
	methods  []string
	hellos   atomic.Int64 // of initialize
	calls    atomic.Int64
	notified atomic.Int64
}

func (s *wireServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && s.resumed != nil && r.Header.Get(wire.HeaderLastEventID) != "" {
		s.resumed(w, r)
		return
	}
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(r.Body)
	var m wire.Message
	if err := m.Parse(body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.methods = append(s.methods, m.Method)
	s.mu.Unlock()
	if m.Kind != wire.Request {
		s.notified.Add(1)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	switch m.Method {
	case wire.MethodServerDiscover:
		if !s.modern {
			s.fail(w, http.StatusBadRequest, &m, wire.CodeMethodNotFound, "what?")
			return
		}
		s.answer(w, &m, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"raw","version":"1"}}}`)
	case wire.MethodInitialize:
		s.hellos.Add(1)
		if s.modern {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if s.session != "" {
			w.Header().Set(wire.HeaderSessionID, fmt.Sprint(s.session, s.hellos.Load()))
		}
		s.answer(w, &m, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`)
	case wire.MethodToolsList:
		s.answer(w, &m, `{"tools":[`+s.tools+`]}`)
	case wire.MethodToolsCall:
		s.calls.Add(1)
		s.mu.Lock()
		s.bodies = append(s.bodies, string(body))
		s.headers = append(s.headers, r.Header.Clone())
		s.mu.Unlock()
		if s.call != nil {
			s.call(w, r, &m)
			return
		}
		s.answer(w, &m, string(wire.Get(m.Arguments, "result")))
	default:
		s.fail(w, http.StatusOK, &m, wire.CodeMethodNotFound, "what?")
	}
}

func (s *wireServer) answer(w http.ResponseWriter, m *wire.Message, result string) {
	message := wire.AppendResult(nil, m.ID, []byte(result))
	if !s.stream {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(message)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = w.Write(wire.AppendEvent(nil, wire.Event{Name: "message", Data: message}))
}

func (s *wireServer) fail(w http.ResponseWriter, status int, m *wire.Message, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(wire.AppendError(nil, m.ID, &wire.Error{Code: code, Message: message}))
}

func (s *wireServer) last(t testing.TB) (string, http.Header) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.bodies) == 0 {
		t.Fatal("the server was not called")
	}
	return s.bodies[len(s.bodies)-1], s.headers[len(s.headers)-1]
}

func TestBytesPassUntouched(t *testing.T) {
	t.Parallel()
	// The odd spacing is part of it.
	const odd = `{"n":1e400,"big":9223372036854775809,"money":1.10,"esc":"\u0041\/","unknown":{"z":1,"a":[ ]},"neg":-0.0}`
	const result = `{"content":[{"type":"hologram","x":1e400},{"type":"text","text":"t","future":9223372036854775809}],"structuredContent":{"v":1.10},"unknown":{"b" : 2}}`
	for _, modern := range []bool{true, false} {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprintf("modern=%v stream=%v", modern, stream), func(t *testing.T) {
				t.Parallel()
				raw := &wireServer{modern: modern, stream: stream}
				s := newServer(t, serve(t, raw))
				arguments := `{"odd":` + odd + `, "result":` + result + `}`
				req := toolCall("café", arguments)
				req.Params = []byte(`{"future":[1.10],"name":"shown__x","arguments":` + arguments + `,"_meta":{"traceparent":"00-1","progressToken":"theirs","io.modelcontextprotocol/protocolVersion":"2026-07-28","custom":1e2,"io.modelcontextprotocol/clientInfo":{"name":"them"},"junctor/version":"2"}}`)
				req.Arguments, req.Meta = wire.Get(req.Params, "arguments"), wire.Get(req.Params, "_meta")
				req.Caller.Progress = true
				req.Caller.Capabilities = []byte(`{"experimental":{"x":1.10}}`)
				res := do(t, s, req)
				if string(res.Body) != result {
					t.Errorf("the result changed:\n%s\n%s", res.Body, result)
				}
				body, header := raw.last(t)
				params := wire.Get([]byte(body), "params")
				if got := string(wire.Get(params, "arguments")); got != arguments {
					t.Errorf("the arguments changed:\n%s\n%s", got, arguments)
				}
				if got := string(wire.Get(params, "future")); got != `[1.10]` {
					t.Errorf("an unknown member became %s", got)
				}
				if got, _ := wire.String(wire.Get(params, "name")); got != "café" {
					t.Errorf("name %q", got)
				}
				meta := wire.Get(params, "_meta")
				if string(wire.Get(meta, "traceparent")) != `"00-1"` || string(wire.Get(meta, "custom")) != `1e2` || wire.Get(meta, "junctor/version") != nil {
					t.Errorf("_meta %s", meta)
				}
				if token := string(wire.Get(meta, "progressToken")); token == "" || token == `"theirs"` {
					t.Errorf("the progress token is %s", token)
				}
				if strings.Contains(string(meta), "them") {
					t.Errorf("the client's own info went on: %s", meta)
				}
				if !modern {
					if wire.Get(meta, wire.MetaProtocolVersion) != nil || header.Get(wire.HeaderMethod) != "" || header.Get(wire.HeaderProtocolVersion) != "2025-06-18" {
						t.Errorf("modern marks to a legacy server: %s %v", meta, header)
					}
					return
				}
				if string(wire.Get(meta, wire.MetaClientCapabilities)) != `{"experimental":{"x":1.10}}` || !strings.Contains(string(wire.Get(meta, wire.MetaClientInfo)), "junctor") {
					t.Errorf("_meta %s", meta)
				}
				var m wire.Message
				if err := m.Parse([]byte(body)); err != nil {
					t.Fatal(err)
				}
				if e := wire.CheckHeaders(header, &m); e != nil {
					t.Error(e)
				}
			})
		}
	}
}

func TestModernResultParts(t *testing.T) {
	t.Parallel()
	raw := &wireServer{modern: true}
	s := newServer(t, serve(t, raw))
	res := do(t, s, toolCall("x", `{"result":{"resultType":"complete","ttlMs":1500,"cacheScope":"public","content":[],"isError":true,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x"},"keep":1}}}`))
	if string(res.Body) != `{"content":[],"isError":true,"_meta":{"keep":1}}` || res.TTL != 1500*time.Millisecond || !res.Public || !res.IsError {
		t.Errorf("%s %+v", res.Body, res)
	}
	if _, err := s.Do(ctxFor(t), toolCall("x", `{"result":{"resultType":"dream","content":[]}}`), &notes{}); junctor.CodeOf(err) != junctor.CodeUpstream {
		t.Errorf("an unknown result type: %v", err)
	}
}

func TestMirroredArguments(t *testing.T) {
	t.Parallel()
	raw := &wireServer{modern: true, tools: `{"name":"geo","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"}}}}`}
	s := newServer(t, serve(t, raw))
	if _, err := s.Offer(ctxFor(t)); err != nil {
		t.Fatal(err)
	}
	do(t, s, toolCall("geo", `{"region":"Zürich","n":42,"result":{"content":[]}}`))
	_, h := raw.last(t)
	if region, _ := wire.DecodeHeader(h.Get("Mcp-Param-Region")); region != "Zürich" || h.Get("Mcp-Param-N") != "42" {
		t.Errorf("headers %v", h)
	}
}

func TestArgumentsAlone(t *testing.T) {
	t.Parallel()
	// The admin API gives arguments where a client gives params.
	raw := &wireServer{}
	s := newServer(t, serve(t, raw))
	arguments := []byte(`{"name":"mine","result":{"content":[]}}`)
	do(t, s, &catalog.Request{Kind: junctor.KindTool, Name: "x", Params: arguments, Arguments: arguments})
	body, _ := raw.last(t)
	params := wire.Get([]byte(body), "params")
	if string(wire.Get(params, "name")) != `"x"` || string(wire.Get(params, "arguments")) != string(arguments) {
		t.Errorf("params %s", params)
	}
}

const safeTool = `{"name":"safe","inputSchema":{"type":"object"}},{"name":"unsafe","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"idempotentHint":true}}`

// TestOnlyWhatCannotHarmIsRepeated has calls fail. Only those that the caller says
// are repeatable are made again: what the server claims of its tool counts nothing.
func TestOnlyWhatCannotHarmIsRepeated(t *testing.T) {
	t.Parallel()
	breakOff := func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = c.Close()
		}
	}
	busy := func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) {
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	bad := func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) { w.WriteHeader(http.StatusBadGateway) }
	gone := func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) { w.WriteHeader(http.StatusNotFound) }
	for _, c := range []struct {
		name, tool string
		fault      func(http.ResponseWriter, *http.Request, *wire.Message)
		calls      int64
		ok         bool
	}{
		{"broken off", "safe", breakOff, 2, true},
		{"broken off", "unsafe", breakOff, 1, false},
		{"502", "safe", bad, 2, true},
		{"502", "unsafe", bad, 1, false},
		{"503 with a time", "unsafe", busy, 2, true},
		{"ended session", "unsafe", gone, 2, true},
	} {
		t.Run(c.name+" "+c.tool, func(t *testing.T) {
			t.Parallel()
			raw := &wireServer{session: "s", tools: safeTool}
			raw.call = func(w http.ResponseWriter, r *http.Request, m *wire.Message) {
				if raw.calls.Load() == 1 {
					c.fault(w, r, m)
					return
				}
				raw.answer(w, m, `{"content":[]}`)
			}
			s := newServer(t, serve(t, raw))
			if _, err := s.Offer(ctxFor(t)); err != nil {
				t.Fatal(err)
			}
			req := toolCall(c.tool, `{}`)
			req.Repeatable = c.tool == "safe"
			_, err := s.Do(ctxFor(t), req, &notes{})
			if (err == nil) != c.ok || raw.calls.Load() != c.calls {
				t.Errorf("%v after %d calls", err, raw.calls.Load())
			}
		})
	}
}

func TestRefusedCredentialsAreNotTriedAgain(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	var right atomic.Bool
	raw := &wireServer{}
	at := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Header.Get("Authorization") != "Bearer right" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		raw.ServeHTTP(w, r)
	}))
	s := newServer(t, at, func(o *Options) {
		o.Header = func(context.Context, *junctor.Principal) (http.Header, error) {
			if right.Load() {
				return http.Header{"Authorization": {"Bearer right"}}, nil
			}
			return http.Header{"Authorization": {"Bearer wrong"}}, nil
		}
	})
	for range 3 {
		_, err := s.Do(ctxFor(t), toolCall("x", `{}`), &notes{})
		if junctor.CodeOf(err) != junctor.CodeUpstream || !strings.Contains(err.Error(), "credentials") || strings.Contains(err.Error(), "wrong") {
			t.Errorf("refused: %v", err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}
	right.Store(true) // new credentials are tried at once
	do(t, s, toolCall("x", `{"result":{"content":[]}}`))
}

func TestBreaker(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	var down atomic.Bool
	raw := &wireServer{session: "s"}
	at := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			asked.Add(1)
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		raw.ServeHTTP(w, r)
	}))
	var now atomic.Int64
	now.Store(time.Now().UnixNano())
	s := newServer(t, at, func(o *Options) { o.Now = func() time.Time { return time.Unix(0, now.Load()) } })
	do(t, s, toolCall("x", `{"result":{"content":[]}}`))
	down.Store(true)
	var last error
	for range 20 {
		_, last = s.Do(ctxFor(t), toolCall("x", `{}`), &notes{})
		if last == nil {
			t.Fatal("a server that fails answered")
		}
	}
	if n := asked.Load(); n > 2*failuresToOpen {
		t.Errorf("a server that fails was asked %d times", n)
	}
	if e := junctor.AsError(last); e.Code != junctor.CodeUnavailable || e.RetryAfter <= 0 || s.State().Connected {
		t.Errorf("%v %+v", last, s.State())
	}
	down.Store(false)
	now.Add(int64(2 * time.Minute))
	do(t, s, toolCall("x", `{"result":{"content":[]}}`)) // use wakes it
}

func TestBrokenStreamIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	raw := &wireServer{session: "s"}
	var id []byte
	raw.call = func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
		id = append([]byte(nil), m.ID...)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "id: one\nretry: 5\ndata:\n\n") // and closes on purpose
	}
	polls := 0
	raw.resumed = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if polls++; polls < 12 {
			_, _ = fmt.Fprintf(w, "id: %d\ndata:\n\n", polls)
			return
		}
		if r.Header.Get(wire.HeaderLastEventID) != "11" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = w.Write(wire.AppendEvent(nil, wire.Event{Data: wire.AppendResult(nil, id, []byte(`{"content":[]}`))}))
	}
	s := newServer(t, serve(t, raw))
	if res := do(t, s, toolCall("x", `{}`)); string(res.Body) != `{"content":[]}` || raw.calls.Load() != 1 {
		t.Errorf("%s after %d calls", res.Body, raw.calls.Load())
	}
}

// Why a stream gave no answer is said as it was: a connection that broke is looked for
// elsewhere than a server that has nothing to say, and what was only too large for us
// is not the server's fault.
func TestWhyAStreamGaveNoAnswer(t *testing.T) {
	t.Parallel()
	events := func(w http.ResponseWriter, text string) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, text)
	}
	large := "data: " + strings.Repeat("x", 2<<20) + "\n\n"
	for name, c := range map[string]struct {
		call func(w http.ResponseWriter)
		most int64 // of one message
		code junctor.Code
		want string
	}{
		"it ends": {func(w http.ResponseWriter) { events(w, ": hello\n\n") }, 0, junctor.CodeUpstream, "ended its stream without a response"},
		"it is cut": {func(w http.ResponseWriter) {
			events(w, ": hello\n\n")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, 0, junctor.CodeUpstream, "closed the connection"},
		"one message is too large":   {func(w http.ResponseWriter) { events(w, large) }, 100 << 10, junctor.CodeTooLarge, "--max-result"},
		"all together are too large": {func(w http.ResponseWriter) { events(w, large) }, 0, junctor.CodeTooLarge, "did not read the result"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw := &wireServer{modern: true, call: func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) { c.call(w) }}
			s := newServer(t, serve(t, raw), func(o *Options) {
				o.MaxBytes, o.ByteBudget = c.most, limit.NewByteBudget(limit.ByteBudgetOptions{Total: 1 << 20, PerParty: 1 << 20})
			})
			if _, err := s.Do(ctxFor(t), toolCall("x", `{}`), &notes{}); junctor.CodeOf(err) != c.code || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("%s: %v", junctor.CodeOf(err), err)
			}
		})
	}
}

func TestAnswersThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"another id":     `{"jsonrpc":"2.0","id":"other","result":{}}`,
		"no JSON":        `{`,
		"key twice":      `{"jsonrpc":"2.0","id":2,"result":{"a":1,"a":2}}`,
		"no object":      `{"jsonrpc":"2.0","id":2,"result":[]}`,
		"request":        `{"jsonrpc":"2.0","id":2,"method":"ping"}`,
		"error of sorts": `{"jsonrpc":"2.0","id":2,"error":{"code":"x"}}`,
		"nothing":        ``,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw := &wireServer{call: func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, answer)
			}}
			s := newServer(t, serve(t, raw))
			if res, err := s.Do(ctxFor(t), toolCall("x", `{}`), &notes{}); junctor.CodeOf(err) != junctor.CodeUpstream {
				t.Errorf("%s, %v", res.Body, err)
			}
		})
	}
}

func FuzzOutgoing(f *testing.F) {
	f.Add([]byte(`{"name":"x","arguments":{"a":1e400},"_meta":{"progressToken":1,"k":[]}}`), "tool", true)
	f.Add([]byte(`{ "n\u0061me" : "x" , "arguments" : { } }`), "", false)
	f.Add([]byte(`{"_meta":{"io.modelcontextprotocol/x":1},"requestState":"s","inputResponses":{}}`), "a\"b", true)
	s, err := New(Options{ID: "x", Transport: TransportHTTP, URL: &url.URL{Scheme: "http", Host: "h"}, Client: &http.Client{}, StreamClient: &http.Client{}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, params []byte, name string, modern bool) {
		if wire.CheckJSON(params) != nil || params[0] != '{' {
			t.Skip()
		}
		req := &catalog.Request{Kind: junctor.KindTool, Name: name, Params: params, Arguments: wire.Get(params, "arguments"), Meta: wire.Get(params, "_meta")}
		b := s.newParamsBuilder()
		b.writeParams(s, req, modern, 7)
		out := b.params
		if err := wire.CheckJSON(out); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		if string(wire.Get(out, "arguments")) != string(wire.Get(params, "arguments")) {
			t.Errorf("the arguments changed: %s", out)
		}
		if got, _ := wire.String(wire.Get(out, "name")); got != strings.ToValidUTF8(name, "\uFFFD") && utf8.ValidString(name) {
			t.Errorf("name %q", got)
		}
		if meta := wire.Get(out, "_meta"); string(wire.Get(meta, "progressToken")) != "7" || (wire.Get(meta, wire.MetaProtocolVersion) != nil) != modern {
			t.Errorf("_meta %s", meta)
		}
		if wire.Get(out, "requestState") != nil || wire.Get(out, "inputResponses") != nil {
			t.Errorf("somebody else's state went on: %s", out)
		}
	})
}
