// Package pgtest gives tests a real PostgreSQL: the server that
// JUNCTOR_TEST_POSTGRES names (a URL of a user who may create databases), else
// one of its own from the programs that Debian's package postgresql installs.
// It stands beside the drivers of package store and is for tests only.
package pgtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec" //nolint:depguard // a test's own server; nothing of the product imports this package
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"go.uber.org/goleak"
)

// Variable names the environment variable with the URL of a server to use.
const Variable = "JUNCTOR_TEST_POSTGRES"

// ErrAbsent says that no PostgreSQL is installed.
var ErrAbsent = errors.New("PostgreSQL is not installed: apt-get install postgresql, or set " + Variable + " to the URL of a server")

// errShort means that the tests were asked to start no other program.
var errShort = fmt.Errorf("with -short no server is started: %w", ErrAbsent)

// Server is a running PostgreSQL.
type Server struct {
	admin         string // URL of the database postgres
	dir           string
	bin           string
	port          int
	uid           uint32 // whose the server is; 0 is the user that runs the test
	gid           uint32
	cmd           *exec.Cmd
	done          chan struct{} // closed when cmd has ended
	safe          bool
	databaseCount atomic.Int64
}

// Options change how a server of one's own runs.
type Options struct {
	Safe bool // wait for the disk, with the memory of a server in earnest; else a crash of the machine may cost everything
}

// Start runs a server in a folder of its own, below the system's temporary
// folder. ErrAbsent when PostgreSQL is not installed.
func Start(o Options) (*Server, error) {
	if testing.Short() {
		return nil, errShort
	}
	bin, err := findPrograms()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "junctor-pg-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, bin: bin, safe: o.Safe}
	if err := s.initializeCluster(); err != nil {
		s.Stop()
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	return s, nil
}

// findPrograms finds the folder of the newest installed version.
func findPrograms() (string, error) {
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin/initdb", "/usr/pgsql-*/bin/initdb", "/opt/homebrew/opt/postgresql*/bin/initdb"} {
		if found, err := filepath.Glob(pattern); err == nil && len(found) > 0 {
			return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return versionInPath(a) - versionInPath(b) })), nil
		}
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	return "", ErrAbsent
}

func versionInPath(path string) int {
	for part := range strings.SplitSeq(path, "/") {
		if n, err := strconv.Atoi(strings.TrimPrefix(part, "pgsql-")); err == nil {
			return n
		}
	}
	return 0
}

func (s *Server) initializeCluster() error {
	if err := s.changeOwner(); err != nil {
		return err
	}
	if err := s.copyTemplate(); err != nil {
		return err
	}
	return s.startProcess()
}

// changeOwner makes another user the owner where this one is root, as whom
// PostgreSQL does not run.
func (s *Server) changeOwner() error {
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return err
	}
	s.uid, s.gid = uint32(uid), uint32(gid)
	return os.Chown(s.dir, int(uid), int(gid))
}

func (s *Server) newCommand(program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), filepath.Join(s.bin, program), args...) //nolint:gosec // the installed program
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = s.processAttributes()
	return cmd
}

// startProcess starts the server on the data that is there, and waits until it answers.
func (s *Server) startProcess() error {
	if s.port == 0 {
		port, err := freePort()
		if err != nil {
			return err
		}
		s.port = port
		u := url.URL{Scheme: "postgres", User: url.User("postgres"), Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Path: "/postgres", RawQuery: "sslmode=disable"}
		s.admin = u.String()
	}
	args := []string{
		"-D", filepath.Join(s.dir, "data"), "-k", s.dir, "-p", strconv.Itoa(s.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "max_connections=400", "-c", "logging_collector=off",
	}
	if !s.safe {
		args = append(args, "-c", "shared_buffers=32MB", "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd, done := s.newCommand("postgres", args...), make(chan struct{})
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	s.cmd, s.done = cmd, done
	go func() {
		_ = cmd.Wait() // it is told to end
		close(done)
	}()
	return s.waitUntilReady()
}

// waitUntilReady waits until the server takes connections.
func (s *Server) waitUntilReady() error {
	db, err := sql.Open("pgx", s.admin)
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		if err = db.PingContext(ctx); err == nil {
			tick.Stop()
			return nil
		}
		select {
		case <-tick.C:
		case <-s.done:
			said, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("the server ended: %s", said)
		case <-ctx.Done():
			return fmt.Errorf("the server does not answer: %w", err)
		}
	}
}

func freePort() (int, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// Restart ends the server as an operator would who is in a hurry, breaking
// every connection, and starts it again on the same port and data.
func (s *Server) Restart() error {
	s.Halt()
	return s.Resume()
}

// Halt ends the server, breaking every connection; Resume starts it again.
func (s *Server) Halt() { s.endWithSignal(syscall.SIGINT) }

// Kill ends the server without giving it time for anything.
func (s *Server) Kill() { s.endWithSignal(syscall.SIGQUIT) }

// Resume starts a server that was halted or killed.
func (s *Server) Resume() error { return s.startProcess() }

func (s *Server) endWithSignal(sig syscall.Signal) {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(sig) // it may have ended
	<-s.done
	s.cmd = nil
}

// Stop ends the server and removes its folder.
func (s *Server) Stop() {
	s.endWithSignal(syscall.SIGINT)
	if s.dir != "" {
		_ = os.RemoveAll(s.dir) // in the temporary folder
	}
}

// Database makes an empty database and gives its URL. It is dropped when the
// test ends.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	return s.copyDatabase(t, "template0")
}

// copyDatabase makes a database like another one, which nobody may be connected to.
func (s *Server) copyDatabase(t testing.TB, from string) string {
	t.Helper()
	name, at, err := s.createDatabase(t.Context(), from)
	if err != nil {
		t.Fatalf("make a database: %v", err)
	}
	t.Cleanup(func() { dropDatabase(s.admin, name) })
	return at
}

// createDatabase makes a database like another one, and gives its name and URL.
func (s *Server) createDatabase(ctx context.Context, from string) (name, at string, err error) {
	u, err := url.Parse(s.admin)
	if err != nil {
		return "", "", err
	}
	db, err := sql.Open("pgx", s.admin)
	if err != nil {
		return "", "", err
	}
	defer db.Close()
	name = fmt.Sprintf("junctor_%d_%d", os.Getpid(), s.databaseCount.Add(1))
	u.Path = "/" + name
	_, err = db.ExecContext(ctx, `CREATE DATABASE `+name+` TEMPLATE `+from)
	return name, u.String(), err
}

func dropDatabase(admin, name string) {
	db, err := sql.Open("pgx", admin)
	if err != nil {
		return
	}
	defer db.Close()
	_, _ = db.ExecContext(context.Background(), `DROP DATABASE IF EXISTS `+name+` WITH (FORCE)`) // the server goes soon, too
}

// Pool is one server for all tests of a binary, started at first use. Its
// Main is what TestMain calls.
type Pool struct {
	once   sync.Once
	server *Server
	err    error

	seeding sync.Once
	seed    string // the database that Seeded copies
	seedErr error
}

// Main runs the tests of a binary and ends the server that they used.
func (p *Pool) Main(m *testing.M) int {
	code := m.Run()
	if p.server != nil && p.seed != "" {
		dropDatabase(p.server.admin, p.seed)
	}
	if p.server != nil && p.server.dir != "" {
		p.server.Stop()
	}
	return code
}

// LeakCheckedMain is Main for a package that starts goroutines: it fails if one of them
// is left after the tests. The pools of databases end in their own time.
func (p *Pool) LeakCheckedMain(m *testing.M) int {
	code := p.Main(m)
	if err := goleak.Find(goleak.IgnoreAnyFunction("database/sql.(*DB).connectionOpener")); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// Database makes an empty database on the shared server and gives its URL.
// Where there is no PostgreSQL the test is skipped, and fails where CI is set.
func (p *Pool) Database(t testing.TB) string {
	t.Helper()
	return p.ensureStarted(t).Database(t)
}

func (p *Pool) ensureStarted(t testing.TB) *Server {
	t.Helper()
	p.once.Do(func() {
		if named := os.Getenv(Variable); named != "" {
			p.server = &Server{admin: named}
			return
		}
		p.server, p.err = Start(Options{})
	})
	Need(t, p.err)
	return p.server
}

// Seeded is Database after open has opened it once, and closed it: a copy, since
// making a schema takes most of the time of a test. A pool has one open.
func Seeded[S io.Closer](t testing.TB, p *Pool, open func(ctx context.Context, url string) (S, error)) string {
	t.Helper()
	server := p.ensureStarted(t)
	p.seeding.Do(func() {
		var at string
		if p.seed, at, p.seedErr = server.createDatabase(context.Background(), "template0"); p.seedErr != nil {
			return
		}
		var opened S
		if opened, p.seedErr = open(context.Background(), at); p.seedErr == nil {
			p.seedErr = opened.Close()
		}
	})
	if p.seedErr != nil {
		t.Fatalf("make a database to copy: %v", p.seedErr)
	}
	return server.copyDatabase(t, p.seed)
}

// Need ends a test for which no server could be started: skipped where
// PostgreSQL is not installed, and failed where CI is set or the reason is
// another one.
func Need(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, ErrAbsent) && os.Getenv("CI") != "true":
		t.Skip(err)
	default:
		t.Fatal(err)
	}
}
