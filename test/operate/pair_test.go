package operate

import (
	"database/sql"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // opens the database

	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// patience is far above what anything here takes.
const patience = 90 * time.Second

// pair is two replicas.
type pair struct {
	*testing.T
	url      string // of the database
	db       *sql.DB
	specs    []program.Spec
	replicas []*program.Instance
}

func startPair(t *testing.T, args ...string) *pair {
	t.Helper()
	pg, err := pgtest.Start(pgtest.Options{})
	pgtest.Need(t, err)
	t.Cleanup(pg.Stop)
	p := &pair{T: t, url: pg.Database(t)}
	if p.db, err = sql.Open("pgx", p.url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.db.Close() })
	seal := filepath.Join(t.TempDir(), "seal.key")
	for range 2 {
		p.specs = append(p.specs, program.Spec{Addr: program.FreeAddr(t), DataDir: t.TempDir(), Args: append([]string{"--db", p.url, "--seal-key-file", seal, "--rate-limit", "0"}, args...)})
		p.replicas = append(p.replicas, nil)
		p.start(len(p.replicas) - 1)
	}
	return p
}

// start starts a replica, or starts it again.
func (p *pair) start(n int) {
	p.Helper()
	p.replicas[n] = program.Launch(p.T, p.specs[n])
	p.replicas[n].WaitReady(p.T)
}

// name is what a replica's journal is known by.
func (p *pair) name(n int) string {
	p.Helper()
	text, err := os.ReadFile(filepath.Join(p.specs[n].DataDir, "replica"))
	if err != nil {
		p.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func (p *pair) until(what string, holds func() bool) {
	p.Helper()
	poll.Until(p, what, patience, holds)
}

// command runs a command that answers JSON at a replica, and gives its exit code.
func (p *pair) command(n int, out any, args ...string) int {
	p.Helper()
	text, errs, code := p.replicas[n].Operate(p.T, append(args, "--format", "json")...)
	if err := json.Unmarshal([]byte(text), out); err != nil {
		p.Fatalf("junctor %q: exit %d, %v\n%s%s", args, code, err, text, errs)
	}
	return code
}

// redis starts one that can be ended.
func redis(t *testing.T) (addr string, p *program.Process) {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		program.Missing(t, "redis-server; tools/install.sh debian installs it")
	}
	addr = program.FreeAddr(t)
	host, port, _ := strings.Cut(addr, ":")
	return addr, program.Serve(t, addr, nil, path, "--port", port, "--bind", host, "--save", "", "--appendonly", "no", "--dir", t.TempDir())
}
