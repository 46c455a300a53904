// Package program starts real programs for the whole-program tests beside it:
// the junctor binary, built once per test process, and Node with the packages
// of test/node. It stands outside the data path, and only tests import it.
package program

import (
	"os"
	"path/filepath"
	"testing"
)

// Missing says that a test cannot run here. In CI that is a failure.
func Missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("missing: %s", what)
	}
	t.Skipf("missing: %s (with CI set this is a failure)", what)
}

// Long says whether the long form of a test was asked for, as `make prove` does.
func Long() bool { return os.Getenv("JUNCTOR_LONG") != "" }

// Root is the folder of go.mod.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = up
	}
}
