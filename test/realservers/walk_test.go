// Package realservers puts Junctor in front of servers that people use, over stdio and
// HTTP, and lets the official TypeScript client of both generations walk through
// them: what a walk sees is what it sees without Junctor between.
package realservers

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// limit is for one walk; it takes some seconds.
const limit = 5 * time.Minute

// The servers of npm.
const (
	everything = "@modelcontextprotocol/server-everything/dist/index.js"
	memory     = "@modelcontextprotocol/server-memory/dist/index.js"
	filesystem = "@modelcontextprotocol/server-filesystem/dist/index.js"
	mapServer  = "@modelcontextprotocol/server-map/dist/index.js"
)

// start starts an instance that serves without a key.
func start(t *testing.T) *program.Instance {
	t.Helper()
	return program.Start(t, program.FreeAddr(t), t.TempDir(), "--open")
}

// command is how a server of npm is run over stdio.
func command(node *program.Node, script string, args ...string) []string {
	return append([]string{node.Bin(), node.Module(script)}, args...)
}

// add adds a server that is a command.
func add(t *testing.T, in *program.Instance, id string, command []string, flags ...string) {
	t.Helper()
	in.Add(t, append(append(append([]string{}, flags...), id, "--"), command...)...)
}

// serve starts a server of npm over HTTP and gives its address.
func serve(t *testing.T, node *program.Node, script string, args ...string) string {
	t.Helper()
	addr := program.FreeAddr(t)
	_, port, _ := net.SplitHostPort(addr)
	program.Serve(t, addr, []string{"PORT=" + port}, command(node, script, args...)...)
	return "http://" + addr
}

// clientWalk is what a client is to do, and how it reaches the server; see walk.mjs.
type clientWalk struct {
	Client       int               `json:"client"`
	Mode         string            `json:"mode"`
	Transport    string            `json:"transport"`
	URL          string            `json:"url,omitempty"`
	Command      []string          `json:"command,omitempty"`
	Env          map[string]string `json:"env,omitempty"`
	Capabilities json.RawMessage   `json:"capabilities,omitempty"`
	Answers      json.RawMessage   `json:"answers,omitempty"`
	Prefix       string            `json:"prefix,omitempty"`
	URIs         string            `json:"uris,omitempty"`
	Steps        json.RawMessage   `json:"steps"`
}

// clients are the generations of the official client, each in its own era.
func clients() map[string]clientWalk {
	return map[string]clientWalk{
		"sdk 1.32, legacy":   {Client: 1, Mode: "legacy", Transport: "http"},
		"client 2.4, modern": {Client: 2, Mode: "modern", Transport: "http"},
	}
}

type seen struct {
	Steps []outcome `json:"steps"`
	Asked []struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	} `json:"asked"`
	Notes []struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	} `json:"notes"`
}

type outcome struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    any    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (w clientWalk) run(t *testing.T, node *program.Node) seen {
	t.Helper()
	return runWalks(t, node, w)[0]
}

// runWalks takes several walks, one after the other, in one process: a start of Node loads
// both generations of the client, which takes longer than most walks.
func runWalks(t *testing.T, node *program.Node, walks ...clientWalk) []seen {
	t.Helper()
	set, err := json.Marshal(walks)
	if err != nil {
		t.Fatal(err)
	}
	out, err := node.Run(t, limit, "walk.mjs", string(set))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var all []seen
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(all) != len(walks) {
		t.Fatalf("%d results of %d walks", len(all), len(walks))
	}
	return all
}

// text is the text of the first content of a tool's result.
func (o outcome) text() string {
	var r struct{ Content []struct{ Text string } }
	if json.Unmarshal(o.Result, &r) != nil || len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].Text
}

func folder(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, "note.txt"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
