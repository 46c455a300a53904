package faults

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

// shortage is a way to be without room for another byte.
type shortage struct {
	dir   func(t *testing.T) string                                     // a data directory; the test is skipped where there can be none
	begin func(t *testing.T, in *program.Instance) (end func())         // under an instance that runs there
	start func(t *testing.T, data string) (prefix []string, end func()) // before one is started there, with this prefix
}

// shortages are a disk that is full, which needs root, and files that may not be
// written, which needs nothing.
func shortages() map[string]shortage {
	return map[string]shortage{
		"a full disk": {
			dir: func(t *testing.T) string {
				t.Helper()
				dir, err := program.SmallDisk(t, "24m")
				if err != nil {
					t.Skip(err)
				}
				return dir
			},
			begin: func(t *testing.T, in *program.Instance) func() {
				t.Helper()
				return fillDisk(t, in.DataDir)
			},
			start: func(t *testing.T, data string) ([]string, func()) {
				t.Helper()
				return nil, fillDisk(t, data)
			},
		},
		"no file may be written": {
			dir: func(t *testing.T) string { t.Helper(); return t.TempDir() },
			begin: func(t *testing.T, in *program.Instance) func() {
				t.Helper()
				return in.NoRoom(t)
			},
			start: func(t *testing.T, _ string) ([]string, func()) {
				t.Helper()
				return program.Roomless(t), func() {}
			},
		},
	}
}

// fillDisk fills the disk of a folder until end is called.
func fillDisk(t *testing.T, dir string) (end func()) {
	t.Helper()
	ballast := filepath.Join(dir, "ballast")
	program.Fill(t, ballast)
	return func() {
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDiskFull takes the room for what an instance writes while it runs, and gives
// it back.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	for name, way := range shortages() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := program.Start(t, program.FreeAddr(t), way.dir(t), "--rate-limit", "0")
			s := newSite(t, in)
			s.checkHealthy("before")
			end := way.begin(t, in)

			// The last page of the journal may have room for some more.
			var refused []program.Answer
			s.eventually("a call is refused", healing, func() bool { refused = append(refused, s.callOnce()...); return len(refused) > 0 })
			for range 5 {
				refused = append(refused, s.callOnce()...)
			}
			for _, a := range refused {
				if !strings.Contains(a.Body, "recorded") {
					t.Errorf("a refusal does not say that the call could not be recorded: %d %s", a.Status, a.Body)
				}
			}
			if status, body := s.get("/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, "journal") {
				t.Errorf("/readyz without room: %d %s", status, body)
			}
			if status, body := s.get("/healthz"); status != http.StatusOK {
				t.Errorf("/healthz without room: %d %s", status, body)
			}
			s.waitForLog("cannot write the journal")

			end()
			s.eventually("ready again without a call", healing, s.ready)
			s.waitForLog("the journal can be written again")
			for range 10 {
				s.checkHealthy("after")
			}
			s.verifyJournal()
		})
	}
}

// TestDiskFullAtStart starts where there is no room, and again when there is some.
func TestDiskFullAtStart(t *testing.T) {
	t.Parallel()
	for name, way := range shortages() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, addr := way.dir(t), program.FreeAddr(t)
			prefix, end := way.start(t, data)
			in := program.Launch(t, program.Spec{Addr: addr, DataDir: data, Prefix: prefix})
			code, ended := in.Wait(healing)
			if !ended || code != 1 || !strings.Contains(in.Log(), data) {
				t.Errorf("without room: ended %t with exit code %d:\n%s", ended, code, in.Log())
			}
			in.Kill()
			end()
			in = program.Start(t, addr, data)
			s := newSite(t, in)
			s.checkHealthy("with room again")
			s.verifyJournal()
		})
	}
}
