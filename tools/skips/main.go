// Command skips lists the tests that a run skipped, with their reasons: `skips
// FILE...` reads the output of `go test -json` (gotestsum writes it with
// --jsonfile). With -counts it prints one line for tables instead, passed,
// failed and skipped tests as three numbers, and the names of failed tests after
// them, one per line.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

func main() {
	counts := flag.Bool("counts", false, "print the numbers of passed, failed and skipped tests, then the failed tests")
	flag.Parse()
	run := newTestRun()
	for _, name := range flag.Args() {
		if err := run.readFile(name); err != nil {
			fmt.Fprintf(os.Stderr, "skips: %s: %v\n", name, err)
			os.Exit(1)
		}
	}
	// A run without a single test means that the file is not what we think it is.
	if len(run.results) == 0 {
		fmt.Fprintln(os.Stderr, "skips: no test in the output of go test -json:", strings.Join(flag.Args(), " "))
		os.Exit(1)
	}
	if *counts {
		run.printCounts(os.Stdout)
		return
	}
	run.printSkipped(os.Stdout)
}

// event is a line of `go test -json`.
type event struct {
	Action, Package, Test, Output string
}

// testID names a test, or a whole package if Test is empty.
type testID struct{ Package, Test string }

func (id testID) String() string {
	short := id.Package
	if _, after, ok := strings.Cut(id.Package, "/junctor/"); ok {
		short = after
	}
	return strings.TrimSuffix(short+" "+id.Test, " ")
}

// testRun holds the last result of each test: a test that gotestsum ran again
// after a failure counts with its second result.
type testRun struct {
	results map[testID]string   // pass, fail or skip
	output  map[testID][]string // lines since the test began
	reasons map[testID]string
}

func newTestRun() *testRun {
	return &testRun{results: map[testID]string{}, output: map[testID][]string{}, reasons: map[testID]string{}}
}

func (r *testRun) readFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return r.readEvents(f)
}

// readEvents reads the JSON events of `go test -json`.
func (r *testRun) readEvents(from io.Reader) error {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		// Lines that are no JSON are of programs that wrote past the test.
		if json.Unmarshal(line, &e) == nil && e.Action != "" {
			r.addEvent(e)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// addEvent applies one event.
func (r *testRun) addEvent(e event) {
	id := testID{e.Package, e.Test}
	switch e.Action {
	case "run":
		delete(r.output, id)
	case "output":
		r.output[id] = append(r.output[id], e.Output)
	case "pass", "fail", "skip":
		r.results[id] = e.Action
		if e.Action == "skip" {
			r.reasons[id] = skipReason(r.output[id])
		}
		delete(r.output, id)
	}
}

// position is what the testing package puts before a message.
var position = regexp.MustCompile(`^\s*[\w.-]+\.go:\d+: `)

// skipReason is the last message of a test: t.Skip logs it and ends the test.
// Further lines of a message have no position of their own.
func skipReason(output []string) string {
	var reason []string
	for _, line := range output {
		text := strings.TrimSpace(line)
		switch {
		case text == "" || strings.HasPrefix(text, "=== ") || strings.HasPrefix(text, "--- "):
		case position.MatchString(line):
			reason = []string{strings.TrimSpace(position.ReplaceAllString(line, ""))}
		case reason != nil:
			reason = append(reason, text)
		}
	}
	if len(reason) == 0 {
		return "no reason given"
	}
	return strings.Join(reason, " ")
}

// testsWith gives the tests with a result, sorted. A package with a failed test is
// left out; one that failed without, as by a panic or a timeout, is not.
func (r *testRun) testsWith(result string) []testID {
	failedIn := map[string]bool{}
	for id, got := range r.results {
		if got == "fail" && id.Test != "" {
			failedIn[id.Package] = true
		}
	}
	var ids []testID
	for id, got := range r.results {
		wholePackage := id.Test == ""
		if got != result || wholePackage && (result != "fail" || failedIn[id.Package]) {
			continue
		}
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b testID) int { return strings.Compare(a.String(), b.String()) })
	return ids
}

func (r *testRun) printCounts(to io.Writer) {
	failed := r.testsWith("fail")
	fmt.Fprintln(to, len(r.testsWith("pass")), len(failed), len(r.testsWith("skip")))
	for _, id := range failed {
		fmt.Fprintln(to, id)
	}
}

// mostNames bounds the list of tests that share a reason: seeds of a fuzz target
// can be skipped by the hundred.
const mostNames = 5

// printSkipped lists the skipped tests by reason.
func (r *testRun) printSkipped(to io.Writer) {
	skipped := r.testsWith("skip")
	byReason := map[string][]string{}
	for _, id := range skipped {
		reason := r.reasons[id]
		byReason[reason] = append(byReason[reason], id.String())
	}
	fmt.Fprintf(to, "skipped: %d\n", len(skipped))
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		names := byReason[reason]
		more := ""
		if n := len(names) - mostNames; n > 0 {
			names, more = names[:mostNames], fmt.Sprintf(", and %d more", n)
		}
		fmt.Fprintf(to, "  %s: %s%s\n", reason, strings.Join(names, ", "), more)
	}
}
