package main

import (
	"slices"
	"testing"
)

func TestAffectedBy(t *testing.T) {
	t.Parallel()
	m := &module{
		path: "m",
		deps: map[string][]string{
			"m":             {"m"},
			"m/cmd/junctor": {"m/cmd/junctor", "m/internal/a", "m"},
			"m/internal/a":  {"m/internal/a", "m"},
			"m/internal/b":  {"m/internal/b", "m/internal/a", "m"}, // imports a in its tests
			"m/internal/c":  {"m/internal/c"},
			"m/test/docs":   {"m/test/docs"},
			"m/test/whole":  {"m/test/whole"},
		},
		tests: map[string]bool{"m": true, "m/internal/a": true, "m/internal/b": true, "m/internal/c": true, "m/test/docs": true, "m/test/whole": true, "m/cmd/junctor": false},
	}
	all := []string{"m", "m/internal/a", "m/internal/b", "m/internal/c", "m/test/docs", "m/test/whole"}
	for name, tt := range map[string]struct{ files, want []string }{
		"nothing":                 {nil, nil},
		"a leaf":                  {[]string{"internal/c/c.go"}, []string{"m/internal/c"}},
		"a part of the binary":    {[]string{"internal/a/a.go"}, []string{"m/internal/a", "m/internal/b", "m/test/docs", "m/test/whole"}},
		"testdata":                {[]string{"internal/c/testdata/x.json"}, []string{"m/internal/c"}},
		"a whole-program test":    {[]string{"test/whole/whole_test.go"}, []string{"m/test/whole"}},
		"a document":              {[]string{"docs/guides/servers.md"}, []string{"m", "m/test/docs"}},
		"a file of no package":    {[]string{"deploy/x.yaml"}, all},
		"the modules":             {[]string{"go.sum"}, all},
		"tools":                   {[]string{"tools/test.sh"}, all},
		"a removed package":       {[]string{"internal/gone/x.go"}, nil},
		"the packages of node":    {[]string{"test/node/package.json"}, all},
		"the package in the root": {[]string{"server.go"}, []string{"m", "m/internal/a", "m/internal/b", "m/test/docs", "m/test/whole"}},
	} {
		if got := m.affectedBy(tt.files); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
