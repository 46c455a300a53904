package program

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// SmallDisk is a folder on a disk of its own, of the size that mount takes, until
// the test ends; an error where the system does not let us have one, which needs
// root.
func SmallDisk(t testing.TB, size string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", dir).CombinedOutput(); err != nil {
		return "", fmt.Errorf("a disk of limited size cannot be mounted here: %w: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "--lazy", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir, nil
}

// Fill takes all the room that is left on a disk with a file.
func Fill(t testing.TB, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; size /= 2 {
		for {
			if _, err := f.Write(make([]byte, size)); err != nil {
				break
			}
		}
	}
}
