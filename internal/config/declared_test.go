package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/config"
)

const declaredFile = `listen: 127.0.0.1:9000
servers:
  notes:
    title: The notes
    url: https://notes.example.com/mcp?key=query-canary
    auth: {type: bearer, token: token-canary}
    headers: {X-Team: blue, X-Number: 5}
    private: true
    call_timeout: 90s
    views: off
    overrides:
      drop: {hide: true}
      find: {name: search, description: Finds}
  files:
    command: [npx, -y, files, 8080]
    cwd: /srv
    env: {TOKEN: "env:FILES_TOKEN", PORT: 0123}
    isolation: session
    max_sessions: 3
    home: one
    disabled: true
  old: {transport: sse, url: "https://old.example.com/sse", auth: {type: none}}
`

func TestServers(t *testing.T) {
	t.Parallel()
	path := writeFile(t, declaredFile)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	cfg := mustLoad(t, config.Sources{File: path, Env: env("HOME", t.TempDir())})
	if cfg.File() != path || cfg.Listen != "127.0.0.1:9000" {
		t.Errorf("%s, %s", cfg.File(), cfg.Listen)
	}
	var got []junctor.Server
	for _, s := range cfg.Declared().Servers {
		row := junctor.Server{ID: s.ID, Title: s.Title, Private: s.Private, Connection: s.Connection()}
		if s.Disabled {
			row.State = junctor.StateInactive
		}
		got = append(got, row)
	}
	want := []junctor.Server{
		{ID: "files", State: junctor.StateInactive, Connection: junctor.Connection{
			Transport: "stdio", Command: []string{"npx", "-y", "files", "8080"}, Cwd: "/srv", Env: map[string]string{"TOKEN": "env:FILES_TOKEN", "PORT": "0123"}, Isolation: "session", MaxSessions: 3, Home: "one",
		}},
		{ID: "notes", Title: "The notes", Private: true, Connection: junctor.Connection{
			Transport: "http", URL: "https://notes.example.com/mcp?key=query-canary", Auth: &junctor.Auth{Type: "bearer", Secret: "token-canary"},
			Headers: map[string]string{"X-Team": "blue", "X-Number": "5"}, CallTimeout: junctor.Duration(90 * time.Second), Views: "off",
			Overrides: map[string]junctor.Override{"drop": {Hide: true}, "find": {Name: "search", Description: "Finds"}},
		}},
		{ID: "old", Connection: junctor.Connection{Transport: "sse", URL: "https://old.example.com/sse"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if at := cfg.Declared().Servers[1].Where; at != path+":3:3" {
		t.Errorf("notes is at %s", at)
	}
	if shown := fmt.Sprintf("%v %+v %#v", cfg, cfg.Declared(), cfg.Declared().Servers); strings.Contains(shown, "canary") {
		t.Errorf("a credential is printed: %s", shown)
	}
	if w := strings.Join(cfg.Warnings(), "\n"); !strings.Contains(w, "chmod 600") || strings.Contains(w, "canary") {
		t.Errorf("warnings: %s", w)
	}
}

func TestServerProblems(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, says string }{
		{"a list", "servers: []", `FILE:1:10: servers must be a map`},
		{"nothing", "servers:", `FILE:1:9: servers must be a map`},
		{"an id", "servers:\n  No_Id: {url: 'https://x'}", `FILE:2:3: "No_Id" is not a valid server id`},
		{"adhoc", "servers: {adhoc: {url: 'https://x'}}", `FILE:1:11: the ID "adhoc" is reserved`},
		{"twice", "servers:\n  a: {url: 'https://x'}\n  a: {url: 'https://x'}", `FILE:3:3: servers already has "a" on line 2`},
		{"unknown key", "servers:\n  a:\n    ulr: https://x", `FILE:3:5: unknown key "ulr" in servers.a; did you mean url?`},
		{"far from any", "servers: {a: {zzzzzzzz: 1}}", `known keys: allow_empty, auth, base_url, believe_annotations, call_timeout, call_timeout_max, command, credentials, cwd`},
		{"a merge", "servers: {a: &a {url: 'https://x'}, b: {<<: *a}}", `has a key that is not a plain name`},
		{"null", "servers: {a: {url: }}", `servers.a.url has no value`},
		{"neither", "servers: {a: {}}", `FILE:1:11: servers.a: the transports http and sse require url`},
		{"both", "servers: {a: {url: 'https://x', command: [x]}}", `url, headers and auth are allowed only`},
		{"address", "servers:\n  a:\n    url: ftp://x", `FILE:3:10: servers.a.url: url is not a valid server URL`},
		{"password in it", "servers: {a: {url: 'https://u:canary@x'}}", `must not contain a user or password`},
		{"command", "servers: {a: {command: npx -y x}}", `servers.a.command must be a list`},
		{"a word", "servers: {a: {command: [x, true]}}", `servers.a.command[1] must be a text`},
		{"a variable", "servers:\n  a:\n    command: [x]\n    env:\n      a-b: x", `FILE:5:7: servers.a.env:`},
		{"a header", "servers: {a: {url: 'https://x', headers: {Host: x}}}", `FILE:1:43: servers.a.headers:`},
		{"a value", "servers: {a: {command: [x], env: {A: [canary]}}}", `servers.a.env.A must be a text`},
		{"private", "servers: {a: {url: 'https://x', private: 'yes'}}", `servers.a.private must be true or false`},
		{"time", "servers: {a: {url: 'https://x', call_timeout: 5}}", `servers.a.call_timeout must be a duration with a unit`},
		{"too long", "servers: {a: {url: 'https://x', call_timeout: 25h}}", `call_timeout must be between 1ms and 24h`},
		{"views", "servers: {a: {url: 'https://x', views: of}}", `servers.a.views must be one of on, off`},
		{"home", "servers: {a: {command: [x], home: two}}", `servers.a.home must be one of each, one`},
		{"transport", "servers: {a: {url: 'https://x', transport: htpt}}", `must be one of http, sse, stdio; did you mean http?`},
		{"credentials", "servers: {a: {url: 'https://x', credentials: per-usr}}", `did you mean per-user?`},
		{"credentials of a command", "servers: {a: {command: [x], credentials: per-user}}", `a command has the same env for every user`},
		{"mode", "servers: {a: {url: 'https://x', mode: builtin}}", `servers.a.mode must be one of bring-your-own`},
		{"no type", "servers: {a: {url: 'https://x', auth: {token: canary}}}", `servers.a.auth has no type`},
		{"two secrets", "servers: {a: {url: 'https://x', auth: {type: bearer, token: canary, secret: canary}}}", `must have exactly one secret`},
		{"another's", "servers: {a: {url: 'https://x', auth: {type: bearer, password: canary}}}", `must have exactly one secret`},
		{"no secret", "servers: {a: {url: 'https://x', auth: {type: bearer}}}", `bearer requires a secret`},
		{"type", "servers: {a: {url: 'https://x', auth: {type: baerer, token: canary}}}", `did you mean bearer?`},
		{"a mask", "servers: {a: {url: 'https://x', auth: {type: bearer, token: '***'}}}", `servers.a.auth.token is ***, the mask that output shows instead of a credential`},
		{"a masked query", "servers: {a: {url: 'https://x?***'}}", `servers.a.url is ***`},
		{"a document that is not there", "servers:\n  a:\n    document: nowhere.yaml", `FILE:3:15: servers.a.document: `},
		{"a document that is a folder", "servers: {a: {document: .}}", `this is not a regular file`},
		{"two documents", "servers: {a: {document: \"x\\ny\", document_url: 'https://x'}}", `FILE:1:11: servers.a has both document and document_url`},
		{"no document", "servers: {a: {base_url: 'https://x'}}", `FILE:1:11: servers.a needs an API document`},
		{"an address of both", "servers:\n  a:\n    document_url: https://x\n    url: https://x", `FILE:4:5: servers.a.url is only for MCP servers`},
		{"another mode", "servers: {a: {mode: bring-your-own, url: 'https://x', rate: 1}}", `servers.a.rate requires mode: auto-generated`},
		{"exposure", "servers: {a: {document_url: 'https://x', exposure: serach}}", `did you mean search?`},
		{"include", "servers: {a: {document_url: 'https://x', include: GET}}", `FILE:1:51: servers.a.include must be a list of rules`},
		{"nothing to look at", "servers: {a: {document: \"x\\ny\", poll_minutes: 5}}", `poll_minutes requires document_url`},
		{"override", "servers: {a: {url: 'https://x', overrides: {t: {hid: true}}}}", `unknown key "hid" in servers.a.overrides.t; did you mean hide?`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := writeFile(t, tt.text)
			_, err := config.Load(config.Sources{File: path, Env: env("HOME", t.TempDir())})
			if err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(tt.says, "FILE", path)) || strings.Contains(err.Error(), "canary") {
				t.Errorf("%v\nwant %s", err, tt.says)
			}
		})
	}
}

// drawServers makes servers as they are stored: no credential stands in them.
func drawServers(t *rapid.T) []junctor.Server {
	id := rapid.StringMatching(`[a-z][a-z0-9-]{0,12}`)
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"true", "null", "~", "0x1F", "1e3", "2020-01-01", "- a", "a: b", "#x", "'", `"`, " ", "\n", "\u2028", "yes", "\t\n", "a\n\tb\n"}))
	secret := rapid.SampledFrom([]string{junctor.Masked, "env:A", "env:MCP_A_B", "file:/run/x", "cmd:pass show x"})
	seen := map[string]bool{junctor.AdhocServer: true}
	var rows []junctor.Server
	for range rapid.IntRange(0, 5).Draw(t, "servers") {
		s := junctor.Server{ID: id.Draw(t, "id"), Mode: junctor.ModeBYO, Title: text.Draw(t, "title"), State: junctor.StateActive, Private: rapid.Bool().Draw(t, "private")}
		if seen[s.ID] {
			continue
		}
		seen[s.ID] = true
		if rapid.Bool().Draw(t, "off") {
			s.State = junctor.StateInactive
		}
		c := &s.Connection
		c.MaxSessions = rapid.IntRange(0, 3).Draw(t, "sessions")
		c.BelieveAnnotations = rapid.Bool().Draw(t, "believe")
		c.CallTimeout = junctor.DurationOfMS(int64(rapid.IntRange(0, 1000).Draw(t, "timeout")))
		c.Credentials = rapid.SampledFrom([]junctor.Credentials{"", "shared", "per-user"}).Draw(t, "credentials")
		c.Isolation = rapid.SampledFrom([]junctor.Isolation{"", "shared", "session", "user"}).Draw(t, "isolation")
		c.Overrides = rapid.MapOfN(text, rapid.Custom(func(t *rapid.T) junctor.Override {
			return junctor.Override{Hide: rapid.Bool().Draw(t, "hide"), Name: rapid.StringMatching(`([a-zA-Z0-9_-]{1,64})?`).Draw(t, "name"), Description: text.Draw(t, "description")}
		}), 0, 3).Draw(t, "overrides")
		generated := rapid.Bool().Draw(t, "generated")
		if generated {
			s.Mode = junctor.ModeGenerated
			s.API = &junctor.API{APISettings: junctor.APISettings{
				DocumentURL: "https://docs.example.com/" + s.ID, Include: rapid.SliceOfN(text, 0, 2).Draw(t, "include"), Format: text.Draw(t, "format"),
				Rate: rapid.SampledFrom([]float64{0, 0.5, 3}).Draw(t, "rate"), Exposure: rapid.SampledFrom([]junctor.Exposure{"", "all", "search"}).Draw(t, "exposure"),
			}}
		}
		if !generated && rapid.Bool().Draw(t, "stdio") {
			c.Transport, c.Credentials = junctor.TransportStdio, ""
			word := rapid.Custom(func(t *rapid.T) string { return strings.ReplaceAll(text.Draw(t, "word"), "\x00", "") })
			c.Command = append([]string{"x"}, rapid.SliceOfN(word, 0, 3).Draw(t, "args")...)
			c.Cwd = word.Draw(t, "cwd")
			c.Env = rapid.MapOfN(rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_]{0,5}`), secret, 0, 3).Draw(t, "env")
		} else {
			c.Transport = rapid.SampledFrom([]junctor.Transport{"http", "sse"}).Draw(t, "transport")
			if generated {
				c.Transport = junctor.TransportHTTP
			}
			c.URL = "https://" + s.ID + ".example.com/mcp" + rapid.SampledFrom([]string{"", "?" + junctor.Masked, "?env:Q"}).Draw(t, "query")
			c.Headers = rapid.MapOfN(rapid.StringMatching(`X-[A-Za-z0-9-]{1,5}`), secret, 0, 3).Draw(t, "headers")
			c.Auth = rapid.SampledFrom([]*junctor.Auth{
				nil,
				{Type: "bearer"},
				{Type: "api-key", Header: "X-Key"},
				{Type: "basic", Username: "u"},
				{Type: "oauth-client", ClientID: "c", TokenURL: "https://t", Scope: "s"},
				{Type: "oauth-client", ClientID: "c", TokenURL: "https://t", Grant: "token-exchange", Subject: "env:S", SubjectType: "jwt", Audience: "a"},
				{Type: "oauth-client", ClientID: "c", Issuer: "https://i", Grant: "enterprise", Subject: junctor.Masked, IDPTokenURL: "https://p", IDPClientID: "i", IDPSecret: junctor.Masked},
			}).Draw(t, "auth")
			if c.Auth != nil {
				auth := *c.Auth
				auth.Secret = secret.Draw(t, "secret")
				c.Auth = &auth
			}
		}
		rows = append(rows, s)
	}
	return rows
}

// What the library would write and not read is written otherwise.
func TestATabOnALineOfItsOwn(t *testing.T) {
	t.Parallel()
	d, _ := config.FromRows([]junctor.Server{{ID: "a", Connection: junctor.Connection{Transport: junctor.TransportStdio, Command: []string{"x"}, Cwd: "\t\n"}}})
	text, err := d.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := config.Parse("f", text); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

// What is written declares what was there, in both forms, and to the byte the
// same every time.
func TestWrittenServersAreRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rows := drawServers(t)
		d, sealed := config.FromRows(rows)
		text, err := d.YAML()
		if err != nil {
			t.Fatal(err)
		}
		asJSON, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), junctor.Masked) {
			t.Fatalf("a mask is no credential:\n%s", text)
		}
		names := map[string]bool{}
		for _, v := range sealed {
			if names[v.Name] || !strings.Contains(string(text), "env:"+v.Name) {
				t.Fatalf("%s stands for two, or for none:\n%s", v.Name, text)
			}
			names[v.Name] = true
		}
		for _, form := range [][]byte{text, asJSON} {
			again, err := config.Parse("f", form)
			if err != nil {
				t.Fatalf("%v\n%s", err, form)
			}
			if diff := cmp.Diff(connections(d), connections(again), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("-written +read:\n%s", diff)
			}
			back, more := config.FromRows(rowsOf(again))
			if twice, err := back.YAML(); err != nil || string(twice) != string(text) || len(more) != 0 {
				t.Fatalf("%v, %v\n%s\n%s", err, more, text, twice)
			}
		}
	})
}

// The text of a document is written with what is made of it, and read as it was.
func TestADocumentIsWrittenAsItIs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(1, 60, -1).Draw(t, "text") + rapid.SampledFrom([]string{"", "\n", "\n\n", "\r\n", "\n  "}).Draw(t, "end")
		d := config.Declared{Servers: []config.Server{config.NewServer(junctor.Server{ID: "a", Mode: junctor.ModeGenerated, API: &junctor.API{}})}}
		d.Servers[0].Document = text
		for _, write := range []func() ([]byte, error){d.YAML, d.JSON} {
			written, err := write()
			if err != nil {
				t.Fatal(err)
			}
			again, err := config.Parse("f", written)
			if err != nil {
				t.Fatalf("%v\n%s", err, written)
			}
			if got := again.Servers[0].Document; got != text && got != text+"\n" {
				t.Fatalf("%q became %q\n%s", text, got, written)
			}
		}
	})
}

// Documents are read from the folder of their file, and only where that is known.
func TestADocumentOfAFile(t *testing.T) {
	t.Parallel()
	path := writeFile(t, "servers: {a: {document: api.yaml, base_url: 'https://x'}}")
	document := filepath.Join(filepath.Dir(path), "api.yaml")
	if err := os.WriteFile(document, []byte("openapi: 3.1.0"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := mustLoad(t, config.Sources{File: path, Env: env("HOME", t.TempDir())}).Declared().Servers[0]
	if s.Document != "openapi: 3.1.0" || s.DocumentPath != document || s.API == nil || s.Connection().URL != "https://x" {
		t.Errorf("%+v", s)
	}
	_, err := config.Parse("f", []byte("servers: {a: {document: "+document+"}}"))
	if err == nil || !strings.Contains(err.Error(), "f:1:25: servers.a.document is the path of a file, but no files are read from here") {
		t.Errorf("%v", err)
	}
}

func connections(d config.Declared) map[string]junctor.Connection {
	out := map[string]junctor.Connection{}
	for _, s := range d.Servers {
		out[s.ID] = s.Connection()
	}
	return out
}

func rowsOf(d config.Declared) []junctor.Server {
	var rows []junctor.Server
	for _, s := range d.Servers {
		row := junctor.Server{ID: s.ID, Title: s.Title, Private: s.Private, State: junctor.StateActive, Connection: s.Connection(), API: s.API}
		if s.API != nil {
			row.Mode = junctor.ModeGenerated
		}
		if s.Disabled {
			row.State = junctor.StateInactive
		}
		rows = append(rows, row)
	}
	return rows
}

func TestChanged(t *testing.T) {
	t.Parallel()
	path := writeFile(t, "rate_limit: 5\n")
	cfg := mustLoad(t, config.Sources{File: path, Env: env("HOME", t.TempDir())})
	if err := os.WriteFile(path, []byte("rate_limit: 6\nlog_level: debug\nservers: {a: {url: 'https://x'}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	next, err := cfg.Reload()
	if err != nil {
		t.Fatal(err)
	}
	if got := cfg.Changed(next); !cmp.Equal(got, []string{"rate-limit", "log-level"}) || len(cfg.Declared().Servers) != 0 || len(next.Declared().Servers) != 1 {
		t.Errorf("%v", got)
	}
}
