package sqlite_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
)

// These variables make the test binary play another process on a database.
const (
	roleVariable     = "JUNCTOR_TEST_ROLE"
	databaseVariable = "JUNCTOR_TEST_DATABASE"
)

// raced is how many states the processes race for.
const raced = 60

func TestMain(m *testing.M) {
	roles := map[string]func(context.Context, *store.Tenant) error{"race": raceForStates, "write": writeUntilKilled}
	role, isRole := roles[os.Getenv(roleVariable)]
	if !isRole {
		os.Exit(m.Run())
	}
	ctx := context.Background()
	st, err := sqlite.Open(ctx, os.Getenv(databaseVariable))
	if err == nil {
		err = role(ctx, st.For(junctor.DefaultTenant))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err, junctor.AsError(err).Cause)
		os.Exit(1)
	}
	os.Exit(0)
}

// raceForStates prints how many states this process was the first to use.
func raceForStates(ctx context.Context, st *store.Tenant) error {
	firsts := 0
	for n := range raced {
		first, err := st.UseState(ctx, strconv.Itoa(n), time.Now().Add(time.Hour))
		if err != nil {
			return err
		}
		if first {
			firsts++
		}
	}
	fmt.Println(firsts)
	return nil
}

// writeUntilKilled prints each key after it was stored.
func writeUntilKilled(ctx context.Context, st *store.Tenant) error {
	for n := 0; ; n++ {
		key := strconv.Itoa(n)
		if err := st.PutSetting(ctx, key, json.RawMessage(key)); err != nil {
			return err
		}
		fmt.Println(key)
	}
}

func process(t *testing.T, role, path string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), roleVariable+"="+role, databaseVariable+"="+path)
	cmd.Stderr = os.Stderr
	return cmd
}

func TestProcessesShareStates(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "junctor.db")
	open(t, path)
	type answer struct {
		firsts int
		err    error
	}
	answers := make(chan answer, 3)
	for range cap(answers) {
		cmd := process(t, "race", path)
		go func() {
			out, err := cmd.Output()
			n, _ := strconv.Atoi(strings.TrimSpace(string(out)))
			answers <- answer{n, err}
		}()
	}
	sum := 0
	for range cap(answers) {
		a := <-answers
		if a.err != nil {
			t.Error(a.err)
		}
		sum += a.firsts
	}
	if sum != raced {
		t.Errorf("%d states had %d first users", raced, sum)
	}
}

func TestKilledProcessLosesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "junctor.db")
	for round := range 3 {
		cmd := process(t, "write", path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		said := 0
		for lines := bufio.NewScanner(out); lines.Scan(); said++ {
			if said == 40*(round+1) {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // it was killed

		st := open(t, path)
		settings, err := st.For(junctor.DefaultTenant).Settings(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(settings) < said {
			t.Errorf("round %d: %d writes were acknowledged, %d are there", round, said, len(settings))
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var verdict string
	if err := openRaw(t, path).QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity: %q, %v", verdict, err)
	}
}
