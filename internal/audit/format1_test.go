package audit

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// journalOfFormat1 copies a journal that a version before format 2 has written, with its
// head and its key. It gives the folder of the records and the name of the replica.
func journalOfFormat1(t *testing.T) (dir, replica string) {
	t.Helper()
	from, root := filepath.Join("..", "..", "test", "upgrade", "testdata", "former", "sqlite"), t.TempDir()
	for _, folder := range []string{"journal", "heads"} {
		if err := os.CopyFS(filepath.Join(root, folder), os.DirFS(filepath.Join(from, folder))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(signingKeyPath(filepath.Join(root, "heads")), 0o600); err != nil {
		t.Fatal(err)
	}
	name, err := os.ReadFile(filepath.Join(from, "node"))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "journal"), strings.TrimSpace(string(name))
}

// A journal of format 1 verifies and lists, and goes on in format 2 in the same segment.
func TestFormat1(t *testing.T) {
	t.Parallel()
	dir, replica := journalOfFormat1(t)
	if r := clean(t, dir); r.Records != 18 || r.Replica != replica {
		t.Fatalf("before: %+v", r)
	}
	j := open(t, Options{Dir: dir, Replica: replica})
	record(t, j, started("new"), ended("new"))
	closed(t, j)
	if r := clean(t, dir); r.Records < 20 || r.Replica != replica {
		t.Fatalf("after: %+v", r)
	}
	all, err := ListRecords(context.Background(), dir, Filter{})
	if err != nil {
		t.Fatal(err)
	}
	formats := map[bool]int{}
	for _, r := range all {
		if r.Replica != replica {
			t.Errorf("record %d is of %q", r.Seq, r.Replica)
		}
		formats[strings.Contains(r.JSON, `"replica":`)]++
	}
	if formats[false] != 18 || formats[true] < 2 {
		t.Errorf("%d records of format 1, %d of format 2", formats[false], formats[true])
	}
	if got, err := ListRecords(context.Background(), dir, Filter{Subject: "echoed"}); err != nil || len(got) != 2 {
		t.Errorf("records of format 1 by their caller: %d %v", len(got), err)
	}
}

// The entry point of a call is read from records of both formats.
func TestFormat1EntryPoint(t *testing.T) {
	t.Parallel()
	const hash = "0000000000000000000000000000000000000000000000000000000000000000 "
	for _, text := range []string{
		`{"seq":1,"node":"n","phase":"end","call":"c","door":"sse"}`,
		`{"seq":1,"replica":"n","phase":"end","call":"c","entry_point":"sse"}`,
		`{"seq":1,"node":"\u006e","phase":"end","call":"c","door":"sse"}`, // for the JSON parser
	} {
		l, err := parseLine([]byte(hash + text))
		if err != nil || l.Replica != "n" || l.toCall().EntryPoint != "sse" {
			t.Errorf("%s: %+v %v", text, l.entry, err)
		}
	}
	for _, text := range []string{
		`{"seq":1,"node":"n","replica":"m","phase":"end"}`,
		`{"seq":1,"replica":"n","phase":"end","door":"sse"}`,
		`{"seq":1,"node":"n","phase":"end","entry_point":"sse"}`,
		`{"seq":1,"node":"n","node":"n","phase":"end"}`,
		`{"seq":1,"door":"sse","phase":"end"}`,
	} {
		if l, err := parseLine([]byte(hash + text)); err == nil {
			t.Errorf("%s is read as %+v", text, l.entry)
		}
	}
}

// The keys of format 1 are under the hash like everything else.
func TestFormat1Changed(t *testing.T) {
	t.Parallel()
	for _, change := range [][2]string{{`"node":`, `"replica":`}, {`"door":"delivery"`, `"door":"mcp"`}, {`"door":"delivery"`, `"entry_point":"delivery"`}} {
		dir, _ := journalOfFormat1(t)
		segments, err := listSegments(dir)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(segments[0].path)
		if err != nil || !bytes.Contains(text, []byte(change[0])) {
			t.Fatalf("no %s: %v", change[0], err)
		}
		if err := os.WriteFile(segments[0].path, bytes.Replace(text, []byte(change[0]), []byte(change[1]), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := verified(t, dir); r.OK {
			t.Errorf("%s became %s, and the journal verifies", change[0], change[1])
		}
	}
}

// Heads and checkpoints of both formats are read, and written in format 2.
func TestFormat1Heads(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{`{"node":"a","seq":1}`: "a", `{"replica":"b","seq":1}`: "b", `{"seq":1}`: ""} {
		var h Head
		var c Checkpoint
		if err := json.Unmarshal([]byte(text), &h); err != nil || h.Replica != want {
			t.Errorf("head %s: %q %v", text, h.Replica, err)
		}
		if err := json.Unmarshal([]byte(text), &c); err != nil || c.Replica != want {
			t.Errorf("checkpoint %s: %q %v", text, c.Replica, err)
		}
	}
	if b, err := json.Marshal(Head{Replica: "a"}); err != nil || !bytes.Contains(b, []byte(`"replica":"a"`)) {
		t.Errorf("%s %v", b, err)
	}
}
