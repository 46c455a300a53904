package proc

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// Browse shows an address of the web to the person at this machine, with the
// browser that they use. What it starts belongs to them: it goes on when this
// process ends. unavailable is that nobody could look at it.
func Browse(ctx context.Context, address string) error {
	if !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://") {
		return junctor.Errorf(junctor.CodeInvalid, "only an address of the web can be shown with a browser")
	}
	words := browserCommand(runtime.GOOS, os.Getenv)
	if words == nil {
		return junctor.Errorf(junctor.CodeUnavailable, "there is no display here")
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return junctor.Errorf(junctor.CodeUnavailable, "%s, which opens a browser, is not installed", words[0])
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), path, append(words[1:], address)...) //nolint:gosec // the address is one of the web
	setOwnGroup(cmd)
	if err := cmd.Start(); err != nil {
		return junctor.Errorf(junctor.CodeUnavailable, "no browser could be opened: %w", err)
	}
	go func() { _ = cmd.Wait() }() // whatever it says, the person sees
	return nil
}

// browserCommand is the command that shows an address on a system; nil where nobody could
// see it.
func browserCommand(system string, getenv func(string) string) []string {
	switch {
	case system == "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	case system == "darwin" && getenv("SSH_CONNECTION") == "":
		return []string{"open"}
	case system != "darwin" && (getenv("DISPLAY") != "" || getenv("WAYLAND_DISPLAY") != ""):
		return []string{"xdg-open"}
	}
	return nil
}
