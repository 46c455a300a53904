package cli

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// playServer is an MCP server for scripts: "mcpserver stdio", or "mcpserver http
// FILE [TOKEN]", which writes its URL to the file and wants the token.
func playServer() {
	s := mcp.NewServer(&mcp.Implementation{Name: "played", Version: "1.2"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "says it again"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Text string `json:"text"`
	},
	) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text + os.Getenv("SUFFIX")}}}, nil, nil
	})
	if os.Args[1] == "stdio" {
		fmt.Fprintln(os.Stderr, "played server is up")
		_ = s.Run(context.Background(), &mcp.StdioTransport{})
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	if err := os.WriteFile(os.Args[2]+".part", []byte("http://"+l.Addr().String()+"/mcp"), 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(os.Args[2]+".part", os.Args[2]); err != nil {
		panic(err)
	}
	// Scripts end it by this signal, which is ignored where the process that started the tests
	// ignored it, as a shell does for what runs in its background.
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	go func() {
		<-interrupted
		_ = l.Close()
	}()
	_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(os.Args) > 3 && r.Header.Get("Authorization") != "Bearer "+os.Args[3] {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	}))
}

// urlof FILE waits for the URL that a played server writes, and sets URL.
func urlof(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: urlof FILE")
	}
	var b []byte
	if !poll.Holds(time.Minute, func() (ok bool) {
		var err error
		b, err = os.ReadFile(ts.MkAbs(args[0]))
		return err == nil
	}) {
		ts.Fatalf("%s was never written", args[0])
	}
	ts.Setenv("URL", strings.TrimSpace(string(b)))
}

// subst FILE replaces $URL in a file by the URL of the played server, and $ADDR by the
// address of the instance.
func subst(ts *testscript.TestScript, _ bool, args []string) {
	text := strings.NewReplacer("$URL", ts.Getenv("URL"), "$ADDR", ts.Getenv("ADDR")).Replace(ts.ReadFile(args[0]))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}
