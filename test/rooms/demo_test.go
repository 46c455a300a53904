package rooms

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

// The demonstration has a room with two agents, who need no model and no network,
// and neither of whom has the other's tools.
func TestDemo(t *testing.T) {
	addr, dir := program.FreeAddr(t), t.TempDir()
	program.Serve(t, addr, []string{"JUNCTOR_ADMIN_KEY=" + program.AdminKey}, program.Binary(t), "demo", "--listen", addr, "--data-dir", dir)
	for _, c := range []struct{ said, answer string }{
		{"what is 2 plus 40?", "clerk: That makes **42**."},
		{"repeat good morning", "clerk: good morning"},
		{"how is the gateway doing?", "guide: Here it is, live."},
		{"@guide what is 2 plus 40?", "guide: I am the guide"},
		{"@clerk how is the gateway doing?", "clerk: I am the clerk"},
	} {
		cmd := exec.CommandContext(t.Context(), program.Binary(t), "room", "say", "Lobby", c.said, "--data-dir", filepath.Join(dir, "demo"))
		cmd.Env = program.Env()
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.answer) {
			t.Errorf("%q: %v\n%s\nwant %q", c.said, err, out, c.answer)
		}
	}
	// What it added is on record, as changes of the start.
	list, _, code := program.OperateOn(t, filepath.Join(dir, "demo"), "audit", "ls", "--changes")
	for _, want := range []string{"create-server server/map ", "create-agent agent/clerk ", "create-agent agent/guide ", "create-room room/"} {
		if code != 0 || !strings.Contains(list, want) {
			t.Errorf("%d %s\nhas no %s", code, list, want)
		}
	}
	list, _, _ = program.OperateOn(t, filepath.Join(dir, "demo"), "audit", "ls", "--object", "room", "--format", "json")
	id := regexp.MustCompile(`"change": ?"([A-Z0-9]+)"`).FindStringSubmatch(list)
	if id == nil {
		t.Fatalf("no change of a room: %s", list)
	}
	shown, _, code := program.OperateOn(t, filepath.Join(dir, "demo"), "audit", "show", id[1])
	for _, want := range []string{"entry_point  start", `"Lobby"`, `"clerk"`} {
		if code != 0 || !strings.Contains(shown, want) {
			t.Errorf("%d %s\nhas no %s", code, shown, want)
		}
	}
}
