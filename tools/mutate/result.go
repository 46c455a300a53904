package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// What became of a fault.
const (
	stateKilled   = "killed"
	stateSurvived = "survived"
	stateOpen     = "open" // the tests of its own package do not find it; others were not run
)

// verdict is the result of the tests for a fault.
type verdict struct {
	state string
	by    string // package.Test that found it
	note  string // that it timed out; tests that could not judge
}

func (v verdict) String() string {
	s := v.state
	if v.by != "" {
		s += " by " + v.by
	}
	if v.note != "" {
		s += " (" + v.note + ")"
	}
	return s
}

// resultFile keeps verdicts, the last of a fault being the one that counts.
type resultFile struct {
	f   *os.File
	all map[string]verdict
}

// openResults opens the file of results, and reads those of earlier runs.
func openResults(name string) (*resultFile, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	r := &resultFile{f: f, all: map[string]verdict{}}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// A line that was cut off when a run was killed is no verdict.
		if c := strings.Split(lines.Text(), "\t"); len(c) == 7 {
			r.all[c[0]+c[1]] = verdict{state: c[2], by: c[3], note: c[4]}
		}
	}
	return r, nil
}

func (r *resultFile) Close() error { return r.f.Close() }

func (r *resultFile) findVerdict(m *mutant) (verdict, bool) {
	v, known := r.all[m.id+m.digest]
	return v, known
}

func (r *resultFile) addVerdict(m *mutant, v verdict) error {
	r.all[m.id+m.digest] = v
	_, err := fmt.Fprintln(r.f, strings.Join([]string{m.id, m.digest, v.state, v.by, v.note, m.placeText(), m.change}, "\t"))
	return err
}

// readEquivalents reads which mutants are no faults, by id, and why.
func readEquivalents(name string) (map[string]string, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		c := strings.Split(line, "\t")
		if len(c) != 4 || c[3] == "" {
			return nil, fmt.Errorf("%s:%d: want four columns with tabs between: id, place, change, reason", name, i+1)
		}
		all[c[0]] = c[3]
	}
	return all, nil
}

func printList(out io.Writer, drawn []*mutant) {
	for _, m := range drawn {
		fmt.Fprintf(out, "%s\t%s\t%s\t%s", m.id, m.placeText(), kinds[m.kind], m.change)
		if m.reason != "" {
			fmt.Fprintf(out, "\tequivalent: %s", m.reason)
		}
		fmt.Fprintln(out)
	}
}

// printTable prints the drawn faults with their verdicts, by package.
func printTable(out io.Writer, drawn []*mutant, results *resultFile) {
	fmt.Fprintln(out, "| mutant | place | change | result |\n|---|---|---|---|")
	for _, m := range drawn {
		result := "not tested"
		if v, known := results.findVerdict(m); known {
			result = v.String()
		}
		if m.reason != "" {
			result = "equivalent: " + m.reason
		}
		change := strings.ReplaceAll(m.change, "|", "\\|")
		fmt.Fprintf(out, "| %s | %s | %s: `%s` | %s |\n", m.id, m.placeText(), kinds[m.kind], change, result)
	}
	fmt.Fprintln(out)
	printSummary(out, drawn, results)
}

// totals of a package, or of all.
type totals struct{ faults, killed, own, timedOut, survived, untested, equivalent int }

// printSummary prints a line for each package, and one for all.
func printSummary(out io.Writer, drawn []*mutant, results *resultFile) {
	byPackage := map[string]totals{}
	var all totals
	for _, m := range drawn {
		v, known := results.findVerdict(m)
		count := func(t totals) totals {
			if m.reason != "" {
				t.equivalent++
				return t
			}
			t.faults++
			switch {
			case known && v.state == stateKilled:
				t.killed++
				if strings.HasPrefix(v.by, relativePackage(m.pkg)+".") {
					t.own++
				}
				if v.note == noteTimeout {
					t.timedOut++
				}
			case known && v.state != stateOpen:
				t.survived++
			default: // open: only the tests of its own package ran
				t.untested++
			}
			return t
		}
		byPackage[relativePackage(m.pkg)] = count(byPackage[relativePackage(m.pkg)])
		all = count(all)
	}
	print := func(name string, t totals) {
		untested := ""
		if t.untested > 0 {
			untested = fmt.Sprintf(", %d not tested by all tests yet", t.untested)
		}
		fmt.Fprintf(out, "- %s: %d faults, %d found by tests (%d by tests of their own package, %d by a time-out), %d survived%s, %d equivalent\n",
			name, t.faults, t.killed, t.own, t.timedOut, t.survived, untested, t.equivalent)
	}
	for _, name := range slices.Sorted(maps.Keys(byPackage)) {
		print(name, byPackage[name])
	}
	print("all", all)
	for _, m := range drawn {
		if v, known := results.findVerdict(m); m.reason == "" && known && v.state != stateKilled {
			fmt.Fprintf(out, "- %s: %s, %s, `%s`\n", v, m.placeText(), kinds[m.kind], m.change)
		}
	}
}

// relativePackage gives a package's path within the module.
func relativePackage(path string) string { return strings.TrimPrefix(path, module+"/") }
