package crash

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// journal reads what an instance recorded, as a stranger would who only knows
// that a line is a hash and a JSON object.
type journal struct {
	t      *testing.T
	dir    string
	read   map[string]int64 // how much of each segment was read
	starts map[string]bool  // digests of arguments
	ends   map[string]bool
}

func newJournal(t *testing.T, dataDir string) *journal {
	t.Helper()
	return &journal{
		t: t, dir: filepath.Join(dataDir, "journal"),
		read: map[string]int64{}, starts: map[string]bool{}, ends: map[string]bool{},
	}
}

// update reads what was added since the last time.
func (j *journal) update() {
	j.t.Helper()
	names, err := filepath.Glob(filepath.Join(j.dir, "*.log"))
	if err != nil || len(names) == 0 {
		j.t.Fatalf("there are no segments in %s (%v)", j.dir, err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			j.t.Fatal(err)
		}
		for from := j.read[name]; ; {
			n := int64(bytes.IndexByte(b[from:], '\n'))
			if n < 0 {
				j.read[name] = from
				break
			}
			j.line(b[from : from+n])
			from += n + 1
		}
	}
}

func (j *journal) line(b []byte) {
	j.t.Helper()
	_, text, _ := bytes.Cut(b, []byte(" "))
	var r struct {
		Phase  string
		Args   string `json:"args_b3"`
		Status string
	}
	if err := json.Unmarshal(text, &r); err != nil {
		j.t.Fatalf("a line that is no record: %q", b)
	}
	switch r.Phase {
	case "start":
		j.starts[r.Args] = true
	case "end":
		j.ends[r.Args] = r.Status == "success"
	}
}

// missing counts the calls that lack a record of their start or of their end.
func (j *journal) missing(digests []string) (starts, ends int) {
	for _, d := range digests {
		if !j.starts[d] {
			starts++
		}
		if !j.ends[d] {
			ends++
		}
	}
	return starts, ends
}
