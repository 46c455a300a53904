package pgtest

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTemplateOfOthersIsNotUsed holds that a folder counts as the template only if it is
// the server's own and closed to others.
func TestTemplateOfOthersIsNotUsed(t *testing.T) {
	t.Parallel()
	s := &Server{}
	dir := t.TempDir()
	own, open, link := filepath.Join(dir, "own"), filepath.Join(dir, "open"), filepath.Join(dir, "link")
	for path, mode := range map[string]os.FileMode{own: 0o700, open: 0o700} {
		if err := os.Mkdir(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(open, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(own, link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{own: true, open: false, link: false, filepath.Join(dir, "none"): false} {
		if got := s.owns(path); got != want {
			t.Errorf("%s counts as the template: %t, want %t", filepath.Base(path), got, want)
		}
	}
	other := &Server{uid: uint32(os.Getuid()) + 1}
	if other.owns(own) {
		t.Error("the folder of another user counts as the template")
	}
}
