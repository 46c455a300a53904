// Package faults takes away what the real binary stands on (disk, folder,
// database, clock) and looks at what it does: a call is refused rather than
// left unrecorded, the state is visible, and all is well again by itself.
package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// Bounds of what a fault may cost, with room for a machine that others keep busy.
// A call is answered or refused within patience whatever is away, and what was
// away counts as back within healing.
const (
	patience = 30 * time.Second
	healing  = time.Minute
)

// site is an instance under a fault, and those who call it.
type site struct {
	t       *testing.T
	in      *program.Instance
	callers []*program.Caller
	n       int
	answers []string // digests of the arguments of answered calls
}

func newSite(t *testing.T, in *program.Instance) *site {
	t.Helper()
	s := &site{t: t, in: in}
	for _, era := range program.Eras() {
		s.callers = append(s.callers, program.NewCaller(t, era, in.URL, program.AdminKey))
	}
	return s
}

// callOnce calls once in every way and gives those answers that are no success.
func (s *site) callOnce() (refused []program.Answer) {
	s.t.Helper()
	for _, c := range s.callers {
		s.n++
		arguments := fmt.Sprintf(`{"text":"call %d"}`, s.n)
		ctx, cancel := context.WithTimeout(s.t.Context(), patience)
		a, err := c.Call(ctx, "demo__echo", arguments)
		cancel()
		switch {
		case err != nil:
			s.t.Fatalf("%s call %d: no answer within %v: %v\n%s", c.Era, s.n, patience, err, s.in.Log())
		case a.OK && a.Text == fmt.Sprintf("call %d", s.n):
			s.answers = append(s.answers, program.Digest(arguments))
		default:
			refused = append(refused, a)
			if a.Status == http.StatusNotFound {
				s.t.Errorf("%s: a session that is told 404 is lost to its client: %s", c.Era, a.Body)
			}
		}
	}
	return refused
}

// checkHealthy makes a round that must succeed.
func (s *site) checkHealthy(when string) {
	s.t.Helper()
	for _, a := range s.callOnce() {
		s.t.Errorf("%s: a call was answered %d %s", when, a.Status, a.Body)
	}
}

// get reads one of the open pages.
func (s *site) get(path string) (status int, body string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.in.URL+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+program.AdminKey)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatalf("%s: %v", path, err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatalf("%s: %v", path, err)
	}
	return res.StatusCode, string(b)
}

// eventually waits for something that another process does by itself.
func (s *site) eventually(what string, limit time.Duration, is func() bool) {
	s.t.Helper()
	if !poll.Holds(limit, is) {
		s.t.Fatalf("after %v still not: %s\n%s", limit, what, s.in.Log())
	}
}

func (s *site) ready() bool { status, _ := s.get("/readyz"); return status == http.StatusOK }

// waitForLog waits until the log says a word.
func (s *site) waitForLog(word string) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("the log says %q", word), healing, func() bool { return strings.Contains(s.in.Log(), word) })
}

// verifyJournal holds what must be true at the end of every fault: every answered call
// has a record of its start, and one of its end unless the journal itself says
// that an end was lost; and the journal verifies.
func (s *site) verifyJournal() {
	s.t.Helper()
	phases := map[string]map[string]bool{"start": {}, "end": {}}
	lost := map[string]int{}
	names, _ := filepath.Glob(filepath.Join(s.in.DataDir, "journal", "*.log"))
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			s.t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			var r struct {
				Phase string
				Args  string `json:"args_b3"`
				Ends  int
			}
			if _, text, _ := strings.Cut(line, " "); json.Unmarshal([]byte(text), &r) != nil {
				s.t.Fatalf("a line that is no record: %q", line)
			}
			if phases[r.Phase] != nil {
				phases[r.Phase][r.Args] = true
			}
			lost["end"] += r.Ends
		}
	}
	for phase, have := range phases {
		missing := 0
		for _, digest := range s.answers {
			if !have[digest] {
				missing++
			}
		}
		if missing > lost[phase] {
			s.t.Errorf("of %d answered calls %d have no record of their %s, and the journal says that %d were lost", len(s.answers), missing, phase, lost[phase])
		}
	}
	if stdout, stderr, code := s.in.VerifyJournal(s.t); code != 0 {
		s.t.Errorf("audit verify: exit code %d\n%s%s", code, stdout, stderr)
	}
}
