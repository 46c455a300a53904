package proc

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

func TestOpener(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		system, set string
		want        []string
	}{
		{"linux", "", nil},
		{"linux", "DISPLAY", []string{"xdg-open"}},
		{"freebsd", "WAYLAND_DISPLAY", []string{"xdg-open"}},
		{"darwin", "", []string{"open"}},
		{"darwin", "SSH_CONNECTION", nil},
		{"windows", "", []string{"rundll32", "url.dll,FileProtocolHandler"}},
	} {
		got := browserCommand(tt.system, func(name string) string {
			if name == tt.set {
				return "set"
			}
			return ""
		})
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s with %q: %q, want %q", tt.system, tt.set, got, tt.want)
		}
	}
}

// The command gets the address as one word, whatever is in it, and only an
// address of the web.
func TestBrowse(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the command is another elsewhere")
	}
	dir := t.TempDir()
	script := "#!/bin/sh\nprintf '%s' \"$#:$1\" >" + filepath.Join(dir, "part") + " && mv " + filepath.Join(dir, "part") + " " + filepath.Join(dir, "said") + "\n"
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	t.Setenv("DISPLAY", ":9")
	for _, bad := range []string{"file:///etc/passwd", "javascript:alert(1)", "--help", ""} {
		if err := OpenBrowser(t.Context(), bad); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
	const address = "https://example.com/?a=b&c=$(id)%20d;'e"
	if err := OpenBrowser(t.Context(), address); err != nil {
		t.Fatal(err)
	}
	var said []byte
	poll.Until(t, "something opened", 20*time.Second, func() bool {
		var err error
		said, err = os.ReadFile(filepath.Join(dir, "said"))
		return err == nil
	})
	if string(said) != "1:"+address {
		t.Errorf("it was given %q", said)
	}
}
