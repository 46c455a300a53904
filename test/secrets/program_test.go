package secrets

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/test/program"
)

// TestNoSecretLeavesTheProgram starts the real binary with secrets in its
// environment and its settings, rightly and wrongly, kills it, and looks through
// all that it wrote: output, logs, files, the rows of its database, its backup.
func TestNoSecretLeavesTheProgram(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		h := newHunt(t)
		h.program("")
		h.done("the program on SQLite")
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		pg, err := pgtest.Start(pgtest.Options{})
		pgtest.Need(t, err)
		t.Cleanup(pg.Stop)
		h := newHunt(t)
		db, err := url.Parse(pg.Database(t))
		if err != nil {
			t.Fatal(err)
		}
		db.User = url.UserPassword(db.User.Username(), h.plant("password of the database"))
		h.program(db.String())
		h.rows(db.String())
		h.done("the program on PostgreSQL")
	})
}

func (h *hunt) program(db string) {
	h.t.Helper()
	seed := make([]byte, 32)
	rand.Read(seed)
	sealKey := base64.StdEncoding.EncodeToString(seed)
	h.set.Add("JUNCTOR_SEAL_KEY", sealKey)
	h.set.Add("the bytes of JUNCTOR_SEAL_KEY", string(seed))
	data, addr := h.t.TempDir(), program.FreeAddr(h.t)
	proxy := "http://" + url.UserPassword("me", h.plant("password of the proxy")).String() + "@127.0.0.1:1"
	spec := program.Spec{
		Addr: addr, DataDir: data, AdminKey: h.plant("JUNCTOR_ADMIN_KEY"),
		Args: []string{"--log-level", "debug", "--egress-proxy", proxy},
		Env:  []string{"JUNCTOR_SEAL_KEY=" + sealKey, "JUNCTOR_KEY=" + h.plant("JUNCTOR_KEY of the instance"), "JUNCTOR_PASSWORD=" + h.plant("an unknown variable")},
	}
	if db != "" {
		spec.Args = append(spec.Args, "--db", db)
	}
	for _, format := range []string{"text", "json"} {
		run := spec
		run.Args = slices.Concat(run.Args, []string{"--log-format", format})
		in := program.Launch(h.t, run)
		in.WaitReady(h.t)
		h.calls(in, spec.AdminKey, format)
		h.commands(in, format)
		h.backup(in, db, format)
		h.tree(data)
		in.Kill()
		h.text("the output, "+format, in.Log())
		h.tree(data)
	}
	h.badStarts(spec)
	h.tree(data)
}

// calls makes calls of every era that are right, wrong and unknown.
func (h *hunt) calls(in *program.Instance, key, run string) {
	h.t.Helper()
	for _, era := range program.Eras() {
		at := fmt.Sprintf(", %s, %s", era, run)
		c := program.NewCaller(h.t, era, in.URL, key)
		for tool, arguments := range map[string]string{
			"demo__fail":             `{"password":%q}`,
			"demo__slow":             `{"secret":%q}`,
			"demo__nothing":          `{"token":%q}`,
			"ocr__google_vision_ocr": `{"image_path":"/nowhere.png","credentials_json":%q}`,
			"ocr__tesseract_ocr":     `{"image_path":"https://me:%s@127.0.0.1/x.png"}`,
			"ocr__tesseract_ocr?":    `{"image_path":"https://127.0.0.1/x.png?api_key=%s"}`,
		} {
			name := "an argument of " + tool + at
			secret := h.plant(name)
			if strings.Contains(arguments, "https:") {
				secret = url.QueryEscape(secret)
			}
			a, err := c.Call(h.t.Context(), strings.TrimSuffix(tool, "?"), fmt.Sprintf(arguments, secret))
			if err != nil {
				h.t.Fatal(err)
			}
			h.text("the answer to "+name, a.Body)
		}
		name := "a wrong number" + at
		a, err := c.Call(h.t.Context(), "demo__add", fmt.Sprintf(`{"a":1,"b":%q}`, h.plantUnnamed(name)))
		if err != nil {
			h.t.Fatal(err)
		}
		h.text("the answer to "+name, a.Body)

		// What a tool gives back is the caller's own, and nobody else's.
		secret := fmt.Sprintf("a password in a text%s", at)
		a, err = c.Call(h.t.Context(), "demo__echo", fmt.Sprintf(`{"text":"password: %s"}`, h.plant(secret)))
		if err != nil || !a.OK {
			h.t.Fatalf("echo: %d %s, %v", a.Status, a.Body, err)
		}
		h.text("the answer to an echo"+at, a.Body, secret)
	}
	for _, path := range []string{"/metrics", "/readyz", "/api/v1/calls", "/api/v1/keys", "/api/v1/servers"} {
		a, err := in.Request(h.t.Context(), http.MethodGet, path, "")
		if err != nil || a.Status != http.StatusOK {
			h.t.Errorf("GET %s: %d %s, %v", path, a.Status, a.Body, err)
		}
		h.text("GET "+path+", "+run, a.Body)
	}
}

// commands runs the command line with secrets in wrong places.
func (h *hunt) commands(in *program.Instance, run string) {
	h.t.Helper()
	for _, args := range [][]string{
		{"config", "print"},
		{"config", "check"},
		{"doctor"},
		{"key", "ls"},
		{"server", "ls"},
		{"tool", "call", "demo__add", "--arg", "a=1", "--arg", "b=" + h.plantUnnamed("--arg, "+run)},
		{"tool", "call", "demo__fail", "--json", h.plant("--json, " + run)},
		{"key", "revoke", h.plant("key revoke, " + run)},
	} {
		stdout, stderr, _ := in.CLI(h.t, args...)
		h.text(strings.Join(args[:min(len(args), 2)], " ")+", "+run, stdout+stderr)
	}
	// With a key that is none.
	said := h.junctor([]string{"JUNCTOR_URL=" + in.URL, "JUNCTOR_KEY=" + h.plant("JUNCTOR_KEY, "+run)}, "tool", "ls")
	h.text("tool ls with a wrong key, "+run, said)
	said = h.junctor([]string{"JUNCTOR_URL=http://" + url.UserPassword("me", h.plant("password of JUNCTOR_URL, "+run)).String() + "@127.0.0.1:1"}, "tool", "ls")
	h.text("tool ls with a URL that has a password, "+run, said)
}

// junctor runs a command to its end and gives all that it wrote.
func (h *hunt) junctor(env []string, args ...string) string {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 20*time.Second)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, program.Binary(h.t), args...)
	cmd.Env = program.Env(env...)
	cmd.Stdout, cmd.Stderr = &out, &out
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		h.t.Fatal(err)
	}
	if ctx.Err() != nil {
		h.t.Errorf("junctor %s did not end", strings.Join(args[:1], " "))
	}
	return out.String()
}

// backup looks into a backup that was made while the instance ran.
func (h *hunt) backup(in *program.Instance, db, run string) {
	h.t.Helper()
	file := filepath.Join(h.t.TempDir(), "backup.tar.gz")
	args := []string{"backup", file}
	if db != "" {
		args = append(args, "--db", db)
	}
	stdout, stderr, code := in.CLI(h.t, args...)
	h.text("backup, "+run, stdout+stderr)
	if code != 0 {
		h.t.Errorf("backup: exit code %d\n%s%s", code, stdout, stderr)
		return
	}
	h.tree(filepath.Dir(file))
}

// badStarts starts with settings that are wrong, and hold secrets.
func (h *hunt) badStarts(good program.Spec) {
	h.t.Helper()
	config := filepath.Join(h.t.TempDir(), "junctor.yaml")
	text := fmt.Sprintf("password: %q\nadmin_key: %q\n", h.plant("an unknown setting"), h.plant("a key in the file"))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	broken := filepath.Join(h.t.TempDir(), "junctor.yaml")
	if err := os.WriteFile(broken, []byte("a: [\n"+h.plant("a broken file")+": {"), 0o600); err != nil {
		h.t.Fatal(err)
	}
	other := make([]byte, 32)
	rand.Read(other)
	otherKey := base64.StdEncoding.EncodeToString(other)
	h.set.Add("another seal key", otherKey)
	for name, change := range map[string]func(*program.Spec){
		"an admin key with a space": func(s *program.Spec) { s.AdminKey = h.plant("admin key with a space") + " x" },
		"a seal key that is none":   func(s *program.Spec) { s.Env = []string{"JUNCTOR_SEAL_KEY=" + h.plant("seal key that is none")} },
		"another seal key":          func(s *program.Spec) { s.Env = []string{"JUNCTOR_SEAL_KEY=" + otherKey} },
		"a database that is not there": func(s *program.Spec) {
			s.Args = append(s.Args, "--db", "postgres://me:"+url.QueryEscape(h.plant("password of a database that is not there"))+"@127.0.0.1:1/x")
		},
		"a database URL that is none": func(s *program.Spec) {
			s.Args = append(s.Args, "--db", "postgres://me:"+h.plant("database URL that is none")+"@:x:y/")
		},
		"a proxy URL that is none": func(s *program.Spec) {
			s.Args = append(s.Args, "--egress-proxy", "ftp://me:"+h.plant("proxy URL that is none")+"@x")
		},
		"a file of settings":        func(s *program.Spec) { s.Args = append(s.Args, "--config", config) },
		"a broken file of settings": func(s *program.Spec) { s.Args = append(s.Args, "--config", broken) },
	} {
		spec := good
		spec.Args = slices.Clone(spec.Args)
		spec.Addr = program.FreeAddr(h.t)
		change(&spec)
		in := program.Launch(h.t, spec)
		if code, ended := in.Wait(20 * time.Second); !ended || code == 0 {
			h.t.Errorf("with %s: ended %t, exit code %d\n%s", name, ended, code, in.Log())
		}
		in.Kill()
		h.text("the output with "+name, in.Log())
	}
}

// rows looks through every row of every table.
func (h *hunt) rows(dsn string) {
	h.t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		h.t.Fatal(err)
	}
	defer db.Close()
	tables := h.column(db, `SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`)
	if len(tables) == 0 {
		h.t.Fatal("the database has no tables")
	}
	total := 0
	for _, table := range tables {
		rows := h.column(db, `SELECT r::text FROM `+table+` r`)
		total += len(rows)
		h.text("table "+table, strings.Join(rows, "\n"))
	}
	if total == 0 {
		h.t.Error("the database has no rows")
	}
}

func (h *hunt) column(db *sql.DB, query string) (all []string) {
	h.t.Helper()
	rows, err := db.QueryContext(h.t.Context(), query)
	if err != nil {
		h.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			h.t.Fatal(err)
		}
		all = append(all, s)
	}
	if err := rows.Err(); err != nil {
		h.t.Fatal(err)
	}
	return all
}
