package upgrade

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // opens the database
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// patience is far above what anything here takes.
const patience = 90 * time.Second

// TestRollingUpgrade replaces three replicas one by one, while they are called, by
// a version whose schema has one more migration, which the first of them makes while
// the others still work. Nobody notices.
func TestRollingUpgrade(t *testing.T) {
	next, version := nextVersion(t)
	pg, err := pgtest.Start(pgtest.Options{})
	pgtest.Need(t, err)
	t.Cleanup(pg.Stop)
	url := pg.Database(t)
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })

	seal := filepath.Join(t.TempDir(), "seal.key")
	var specs []program.Spec
	var running []*program.Instance
	var addresses []string
	for range 3 {
		spec := program.Spec{Addr: program.FreeAddr(t), DataDir: t.TempDir(), Args: []string{
			"--db", url, "--seal-key-file", seal, "--egress-allow", "127.0.0.0/8", "--rate-limit", "0", "--drain", drain.String(), "--call-timeout", callWithin.String(),
		}}
		in := program.Launch(t, spec)
		in.WaitReady(t)
		specs, running, addresses = append(specs, spec), append(running, in), append(addresses, spec.Addr)
	}
	running[0].Add(t, "peer", repeater(t))

	b := newBalancer(addresses)
	ctx, cancel := context.WithCancel(t.Context())
	watched, loaded := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		b.watch(ctx)
	}()
	until(t, "all are ready, and have the server", func() bool {
		for _, p := range b.places {
			got, err := b.ask(t.Context(), p, http.MethodPost, "/mcp/request", call("peer__repeat", "warm"), nil)
			if !p.ready.Load() || err != nil || !strings.Contains(got.body, "warm") {
				return false
			}
		}
		return true
	})
	l := &load{b: b}
	session := l.session(t)
	loading, stop := context.WithCancel(t.Context())
	go func() {
		defer close(loaded)
		l.run(loading, session)
	}()
	t.Cleanup(func() {
		stop()
		<-loaded
		cancel()
		<-watched
	})

	l.goesOn(t, b.places...)
	for n := range running {
		running[n].Signal(t, syscall.SIGTERM)
		if code, ok := running[n].Wait(patience); !ok || code != 0 {
			t.Fatalf("replica %d, told to end: exit code %d, ended %t", n, code, ok)
		}
		spec := specs[n]
		spec.Prefix = []string{next}
		running[n] = program.Launch(t, spec)
		running[n].WaitReady(t)
		if got := schemaOf(t, db); got != version {
			t.Fatalf("the schema has version %d, and %d is the next", got, version)
		}
		// Those of the former version serve on, on the newer schema, beside the new.
		l.goesOn(t, b.places...)
	}
	stop()
	<-loaded
	if failed := l.failures(); len(failed) > 0 {
		t.Errorf("%d of %d calls failed; the first:\n%s", len(failed), l.calls.Load()+int64(len(failed)), strings.Join(failed[:min(len(failed), 10)], "\n"))
	}
	t.Logf("figure: three replicas replaced one by one across a migration, under load: %d calls and changes, %d failed", l.calls.Load(), len(l.failures()))

	for n, in := range running {
		if out, errs, code := in.Operate(t, "audit", "verify"); code != 0 {
			t.Errorf("the journal of replica %d: %d %s%s", n, code, out, errs)
		}
	}

	// The former version is not started on what the next one made: it says why, and
	// what to do.
	spec := program.Spec{Addr: program.FreeAddr(t), DataDir: t.TempDir(), Args: specs[0].Args}
	former := program.Launch(t, spec)
	if code, ok := former.Wait(patience); !ok || code == 0 {
		t.Fatalf("the former version on the newer schema: exit code %d, ended %t", code, ok)
	}
	for _, says := range []string{fmt.Sprintf("schema version %d", version), "start that newer Junctor", "backup"} {
		if !strings.Contains(former.Log(), says) {
			t.Errorf("the former version does not say %q: %s", says, former.Log())
		}
	}
}

// goesOn waits until each replica has answered some more.
func (l *load) goesOn(t *testing.T, places ...*place) {
	t.Helper()
	for _, p := range places {
		from := p.served.Load()
		until(t, p.url+" answers", func() bool { return p.served.Load() >= from+20 })
	}
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for begun := time.Now(); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > patience {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

func schemaOf(t *testing.T, db *sql.DB) (version int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), `SELECT max(version_id) FROM schema_version`).Scan(&version); err != nil {
		t.Fatal(err)
	}
	return version
}

// repeater is an MCP server whose tool says what it is told.
func repeater(t *testing.T) string {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "peer", Version: "1"}, nil)
	type words struct {
		Text string `json:"text"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "repeat"}, func(_ context.Context, _ *mcp.CallToolRequest, in words) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
	})
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(func() {
		_ = server.Config.Close() // replicas still listen
		server.Close()
	})
	return server.URL
}
