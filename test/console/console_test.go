// Package console holds the console to what people do with it: a real browser
// in front of the whole program, with real servers behind it. What goes wrong
// on the browser's console, or against the page's policy, fails.
package console

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/test/program"
)

var shots = flag.String("shots", "", "take pictures of every screen into this folder")

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// rig is a console with people who may and may not change things.
type rig struct{ *program.Console }

func start(t *testing.T) *rig {
	t.Helper()
	r := &rig{program.StartConsole(t, "--allow-commands")}
	r.Tell(t, "user", "add", "vera", "--role", "viewer")
	return r
}

func (r *rig) server(name string) []string {
	return []string{r.Node.Bin(), r.Node.Module("@modelcontextprotocol/server-" + name + "/dist/index.js")}
}

// run runs a script; what it prints are the steps that it took.
func (r *rig) run(t *testing.T, script string, args ...string) {
	t.Helper()
	out, err := r.Node.Run(t, 40*time.Minute, script, args...)
	t.Logf("%s", out)
	for line := range strings.Lines(string(out)) {
		if _, figure, ok := strings.Cut(line, "figure: "); ok { // make prove collects them
			t.Logf("figure: %s", strings.TrimSpace(figure))
		}
	}
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
}

func TestFlows(t *testing.T) {
	t.Parallel()
	r := start(t)
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"memory": map[string]any{
		"command": r.server("memory")[0], "args": r.server("memory")[1:], "env": map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.json")},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	r.run(t, "console.mjs", "flows", r.Link(t, "ada"), strings.Join(r.server("everything"), " "), string(config))
}

func TestViewer(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.run(t, "console.mjs", "viewer", r.Link(t, "vera"))
}

// hostile is what a server may say that wants to be more than text.
func hostile() []string {
	all := []string{
		`<script>window.__xss=1</script>`, `<img src=x onerror="window.__xss=1">`, `<svg onload="window.__xss=1">`, `"><script>window.__xss=1</script>`,
		`<iframe src="javascript:parent.__xss=1"></iframe>`, `<a href="javascript:window.__xss=1">go</a>`, `[go](javascript:window.__xss=1)`,
		`![x](x" onerror="window.__xss=1)`, `javascript:window.__xss=1`, `JaVaScRiPt:window.__xss=1`, "java\tscript:window.__xss=1", ` javascript:window.__xss=1`,
		`data:text/html,<script>window.__xss=1</script>`, `data:image/svg+xml,<svg onload="window.__xss=1"/>`, `vbscript:window.__xss=1`, `blob:null/x`,
		`<style>*{background:url(//evil.example)}</style>`, `<link rel=stylesheet href=//evil.example>`, `<meta http-equiv=refresh content="0;url=//evil.example">`,
		`<base href=//evil.example>`, `<form action=//evil.example><input name=x autofocus onfocus="window.__xss=1">`, `<math><mtext><script>window.__xss=1</script>`,
		`<template><script>window.__xss=1</script></template>`, `<object data="javascript:window.__xss=1">`, `<embed src="javascript:window.__xss=1">`,
		`<video><source onerror="window.__xss=1">`, `<details open ontoggle="window.__xss=1">`, `<body onload="window.__xss=1">`, `<marquee onstart="window.__xss=1">`,
		`<input onfocus="window.__xss=1" autofocus>`, `<select onfocus="window.__xss=1" autofocus>`, `<textarea onfocus="window.__xss=1" autofocus>`,
		`{{constructor.constructor('window.__xss=1')()}}`, `${window.__xss=1}`, "`${window.__xss=1}`", `</pre><script>window.__xss=1</script>`,
		`</title><script>window.__xss=1</script>`, `<!--><script>window.__xss=1</script>-->`, `<![CDATA[<script>window.__xss=1</script>]]>`,
		`&lt;script&gt;window.__xss=1&lt;/script&gt;`, `\u003cscript\u003ewindow.__xss=1\u003c/script\u003e`, `%3Cscript%3Ewindow.__xss=1%3C/script%3E`,
		`{"type":"div","props":{"dangerouslySetInnerHTML":{"__html":"<img src=x onerror=window.__xss=1>"}}}`, `{"__proto__":{"__xss":1}}`, `{"constructor":{"prototype":{"__xss":1}}}`,
		"\u202ewindow.__xss=1", "\x1b]8;;javascript:window.__xss=1\x07go\x1b]8;;\x07", `//evil.example/x`, `https:javascript:window.__xss=1`, `http://evil.example"onmouseover="window.__xss=1`,
		`<svg><animate onbegin="window.__xss=1" attributeName=x dur=1s>`, `<x onclick="window.__xss=1" style="position:fixed;inset:0">`, `'-window.__xss=1-'`, `";window.__xss=1;//`,
	}
	return all
}

// newHostile starts a server whose every word is an attempt.
func newHostile(t *testing.T) string {
	t.Helper()
	sdk := mcp.NewServer(&mcp.Implementation{Name: hostile()[0], Version: hostile()[1]}, nil)
	for i, text := range hostile() {
		name := fmt.Sprintf("say-%02d", i)
		mcp.AddTool(sdk, &mcp.Tool{Name: name, Title: text, Description: text}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			res := &mcp.CallToolResult{IsError: i%2 == 1}
			for _, one := range hostile() {
				res.Content = append(res.Content, &mcp.TextContent{Text: one}, &mcp.ResourceLink{URI: one, Name: one, Title: one, Description: one, MIMEType: one})
			}
			res.Content = append(res.Content, &mcp.ImageContent{Data: []byte(hostile()[2]), MIMEType: "image/svg+xml"})
			return res, nil, nil
		})
	}
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk }, nil))
	t.Cleanup(func() {
		_ = s.Config.Close() // streams too, which Close would wait for
		s.Close()
	})
	return s.URL
}

func TestHostileServers(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.Tell(t, "server", "add", "hostile", newHostile(t))
	r.run(t, "console.mjs", "hostile", r.Link(t, "ada"))
}

// With many tools, and with calls that come fast, the pages stay smooth: no task
// takes 100 ms of processor time where the machine is quiet.
func TestManyToolsAndCalls(t *testing.T) {
	t.Parallel()
	r := start(t)
	sdk := mcp.NewServer(&mcp.Implementation{Name: "many", Version: "1"}, nil)
	for i := range 5000 {
		mcp.AddTool(sdk, &mcp.Tool{Name: fmt.Sprintf("tool-%04d", i), Description: fmt.Sprintf("The tool with the number %d, which does nothing at all.", i)},
			func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{}, nil, nil
			})
	}
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk }, nil))
	t.Cleanup(func() {
		_ = s.Config.Close()
		s.Close()
	})
	r.Tell(t, "server", "add", "many", s.URL)
	ctx, stop := context.WithCancel(t.Context())
	caller, done := program.NewCaller(t, program.Modern, r.URL, program.AdminKey), make(chan int)
	go func() {
		tick, n := time.NewTicker(5*time.Millisecond), 0
		defer tick.Stop()
		for ctx.Err() == nil {
			<-tick.C
			if a, err := caller.Call(ctx, "demo__echo", `{"text":"again"}`); err == nil && a.OK {
				n++
			}
		}
		done <- n
	}()
	r.run(t, "console.mjs", "many", r.Link(t, "ada"))
	stop()
	t.Logf("%d calls were made meanwhile", <-done)
}

// Pictures to look at: go test ./test/console -run Shots -shots FOLDER.
func TestShots(t *testing.T) {
	t.Parallel()
	if *shots == "" {
		t.Skip("pictures are taken with -shots FOLDER")
	}
	folder, err := filepath.Abs(*shots)
	if err != nil {
		t.Fatal(err)
	}
	r := start(t)
	r.furnish(t)
	r.run(t, "shots.mjs", append([]string{r.Link(t, "ada"), folder}, flag.Args()...)...)
}
