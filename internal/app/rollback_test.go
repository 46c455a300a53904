package app_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/instance"
	"github.com/junctor-mcp/junctor/internal/store/storetest"
	"github.com/junctor-mcp/junctor/internal/testkit"
)

// journalFolders are what somebody puts back to hide records.
var journalFolders = []string{"journal", "heads"}

// copyJournal copies the journal's folders from one data directory to another,
// replacing what is there. Time stamps and modes are kept where they matter.
func copyJournal(t *testing.T, from, to string) {
	t.Helper()
	for _, folder := range journalFolders {
		if err := os.RemoveAll(filepath.Join(to, folder)); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(filepath.Join(to, folder), os.DirFS(filepath.Join(from, folder))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(to, "heads", "signing.key"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func callEcho(t *testing.T, i *testkit.Instance, calls int) {
	t.Helper()
	for n := range calls {
		r := i.Do(t, http.MethodPost, "/mcp/request", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}`, n))
		if r.Status != http.StatusOK {
			t.Fatalf("call %d: %d %s", n, r.Status, r.Body)
		}
	}
}

func settingsOf(t *testing.T, dir string) *config.Config {
	t.Helper()
	cfg, err := config.Load(config.Sources{Flags: map[string]string{"data-dir": dir}})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func verifyJournal(t *testing.T, dir string) audit.Report {
	t.Helper()
	r, err := instance.VerifyJournal(t.Context(), settingsOf(t, dir), audit.VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRolledBackJournalIsFound puts an older journal, with the head that was signed
// then, in the place of the newer one. By themselves the files hold; the database
// knows better.
func TestRolledBackJournalIsFound(t *testing.T) {
	t.Parallel()
	i := testkit.Start(t, nil)
	callEcho(t, i, 5)
	i.Stop()
	kept := t.TempDir()
	copyJournal(t, i.Dir, kept)
	before := verifyJournal(t, i.Dir)
	if !before.OK {
		t.Fatalf("untouched: %v", before.FirstBad)
	}

	i = testkit.Start(t, testkit.Settings{"data-dir": i.Dir})
	callEcho(t, i, 5)
	i.Stop()
	after := verifyJournal(t, i.Dir)
	if !after.OK || after.Last <= before.Last {
		t.Fatalf("after a restart: %+v, before: %+v", after, before)
	}

	copyJournal(t, kept, i.Dir)
	missing := fmt.Sprintf("records %d to %d", before.Last+1, after.Last)
	r := verifyJournal(t, i.Dir)
	if r.OK || r.FirstBad == nil || r.FirstBad.Seq != before.Last+1 || !strings.Contains(r.FirstBad.Reason, missing) {
		t.Fatalf("rolled back: ok %t, %v; want %q named", r.OK, r.FirstBad, missing)
	}

	// A start goes on above what is known, says so, and does not hide it.
	i = testkit.Start(t, testkit.Settings{"data-dir": i.Dir})
	callEcho(t, i, 2)
	if log := i.Log.String(); !strings.Contains(log, missing) || !strings.Contains(log, "ERROR") {
		t.Errorf("the log does not say what is missing:\n%s", log)
	}
	if state := i.Do(t, http.MethodGet, "/api/v1/cluster", ""); !strings.Contains(state.Body, missing) {
		t.Errorf("the cluster's state: %s", state.Body)
	}
	i.Stop()
	r = verifyJournal(t, i.Dir)
	if r.OK || r.FirstBad == nil || r.FirstBad.Seq != before.Last+1 || !strings.Contains(r.FirstBad.Reason, missing) {
		t.Fatalf("after a start: ok %t, %v; want %q named", r.OK, r.FirstBad, missing)
	}
}

// TestReplacedHistoryIsFound rolls the journal back and has it grow again, beyond
// what the database knows, on another database.
func TestReplacedHistoryIsFound(t *testing.T) {
	t.Parallel()
	i := testkit.Start(t, nil)
	callEcho(t, i, 3)
	i.Stop()
	other := t.TempDir()
	storetest.Seed(t, filepath.Join(other, "junctor.db")) // a start creates none beside a journal
	copyJournal(t, i.Dir, other)
	for _, file := range []string{"replica", "seal.key"} {
		b, err := os.ReadFile(filepath.Join(i.Dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(other, file), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	i = testkit.Start(t, testkit.Settings{"data-dir": i.Dir})
	callEcho(t, i, 3)
	i.Stop()
	elsewhere := testkit.Start(t, testkit.Settings{"data-dir": other})
	callEcho(t, elsewhere, 9)
	elsewhere.Stop()
	if r := verifyJournal(t, other); r.FirstBad != nil { // the changes of the copied part are in the other database
		t.Fatalf("the other history does not hold against its own database: %v", r.FirstBad)
	}
	copyJournal(t, other, i.Dir)
	if r := verifyJournal(t, i.Dir); r.OK || r.FirstBad == nil {
		t.Fatalf("another history is taken for this one: %+v", r)
	}
}

// TestRestartsDoNotAlarm: what the database knows is never ahead of the journal,
// however often an instance ends and comes back.
func TestRestartsDoNotAlarm(t *testing.T) {
	t.Parallel()
	i := testkit.Start(t, nil)
	for range 3 {
		callEcho(t, i, 4)
		i.Stop()
		if r := verifyJournal(t, i.Dir); !r.OK {
			t.Fatalf("%v", r.FirstBad)
		}
		i = testkit.Start(t, testkit.Settings{"data-dir": i.Dir})
		if log := i.Log.String(); strings.Contains(log, "ERROR") {
			t.Fatalf("a plain restart alarms:\n%s", log)
		}
	}
}
