package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/config"
)

// mustRefuse checks that Load refuses with one problem that holds all of says.
func mustRefuse(t *testing.T, src config.Sources, says ...string) {
	t.Helper()
	if src.Env == nil {
		src.Env = env()
	}
	_, err := config.Load(src)
	ps := config.Problems(err)
	if junctor.CodeOf(err) != junctor.CodeInvalid || len(ps) != 1 {
		t.Fatalf("got %v", err)
	}
	for _, want := range says {
		if !strings.Contains(ps[0].String(), want) {
			t.Errorf("%q does not say %q", ps[0], want)
		}
	}
}

func TestFileProblems(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		says       []string // FILE stands for the path
	}{
		{"unknown key", "log_level: info\nlog_fromat: json\n", []string{"FILE:2:1: ", `unknown key "log_fromat"`, "did you mean log_format?"}},
		{"dashes", "log-format: json\n", []string{"FILE:1:1: ", "did you mean log_format?"}},
		{"far from anything", "zzz: 1\n", []string{`unknown key "zzz"`}},
		{"gremlins", "gremlins:\n  - name: x\n", []string{`unknown key "gremlins"`}},
		{"merge key", "<<: {open: true}\n", []string{`unknown key "<<"`}},
		{"list as key", "[a, b]: 1\n", []string{"unknown key"}},
		{"secret", "admin_key: x\n", []string{`unknown key "admin_key"`}},
		{"twice", "open: true\npprof: true\nopen: false\n", []string{"FILE:3:1: ", "line 1"}},
		{"no value", "listen:\n", []string{"FILE:1:8: ", "has no value"}},
		{"text for bool", `open: "true"`, []string{"true or false"}},
		{"number for bool", "open: 1", []string{"true or false"}},
		{"list for bool", "open: [true]", []string{"true or false"}},
		{"number for text", "listen: 8717", []string{"must be a text"}},
		{"map for text", "listen: {a: b}", []string{"must be a text"}},
		{"number for time", "call_timeout: 30", []string{"unit"}},
		{"text for number", `rate_limit: "5"`, []string{"must be a number"}},
		{"bool for size", "max_body: true", []string{"bytes"}},
		{"number in list", "allowed_hosts: [1]", []string{"list of texts"}},
		{"map for list", "allowed_hosts: {a: b}", []string{"list of texts"}},
		{"comma in item", "allowed_hosts: ['a,b']", []string{"comma"}},
		{"alias", "log_level: &a info\nlog_format: *a\n", []string{"FILE:2:13: ", "must be a text"}},
		{"second document", "open: true\n---\nopen: false\n", []string{"FILE:2:1: ", "second YAML document"}},
		{"a list", "- open\n", []string{"FILE:1:1: ", "key: value"}},
		{"a text", "open\n", []string{"FILE:1:1: ", "key: value"}},
		{"not YAML", "open: true\n  pprof: true\n", []string{"FILE:2: ", "invalid YAML"}},
		{"tab", "a:\n\t- b\n", []string{"FILE:2: ", "invalid YAML"}},
		{"bytes that are no text", "\xff\xfe\x00", []string{"FILE", "invalid YAML"}},
		{"a group of nothing", "nope:\n  a: b\n", []string{"FILE:1:1: ", "unknown key"}},
		{"an unknown member of a group", "oidc:\n  isuer: https://x\n", []string{"FILE:2:3: ", "did you mean issuer?"}},
		{"twice, once in a group", "rate_limit: 1\nrate:\n  limit: 2\n", []string{"FILE:3:3: ", "already set on line 1"}},
		{"a group in a group", "oidc:\n  client:\n    id: x\n", []string{"FILE:2:3: ", "unknown key"}},
		{"a wrong value", "open: false\nlisten: nowhere\n", []string{"FILE:2:9: ", "host:port"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := writeFile(t, tt.text)
			says := make([]string, len(tt.says))
			for i, s := range tt.says {
				says[i] = strings.ReplaceAll(s, "FILE", path)
			}
			mustRefuse(t, config.Sources{File: path}, says...)
		})
	}
	mustRefuse(t, config.Sources{File: filepath.Join(t.TempDir(), "absent.yaml")}, "absent.yaml: the file does not exist")
	mustRefuse(t, config.Sources{File: t.TempDir()}, "cannot be read")
	mustRefuse(t, config.Sources{File: writeFile(t, strings.Repeat("#", 1<<20+1))}, "1 MiB")
	for _, empty := range []string{"", "\n", "# nothing\n", "---\n", "{}", "~"} {
		mustLoad(t, config.Sources{File: writeFile(t, empty)})
	}
}

func TestValueProblems(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		says string
		bad  []string
	}{
		"listen":                   {"must be", []string{"", "8717", "127.0.0.1", "127.0.0.1:http", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:", "a b:1", "::1:80", "127.1:80", "300.1.1.1:80"}},
		"public-url":               {"must be", []string{"", "junctor.example.com", "ftp://x", "https://x/path", "https://x?q", "https://x#f", "https://", "https://u@x", "https://x:0", "https://x:99999", "https://[x]", "https://a b"}},
		"sandbox-listen":           {"", []string{"8718", "127.0.0.1:99999"}},
		"sandbox-url":              {"", []string{"", "views.example.com", "https://*.10.0.0.1", "https://*", "https://a.*.example.com", "https://*.*.x.example", "https://*.x/path", "ftp://*.x"}},
		"data-dir":                 {"", []string{"", "~", "~/junctor", "a\x00b"}},
		"db":                       {"PostgreSQL", []string{"mysql://h/x", "postgres://h", "junctor.db"}},
		"replica-url":              {"must be", []string{"", "10.0.0.7:8717", "ftp://x", "https://x/path"}},
		"seal-key-file":            {"", []string{"~/seal.key"}},
		"journal":                  {"must be one of", []string{"slow", "STRICT"}},
		"audit-days":               {"whole number", []string{"-1", "1.5", "36501"}},
		"history-days":             {"whole number", []string{"-1", "x"}},
		"history-size":             {"must be", []string{"1", "2MiB", "big"}},
		"builtin":                  {"must be one of", []string{"demos", "events"}},
		"ocr-roots":                {"", []string{"~/images"}},
		"ocr-vision-url":           {"must be", []string{"vision", "ftp://x"}},
		"open":                     {"true or false", []string{"", "yes", "TRUE"}},
		"tls-cert":                 {"", []string{"", "~/c.pem"}},
		"tls-key":                  {"", []string{"", "~/k.pem"}},
		"trusted-proxy":            {"range", []string{"x", "10.0.0.0/33", "fe80::1%lo", "proxy.example.com"}},
		"allowed-hosts":            {"write a host", []string{"*", "http://x", "x/", "x:", "x:0", "x:y", "::1", "[x]", "a@b", "1.2.3", "-a", "a..b"}},
		"allowed-origins":          {"origin", []string{"*", "null", "x", "http://x/y", "file://"}},
		"endpoints-off":            {"must be one of", []string{"mpc", "MCP", "all"}},
		"max-body":                 {"must be", []string{"", "0", "1", "4 potatoes", "-1", "1e6", "1GiB", "99999999999999999999", "9223372036854775807KiB"}},
		"max-result":               {"must be", []string{"", "0", "1KiB", "2GiB", "large"}},
		"max-in-flight":            {"must be", []string{"", "0", "1KiB", "half"}},
		"max-in-flight-per-caller": {"must be", []string{"", "0", "1KiB", "half"}},
		"rate-limit":               {"must be a number", []string{"", "-1", "NaN", "Inf", "1e7", "fast"}},
		"rate-burst":               {"must be a whole number", []string{"", "0", "1.5", "1000001"}},
		"call-timeout":             {"must be", []string{"", "30", "0s", "-1s", "25h", "soon"}},
		"call-timeout-max":         {"must be", []string{"", "30", "-1s", "169h", "soon"}},
		"redis":                    {"must be", []string{"", "127.0.0.1:6379", "http://x", "redis://", "redis://x?a=b"}},
		"drain":                    {"must be", []string{"", "30", "-1s", "2h", "soon"}},
		"drain-calls":              {"must be", []string{"", "30", "-1s", "25h", "soon"}},
		"name-limit":               {"must be a whole number", []string{"47", "129", "x"}},
		"exposure":                 {"must be one of", []string{"", "some", "ALL"}},
		"allow-commands":           {"true or false", []string{"yes"}},
		"reserved-id-days":         {"must be a whole number", []string{"", "-1", "3651", "x"}},
		"egress-allow":             {"has", []string{"x", "169.254.0.0/16", "169.254.169.254", "fe80::/10", "224.0.0.0/4", "::ffff:10.0.0.0/104"}},
		"egress-proxy":             {"must be", []string{"", "proxy:3128", "ftp://proxy", "http://", "http://proxy/path", "http://proxy:x"}},
		"http-fast-path":           {"must be one of", []string{"", "true", "ON"}},
		"log-level":                {"must be one of", []string{"", "loud", "INFO"}},
		"log-format":               {"must be one of", []string{"", "xml"}},
		"otel-endpoint":            {"must be", []string{"", "127.0.0.1:4318", "grpc://x", "http://u:p@x", "http://x?key=1"}},
		"pprof":                    {"true or false", []string{"on"}},
		"map-tiles":                {"must be", []string{"tiles", "https://x/", "ftp://x/{z}/{x}/{y}", "https://u:p@x/{z}/{x}/{y}", "https://{s}.x/{z}/{x}/{y}", "https://x;img-src *;/{z}/{x}/{y}"}},
		"console-dev":              {"must be", []string{"5173", "ftp://x"}},

		"oidc-issuer":        {"must be", []string{"", "idp", "ftp://x", "https://u:p@x", "https://x?a"}},
		"oidc-client-id":     {"must be", []string{"", " ", "a\nb"}},
		"oidc-client-secret": {"env:NAME", []string{"", "hunter2", "env:", "cmd:pass show x"}},
		"oidc-scopes":        {"scope", []string{"a b", "\""}},
		"oidc-name":          {"must be", []string{"", "\x00"}},
		"oidc-tenant":        {"tenant", []string{"", "Acme", "a/b"}},
		"oidc-users":         {"must be one of", []string{"", "all"}},
		"oidc-domains":       {"domains", []string{"@example.com", "a@b", "*.example.com"}},
		"oidc-roles":         {"claim=value:role", []string{"groups", "groups=x", "groups=x:root", "=x:admin", "groups=:admin"}},
		"oidc-role":          {"must be one of", []string{"", "root"}},
		"oidc-groups-claim":  {"must be", []string{"", "a\nb"}},

		"oauth-server":    {"must be", []string{"yes", "true"}},
		"oauth-issuers":   {"must be", []string{"idp", "ftp://x", "https://u:p@x", "https://x,https://x?a"}},
		"oauth-audiences": {"must be", []string{"a\nb"}},
		"oauth-scopes":    {"scope", []string{"tools", "x=tools", "=tools:call", "a b=tools:call"}},
		"oauth-tenant":    {"tenant", []string{"Acme"}},
		"oauth-users":     {"must be one of", []string{"all"}},
		"oauth-domains":   {"domains", []string{"@example.com"}},
		"oauth-roles":     {"claim=value:role", []string{"groups"}},
		"oauth-role":      {"must be one of", []string{"root"}},

		"oauth-groups-claim": {"must be", []string{"", "a\nb"}},

		"ipfs-gateways": {"must be", []string{"gateway", "ftp://x", "https://u:p@x"}},
		"agent-domains": {"must be one of", []string{"on"}},
	}
	for _, s := range config.Settings() {
		tt, ok := tests[s.Name]
		if !ok {
			t.Errorf("%s has no case here", s.Name)
		}
		for _, bad := range tt.bad {
			t.Run(s.Name+"/"+bad, func(t *testing.T) {
				t.Parallel()
				mustRefuse(t, config.Sources{Flags: map[string]string{s.Name: bad}}, "--"+s.Name+" ", tt.says)
			})
		}
	}
	mustRefuse(t, config.Sources{Flags: map[string]string{"log-level": "wran"}}, "did you mean warn?")
	mustRefuse(t, config.Sources{Flags: map[string]string{"log-lvl": "warn"}}, "did you mean --log-level?")
}

func TestSettingsTogether(t *testing.T) {
	t.Parallel()
	type flags = map[string]string
	refused := []struct {
		name  string
		flags flags
		says  string
	}{
		{"all addresses", flags{"listen": ":8717"}, "--public-url"},
		{"all IPv4 addresses", flags{"listen": "0.0.0.0:8717"}, "--public-url"},
		{"a LAN address", flags{"listen": "192.168.1.5:8717"}, "listen on 127.0.0.1"},
		{"a name", flags{"listen": "junctor.example.com:8717"}, "--public-url"},
		{"https by nobody", flags{"listen": ":8717", "public-url": "https://x.example"}, "--trusted-proxy"},
		{"open to the LAN", flags{"listen": ":8717", "public-url": "http://127.0.0.1:8717", "open": "true"}, "loopback addresses only"},
		{"open behind a tunnel", flags{"public-url": "https://x.example", "open": "true"}, "--public-url"},
		{"open behind a proxy", flags{"trusted-proxy": "127.0.0.1", "open": "true"}, "--trusted-proxy"},
		{"certificate without key", flags{"tls-cert": "/c.pem"}, "both"},
		{"key without certificate", flags{"tls-key": "/k.pem"}, "both"},
		{"a client of nobody", flags{"oidc-client-id": "x"}, "--oidc-issuer"},
		{"a provider without a client", flags{"oidc-issuer": "https://x"}, "--oidc-client-id"},
		{"everybody in the world", flags{"oidc-issuer": "https://x", "oidc-client-id": "x", "oidc-users": "create", "oidc-role": "viewer"}, "everyone"},
		{"users of no role", flags{"oidc-issuer": "https://x", "oidc-client-id": "x", "oidc-users": "create", "oidc-domains": "*"}, "--oidc-role"},
		{"tokens without pages", flags{"oauth-server": "on", "endpoints-off": "admin"}, "--oauth-server"},
		{"tokens without endpoints", flags{"oauth-server": "on", "endpoints-off": "mcp"}, "--oauth-server"},
		{"tokens in the open", flags{"oauth-server": "on", "public-url": "http://junctor.example.com"}, "--oauth-server"},
		{"tokens of nobody", flags{"oauth-audiences": "x"}, "--oauth-issuers"},
		{"everybody's tokens", flags{"oauth-issuers": "https://x", "oauth-users": "create", "oauth-role": "viewer"}, "--oauth-domains"},
		{"tokens of no role", flags{"oauth-issuers": "https://x", "oauth-users": "create", "oauth-domains": "*"}, "--oauth-role"},
		{"TLS under http", flags{"tls-cert": "/c", "tls-key": "/k", "public-url": "http://x.example"}, "https"},
	}
	for _, tt := range refused {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			mustRefuse(t, config.Sources{Flags: tt.flags}, tt.says)
		})
	}
	allowed := []struct {
		name     string
		flags    flags
		warnings int
	}{
		{"a container", flags{"listen": ":8717", "public-url": "http://127.0.0.1:8717"}, 0},
		{"TLS of its own", flags{"listen": ":443", "public-url": "https://x.example", "tls-cert": "/c", "tls-key": "/k"}, 0},
		{"a proxy", flags{"listen": ":8717", "public-url": "https://x.example", "trusted-proxy": "10.0.0.1"}, 0},
		{"a tunnel", flags{"public-url": "https://x.example"}, 0},
		{"open at home", flags{"open": "true", "listen": "localhost:8717", "public-url": "http://console.junctor.localhost:8717"}, 0},
		{"in the clear through a tunnel", flags{"public-url": "http://x.example"}, 1},
		{"in the clear", flags{"listen": ":8717", "public-url": "http://192.168.1.5:8717"}, 1},
		{"a tiny burst", flags{"rate-burst": "1"}, 1},
	}
	for _, tt := range allowed {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := mustLoad(t, config.Sources{Flags: tt.flags}).Warnings(); len(got) != tt.warnings {
				t.Errorf("warnings: %q", got)
			}
		})
	}
	_, err := config.Load(config.Sources{})
	if err == nil || !strings.Contains(err.Error(), "--data-dir") {
		t.Errorf("no home: %v", err)
	}
}

func TestEveryProblemIsReported(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "nope: 1\nlisten: bad\nlog_level: loud\n")
	_, err := config.Load(config.Sources{
		File:  file,
		Env:   env("JUNCTOR_MAX_BODY", "huge", "JUNCTOR_ADMIN_KEY", "short"),
		Flags: map[string]string{"log-level": "info", "pprof": "maybe"},
	})
	var where []string
	for _, p := range config.Problems(err) {
		where = append(where, p.Where)
	}
	want := strings.Join([]string{file + ":1:1", file + ":2:9", file + ":3:12", "JUNCTOR_MAX_BODY", "JUNCTOR_ADMIN_KEY", "--pprof"}, " ")
	if got := strings.Join(where, " "); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if strings.Count(err.Error(), "\n") != 5 {
		t.Errorf("the message has not a line for each: %v", err)
	}
	if config.Problems(nil) != nil {
		t.Error("problems of no error")
	}
}
