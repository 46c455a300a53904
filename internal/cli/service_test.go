package cli

import (
	"encoding/xml"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLaunchdJob checks the form of the job. Nothing here can load it.
func TestLaunchdJob(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	c := &cli{env: []string{"HOME=" + home, "PATH=/opt/homebrew/bin:/usr/bin", "JUNCTOR_DATA_DIR=" + filepath.Join(home, "a <b> & c")}}
	cmd := c.serviceInstall()
	s, err := c.newUserService(cmd, "darwin")
	if err != nil {
		t.Fatal(err)
	}
	if s.systemd || s.File != filepath.Join(home, "Library", "LaunchAgents", "io.github.junctor-mcp.junctor.plist") {
		t.Errorf("got %+v", s)
	}
	if !strings.Contains(s.text, serviceMark) || !strings.Contains(s.text, "has not been tested") {
		t.Error("the file does not say what wrote it, and that it is untested")
	}
	var texts []string
	for d := xml.NewDecoder(strings.NewReader(s.text)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && (start.Name.Local == "string" || start.Name.Local == "key") {
			var text string
			if err := d.DecodeElement(&text, &start); err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
		}
	}
	for _, want := range []string{"Label", "up", "--data-dir", filepath.Join(home, "a <b> & c"), "/opt/homebrew/bin:/usr/bin"} {
		if !slices.Contains(texts, want) {
			t.Errorf("%q is missing in %q", want, texts)
		}
	}
	if _, err := c.newUserService(cmd, "plan9"); err == nil || !strings.Contains(err.Error(), "run junctor up from the service manager") {
		t.Errorf("on another system: %v", err)
	}
}
