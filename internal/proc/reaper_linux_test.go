package proc

import (
	"os"
	"os/exec"
	"slices"
	"testing"
)

// Both ways to find children see one that was just started.
func TestOwnChildren(t *testing.T) {
	t.Parallel()
	c := exec.Command("cat")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = in.Close(), c.Wait() }()
	for name, got := range map[string][]int{"list": ownChildren(), "scan": childrenByParent(os.Getpid())} {
		if !slices.Contains(got, c.Process.Pid) {
			t.Errorf("%s: %v lacks %d", name, got, c.Process.Pid)
		}
	}
}
