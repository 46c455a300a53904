// Package surfaces holds what agents show in the console's chat to what people
// see and do: a real browser in front of `junctor demo`, whose bank answers with
// cards, lists and a map; and the official renderer in a plain page, which draws
// the same.
package surfaces

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/test/program"
)

// The place at 1440 pixels, light, is docs/images/console-chat.png.
var shots = flag.String("shots", "", "take pictures of the surfaces into this folder")

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// limit is for a whole script, on a machine that does other things too.
const limit = 8 * time.Minute

// demo is `junctor demo`, with an agent whose rules are those of odd.yaml.
type demo struct {
	url, link string
	node      *program.Node
}

func start(t *testing.T) demo {
	t.Helper()
	node := program.FindNode(t)
	program.NeedChromium(t)
	addr, dir := program.FreeAddr(t), t.TempDir()
	p := program.Serve(t, addr, []string{"JUNCTOR_ADMIN_KEY=" + program.AdminKey}, program.Binary(t), "demo", "--listen", addr, "--data-dir", dir)
	add := exec.CommandContext(t.Context(), program.Binary(t), "agent", "add", "odd", "--rules", filepath.Join(program.Root(t), "test", "surfaces", "odd.yaml"), "--data-dir", filepath.Join(dir, "demo"))
	add.Env = program.Env()
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return demo{url: "http://" + addr, link: p.SignInLink(t), node: node}
}

func (d demo) run(t *testing.T, script string, setting map[string]string) {
	t.Helper()
	text, err := json.Marshal(setting)
	if err != nil {
		t.Fatal(err)
	}
	out, err := d.node.Run(t, limit, script, string(text))
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
}

// TestSurfaces: where a transaction was is a marker at the geocoder's place, a
// button moves it, others act, and what is not known has its place marked and is
// told to the agent; then the official renderer draws what the bank shows.
func TestSurfaces(t *testing.T) {
	d := start(t)
	folder := ""
	if *shots != "" {
		var err error
		if folder, err = filepath.Abs(*shots); err != nil {
			t.Fatal(err)
		}
	}
	d.run(t, "surfaces.mjs", map[string]string{"link": d.link, "shots": folder})
	d.run(t, "surfaces_lit.mjs", map[string]string{"url": d.url, "key": program.AdminKey, "modules": d.node.Module(""), "shots": folder})
}
