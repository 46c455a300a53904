package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	module         = "github.com/junctor-mcp/junctor"
	programPackage = module + "/test/program" // tests that import it start the binary
	binaryPackage  = module + "/cmd/junctor"
	noteTimeout    = "timed out"
)

// tester runs tests on faults.
type tester struct {
	root     string
	settings settings
	dir      string                 // for what is of one fault
	packages map[string]testPackage // of the module, by import path
	clean    map[string]bool        // whether a test passes without a fault, by package and test
	binary   string                 // built without a fault; "" until one is needed
}

// testPackage is a package, with what it imports and what its tests do.
type testPackage struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

func (p testPackage) hasTests() bool { return len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 }

// startsBinary reports whether the tests start the binary; others use the
// package to find programs.
func (p testPackage) startsBinary() bool {
	return p.isWhole() && (slices.Contains(p.TestImports, programPackage) || slices.Contains(p.XTestImports, programPackage))
}

func (p testPackage) isWhole() bool { return strings.HasPrefix(p.ImportPath, module+"/test/") }

// newTester reads the packages of the module. Their imports decide whose tests
// can reach a fault.
func newTester(ctx context.Context, root string, s settings) (*tester, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-json=ImportPath,Imports,TestImports,XTestImports,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	t := &tester{root: root, settings: s, packages: map[string]testPackage{}, clean: map[string]bool{}}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p testPackage
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		t.packages[p.ImportPath] = p
	}
	if t.dir, err = os.MkdirTemp("", "junctor-mutate-"); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *tester) Close() error { return os.RemoveAll(t.dir) }

// reachedBy are the packages whose tests a fault in pkg can fail, nearest first:
// pkg itself, then by how many imports are between, and whole programs last.
func (t *tester) reachedBy(pkg string) []string {
	importers := map[string][]string{} // by imports of the code
	testers := map[string][]string{}   // by imports of the tests
	for path, p := range t.packages {
		for _, i := range p.Imports {
			importers[i] = append(importers[i], path)
		}
		for _, i := range slices.Concat(p.TestImports, p.XTestImports) {
			testers[i] = append(testers[i], path)
		}
	}
	distance := map[string]int{pkg: 0} // of code
	tests := map[string]int{pkg: 0}    // of tests
	for queue := []string{pkg}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, p := range testers[at] {
			if _, known := tests[p]; !known {
				tests[p] = distance[at] + 1
			}
		}
		for _, p := range importers[at] {
			if _, known := distance[p]; known {
				continue
			}
			distance[p] = distance[at] + 1
			if _, known := tests[p]; !known {
				tests[p] = distance[p]
			}
			queue = append(queue, p)
		}
	}
	if _, in := distance[binaryPackage]; in {
		for path, p := range t.packages {
			if _, known := tests[path]; p.startsBinary() && !known {
				tests[path] = distance[binaryPackage] + 1
			}
		}
	}
	var all []string
	for path := range tests {
		if t.packages[path].hasTests() {
			all = append(all, path)
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(compareBools(t.packages[a].isWhole(), t.packages[b].isWhole()), cmp.Compare(tests[a], tests[b]), cmp.Compare(a, b))
	})
	return all
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// testMutant runs tests until one finds the fault.
func (t *tester) testMutant(ctx context.Context, m *mutant) (verdict, error) {
	overlay, err := t.writeOverlay(m)
	if err != nil {
		return verdict{}, err
	}
	var unable []string
	binary := ""
	for _, pkg := range t.reachedBy(m.pkg) {
		if t.settings.own && pkg != m.pkg {
			return verdict{state: stateOpen}, nil
		}
		if binary == "" && t.packages[pkg].startsBinary() {
			binary = filepath.Join(t.dir, "junctor")
			if err := t.buildBinary(ctx, overlay, binary); err != nil {
				return verdict{}, err
			}
		}
		v, err := t.testPackage(ctx, pkg, overlay, binary)
		if err != nil || v.state == stateKilled {
			return v, err
		}
		if v.note != "" {
			unable = append(unable, v.note)
		}
		if t.settings.own {
			return verdict{state: stateOpen, note: v.note}, nil
		}
		if pkg != m.pkg {
			fmt.Fprintf(os.Stderr, "    %s passes %s\n", m.id, relativePackage(pkg))
		}
	}
	return verdict{state: stateSurvived, note: strings.Join(unable, "; ")}, nil
}

func (t *tester) writeOverlay(m *mutant) (string, error) {
	src, err := m.mutatedSource()
	if err != nil {
		return "", err
	}
	mutated, overlay := filepath.Join(t.dir, filepath.Base(m.file)), filepath.Join(t.dir, "overlay.json")
	if err := os.WriteFile(mutated, src, 0o644); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{m.file: mutated}})
	if err != nil {
		return "", err
	}
	return overlay, os.WriteFile(overlay, text, 0o644)
}

func (t *tester) buildBinary(ctx context.Context, overlay, binary string) error {
	args := []string{"build", "-buildvcs=false", "-ldflags=-w", "-o", binary}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/junctor")...)
	cmd.Dir = t.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build ./cmd/junctor: %w\n%s", err, out)
	}
	return nil
}

// testPackage runs the tests of a package. A test that fails is run once more by
// itself: if it passes then, another reason than the fault may have failed it, and
// it does not count. Neither does a test that fails without the fault too.
func (t *tester) testPackage(ctx context.Context, pkg, overlay, binary string) (verdict, error) {
	var skip, unable []string
	for range 5 {
		first, err := t.goTest(ctx, pkg, overlay, binary, "", skip)
		if err != nil {
			return verdict{}, err
		}
		if first.passed {
			break
		}
		by := relativePackage(pkg) + "." + cmp.Or(first.test, "TestMain")
		if first.timedOut {
			ok, err := t.passesClean(ctx, pkg, "", skip)
			if err != nil || ok {
				return verdict{state: stateKilled, by: by, note: noteTimeout}, err
			}
			unable = append(unable, relativePackage(pkg)+" times out without the fault too")
			break
		}
		root, _, _ := strings.Cut(first.test, "/")
		if first.crashed { // the output does not tell which of the parallel tests failed
			root = ""
		}
		second, err := t.goTest(ctx, pkg, overlay, binary, root, skip)
		if err != nil {
			return verdict{}, err
		}
		if !second.passed {
			ok, err := t.passesClean(ctx, pkg, root, skip)
			if err != nil || ok {
				return verdict{state: stateKilled, by: by}, err
			}
			unable = append(unable, by+" fails without the fault too")
		}
		if root == "" {
			break
		}
		skip = append(skip, root)
	}
	return verdict{note: strings.Join(unable, "; ")}, nil
}

// passesClean reports whether a test, or all tests of a package, pass without a
// fault.
func (t *tester) passesClean(ctx context.Context, pkg, test string, skip []string) (bool, error) {
	key := pkg + " " + test + " " + strings.Join(skip, " ")
	if ok, known := t.clean[key]; known {
		return ok, nil
	}
	if t.binary == "" && t.packages[pkg].startsBinary() {
		t.binary = filepath.Join(t.dir, "junctor-clean")
		if err := t.buildBinary(ctx, "", t.binary); err != nil {
			return false, err
		}
	}
	o, err := t.goTest(ctx, pkg, "", t.binary, test, skip)
	if err == nil {
		t.clean[key] = o.passed
	}
	return o.passed, err
}

// outcome of a run of go test.
type outcome struct {
	passed   bool
	timedOut bool
	crashed  bool
	test     string // the first that failed, or that ran when all ended; "" where none is named
}

// goTest runs the tests of a package, or the one that is named.
func (t *tester) goTest(ctx context.Context, pkg, overlay, binary, only string, skip []string) (outcome, error) {
	limit := t.settings.timeout
	if t.packages[pkg].isWhole() {
		limit = t.settings.long
	}
	args := []string{"test", "-json", "-count=1", "-p=1", "-failfast", "-vet=off", "-buildvcs=false", "-ldflags=-w", "-timeout", limit.String()}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	if only != "" {
		args = append(args, "-run", "^"+only+"$")
	}
	if len(skip) > 0 {
		args = append(args, "-skip", "^("+strings.Join(skip, "|")+")$")
	}
	// A test binary ends itself at its limit; one that cannot even do that is killed.
	ctx, cancel := context.WithTimeout(ctx, limit+5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = t.root
	// Tests start programs: they end with the tests.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), "CI=true", "RAPID_NOFAILFILE=true") // that a property fails here is nothing to keep
	if os.Getenv("JUNCTOR_TEST_NODE") == "" {
		cmd.Env = append(cmd.Env, "JUNCTOR_TEST_NODE="+filepath.Join(t.root, ".cache/node"))
	}
	if binary != "" {
		cmd.Env = append(cmd.Env, "JUNCTOR_TEST_BINARY="+binary)
	}
	out, err := cmd.CombinedOutput()
	if cause := ctx.Err(); errors.Is(cause, context.Canceled) {
		return outcome{}, cause
	} else if cause != nil {
		return outcome{timedOut: true}, nil
	}
	if err == nil {
		return outcome{passed: true}, nil
	}
	o, built := readOutcome(out)
	if !built {
		return o, fmt.Errorf("%s cannot be tested: %w\n%s", pkg, err, out)
	}
	return o, nil
}

// event is a line of what go test -json writes.
type event struct{ Action, Test, Output, FailedBuild string }

var runningTest = regexp.MustCompile(`^\s+(Test\S+) \(`)

// readOutcome finds which test failed, and whether there were any to run.
func readOutcome(out []byte) (o outcome, built bool) {
	built = true
	seen := false
	running := ""
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		seen = true
		switch {
		case e.FailedBuild != "", e.Action == "build-fail":
			built = false
		case e.Action == "fail" && e.Test != "" && o.test == "":
			o.test = e.Test // the innermost comes first
		case strings.Contains(e.Output, "panic: test timed out after"):
			o.timedOut = true
		case !o.timedOut && (strings.HasPrefix(e.Output, "panic: ") || strings.HasPrefix(e.Output, "fatal error: ")):
			o.crashed = true
			if o.test == "" {
				o.test = e.Test
			}
		case o.timedOut && running == "":
			if m := runningTest.FindStringSubmatch(e.Output); m != nil {
				running = m[1]
			}
		}
	}
	if o.timedOut && running != "" {
		o.test = running
	}
	return o, built && seen
}
