// Package numbers holds the numbers of calls to the journal: those of the metrics API, of
// usage, of the terminal and of Prometheus.
package numbers

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// record is what a line of a journal says of a call that ended or was refused, or of a list
// of tools.
type record struct {
	Time                                     time.Time
	Call, Phase, Kind, Server, Name, Status  string
	Issuer, Subject, User, Agent, Key, Rules string
	EntryPoint                               string `json:"entry_point"`
	Duration                                 int64  `json:"duration_us"`
	BytesIn                                  int64  `json:"bytes_in"`
	BytesOut                                 int64  `json:"bytes_out"`
}

func (r *record) isList() bool { return r.Phase == "tool-list" }

func (r *record) isRefused() bool {
	return r.Status == "denied" || r.Status == "limited" || r.Status == "invalid"
}

// tool is the tool that a call counts for.
func (r *record) tool() string {
	switch {
	case r.Kind == "tool" && r.Server == "":
		return "(unknown)"
	case r.Kind == "tool":
		return r.Name
	default:
		return "(" + r.Kind + ")"
	}
}

// readJournals reads the files of journals. It shares no code with the program.
func readJournals(t *testing.T, dataDirs ...string) (all []record) {
	t.Helper()
	texts := map[string]string{} // each once: there may be a million records
	once := func(fields ...*string) {
		for _, s := range fields {
			if known, ok := texts[*s]; ok {
				*s = known
			} else {
				texts[*s] = *s
			}
		}
	}
	for _, dir := range dataDirs {
		files, err := filepath.Glob(filepath.Join(dir, "journal", "*.log"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no journal in %s: %v", dir, err)
		}
		for _, path := range files {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for line := range bytes.Lines(data) {
				var r record
				_, object, _ := bytes.Cut(line, []byte(" "))
				if err := json.Unmarshal(object, &r); err != nil {
					t.Fatalf("%s: %.200s: %v", path, line, err)
				}
				if !r.isList() && (r.Call == "" || r.Status == "" || r.Status == "running") {
					continue
				}
				switch r.Issuer { // the journal does not repeat the subject
				case "user":
					r.User = r.Subject
				case "agent":
					r.Agent = r.Subject
				case "key":
					r.Key = r.Subject
				}
				r.Call = ""
				once(&r.Phase, &r.Kind, &r.Server, &r.Name, &r.Status, &r.Issuer, &r.Subject, &r.User, &r.Agent, &r.EntryPoint, &r.Key, &r.Rules)
				all = append(all, r)
			}
		}
	}
	return all
}
