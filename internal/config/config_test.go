package config_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/config"
)

// env is an environment with a home folder and what the test adds.
func env(pairs ...string) func(string) (string, bool) {
	vars := map[string]string{"HOME": "/home/u", "LocalAppData": `/home/u/AppData`}
	for i := 0; i < len(pairs); i += 2 {
		vars[pairs[i]] = pairs[i+1]
	}
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

func writeFile(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "junctor.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustLoad(t *testing.T, src config.Sources) *config.Config {
	t.Helper()
	if src.Env == nil {
		src.Env = env()
	}
	c, err := config.Load(src)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, config.Sources{})
	if c.Listen != "127.0.0.1:8717" || c.MaxBody != 4<<20 || c.RateLimit != 200 || c.RateBurst != 400 ||
		c.CallTimeout != 5*time.Minute || c.CallTimeoutMax != time.Hour || c.DrainCalls != 30*time.Second || c.LogLevel != "info" || c.LogFormat != "text" || c.NameLimit != 64 ||
		c.Open || c.Pprof || c.PublicURL != nil || c.EgressProxy != nil || c.OTelEndpoint != "" || !c.Loopback() || c.DataDir == "" {
		t.Errorf("defaults are %+v", c)
	}
	for _, endpoint := range config.Endpoints() {
		if !c.IsEndpointOn(endpoint) {
			t.Errorf("endpoint %s is off", endpoint)
		}
	}
	for _, v := range c.Values() {
		if v.Source != "default" {
			t.Errorf("%+v", v)
		}
	}
	if len(c.Warnings()) != 0 {
		t.Errorf("warnings: %q", c.Warnings())
	}
}

func TestFlagOverEnvironmentOverFile(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "log_level: debug\nlog_format: json\nrate_limit: 5\nrate_burst: 6\n")
	c := mustLoad(t, config.Sources{
		File:  file,
		Env:   env("JUNCTOR_LOG_FORMAT", "text", "JUNCTOR_RATE_LIMIT", "7", "JUNCTOR_RATE_BURST", ""),
		Flags: map[string]string{"rate-limit": "9"},
	})
	want := map[string]config.Value{
		"log-level":  {Name: "log-level", Value: "debug", Source: file + ":1"},
		"log-format": {Name: "log-format", Value: "text", Source: "JUNCTOR_LOG_FORMAT"},
		"rate-limit": {Name: "rate-limit", Value: "9", Source: "--rate-limit"},
		"rate-burst": {Name: "rate-burst", Value: "6", Source: file + ":4"},
		"max-body":   {Name: "max-body", Value: "4MiB", Source: "default"},
	}
	for _, v := range c.Values() {
		if w, ok := want[v.Name]; ok && v != w {
			t.Errorf("got %+v, want %+v", v, w)
		}
	}
	if byEnv := mustLoad(t, config.Sources{Env: env("JUNCTOR_CONFIG", file)}); byEnv.LogLevel != "debug" {
		t.Error("JUNCTOR_CONFIG was not read")
	}
}

// Every setting, in each of its three forms, must arrive.
func TestEverySettingFromEverySource(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, yaml, shown string }{
		"listen":                   {text: "127.0.0.1:0"},
		"public-url":               {text: "https://Junctor.Example.com/", shown: "https://junctor.example.com"},
		"sandbox-listen":           {text: "127.0.0.1:0"},
		"sandbox-url":              {text: "https://*.Views.example.com/", shown: "https://*.views.example.com"},
		"data-dir":                 {text: "/var/lib/junctor"},
		"db":                       {text: "postgres://junctor:hunter2@127.0.0.1/junctor", shown: "postgres://junctor:xxxxx@127.0.0.1/junctor"},
		"replica-url":              {text: "http://10.0.0.7:8717/", shown: "http://10.0.0.7:8717"},
		"seal-key-file":            {text: "/etc/junctor/seal.key"},
		"journal":                  {text: "strict"},
		"audit-days":               {text: "7", yaml: "7"},
		"history-days":             {text: "0", yaml: "0"},
		"history-size":             {text: "8192", yaml: "8192", shown: "8KiB"},
		"builtin":                  {text: "demo,ocr", yaml: "[demo, ocr]"},
		"ocr-roots":                {text: "/srv/a,/srv/b", yaml: "[/srv/a, /srv/b]"},
		"ocr-vision-url":           {text: "http://127.0.0.1:9"},
		"open":                     {text: "true", yaml: "true"},
		"tls-cert":                 {text: "/c.pem"},
		"tls-key":                  {text: "/k.pem"},
		"trusted-proxy":            {text: "10.0.0.1, 10.1.2.3/16,::1", yaml: `["10.0.0.1", 10.1.2.3/16, "::1"]`, shown: "10.0.0.1/32,10.1.0.0/16,::1/128"},
		"allowed-hosts":            {text: "A.example,b:1,[::1]:8717", shown: "a.example,b:1,[::1]:8717"},
		"allowed-origins":          {text: "http://A.example,http://a.example", yaml: "[http://A.example]", shown: "http://a.example"},
		"endpoints-off":            {text: "plain,sse", yaml: "[plain, sse]"},
		"max-body":                 {text: "1048576", yaml: "1048576", shown: "1MiB"},
		"max-result":               {text: "1048576", yaml: "1048576", shown: "1MiB"},
		"max-in-flight":            {text: "256MiB"},
		"max-in-flight-per-caller": {text: "64MiB"},
		"rate-limit":               {text: "0.5", yaml: "0.5"},
		"rate-burst":               {text: "17", yaml: "17"},
		"call-timeout":             {text: "1m30s"},
		"call-timeout-max":         {text: "2h"},
		"drain":                    {text: "10s"},
		"drain-calls":              {text: "45s"},
		"redis":                    {text: "redis://u:hunter2@127.0.0.1:6379/0", shown: "redis://u:xxxxx@127.0.0.1:6379/0"},
		"name-limit":               {text: "50", yaml: "50"},
		"exposure":                 {text: "search"},
		"allow-commands":           {text: "true", yaml: "true"},
		"reserved-id-days":         {text: "7", yaml: "7"},
		"egress-allow":             {text: "10.0.0.0/8,fd00::/8", yaml: `["10.0.0.0/8", "fd00::/8"]`},
		"egress-proxy":             {text: "http://user:hunter2@proxy:3128", shown: "http://***@proxy:3128"},
		"http-fast-path":           {text: "off"},
		"log-level":                {text: "warn"},
		"log-format":               {text: "json"},
		"otel-endpoint":            {text: "http://127.0.0.1:4318"},
		"pprof":                    {text: "true", yaml: "true"},
		"map-tiles":                {text: "https://tiles.example.com:8443/{z}/{x}/{y}.png?key=1  © Example, and others", shown: "https://tiles.example.com:8443/{z}/{x}/{y}.png?key=1 © Example, and others"},
		"console-dev":              {text: "http://127.0.0.1:5173"},

		"oidc-issuer":        {text: "https://idp.example.com/realms/x"},
		"oidc-client-id":     {text: "junctor"},
		"oidc-client-secret": {text: "env:OIDC_SECRET"},
		"oidc-scopes":        {text: "email,groups", yaml: "[email, groups]"},
		"oidc-name":          {text: "Example"},
		"oidc-tenant":        {text: "acme"},
		"oidc-users":         {text: "link"},
		"oidc-domains":       {text: "Example.com,*", yaml: `[Example.com, "*"]`, shown: "example.com,*"},
		"oidc-roles":         {text: "groups=a:b:admin,hd=x:viewer", yaml: `["groups=a:b:admin", "hd=x:viewer"]`},
		"oidc-role":          {text: "viewer"},
		"oidc-groups-claim":  {text: "https://example.com/teams"},

		"oauth-server":    {text: "off"},
		"oauth-issuers":   {text: "https://idp.example.com/realms/x,https://b.example", yaml: "[https://idp.example.com/realms/x, https://b.example]"},
		"oauth-audiences": {text: "api://junctor,https://x/mcp", yaml: `["api://junctor", https://x/mcp]`},
		"oauth-scopes":    {text: "tools:read,use=of=tools:call", yaml: `["tools:read", "use=of=tools:call"]`},
		"oauth-tenant":    {text: "acme"},
		"oauth-users":     {text: "link"},
		"oauth-domains":   {text: "example.com"},
		"oauth-roles":     {text: "groups=ops:admin"},
		"oauth-role":      {text: "developer"},

		"oauth-groups-claim": {text: "teams"},

		"ipfs-gateways": {text: "https://a.example,http://127.0.0.1:8080", yaml: "[https://a.example, http://127.0.0.1:8080]"},
		"agent-domains": {text: "require"},
	}
	for _, s := range config.Settings() {
		tt, ok := tests[s.Name]
		if !ok {
			t.Errorf("%s has no case here", s.Name)
			continue
		}
		if tt.shown == "" {
			tt.shown = tt.text
		}
		if tt.yaml == "" {
			tt.yaml = fmt.Sprintf("%q", tt.text)
		}
		// What TLS and its two files want of each other is not the matter here.
		with := map[string]string{}
		if other, ok := map[string]string{"tls-cert": "tls-key", "tls-key": "tls-cert"}[s.Name]; ok {
			with[other] = "/x.pem"
		}
		for name, value := range map[string]string{"oidc-issuer": "https://x", "oidc-client-id": "x", "oauth-issuers": "https://x"} {
			if group, _, _ := strings.Cut(name, "-"); strings.HasPrefix(s.Name, group+"-") && s.Name != name {
				with[name] = value
			}
		}
		sources := map[string]config.Sources{
			"flag": {Flags: map[string]string{s.Name: tt.text}},
			"env":  {Env: env(s.Env(), tt.text), Flags: with},
			"file": {File: writeFile(t, s.Key()+": "+tt.yaml+"\n"), Flags: with},
		}
		maps.Copy(sources["flag"].Flags, with)
		for name, src := range sources {
			t.Run(s.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				for _, v := range mustLoad(t, src).Values() {
					if v.Name == s.Name && (v.Value != tt.shown || v.Source == "default") {
						t.Errorf("got %+v, want %q", v, tt.shown)
					}
				}
			})
		}
	}
}

// What settings have in common at their beginning may stand once.
func TestGroupsInTheFile(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "rate:\n  limit: 7\noidc:\n  issuer: https://idp.example.com\n  client_id: junctor\n  roles:\n    - groups=ops:admin\n")
	c := mustLoad(t, config.Sources{File: file})
	want := config.OIDC{
		Issuer: "https://idp.example.com", ClientID: "junctor", Scopes: []string{"profile", "email"},
		Admission: config.Admission{Tenant: "default", Users: config.UsersLink, Roles: []config.RoleRule{{Claim: "groups", Value: "ops", Role: junctor.UserAdmin}}, GroupsClaim: "groups"},
	}
	if diff := cmp.Diff(want, c.OIDC); diff != "" || c.RateLimit != 7 {
		t.Errorf("rate %v, (-want +got):\n%s", c.RateLimit, diff)
	}
	for _, v := range c.Values() {
		if v.Name == "oidc-client-id" && v.Source != file+":5" {
			t.Errorf("%+v", v)
		}
	}
}

func TestTypedValues(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, config.Sources{Flags: map[string]string{
		"egress-allow": "10.1.2.3/8", "endpoints-off": "sse", "egress-proxy": "http://user:hunter2@proxy:3128", "listen": "[::1]:1",
	}})
	if want := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}; c.EgressAllow[0] != want[0] {
		t.Errorf("got %v", c.EgressAllow)
	}
	if c.IsEndpointOn("sse") || !c.IsEndpointOn("mcp") || !c.Loopback() {
		t.Error("endpoints or loopback are wrong")
	}
	if pw, _ := c.EgressProxy.User.Password(); pw != "hunter2" {
		t.Error("the proxy lost its password")
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	const canary = "canary-0123456789"
	c := mustLoad(t, config.Sources{Env: env("JUNCTOR_ADMIN_KEY", canary, "JUNCTOR_SEAL_KEY", canary)})
	if c.AdminKey() != canary || c.SealKey() != canary {
		t.Error("the keys did not arrive")
	}
	asJSON, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{fmt.Sprintf("%v %+v %#v", c, c, *c), fmt.Sprint(c.Values()), string(asJSON)} {
		if strings.Contains(out, canary) {
			t.Errorf("shown in %s", out)
		}
	}
	want := config.Value{Name: "JUNCTOR_ADMIN_KEY", Value: "***", Source: "JUNCTOR_ADMIN_KEY"}
	values := c.Values()
	if diff := cmp.Diff(want, values[len(values)-2]); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"brief-key", "has a space inside", "éééééééééééééééé", "tab\tbetween-words"} {
		_, err := config.Load(config.Sources{Env: env("JUNCTOR_ADMIN_KEY", bad)})
		if junctor.CodeOf(err) != junctor.CodeInvalid || strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, bad := range []string{"http://user:" + canary + "@proxy:x", "ftp://" + canary + "@proxy", canary, "http://%zz" + canary} {
		for _, name := range []string{"egress-proxy", "otel-endpoint", "public-url", "allowed-origins"} {
			_, err := config.Load(config.Sources{Env: env(), Flags: map[string]string{name: bad}})
			if err == nil || strings.Contains(err.Error(), canary) {
				t.Errorf("%s %q: %v", name, bad, err)
			}
		}
	}
}

func TestUnknownEnv(t *testing.T) {
	t.Parallel()
	got := config.UnknownEnv([]string{
		"PATH=/bin", "JUNCTOR_LISTEN=x", "JUNCTOR_ADMIN_KEY=x", "JUNCTOR_SEAL_KEY=x", "JUNCTOR_URL=x", "JUNCTOR_KEY=x", "JUNCTOR_CONFIG=x",
		"JUNCTOR_XYZZY=canary", "JUNCTOR_LISTN=canary",
	})
	want := []string{
		"JUNCTOR_LISTN is not a variable of Junctor and has no effect; did you mean JUNCTOR_LISTEN?",
		"JUNCTOR_XYZZY is not a variable of Junctor and has no effect",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCollectorOfOpenTelemetry(t *testing.T) {
	t.Parallel()
	const whole, base, own = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT", "JUNCTOR_OTEL_ENDPOINT"
	for _, tt := range []struct {
		name string
		env  []string
		want string
	}{
		{"none", nil, ""},
		{"a collector", []string{base, "http://127.0.0.1:4318"}, "http://127.0.0.1:4318"},
		{"the same, with a slash", []string{base, "http://127.0.0.1:4318/"}, "http://127.0.0.1:4318/"},
		{"one below a path", []string{base, "https://otel.example.com/team/"}, "https://otel.example.com/team/v1/traces"},
		{"one for traces", []string{base, "http://127.0.0.1:1", whole, "http://127.0.0.1:4318/mine"}, "http://127.0.0.1:4318/mine"},
		{"our own comes first", []string{base, "http://127.0.0.1:1", whole, "http://127.0.0.1:2", own, "http://127.0.0.1:3"}, "http://127.0.0.1:3"},
	} {
		if got := mustLoad(t, config.Sources{Env: env(tt.env...)}).OTelEndpoint; got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if _, err := config.Load(config.Sources{Env: env(base, "nowhere")}); err == nil {
		t.Error("an address that is none was accepted")
	}
}
