package junctor_test

import (
	"fmt"
	"strings"
	"testing"
)

// plant makes a package with one file.
func plant(t *testing.T, path, src string) pkg {
	t.Helper()
	return pkg{path: path, doc: "Package planted.", sources: []source{parse(t, path+"/x.go", src)}}
}

func importing(paths ...string) string {
	var b strings.Builder
	b.WriteString("package x\n")
	for _, p := range paths {
		fmt.Fprintf(&b, "import _ %q\n", p)
	}
	return b.String()
}

// TestPlanted feeds each rule a violation, and a neighbour that is allowed.
func TestPlanted(t *testing.T) {
	t.Parallel()
	in := module + "/internal/"
	tests := []struct {
		rule string
		bad  map[string]string // path -> source; each package is one violation
		good map[string]string
	}{
		{
			"package junctor imports nothing of ours",
			map[string]string{"": importing(in + "wire")},
			map[string]string{"": importing("time")},
		},
		{
			"ground imports only package junctor, admission, sketch, redact and its own subtree, and egress imports httpfast",
			map[string]string{
				"internal/seal": importing(in + "audit"), "internal/wire": importing(in + "gateway"),
				"internal/history": importing(in + "store"), "internal/backup": importing(in + "seal"),
				"internal/httpfast": importing(in + "egress"), "internal/egress": importing(in + "telemetry"), "internal/limit": importing(in + "httpfast"),
			},
			map[string]string{
				"internal/store/sqlite": importing(in+"store", in+"admission", module), "internal/store/storetest": importing(in + "guard"),
				"internal/history": importing(in+"sketch", in+"redact", module), "internal/admin": importing(in + "history"), "internal/egress": importing(in+"httpfast", module),
			},
		},
		{
			"admission imports only package junctor",
			map[string]string{"internal/admission": importing(in + "upstreamauth")},
			map[string]string{"internal/admission": importing(module, "net/url")},
		},
		{
			"sketch imports nothing of ours",
			map[string]string{"internal/sketch": importing(module)},
			map[string]string{"internal/sketch": importing("math")},
		},
		{
			"redact imports only package junctor and wire",
			map[string]string{"internal/redact": importing(in + "history")},
			map[string]string{"internal/redact": importing(in+"wire", module)},
		},
		{
			"verdicts are made where they are meant to be",
			map[string]string{
				"internal/app":   "package x\nimport \"" + in + "admission\"\nvar _ = admission.Stored\n",
				"internal/room":  "package x\nimport judge \"" + in + "admission\"\nvar _ = judge.New\n",
				"internal/agent": "package x\nimport . \"" + in + "admission\"\nvar _ = Stored\n",
			},
			map[string]string{"internal/store": "package x\nimport \"" + in + "admission\"\nvar _ = admission.Stored\n", "internal/cli": "package x\nvar desk struct{ Stored int }\nvar _ = desk.Stored\n"},
		},
		{
			"backends never import each other",
			map[string]string{"internal/apigen": importing(in + "builtin"), "internal/upstream/pool": importing(in + "apigen")},
			map[string]string{"internal/builtin/demo": importing(in+"builtin", in+"catalog")},
		},
		{
			"only app and instance import store drivers",
			map[string]string{"internal/cli": importing(in + "store/sqlite"), "internal/servers": importing(in + "store/postgres")},
			map[string]string{"internal/app": importing(in+"store/sqlite", in+"store/postgres"), "internal/cli": importing(in + "store")},
		},
		{
			"servers alone imports concrete backends",
			map[string]string{
				"internal/guard": importing(in + "builtin"), "cmd/junctor": importing(in + "upstream"), "internal/declare": importing(in + "apigen/doc"),
				"internal/app": importing(in + "builtin"), "internal/agents": importing(in + "builtin/dashboard"), "internal/events": importing(in + "upstream"),
			},
			map[string]string{"internal/servers": importing(in+"upstream", in+"apigen", in+"builtin/demo"), "internal/app": importing(in + "servers"), "test/servers": importing(in + "builtin")},
		},
		{
			"nothing outside tests imports what is for tests",
			map[string]string{
				"internal/app": importing(in + "testkit"), "internal/cli": importing(in + "testkit/clock"),
				"internal/store": importing(in + "store/storetest"), "internal/latest": importing(in + "store/pgtest"),
			},
			map[string]string{"test/crash": importing(in + "testkit"), "internal/testkit/fault": importing(in + "testkit"), "internal/store/storetest": importing(in + "store/pgtest")},
		},
		{
			"only proc imports os/exec",
			map[string]string{"internal/cli": importing("os/exec"), "cmd/junctor": importing("os/exec")},
			map[string]string{"internal/proc": importing("os/exec"), "test/program": importing("os/exec")},
		},
		{
			"only seal imports crypto/aes",
			map[string]string{"internal/gateway": importing("crypto/aes")},
			map[string]string{"internal/seal": importing("crypto/aes"), "internal/gateway": importing("crypto/sha256")},
		},
		{
			"only policy imports CEL",
			map[string]string{"internal/judge": importing("cel.dev/cel-go/cel")},
			map[string]string{"internal/policy": importing("cel.dev/cel-go/cel")},
		},
		{
			"only egress makes HTTP clients and dials",
			map[string]string{
				"internal/a":        "package x\nimport \"net/http\"\nvar c = &http.Client{}",
				"internal/b":        "package x\nimport h \"net/http\"\nfunc f() any { return new(h.Transport) }",
				"internal/c":        "package x\nimport \"net\"\nvar d = net.Dial",
				"internal/d":        "package x\nimport \"net\"\nfunc f() { var d net.Dialer; _ = d }",
				"internal/e":        "package x\nimport \"net/http\"\ntype t struct { c http.Client }",
				"internal/f":        "package x\nimport \"net/http\"\nvar c = http.DefaultClient",
				"internal/g":        "package x\nimport \"crypto/tls\"\nvar d = tls.Dial",
				"internal/httpfast": "package x\nimport \"net\"\nvar d = &net.Dialer{}",
			},
			map[string]string{
				"internal/egress":   "package x\nimport \"net/http\"\nvar c = &http.Client{}",
				"internal/bench":    "package x\nimport \"net\"\nvar d = net.Dial",
				"internal/httpfast": "package x\nimport (\"context\"; \"net\")\ntype dial func(context.Context, string, string) (net.Conn, error)",
				"internal/cli":      "package x\nimport \"net/http\"\nfunc f(c *http.Client) {}\nvar s = &http.Server{}",
			},
		},
		{
			"at most 3 folders deep",
			map[string]string{"internal/a/b/c": "package x"},
			map[string]string{"internal/a/b": "package x"},
		},
		{
			"no file above 800 lines, main.go not above 40",
			map[string]string{"internal/a": "package x\n" + strings.Repeat("\n", 800), "cmd/junctor": "package x\n" + strings.Repeat("\n", 40)},
			map[string]string{"internal/a": "package x\n" + strings.Repeat("\n", 799), "cmd/junctor": "package x\n" + strings.Repeat("\n", 39)},
		},
	}
	tested := map[string]bool{
		"every package has a doc comment": true, "at most 80 packages": true, "at most 31 direct requirements": true, // below
	}
	for _, tt := range tests {
		tested[tt.rule] = true
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			for path, src := range tt.bad {
				if found := breaks(t, tt.rule, tree{pkgs: []pkg{plant(t, path, src)}}); len(found) != 1 {
					t.Errorf("%q: want one finding, got %q", path, found)
				}
			}
			var good tree
			for path, src := range tt.good {
				good.pkgs = append(good.pkgs, plant(t, path, src))
			}
			if found := breaks(t, tt.rule, good); len(found) != 0 {
				t.Errorf("allowed, but found: %q", found)
			}
		})
	}
	for _, r := range rules() {
		if !tested[r.name] {
			t.Errorf("rule %q has no planted violation", r.name)
		}
	}
}

func TestPlantedShape(t *testing.T) {
	t.Parallel()
	undocumented := plant(t, "internal/a", "package x")
	undocumented.doc = ""
	if found := breaks(t, "every package has a doc comment", tree{pkgs: []pkg{undocumented}}); len(found) != 1 {
		t.Errorf("no doc comment: %q", found)
	}

	var full tree
	for i := range maxPackages {
		full.pkgs = append(full.pkgs, plant(t, fmt.Sprintf("internal/p%d", i), "package x"))
	}
	for _, apart := range []string{"test/program", "internal/testkit", "internal/testkit/kill", "internal/store/pgtest", "internal/store/storetest"} {
		full.pkgs = append(full.pkgs, plant(t, apart, "package x"))
	}
	if found := breaks(t, "at most 80 packages", full); len(found) != 0 {
		t.Errorf("%d packages: %q", maxPackages, found)
	}
	full.pkgs = append(full.pkgs, plant(t, "internal/more", "package x"))
	if found := breaks(t, "at most 80 packages", full); len(found) != 1 {
		t.Errorf("%d packages: %q", maxPackages+1, found)
	}

	var imports []string
	deps := tree{requires: []requirement{
		{Path: "golang.org/x/net"}, {Path: "example.org/unused"}, {Path: "example.org/indirect", Indirect: true},
	}}
	for _, r := range deps.requires {
		imports = append(imports, r.Path)
	}
	for i := range maxRequirements {
		deps.requires = append(deps.requires, requirement{Path: fmt.Sprintf("example.org/m%d", i)})
		imports = append(imports, fmt.Sprintf("example.org/m%d/sub", i))
	}
	imports[1] = "fmt"
	deps.pkgs = []pkg{plant(t, "internal/a", importing(imports...))}
	if found := breaks(t, "at most 31 direct requirements", deps); len(found) != 0 {
		t.Errorf("%d requirements: %q", maxRequirements, found)
	}
	deps.pkgs = append(deps.pkgs, plant(t, "internal/b", importing("example.org/unused")))
	if found := breaks(t, "at most 31 direct requirements", deps); len(found) != 1 {
		t.Errorf("%d requirements: %q", maxRequirements+1, found)
	}
}

// breaks runs one rule.
func breaks(t *testing.T, name string, tr tree) []string {
	t.Helper()
	for _, r := range rules() {
		if r.name == name {
			return r.check(tr)
		}
	}
	t.Fatalf("no rule is called %q", name)
	return nil
}
