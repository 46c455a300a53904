// Command affected prints the packages whose tests a change can affect, one
// import path a line: `affected main` in the module's folder. The change is
// everything since the last commit that the branch shares with main, including
// files that are not committed yet.
//
// A package is affected if its tests compile a changed file, transitively. The
// whole-program tests below test/ run the junctor binary, so they are affected by
// every package that the binary is made of. Files that no package owns (go.mod,
// tools/, the Makefile) affect everything, except for documents, which affect the
// tests that read them.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: affected REVISION")
		os.Exit(2)
	}
	affected, err := findAffected(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "affected:", err)
		os.Exit(1)
	}
	for _, path := range affected {
		fmt.Println(path)
	}
}

func findAffected(revision string) ([]string, error) {
	files, err := changedFiles(revision)
	if err != nil {
		return nil, err
	}
	module, err := loadModule()
	if err != nil {
		return nil, err
	}
	return module.affectedBy(files), nil
}

// changedFiles lists paths relative to the repository's root.
func changedFiles(revision string) ([]string, error) {
	base, err := runCommand("git", "merge-base", revision, "HEAD")
	if err != nil {
		return nil, err
	}
	tracked, err := runCommand("git", "diff", "--name-only", "--no-renames", strings.TrimSpace(base))
	if err != nil {
		return nil, err
	}
	untracked, err := runCommand("git", "ls-files", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	return strings.Fields(tracked + untracked), nil
}

// module is what the selection needs to know of the packages in this folder.
type module struct {
	path  string              // its import path
	deps  map[string][]string // by package: every package of the module that its tests compile
	tests map[string]bool     // the packages that have tests
}

// program is the package of the binary that the whole-program tests run.
const program = "cmd/junctor"

// loadModule asks go list, whose -test variants know what tests import.
func loadModule() (*module, error) {
	out, err := runCommand("go", "list", "-e", "-test", "-deps", "-json=ImportPath,ForTest,Deps,Standard,Module,TestGoFiles,XTestGoFiles", "./...")
	if err != nil {
		return nil, err
	}
	m := &module{deps: map[string][]string{}, tests: map[string]bool{}}
	for dec := json.NewDecoder(strings.NewReader(out)); ; {
		var p struct {
			ImportPath, ForTest string
			Deps                []string
			Standard            bool
			Module              *struct {
				Path string
				Main bool
			}
			TestGoFiles, XTestGoFiles []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return m, nil
		} else if err != nil {
			return nil, err
		}
		if p.Standard || p.Module == nil || !p.Module.Main {
			continue
		}
		m.path = p.Module.Path
		// "a [a.test]" and "a.test" are a's test variants: what they import counts for a.
		path, _, _ := strings.Cut(p.ImportPath, " ")
		path = strings.TrimSuffix(path, ".test")
		if p.ForTest != "" {
			path = strings.TrimSuffix(p.ForTest, ".test")
		}
		m.tests[path] = m.tests[path] || len(p.TestGoFiles)+len(p.XTestGoFiles) > 0
		for _, dep := range append(p.Deps, p.ImportPath) {
			dep, _, _ = strings.Cut(dep, " ")
			m.deps[path] = append(m.deps[path], strings.TrimSuffix(dep, ".test"))
		}
	}
}

// affectedBy selects packages with tests, sorted.
func (m *module) affectedBy(files []string) []string {
	changed := map[string]bool{} // packages that are compiled anew
	readers := map[string]bool{} // packages whose tests read a changed document
	for _, file := range files {
		if isDocument(file) {
			readers[m.path] = true // its tests hold what the architecture document says
			readers[m.path+"/test/docs"], readers[m.path+"/test/deploy"] = true, true
			readers[m.path+"/internal/console"] = true // it serves the pages
			continue
		}
		owner, known := m.ownerOf(file)
		if !known {
			return m.withTests(func(string) bool { return true })
		}
		changed[owner] = true
	}
	anyChanged := func(path string) bool {
		return slices.ContainsFunc(m.deps[path], func(dep string) bool { return changed[dep] })
	}
	binary := anyChanged(m.path + "/" + program)
	return m.withTests(func(path string) bool {
		return anyChanged(path) || readers[path] || binary && strings.HasPrefix(path, m.path+"/test/")
	})
}

func (m *module) withTests(selected func(path string) bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m.tests)), func(path string) bool { return !m.tests[path] || !selected(path) })
}

func isDocument(file string) bool {
	return strings.HasPrefix(file, "docs/") && !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, ".md") && !strings.Contains(file, "/")
}

// ownerOf names the package that a file belongs to: that of its folder, and for
// testdata and embedded files that of the nearest folder above. known is false if
// the file may affect everything. A Go file in a folder without a package was
// removed with it; whatever imported the package has changed as well.
func (m *module) ownerOf(file string) (owner string, known bool) {
	isGo := strings.HasSuffix(file, ".go")
	if strings.HasPrefix(file, "tools/") || strings.HasPrefix(file, "test/node/") {
		return "", false
	}
	for dir := filepath.ToSlash(filepath.Dir(file)); dir != "."; dir = filepath.ToSlash(filepath.Dir(dir)) {
		if path := m.path + "/" + dir; m.deps[path] != nil {
			return path, true
		}
		if isGo {
			return "", true
		}
	}
	return m.path, isGo
}

func runCommand(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return string(out), nil
}
