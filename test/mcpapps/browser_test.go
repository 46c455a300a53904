package mcpapps

import (
	"encoding/json"
	"flag"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/mcpapps"
	"github.com/junctor-mcp/junctor/test/program"
)

var shots = flag.String("shots", "", "take a picture of every App into this folder")

// pageLimit is for one App in a browser; it takes some seconds.
const pageLimit = 4 * time.Minute

// setting is what test/node/page.mjs is told.
type setting struct {
	URL    string         `json:"url"`
	Key    string         `json:"key,omitempty"`
	Tool   string         `json:"tool"`
	Args   map[string]any `json:"args"`
	Policy string         `json:"policy"`
	Calls  []string       `json:"calls"`
	Until  string         `json:"until"`
	Press  string         `json:"press,omitempty"`
	After  string         `json:"after,omitempty"`
	Shot   string         `json:"shot,omitempty"`
}

// TestAppsInABrowser shows Apps written with the package in Chromium, under the
// policy that the package writes, with the official code for hosts around them.
func TestAppsInABrowser(t *testing.T) {
	t.Parallel()
	node := program.FindNode(t)
	program.NeedChromium(t)
	t.Run("the example", func(t *testing.T) {
		addr := program.FreeAddr(t)
		program.Serve(t, addr, nil, program.Build(t, "./examples/sales"), "--listen", addr)
		seen := showApp(t, node, setting{
			URL: "http://" + addr + "/mcp", Tool: "sales", Args: map[string]any{"year": 2024}, Calls: []string{"orders"},
			Until: "1–8 of ", Press: "Next", After: "9–16 of ",
		})
		if n := len(seen.Calls); n != 2 {
			t.Errorf("the page called %d times: %q", n, seen.Calls)
		}
	})
	t.Run("the demo's dashboard", func(t *testing.T) {
		addr := program.FreeAddr(t)
		demo := program.Serve(t, addr, []string{"JUNCTOR_ADMIN_KEY=" + program.AdminKey},
			program.Binary(t), "demo", "--listen", addr, "--data-dir", t.TempDir())
		seen := showApp(t, node, setting{
			URL: "http://" + addr + "/mcp/s/dashboard", Key: program.AdminKey, Tool: "show", Args: map[string]any{"minutes": 1}, Calls: []string{"poll"},
			Until: "dashboard / show",
		})
		if !slices.Contains(seen.Calls, "poll") || seen.Context == nil {
			t.Errorf("the page did %+v", seen)
		}
		args := []string{demo.SignInLink(t)}
		if *shots != "" {
			args = append(args, filepath.Join(*shots, "app-in-console.png"))
		}
		if out, err := node.Run(t, pageLimit, "dashboard.mjs", args...); err != nil {
			t.Errorf("in the console: %v\n%s", err, out)
		}
	})
}

// shown is what happened in the browser.
type shown struct {
	Calls   []string `json:"calls"`
	Sizes   int      `json:"sizes"`
	Context any      `json:"context"`
	Faults  []string `json:"faults"`
}

func showApp(t *testing.T, node *program.Node, s setting) shown {
	t.Helper()
	s.Policy = mcpapps.Policy{FrameAncestors: []string{"http://127.0.0.1:*"}}.HeaderValue(nil)
	if *shots != "" {
		s.Shot = filepath.Join(*shots, "app-"+s.Tool+".png")
	}
	set, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	out, err := node.Run(t, pageLimit, "page.mjs", string(set))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var seen shown
	if err := json.Unmarshal(out, &seen); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if seen.Sizes == 0 || len(seen.Faults) > 0 {
		t.Errorf("the page told its size %d times; faults: %q", seen.Sizes, seen.Faults)
	}
	return seen
}
