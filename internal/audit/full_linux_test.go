package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

// small is a disk of its own, of a few pages.
func small(t *testing.T, bytes int) string {
	t.Helper()
	root := t.TempDir()
	err := syscall.Mount("tmpfs", root, "tmpfs", 0, fmt.Sprintf("size=%d", bytes))
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		t.Skip("mounting a small disk needs root")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(root, 0); err != nil {
			t.Error(err)
		}
	})
	return root
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	root := small(t, 512<<10)
	ballast := filepath.Join(root, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 128<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "journal")
	j := open(t, Options{Dir: dir, SegmentBytes: 64 << 10})
	acked := map[string]bool{}
	var err error
	for i := 0; ; i++ {
		id := fmt.Sprint(i)
		if err = j.Append(context.Background(), started(id)); err != nil {
			break
		}
		acked[id] = true
	}
	if junctor.CodeOf(err) != junctor.CodeUnavailable || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("a full disk: %v", err)
	}
	if s := j.State(); s.OK || s.Error == "" {
		t.Fatalf("state %+v", s)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	record(t, j, started("after"))
	if s := j.State(); !s.OK {
		t.Fatalf("healed, but %+v", s)
	}
	closed(t, j)
	clean(t, dir)
	all, err := ListRecords(context.Background(), dir, Filter{Phase: PhaseStart})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(acked)+1 {
		t.Errorf("%d records of %d calls that were let through", len(all), len(acked)+1)
	}
}

func TestReadOnlyDisk(t *testing.T) {
	t.Parallel()
	root := small(t, 1<<20)
	dir := filepath.Join(root, "journal")
	j := open(t, Options{Dir: dir})
	run(t, j, "a", 3)
	closed(t, j)
	if err := syscall.Mount("tmpfs", root, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	_, err := Open(context.Background(), Options{Dir: dir, Replica: "n1"})
	if junctor.CodeOf(err) != junctor.CodeUnavailable || !errors.Is(err, syscall.EROFS) {
		t.Errorf("got %v", err)
	}
	clean(t, dir) // it can be verified all the same
	if err := syscall.Mount("tmpfs", root, "tmpfs", syscall.MS_REMOUNT, ""); err != nil {
		t.Fatal(err)
	}
	j = open(t, Options{Dir: dir})
	run(t, j, "b", 3)
	closed(t, j)
	clean(t, dir)
}
