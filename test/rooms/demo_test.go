package rooms

import (
	"os/exec"
	"path/filepath"
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
}
