package upgrade

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // opens the database
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/internal/testkit/poll"
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
	c := program.StartCluster(t, program.ClusterOptions{NoRedis: true, Args: []string{"--drain", drain.String(), "--call-timeout", callWithin.String()}})
	db, err := sql.Open("pgx", c.DB)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	c.Replica(0).Add(t, "peer", repeater(t))
	for n, in := range c.Replicas() {
		poll.Until(t, fmt.Sprintf("replica %d has the server", n), patience, func() bool {
			got, err := in.Request(t.Context(), http.MethodPost, "/mcp/request", call("peer__repeat", "warm"))
			return err == nil && strings.Contains(got.Body, "warm")
		})
	}
	c.Watch(t, lookEvery)
	l := &load{c: newClient(c)}
	session := l.session(t)
	loading, stop := context.WithCancel(t.Context())
	loaded := make(chan struct{})
	go func() {
		defer close(loaded)
		l.run(loading, session)
	}()
	t.Cleanup(func() {
		stop()
		<-loaded
	})

	l.c.goesOn(t)
	for n, in := range c.Replicas() {
		in.Signal(t, syscall.SIGTERM)
		if code, ok := in.Wait(patience); !ok || code != 0 {
			t.Fatalf("replica %d, told to end: exit code %d, ended %t", n, code, ok)
		}
		c.Replace(n, func(s *program.Spec) { s.Prefix = []string{next} })
		if got := schemaOf(t, db); got != version {
			t.Fatalf("the schema has version %d, and %d is the next", got, version)
		}
		// Those of the former version serve on, on the newer schema, beside the new.
		l.c.goesOn(t)
	}
	stop()
	<-loaded
	if failed := l.failures(); len(failed) > 0 {
		t.Errorf("%d of %d calls failed; the first:\n%s", len(failed), l.calls.Load()+int64(len(failed)), strings.Join(failed[:min(len(failed), 10)], "\n"))
	}
	t.Logf("figure: three replicas replaced one by one across a migration, under load: %d calls and changes, %d failed", l.calls.Load(), len(l.failures()))

	for n, in := range c.Replicas() {
		// The files alone: this version does not open the next one's database.
		if out, errs, code := in.Operate(t, "audit", "verify", "--files-only"); code != 0 {
			t.Errorf("the journal of replica %d: %d %s%s", n, code, out, errs)
		}
	}

	// The former version is not started on what the next one made: it says why, and
	// what to do.
	spec := program.Spec{Addr: program.FreeAddr(t), DataDir: t.TempDir(), Args: c.Specs()[0].Args}
	former := program.Launch(t, spec)
	if code, ok := former.Wait(patience); !ok || code == 0 {
		t.Fatalf("the former version on the newer schema: exit code %d, ended %t", code, ok)
	}
	for _, says := range []string{fmt.Sprintf("schema version %d", version), "newer Junctor", "backup"} {
		if !strings.Contains(former.Log(), says) {
			t.Errorf("the former version does not say %q: %s", says, former.Log())
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
