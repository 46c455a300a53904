//go:build unix

package upstream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// play is what the test binary does as a child. It writes its number to the file
// that ROLL names.
func play(role string) int {
	if roll := os.Getenv("ROLL"); roll != "" {
		f, err := os.OpenFile(roll, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return 1
		}
		fmt.Fprintln(f, os.Getpid())
		_ = f.Close()
	}
	switch role {
	case "sdk":
		return playSDK()
	case "peer":
		if err := newPeer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	case "choosy":
		return playChoosy()
	case "mindful":
		return playMindful()
	case "gateway":
		return playGateway()
	case "crash":
		fmt.Fprintln(os.Stderr, "cannot find module, token is", os.Getenv("SECRET"))
		return 3
	case "wall": // reads nothing until it is told to, then is a server
		told := make(chan os.Signal, 1)
		signal.Notify(told, syscall.SIGUSR1)
		s := &rawServer{in: bufio.NewReader(os.Stdin)}
		for range 3 { // the handshake
			s.one()
		}
		<-told
		s.run()
	case "deaf", "stubborn": // does not end with its input; the latter not when asked either
		if role == "stubborn" {
			signal.Ignore(syscall.SIGTERM)
		}
		(&rawServer{in: bufio.NewReader(os.Stdin)}).run()
		select {}
	default:
		(&rawServer{in: bufio.NewReader(os.Stdin), role: role}).run()
	}
	return 0
}

// playSDK is a server made with the official SDK.
func playSDK() int {
	s := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, a in) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.Text}}}, nil, nil
	})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return 0
}

// playChoosy is a server that looks at its client when it is initialized: it asks
// for roots, and has a tool for those only that can be elicited.
func playChoosy() int {
	known := "none"
	var mu sync.Mutex
	look := func(ctx context.Context, session *mcp.ServerSession) {
		roots, err := session.ListRoots(ctx, nil) //nolint:staticcheck // deprecated, and in use
		mu.Lock()
		defer mu.Unlock()
		if known = "refused"; err == nil && len(roots.Roots) == 1 {
			known = roots.Roots[0].URI
		}
	}
	var s *mcp.Server
	s = mcp.NewServer(&mcp.Implementation{Name: "choosy", Version: "1"}, &mcp.ServerOptions{
		InitializedHandler: func(ctx context.Context, r *mcp.InitializedRequest) {
			caps := r.Session.InitializeParams().Capabilities
			if caps.Elicitation != nil {
				s.AddTool(&mcp.Tool{Name: "elicit", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return text("here"), nil
				})
			}
			if caps.RootsV2 != nil { //nolint:staticcheck // deprecated, and in use
				look(ctx, r.Session)
			}
		},
		RootsListChangedHandler: func(ctx context.Context, r *mcp.RootsListChangedRequest) { look(ctx, r.Session) }, //nolint:staticcheck // deprecated, and in use
	})
	s.AddTool(&mcp.Tool{Name: "where", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		mu.Lock()
		defer mu.Unlock()
		return text("%s", known), nil
	})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return 0
}

// playMindful is a server that asks for its client's roots in the first call that
// needs them, and remembers them.
func playMindful() int {
	known := ""
	var mu sync.Mutex
	s := mcp.NewServer(&mcp.Implementation{Name: "mindful", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "where", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		mu.Lock()
		defer mu.Unlock()
		if known == "" {
			roots, err := r.Session.ListRoots(ctx, nil) //nolint:staticcheck // deprecated, and in use
			if err != nil || len(roots.Roots) != 1 {
				return text("refused"), nil
			}
			known = roots.Roots[0].URI
		}
		return text("%s", known), nil
	})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return 0
}

// playGateway is a process that has a child, and is killed.
func playGateway() int {
	o := &Options{ID: "x", Transport: TransportStdio, Logger: slog.New(slog.DiscardHandler), Command: &Command{Program: runs(os.Args[0], "play-sdk"), Env: []string{"ROLL=" + os.Getenv("CHILDREN")}}}
	o.setDefaults()
	l, err := openStdio(context.Background(), o, linkSettings{})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	var group sync.WaitGroup
	for i := range 10 {
		group.Go(func() {
			for k := range 100 {
				text := fmt.Sprintf("%d/%d", i, k)
				if got, err := echo(context.Background(), l, text); err != nil || got != text {
					fmt.Println("wrong", got, err)
				}
			}
		})
	}
	group.Wait()
	fmt.Println("armed")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// echo calls the tool of that name.
func echo(ctx context.Context, l link, text string) (string, error) {
	quoted, _ := json.Marshal(text)
	meta := ""
	if l.isModern() {
		meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	}
	result, err := l.roundTrip(ctx, "tools/call", fmt.Appendf(nil, `{"name":"echo","arguments":{"text":%s}%s}`, quoted, meta), nil)
	if err != nil {
		return "", err
	}
	var r struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(result, &r); err != nil || len(r.Content) != 1 {
		return "", fmt.Errorf("%s: %w", result, err)
	}
	return r.Content[0].Text, nil
}

// rawServer is a server made by hand, which can be wrong in many ways. Its tool
// does what the method of a request says.
type rawServer struct {
	in    *bufio.Reader
	role  string
	mu    sync.Mutex
	asked map[string]chan json.RawMessage
	first json.RawMessage // a request that waits for the next
}

type rawMessage struct {
	ID     json.RawMessage            `json:"id"`
	Method string                     `json:"method"`
	Params map[string]json.RawMessage `json:"params"`
	Result json.RawMessage            `json:"result"`
	Error  json.RawMessage            `json:"error"`
}

func (s *rawServer) run() {
	for s.one() {
	}
}

func (s *rawServer) one() bool {
	line, err := s.in.ReadBytes('\n')
	if err != nil {
		return false
	}
	var m rawMessage
	if err := json.Unmarshal(line, &m); err != nil {
		fmt.Fprintf(os.Stderr, "broken line: %.100q\n", line)
		os.Exit(9)
	}
	if m.Method == "" {
		s.mu.Lock()
		c := s.asked[string(m.ID)]
		s.mu.Unlock()
		if c != nil {
			c <- append(m.Result, m.Error...)
		}
		return true
	}
	s.serve(&m)
	return true
}

func (s *rawServer) write(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(os.Stdout, format+"\n", args...)
}

func (s *rawServer) answer(id json.RawMessage, result string) {
	s.write(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

func (s *rawServer) serve(m *rawMessage) {
	const info = `"capabilities":{"tools":{}},"instructions":"be kind","serverInfo":{"name":"raw","version":"1"}`
	switch m.Method {
	case "server/discover":
		switch s.role {
		case "modern":
			s.answer(m.ID, `{"resultType":"complete","supportedVersions":["2026-07-28"],`+info+`}`)
		case "older": // answers, but does not name our version
			s.answer(m.ID, `{"supportedVersions":["2025-11-25"],`+info+`}`)
		case "newer":
			s.write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"not that one","data":{"supported":["2027-01-01"]}}}`, m.ID)
		case "both":
			s.write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"not that one","data":{"supported":["2025-06-18"]}}}`, m.ID)
		case "silent":
		case "dying":
			fmt.Fprintln(os.Stderr, "what is that?")
			os.Exit(1)
		case "overtaken": // a modern one whose first answer comes after its second
			s.first = m.ID
		case "late": // a modern one that takes its time to start: until it is asked the older way too
			s.first = m.ID
		default:
			s.write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, m.ID)
		}
	case "initialize":
		switch s.role {
		case "late":
			s.answer(s.first, `{"resultType":"complete","supportedVersions":["2026-07-28"],`+info+`}`)
			s.write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no handshake here"}}`, m.ID)
		case "modern", "newer", "overtaken":
			s.write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no handshake here"}}`, m.ID)
			if s.first != nil {
				s.answer(s.first, `{"resultType":"complete","supportedVersions":["2026-07-28"],`+info+`}`)
			}
		case "future":
			s.answer(m.ID, `{"protocolVersion":"1999-01-01",`+info+`}`)
		default:
			s.answer(m.ID, `{"protocolVersion":"2025-11-25",`+info+`}`)
		}
	case "notifications/initialized":
	case "notifications/cancelled":
		s.write(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"cancelled":%s}}`, m.Params["requestId"])
	case "subscriptions/listen":
		if s.role != "modern" {
			s.write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, m.ID)
			return
		}
		s.write(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, m.ID)
	case "echo":
		s.answer(m.ID, `{"text":`+string(m.Params["text"])+`}`)
	case "hang":
	case "env":
		all, _ := json.Marshal(os.Environ())
		s.answer(m.ID, `{"env":`+string(all)+`}`)
	case "crash":
		fmt.Fprintln(os.Stderr, "first line\npanic: out of cheese, token is", os.Getenv("SECRET"))
		os.Exit(4)
	case "mute": // ends its output and lives on
		_ = os.Stdout.Close()
		select {}
	case "long": // an answer of so many bytes, the id first or last
		n, _ := strconv.Atoi(string(m.Params["bytes"]))
		pad := strings.Repeat("x", n)
		if string(m.Params["last"]) == "true" {
			s.write(`{"result":{"pad":"%s"},"jsonrpc":"2.0","id":%s}`, pad, m.ID)
		} else {
			s.answer(m.ID, `{"pad":"`+pad+`"}`)
		}
	case "progress":
		s.write(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, meta(m)["progressToken"])
		s.write(`this is a log line on the wrong stream`)
		s.write(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%s}}`, m.Params["text"])
		s.answer(m.ID, `{}`)
	case "batch":
		s.write(`[{"jsonrpc":"2.0","method":"notifications/tools/list_changed"},{"jsonrpc":"2.0","id":%s,"result":{"batch":true}}]`, m.ID)
	case "ask":
		go s.ask(m, string(bytes.Trim(m.Params["method"], `"`)))
	}
}

func meta(m *rawMessage) (meta map[string]json.RawMessage) {
	_ = json.Unmarshal(m.Params["_meta"], &meta)
	return meta
}

// ask asks the client and answers with what it said.
func (s *rawServer) ask(m *rawMessage, method string) {
	reply := make(chan json.RawMessage, 1)
	id := `"q` + string(m.ID) + `"`
	s.mu.Lock()
	if s.asked == nil {
		s.asked = map[string]chan json.RawMessage{}
	}
	s.asked[id] = reply
	s.mu.Unlock()
	s.write(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{"message":"who?"}}`, id, method)
	s.answer(m.ID, `{"said":`+string(<-reply)+`}`)
}
