package faults

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

// smallDisk is a folder on a disk of its own. Where there can be none the test is
// skipped.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir, err := program.SmallDisk(t, size)
	if err != nil {
		t.Skip(err)
	}
	return dir
}

// TestDiskFull fills the disk of the data directory under a running instance,
// and empties it again.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	data := smallDisk(t, "24m")
	in := program.Start(t, program.FreeAddr(t), data, "--rate-limit", "0")
	s := newSite(t, in)
	s.well("before")
	ballast := filepath.Join(data, "ballast")
	program.Fill(t, ballast)

	// The last page of the journal has room for some more.
	var refused []program.Answer
	s.eventually("a call is refused", healing, func() bool { refused = append(refused, s.round()...); return len(refused) > 0 })
	for range 5 {
		refused = append(refused, s.round()...)
	}
	for _, a := range refused {
		if !strings.Contains(a.Body, "recorded") {
			t.Errorf("a refusal does not say that the call could not be recorded: %d %s", a.Status, a.Body)
		}
	}
	if status, body := s.get("/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, "journal") {
		t.Errorf("/readyz on a full disk: %d %s", status, body)
	}
	if status, body := s.get("/healthz"); status != http.StatusOK {
		t.Errorf("/healthz on a full disk: %d %s", status, body)
	}
	s.said("the journal cannot be written")

	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	s.eventually("ready again without a call", healing, s.ready)
	s.said("the journal is written again")
	for range 10 {
		s.well("after")
	}
	s.sound()
}

// TestDiskFullAtStart starts on a disk that has no room, and again when it has.
func TestDiskFullAtStart(t *testing.T) {
	t.Parallel()
	data := smallDisk(t, "24m")
	ballast := filepath.Join(data, "ballast")
	program.Fill(t, ballast)
	addr := program.FreeAddr(t)
	in := program.Launch(t, program.Spec{Addr: addr, DataDir: data})
	code, ended := in.Wait(healing)
	if !ended || code != 1 || !strings.Contains(in.Log(), data) {
		t.Errorf("on a full disk: ended %t with exit code %d:\n%s", ended, code, in.Log())
	}
	in.Kill()
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	in = program.Start(t, addr, data)
	s := newSite(t, in)
	s.well("with room again")
	s.sound()
}
