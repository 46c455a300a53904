package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const sample = `package sample

import (
	"errors"
	"log/slog"
	"sync"
)

type store struct {
	mu   sync.Mutex
	kept []int
	log  *slog.Logger
}

func (s *store) put(n, most int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < 0 || len(s.kept) >= most {
		return errors.New("refused")
	}
	if n == 7 {
		s.log.Info("seven")
	}
	s.keep(n)
	s.log.Info("put")
	return nil
}

func (s *store) keep(n int) { s.kept = append(s.kept, n) }
`

// writeSample makes a module with a package internal/sample.
func writeSample(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module " + module + "\n\ngo 1.26\n", "internal/sample/sample.go": sample} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestFaultsAreThoseOfTheCodeThatCounts(t *testing.T) {
	loaded, err := loadPackages(writeSample(t), []string{"sample"})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, m := range loaded[0].mutants {
		if m.function != "store.put" {
			t.Errorf("a fault in %s", m.function)
		}
		found = append(found, kinds[m.kind]+": "+m.change)
	}
	slices.Sort(found)
	want := []string{ // none of the locks and of what is only logged
		"changed comparison: len(s.kept) >= most → len(s.kept) > most",
		"changed comparison: n < 0 → n <= 0",
		"dropped call: s.keep(n) → nothing",
		`dropped check: if n < 0 || len(s.kept) >= most { return errors.New("refused") } → nothing`,
		"negated condition: if n < 0 || len(s.kept) >= most → if !(n < 0 || len(s.kept) >= most)",
		"swapped boolean: n < 0 || len(s.kept) >= most → n < 0 && len(s.kept) >= most",
	}
	if !slices.Equal(found, want) {
		t.Errorf("found\n%q\nwant\n%q", found, want)
	}
}

func TestDrawIsDecidedBySeed(t *testing.T) {
	root := writeSample(t)
	ids := func(seed string, equivalent map[string]string) (all []string) {
		drawn, err := drawMutants(root, settings{seed: seed, count: 3, packages: []string{"sample"}}, equivalent)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range drawn {
			all = append(all, m.id)
		}
		return all
	}
	first := ids("a", nil)
	if again := ids("a", nil); !slices.Equal(first, again) || len(first) != 3 {
		t.Errorf("drew %v, then %v", first, again)
	}
	if with := ids("a", map[string]string{first[0]: "a reason"}); len(with) != 4 || with[0] != first[0] {
		t.Errorf("with an equivalent it drew %v: another one has to be drawn in its place", with)
	}
}

func TestOutcome(t *testing.T) {
	for name, c := range map[string]struct {
		out   string
		want  outcome
		built bool
	}{
		"a subtest": {
			`{"Action":"fail","Test":"TestA/b"}` + "\n" + `{"Action":"fail","Test":"TestA"}` + "\n" + `{"Action":"fail"}`,
			outcome{test: "TestA/b"},
			true,
		},
		"after the tests": {`{"Action":"pass","Test":"TestA"}` + "\n" + `{"Action":"fail"}`, outcome{}, true},
		"a crash":         {`{"Action":"output","Test":"TestA","Output":"panic: x\n"}` + "\n" + `{"Action":"fail"}`, outcome{test: "TestA", crashed: true}, true},
		"no build":        {`{"Action":"build-fail"}` + "\n" + `{"Action":"fail","FailedBuild":"x"}`, outcome{}, false},
		"time-out": {
			`{"Action":"output","Output":"panic: test timed out after 1s\n"}` + "\n" +
				`{"Action":"output","Output":"\trunning tests:\n"}` + "\n" + `{"Action":"output","Output":"\t\tTestA (1s)\n"}` + "\n" + `{"Action":"fail","Test":"TestB"}`,
			outcome{test: "TestA", timedOut: true},
			true,
		},
	} {
		if got, built := readOutcome([]byte(c.out)); got != c.want || built != c.built {
			t.Errorf("%s: %+v, %v", name, got, built)
		}
	}
}
