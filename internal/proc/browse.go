package proc

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// OpenBrowser opens a web address in the user's browser. The browser belongs to the
// user: it continues when this process ends. The error is CodeUnavailable if
// there is no display or no browser.
func OpenBrowser(ctx context.Context, address string) error {
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
	go func() { _ = cmd.Wait() }() // reaps it; the user sees any error
	return nil
}

// browserCommand returns the command that opens an address on a system; nil if
// there is no display.
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
