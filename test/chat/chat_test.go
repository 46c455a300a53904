// Package chat holds the console's rooms to what people do in them: a real
// browser in front of the whole program, agents that think with a model on
// loopback, and tools that take down what was done.
package chat

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/test/program"
)

var shots = flag.String("shots", "", "take pictures of the rooms into this folder")

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// TestRoom: two agents with different tools, neither can use the other's; a call
// that a person denies is not made; a tool's App stands in the conversation, and
// the agent uses the tools that it has itself while it is looked at; stop stops.
func TestRoom(t *testing.T) {
	node := program.FindNode(t)
	program.NeedChromium(t)
	in := program.Start(t, program.FreeAddr(t), t.TempDir(), "--allow-commands", "--egress-allow", "127.0.0.0/8")
	operate := func(args ...string) string {
		t.Helper()
		stdout, stderr, code := in.Operate(t, args...)
		if code != 0 {
			t.Fatalf("junctor %s: exit code %d\n%s", strings.Join(args, " "), code, stderr)
		}
		return strings.TrimSpace(stdout)
	}
	s := newShed(t)
	operate("user", "add", "ada", "--role", "admin")
	operate("server", "add", "shed", s.tools, "--believe-annotations")
	operate("server", "add", "clock", "--yes", "--", node.Bin(), node.Module("@modelcontextprotocol/server-basic-vanillajs/dist/index.js"), "--stdio")
	operate("server", "add", "budget", "--yes", "--", node.Bin(), node.Module("@modelcontextprotocol/server-budget-allocator/dist/index.js"), "--stdio")
	operate("agent", "add", "planner", "--role", "Finance", "--tool", "budget/*")
	operate("agent", "add", "keeper", "--tool", "shed/*")
	operate("agent", "add", "teller", "--tool", "clock/*")
	operate("agent", "add", "adder", "--tool", "demo/add")
	folder := ""
	if *shots != "" {
		var err error
		if folder, err = filepath.Abs(*shots); err != nil {
			t.Fatal(err)
		}
	}
	setting, err := json.Marshal(map[string]string{"link": operate("login", "--user", "ada"), "model": s.model, "control": s.control, "shots": folder})
	if err != nil {
		t.Fatal(err)
	}
	out, err := node.Run(t, 6*time.Minute, "chat.mjs", string(setting))
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
}
