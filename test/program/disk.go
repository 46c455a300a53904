package program

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
)

// SmallDisk is a folder on a disk of its own, of the size that mount takes, until
// the test ends; an error where the system does not let us have one, which needs
// root.
func SmallDisk(t testing.TB, size string) (string, error) {
	t.Helper()
	if runtime.GOOS == "linux" && os.Getuid() != 0 {
		return "", errors.New("mounting a small disk needs root")
	}
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

// NoRoom has every write of the instance to a file fail, from now on until room is
// called: the bound on the size of its files is 0. That needs no root; the error
// is another one than that of a full disk.
func (in *Instance) NoRoom(t testing.TB) (room func()) {
	t.Helper()
	in.filesUpTo(t, "0")
	return func() { in.filesUpTo(t, "unlimited") }
}

// filesUpTo bounds the size of the files that the instance may write.
func (in *Instance) filesUpTo(t testing.TB, bytes string) {
	t.Helper()
	out, err := exec.Command(prlimit(t), "--pid", strconv.Itoa(in.PID()), "--fsize="+bytes+":").CombinedOutput()
	if err != nil {
		t.Fatalf("prlimit: %v: %s", err, out)
	}
}

// Roomless is the prefix of an instance that can write to no file from its start.
func Roomless(t testing.TB) []string {
	t.Helper()
	return []string{prlimit(t), "--fsize=0", "--", Binary(t)}
}

func prlimit(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("prlimit")
	if err != nil {
		Missing(t, "prlimit, of util-linux")
	}
	return path
}
