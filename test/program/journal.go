package program

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/zeebo/blake3"
)

// Journal reads what instances recorded, as a stranger would who only knows that
// the last thing on a line is a JSON object.
type Journal struct {
	t      testing.TB
	dirs   []string
	read   map[string]int64 // how much of each segment was read
	starts map[string]bool  // digests of arguments
	ends   map[string]bool
	lost   int // ends that the journals say could not be written
}

// NewJournal reads the journals in these data directories, as one.
func NewJournal(t testing.TB, dataDirs ...string) *Journal {
	t.Helper()
	j := &Journal{t: t, read: map[string]int64{}, starts: map[string]bool{}, ends: map[string]bool{}}
	for _, dir := range dataDirs {
		j.dirs = append(j.dirs, filepath.Join(dir, "journal"))
	}
	return j
}

// Update reads what was added since the last time.
func (j *Journal) Update() {
	j.t.Helper()
	for _, dir := range j.dirs {
		names, err := filepath.Glob(filepath.Join(dir, "*.log"))
		if err != nil || len(names) == 0 {
			j.t.Fatalf("there are no segments in %s (%v)", dir, err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				j.t.Fatal(err)
			}
			j.read[name] += j.Take(b[j.read[name]:])
		}
	}
}

// Take reads lines, and says how many bytes those had that were whole.
func (j *Journal) Take(b []byte) (n int64) {
	j.t.Helper()
	for {
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		if !whole {
			return n
		}
		j.line(line)
		n += int64(len(line)) + 1
		b = rest
	}
}

func (j *Journal) line(b []byte) {
	j.t.Helper()
	var r struct {
		Phase, Status string
		Args          string `json:"args_b3"`
		Ends          int
	}
	if from := bytes.IndexByte(b, '{'); from < 0 || json.Unmarshal(b[from:], &r) != nil {
		j.t.Fatalf("a line that is no record: %q", b)
	}
	j.lost += r.Ends
	switch r.Phase {
	case "start":
		j.starts[r.Args] = true
	case "end":
		j.ends[r.Args] = r.Status == "success"
	}
}

// Digest is what records have of a call's arguments.
func Digest(arguments string) string {
	sum := blake3.Sum256([]byte(arguments))
	return hex.EncodeToString(sum[:])
}

// Missing counts the calls, by the digests of their arguments, that lack a record
// of their start or of their end, but for ends that the journals say were lost.
func (j *Journal) Missing(digests []string) (starts, ends int) {
	for _, d := range digests {
		if !j.starts[d] {
			starts++
		}
		if !j.ends[d] {
			ends++
		}
	}
	return starts, max(0, ends-j.lost)
}
