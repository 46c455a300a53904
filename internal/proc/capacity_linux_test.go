package proc

import (
	"slices"
	"testing"
)

func TestMemoryCapacity(t *testing.T) {
	t.Parallel()
	if got := parseMemTotal("MemFree: 1 kB\nMemTotal:       16384 kB\nMemTotalX: 1 kB\n"); got != 16<<20 {
		t.Errorf("MemTotal is read as %d", got)
	}
	for text, want := range map[string]int64{"536870912\n": 512 << 20, "max\n": 0, "": 0, "9223372036854771712\n": 0, "-1\n": 0} {
		if got := parseLimit(text); got != want {
			t.Errorf("the limit %q is read as %d", text, got)
		}
	}
	for text, want := range map[string][]string{
		"0::/\n":          {"/sys/fs/cgroup/memory.max"},
		"0::/a/b.scope\n": {"/sys/fs/cgroup/a/b.scope/memory.max", "/sys/fs/cgroup/a/memory.max", "/sys/fs/cgroup/memory.max"},
		"5:cpu:/x\n4:hugetlb,memory:/docker/1\n": {
			"/sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "/sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.limit_in_bytes",
		},
		"nothing": nil,
	} {
		if got := cgroupLimitFiles(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := MemoryCapacity(); got < 16<<20 {
		t.Errorf("this machine has %d bytes", got)
	}
}
