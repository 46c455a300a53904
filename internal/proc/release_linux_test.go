package proc

import (
	"os"
	"slices"
	"testing"
)

const program = "00400000-01daa000 r-xp 00000000 fe:00 99 /usr/bin/a program\nSize: 26280 kB\nAnonymous: 0 kB\nVmFlags: rd ex mr\n"

func TestOnlyWhatIsInTheFileIsDropped(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		smaps string
		want  []mapping
	}{
		"a program's text":             {program, []mapping{{0x400000, 0x1daa000}}},
		"its constants":                {"01daa000-0374b000 r--p 019aa000 fe:00 99 /usr/bin/a\nAnonymous: 0 kB\n", []mapping{{0x1daa000, 0x374b000}}},
		"text that a debugger changed": {"00400000-01daa000 r-xp 00000000 fe:00 99 /usr/bin/a\nAnonymous: 4 kB\n", nil},
		"constants that were linked":   {"01daa000-0374b000 r--p 019aa000 fe:00 99 /usr/lib/c.so\nAnonymous: 16 kB\n", nil},
		"variables":                    {"0374b000-03816000 rw-p 0334b000 fe:00 99 /usr/bin/a\nAnonymous: 0 kB\n", nil},
		"a shared file":                {"0374b000-03816000 r--s 0334b000 fe:00 99 /data/db-shm\nAnonymous: 0 kB\n", nil},
		"memory of no file":            {"0374b000-03816000 r--p 00000000 00:00 0\nAnonymous: 0 kB\n", nil},
		"the kernel's own":             {"7ffd1000-7ffd2000 r-xp 00000000 00:00 0 [vdso]\nAnonymous: 0 kB\n", nil},
		"a kernel that does not tell":  {"00400000-01daa000 r-xp 00000000 fe:00 99 /usr/bin/a\nSize: 1 kB\n", nil},
		"the next one's count":         {"00400000-01daa000 r-xp 00000000 fe:00 99 /usr/bin/a\n0374b000-03816000 rw-p 0 fe:00 99 /usr/bin/a\nAnonymous: 0 kB\n", nil},
		"nothing":                      {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := findUnchangedMappings([]byte(c.smaps)); !slices.Equal(got, c.want) {
				t.Errorf("unchanged = %x, want %x", got, c.want)
			}
		})
	}
}

func FuzzUnchanged(f *testing.F) {
	f.Add([]byte(program))
	f.Add([]byte("1-0 r-xp 0 0 0 /\nAnonymous: 0 kB\n-"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, m := range findUnchangedMappings(b) {
			if m.end < m.begin {
				t.Errorf("a mapping that ends before it begins: %x", m)
			}
		}
	})
}

// What was dropped comes back when it is used: the test runs on.
func TestReleaseGivesBack(t *testing.T) { // not in parallel: others would bring the program back in meanwhile
	for range 3 {
		_, before, err := processUsage(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		ReleaseMemory()
		_, after, err := processUsage(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if after < before {
			t.Logf("%d KiB before, %d KiB after", before>>10, after>>10)
			return
		}
	}
	t.Error("three times, nothing was given back")
}
