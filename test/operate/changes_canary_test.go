package operate

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit/canary"
	"github.com/junctor-mcp/junctor/internal/testkit/oauthserver"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/internal/testkit/upstreams"
	"github.com/junctor-mcp/junctor/test/program"
)

// TestRecordsOfChangesHoldNoSecret sets every kind of secret by the API, the command line and
// the settings file, and looks for it in the database, in the journal and in the answers that
// list the changes.
func TestRecordsOfChangesHoldNoSecret(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		dir := plantSecrets(t)
		// The raw bytes of the database, its write-ahead log, the journal and everything else.
		hits, files, err := dir.secrets.Tree(dir.dir)
		if err != nil || files < 3 {
			t.Fatalf("%d files: %v", files, err)
		}
		dir.report(hits)
		dir.log()
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		pg, err := pgtest.Start(pgtest.Options{})
		pgtest.Need(t, err)
		t.Cleanup(pg.Stop)
		address := pg.Database(t)
		s := plantSecrets(t, "--db", address)
		db, err := sql.Open("pgx", address)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var rows int
		var text string
		if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*), string_agg(c::text, E'\n') FROM admin_changes c`).Scan(&rows, &text); err != nil || rows < 30 {
			t.Fatalf("%d rows: %v", rows, err)
		}
		s.report(s.secrets.Text("admin_changes", text))
		hits, _, err := s.secrets.Tree(s.dir)
		if err != nil {
			t.Fatal(err)
		}
		s.report(hits)
		s.log()
	})
}

// planted is an instance with secrets.
type planted struct {
	changed
	secrets *canary.Set
	peer    string // the URL of an MCP server
	folder  string // for files with secrets
	found   int
}

// log writes the figure.
func (p *planted) log() {
	p.Helper()
	p.Logf("figure: records of changes, %s: %d secrets set by the API, by commands and by the settings file, %d found in the database, the journal and the answers", filepath.Base(p.Name()), p.secrets.Len(), p.found)
}

// report fails the test for each place where a secret was found.
func (p *planted) report(hits []canary.Hit) {
	p.Helper()
	p.found += len(hits)
	for _, hit := range hits {
		p.Errorf("leaked: %v", hit)
	}
}

// file writes a new secret to a file, and returns the file's path.
func (p *planted) file(name string) string {
	p.Helper()
	path := filepath.Join(p.folder, strings.ReplaceAll(name, " ", "-"))
	if err := os.WriteFile(path, []byte(p.secrets.Make(name)+"\n"), 0o600); err != nil {
		p.Fatal(err)
	}
	return path
}

// run runs a command of the operator.
func (p *planted) run(args ...string) string {
	p.Helper()
	stdout, stderr, code := p.in.Operate(p.T, args...)
	if code != 0 {
		p.Fatalf("junctor %s: %d %s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return stdout
}

// plantSecrets sets the secrets, checks what lists the changes, and stops the instance.
func plantSecrets(t *testing.T, args ...string) *planted {
	t.Helper()
	file := filepath.Join(t.TempDir(), "junctor.yaml")
	p := &planted{secrets: canary.New(0), peer: upstreams.Start(t, upstreams.Modern).URL, folder: t.TempDir()}
	declare := func(version int) {
		text := fmt.Sprintf("servers:\n  filed:\n    url: %s\n    headers: {X-Extra: env:FILED_HEADER}\n    auth: {type: bearer, token: env:FILED_BEARER}\n"+
			"sources:\n  filed: {style: hmac, secret: %s}\nagents:\n  filed: {title: Version %d, tools: [demo/echo]}\n", p.peer, p.secrets.Make(fmt.Sprint("source in the settings file, version ", version)), version)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	declare(1)
	p.changed = changed{T: t, dir: filepath.Join(t.TempDir(), "data"), args: append([]string{
		"--config", file, "--egress-allow", "127.0.0.0/8", "--oidc-issuer", oauthserver.Start(t).URL, "--oidc-client-id", "me", "--oidc-client-secret", "env:OIDC_SECRET",
	}, args...)}
	p.in = program.Launch(t, program.Spec{Addr: program.FreeAddr(t), DataDir: p.dir, Args: p.args, AdminKey: p.secrets.Make("JUNCTOR_ADMIN_KEY"), Env: []string{
		"FILED_HEADER=" + p.secrets.Make("header in the settings file"), "FILED_BEARER=" + p.secrets.Make("bearer in the settings file"), "OIDC_SECRET=" + p.secrets.Make("OIDC client secret"),
	}})
	p.in.WaitReady(t)
	p.byAPI()
	p.byCommands()
	declare(2)
	poll.Until(t, "the records of the edited file", time.Minute, func() bool {
		return strings.Contains(p.request(http.MethodGet, "/changes?object=agent&object_id=filed&limit=1000", ""), "Version 2")
	})
	p.logInWithOAuth()
	for _, path := range []string{"/changes?limit=1000", "/changes?limit=1000&object=server", "/changes?limit=1000&entry_point=settings-file"} {
		p.report(p.secrets.Text("GET "+path, p.request(http.MethodGet, path, "")))
	}
	for _, one := range p.history(url.Values{}) {
		p.report(p.secrets.Text("GET /changes/"+one.Action, p.request(http.MethodGet, "/changes/"+one.ID, "")))
	}
	p.report(p.secrets.Text("audit show", p.run("audit", "show", "last")))
	p.verify()
	// With kill -9 the write-ahead log of SQLite stays as it is.
	p.in.Kill()
	if p.secrets.Len() < 30 {
		t.Errorf("only %d secrets were set", p.secrets.Len())
	}
	return p
}

// byAPI sets secrets by requests to the admin API. An answer to such a request may show a new
// secret, once.
func (p *planted) byAPI() {
	p.Helper()
	quote := func(name string) string { return fmt.Sprintf("%q", p.secrets.Make(name)) }
	for id, more := range map[string]string{
		"bearer":  `"auth":{"type":"bearer","token":` + quote("bearer") + `}`,
		"api-key": `"auth":{"type":"api-key","key":` + quote("API key") + `}`,
		"basic":   `"auth":{"type":"basic","username":"me","password":` + quote("password of a server") + `}`,
		"header":  `"headers":{"X-Extra":` + quote("header") + `}`,
	} {
		p.request(http.MethodPost, "/servers", fmt.Sprintf(`{"id":%q,"url":%q,%s}`, id, p.peer+"?key="+url.QueryEscape(p.secrets.Make("query of "+id)), more))
		p.request(http.MethodPatch, "/servers/"+id, `{"title":"t","headers":{"X-Extra":`+quote("second header of "+id)+`}}`)
	}
	p.request(http.MethodPut, "/secrets/demo/one", `{"value":`+quote("a stored secret")+`}`)
	p.request(http.MethodPost, "/users", `{"name":"zoe"}`)
	p.request(http.MethodPut, "/users/zoe/password", `{"password":`+quote("a user's password")+`}`)
	p.request(http.MethodPost, "/models", `{"name":"think","kind":"openai","model":"m","base_url":"http://127.0.0.1:9/v1","key":`+quote("model API key")+`}`)
	p.request(http.MethodPatch, "/models/think", `{"key":`+quote("second model API key")+`}`)
	p.request(http.MethodPost, "/sources", `{"id":"shop","style":"github","secret":`+quote("secret of a source")+`}`)
	p.request(http.MethodPatch, "/sources/shop", `{"secret":`+quote("second secret of a source")+`}`)
	key := p.request(http.MethodPost, "/keys", `{"name":"ci","scopes":["tools:read"]}`)
	p.secrets.Add("key", memberOf(p.T, key, "key"))
	p.secrets.Add("rotated key", p.member(http.MethodPost, "/keys/"+memberOf(p.T, key, "id")+"/rotate", "{}", "key"))
	p.secrets.Add("key of an agent", p.member(http.MethodPost, "/agents", `{"name":"clerk","tools":["demo/echo"]}`, "key"))
	var tenant struct {
		AdminKey struct{ Key string } `json:"admin_key"`
	}
	if err := json.Unmarshal([]byte(p.request(http.MethodPost, "/tenants", `{"id":"acme"}`)), &tenant); err != nil {
		p.Fatal(err)
	}
	p.secrets.Add("key of a tenant", tenant.AdminKey.Key)
	link, err := url.Parse(p.member(http.MethodPost, "/users/zoe/link", "", "url"))
	if err != nil {
		p.Fatal(err)
	}
	p.secrets.Add("sign-in link", link.Query().Get("token"))
	made := p.member(http.MethodPut, "/agent-tokens/42", fmt.Sprintf(`{"url":%q,"header":"X-Agent-Token","token":%s,"sign":true}`, p.peer, quote("token of a delivery endpoint")), "signing_secret")
	p.secrets.Add("signing secret of a delivery endpoint", strings.TrimPrefix(made, "whsec_"))
}

// byCommands sets secrets by commands of the operator.
func (p *planted) byCommands() {
	p.Helper()
	p.run("server", "add", "listed", p.peer, "--bearer", "@"+p.file("bearer by command"), "--header", "X-Extra: @"+p.file("header by command"))
	p.run("server", "set", "listed", "--bearer", "@"+p.file("second bearer by command"))
	binary := program.Binary(p.T)
	p.run("server", "add", "started", "--env", "TOKEN=@"+p.file("variable by command"), "--yes", "--", binary, "bank", "places")
	p.run("secret", "set", "demo", "two", "--file", p.file("stored secret by command"))
	p.run("model", "add", "other", "--kind", "openai", "--model", "m", "--url", "http://127.0.0.1:9/v1", "--key-file", p.file("model key by command"))
	p.run("source", "add", "git", "--style", "github", "--secret", "@"+p.file("secret of a source by command"))
	p.run("source", "rotate", "git", "--secret", "@"+p.file("second secret of a source by command"))
	p.secrets.Add("key by command", strings.TrimSpace(p.run("key", "create", "deploy", "--scope", "tools:read")))
}

// logInWithOAuth logs in at a server, which gives tokens.
func (p *planted) logInWithOAuth() {
	p.Helper()
	g := upstreams.NewGuarded(p.T, upstreams.Modern)
	p.request(http.MethodPost, "/servers", fmt.Sprintf(`{"id":"notes","url":%q,"auth":{"type":"oauth"}}`, g.URL))
	var started struct {
		Login            string `json:"login"`
		AuthorizationURL string `json:"authorization_url"`
	}
	if err := json.Unmarshal([]byte(p.request(http.MethodPost, "/servers/notes/login", `{}`)), &started); err != nil {
		p.Fatal(err)
	}
	answer, err := json.Marshal(map[string]string{"login": started.Login, "url": g.Browse(p.T, started.AuthorizationURL, "zoe").String()})
	if err != nil {
		p.Fatal(err)
	}
	p.request(http.MethodPost, "/servers/notes/login/finish", string(answer))
	if len(g.Secrets()) < 2 {
		p.Fatal("no tokens")
	}
	for _, secret := range g.Secrets() {
		p.secrets.Add("OAuth token", secret)
	}
}
