//go:build unix

package ocr

import (
	"net"
	"path/filepath"
	"syscall"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

// What is no file is not opened: a pipe without a writer would hold the call up.
func TestPipesAndSockets(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	pipe := filepath.Join(root, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(root, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	im := &imageLoader{roots: []string{root, "/dev"}}
	for _, path := range []string{pipe, socket, "/dev/null", "/dev/zero"} {
		_, err := im.loadImage(t.Context(), path)
		wantRefused(t, resultOf(nil), err, junctor.CodeInvalid, "image_path", "device")
	}
}
