package config

import (
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDefaultDataDir(t *testing.T) {
	t.Parallel()
	tests := []struct {
		goos string
		env  map[string]string
		want string
	}{
		{"linux", map[string]string{"HOME": "/home/u"}, "/home/u/.local/share/junctor"},
		{"linux", map[string]string{"HOME": "/home/u", "XDG_DATA_HOME": "/data"}, "/data/junctor"},
		{"linux", map[string]string{"HOME": "/home/u", "XDG_DATA_HOME": "data"}, "/home/u/.local/share/junctor"},
		{"linux", nil, ""},
		{"freebsd", map[string]string{"HOME": "/home/u"}, "/home/u/.local/share/junctor"},
		{"darwin", map[string]string{"HOME": "/Users/u", "XDG_DATA_HOME": "/data"}, "/Users/u/Library/Application Support/junctor"},
		{"darwin", nil, ""},
		{"windows", map[string]string{"LocalAppData": "/AppData/Local"}, "/AppData/Local/junctor"},
		{"windows", map[string]string{"HOME": "/home/u"}, ""},
	}
	for _, tt := range tests {
		got := defaultDataDir(tt.goos, func(name string) (string, bool) { v, ok := tt.env[name]; return v, ok })
		if got != filepath.FromSlash(tt.want) {
			t.Errorf("%s %v: %q, want %q", tt.goos, tt.env, got, tt.want)
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"listen", "listn", 1}, {"listen", "lsiten", 1}, {"abc", "xyz", 3}, {"ca", "abc", 3},
	}
	for _, tt := range tests {
		if got := editDistance(tt.a, tt.b); got != tt.want {
			t.Errorf("%q to %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-d]{0,6}`)
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		if d := editDistance(a, b); d != editDistance(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) {
			t.Fatalf("distance is %d", d)
		}
	})
}

func TestSizeRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1<<40).Draw(t, "n") << rapid.SampledFrom([]int{0, 10, 20}).Draw(t, "shift")
		if got, err := parseSize(showSize(n), 0, 1<<62); err != nil || got != n {
			t.Fatalf("%d is shown as %s and read as %d, %v", n, showSize(n), got, err)
		}
	})
}

// Each setting must be reachable under one name only, with help for people.
func TestSettingsTable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range Settings() {
		if seen[s.Name] || s.Help == "" || s.Kind == "" || s.set == nil || s.show == nil || strings.ToLower(s.Name) != s.Name {
			t.Errorf("row %+v", s.Name)
		}
		seen[s.Name] = true
	}
	s := Settings()[0]
	if s.Env() != "JUNCTOR_LISTEN" || (Setting{Name: "a-b-c"}).Key() != "a_b_c" || (Setting{Name: "a-b"}).Env() != "JUNCTOR_A_B" {
		t.Error("names are made wrongly")
	}
}

func FuzzParseFile(f *testing.F) {
	for _, seed := range []string{
		"", "# x", "listen: 127.0.0.1:1\nopen: true\n", "allowed_hosts: [a, b]", "a: &x [*x]", "? [a]\n: b", "---\n---\n", "<<: *a",
		"rate_limit: .nan", "max_body: 0x10", "call_timeout: !!str 30s", "listen: |\n  a\n  b", "%YAML 1.1\n---\na", "{", "\xff", "listen: !!binary aGk=",
		"servers: {a: {url: 'https://x/mcp?k=v', auth: {type: bearer, token: t}, headers: {X-A: 1}}}", "servers:\n  b:\n    command: [x, 1]\n    env: {A: env:B}\n",
		"servers: &s {a: *s}", "servers: {a: &a {url: https://x}, b: *a}", "servers: {a: {overrides: {t: {hide: true, call_timeout: 2m}}, call_timeout: 5m}}",
		"agents: {a: {role: QA, tools: [x/y, 'z/*'], limits: {per_second: 1.5, over_limit: queue}}}", "agents: {a: {tools: [x]}, b: {limits: {}}}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		l := newLoader(Sources{})
		l.parseFile("junctor.yaml", text)
		for _, p := range l.problems {
			if !strings.HasPrefix(p.Where, "junctor.yaml") || p.Message == "" || len(p.Message) > 1000 {
				t.Fatalf("problem %+v", p)
			}
		}
		for _, s := range Settings() {
			s.show(l.config)
		}
		// What was read can be written, and is read again as the same.
		if len(l.problems) > 0 {
			return
		}
		text, err := l.config.declared.YAML()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse("again.yaml", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if twice, err := again.YAML(); err != nil || string(twice) != string(text) {
			t.Fatalf("%v\n%s\n%s", err, text, twice)
		}
	})
}
