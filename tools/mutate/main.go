// Command mutate checks the tests: it plants small faults in the packages that
// hold the promises and runs the tests of `make test` on each of them. A fault
// that no test finds is a promise that nobody checks.
//
//	go -C tools run ./mutate              the whole check, or what is left of it
//	go -C tools run ./mutate -list        which faults are drawn
//	go -C tools run ./mutate -only ID,ID  some of them once more
//
// The work tree is never changed: the go command reads the mutated file by
// -overlay. Results are kept in a file, so that a run that was stopped goes on
// where it was.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// checkedPackages are those whose tests are checked, below internal.
const checkedPackages = "guard,identity,seal,audit,queue,egress,upstream,wire"

// errSurvived ends a run with faults that no test found.
var errSurvived = errors.New("there are faults that no test finds: write the missing tests, or say in tools/mutate/equivalent.tsv why the program behaves the same")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := runMutants(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// settings are the flags.
type settings struct {
	seed     string
	count    int
	packages []string
	results  string
	only     []string // ids; empty: all
	list     bool
	own      bool
	summary  bool
	timeout  time.Duration
	long     time.Duration
}

func parseFlags(args []string) (settings, error) {
	var s settings
	var packages, only string
	f := flag.NewFlagSet("mutate", flag.ContinueOnError)
	f.StringVar(&s.seed, "seed", "junctor", "decides which faults are drawn")
	f.IntVar(&s.count, "n", 60, "how many faults are drawn, spread evenly over the packages")
	f.StringVar(&packages, "packages", checkedPackages, "the packages below internal that get faults")
	f.StringVar(&s.results, "results", ".cache/mutate.tsv", "file that keeps the results, relative to the repository")
	f.StringVar(&only, "only", "", "test some faults again, by their ids with commas between")
	f.BoolVar(&s.list, "list", false, "list the faults without testing them")
	f.BoolVar(&s.own, "own", false, "run only the tests of the package with the fault; a fault that they do not find stays open")
	f.BoolVar(&s.summary, "summary", false, "print the totals as a list instead of the table")
	f.DurationVar(&s.timeout, "timeout", 5*time.Minute, "for the tests of one package")
	f.DurationVar(&s.long, "long", 20*time.Minute, "for those of a package of whole-program tests")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if f.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	s.packages = strings.Split(packages, ",")
	if only != "" {
		s.only = strings.Split(only, ",")
	}
	if s.count < 1 {
		return s, fmt.Errorf("-n must be above zero")
	}
	return s, nil
}

// runMutants plants faults, runs the tests that reach each one, and prints a table of
// what was found. Results are kept in a file, so that an interrupted run
// continues.
func runMutants(ctx context.Context, args []string, out io.Writer) error {
	s, err := parseFlags(args)
	if err != nil {
		return err
	}
	root, err := findRoot()
	if err != nil {
		return err
	}
	equivalent, err := readEquivalents(filepath.Join(root, "tools/mutate/equivalent.tsv"))
	if err != nil {
		return err
	}
	drawn, err := drawMutants(root, s, equivalent)
	if err != nil {
		return err
	}
	if s.list {
		printList(out, drawn)
		return nil
	}
	results, err := openResults(filepath.Join(root, s.results))
	if err != nil {
		return err
	}
	defer results.Close()
	t, err := newTester(ctx, root, s)
	if err != nil {
		return err
	}
	defer t.Close()
	for _, id := range s.only {
		if !slices.ContainsFunc(drawn, func(m *mutant) bool { return m.id == id }) {
			return fmt.Errorf("-only: %s is not drawn; -list shows which faults are", id)
		}
	}
	faults := 0
	for _, m := range drawn {
		named := slices.Contains(s.only, m.id)
		if m.reason != "" && !named {
			continue
		}
		faults++
		if len(s.only) > 0 && !named {
			continue
		}
		if v, known := results.findVerdict(m); known && !named && (s.own || v.state != stateOpen) {
			continue
		}
		begin := time.Now()
		v, err := t.testMutant(ctx, m)
		if err != nil {
			return fmt.Errorf("%s at %s: %w", m.id, m.placeText(), err)
		}
		if err := results.addVerdict(m, v); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%3d/%d %s %s: %s: %s (%s)\n", faults, s.count, m.id, m.placeText(), m.change, v, time.Since(begin).Round(time.Second))
	}
	if s.summary {
		printSummary(out, drawn, results)
	} else {
		printTable(out, drawn, results)
	}
	for _, m := range drawn {
		if v, known := results.findVerdict(m); m.reason == "" && known && v.state != stateKilled && (len(s.only) == 0 || slices.Contains(s.only, m.id)) {
			return errSurvived
		}
	}
	return nil
}

// drawMutants chooses the faults, and gives those of the equivalents that are still in
// the code too, which count as none: others are drawn in their place.
func drawMutants(root string, s settings, equivalent map[string]string) ([]*mutant, error) {
	loaded, err := loadPackages(root, s.packages)
	if err != nil {
		return nil, err
	}
	var drawn []*mutant
	for i, p := range loaded {
		want := s.count / len(loaded)
		if i < s.count%len(loaded) {
			want++
		}
		for _, m := range p.drawMutants(s.seed, want, i, equivalent) {
			m.reason = equivalent[m.id]
			drawn = append(drawn, m)
			if m.reason == "" {
				want--
			}
		}
		if want > 0 {
			return nil, fmt.Errorf("%s has room for %d faults fewer than asked for", p.path, want)
		}
	}
	for id := range equivalent {
		if !hasMutant(loaded, id) {
			return nil, fmt.Errorf("tools/mutate/equivalent.tsv: %s is not in the code any more: delete its line", id)
		}
	}
	return drawn, nil
}

func hasMutant(loaded []*checkedPackage, id string) bool {
	for _, p := range loaded {
		for _, m := range p.mutants {
			if m.id == id {
				return true
			}
		}
	}
	return false
}

// findRoot gives the folder of the product's module: tools is below it.
func findRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	dir := filepath.Dir(strings.TrimSpace(string(out)))
	return strings.TrimSuffix(dir, string(filepath.Separator)+"tools"), nil
}
