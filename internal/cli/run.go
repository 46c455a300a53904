package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/app"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/backup"
	"github.com/junctor-mcp/junctor/internal/bench"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/proc"
)

// This file is where the command line meets a whole instance: all it knows of
// internal/app is here.

// socketOf is where an instance on this data directory can be reached.
func socketOf(dataDir string) string { return filepath.Join(dataDir, app.SocketName) }

// journalOf is where an instance on this data directory keeps its record of calls.
func journalOf(dataDir string) string { return filepath.Join(dataDir, app.JournalDir) }

// serve runs an instance until ctx ends.
func (c *cli) serve(ctx context.Context, cfg *config.Config, s started) error {
	for _, w := range append(config.UnknownEnv(c.env), cfg.Warnings()...) {
		c.say("warning: %s", w)
	}
	if _, err := c.probe(ctx, cfg.DataDir); err == nil {
		return junctor.Errorf(junctor.CodeConflict, "an instance already runs on the data directory %s; stop it, or choose another with --data-dir", cfg.DataDir)
	}
	var opts []app.Option
	if s.demo {
		opts = append(opts, app.WithDashboard())
	}
	return c.with(ctx, cfg, func(a *app.App) error {
		if err := a.Listen(ctx); err != nil {
			return err
		}
		s.URL = a.URL()
		if key, made := a.AdminKey(); made {
			s.AdminKey = key
		}
		s.Console = a.ConsoleURL()
		if s.demo || s.AdminKey != "" {
			var err error
			if s.SignIn, err = a.FirstSignIn(ctx); err != nil {
				return err
			}
		}
		if s.demo {
			if err := a.FurnishDemo(ctx, c.getenv("MAP_SERVER_URL")); err != nil {
				return err
			}
		}
		if err := c.announce(s); err != nil {
			return err
		}
		defer reloadOnHangup(ctx, cfg, a)()
		defer release()()
		return a.Run(ctx)
	}, opts...)
}

// releaseSoon and releaseAgain are how long after its start an instance gives back what
// only the start needed: soon, for one that is left alone, and again when servers
// that answer slowly have been asked what they offer. releaseEvery is how often it
// gives back the code that only a person who looked at it needed, or a change.
const (
	releaseSoon  = 300 * time.Millisecond
	releaseAgain = 15 * time.Second
	releaseEvery = 10 * time.Second
)

// release gives back what is no longer needed until stop is called: most of what
// lies in memory after the start is code that never runs again.
func release() (stop func()) {
	soon, again := time.AfterFunc(releaseSoon, proc.Release), time.AfterFunc(releaseAgain, proc.Release)
	every, ended := time.NewTicker(releaseEvery), make(chan struct{})
	go func() {
		for {
			select {
			case <-every.C:
				proc.ReleaseProgram()
			case <-ended:
				return
			}
		}
	}()
	return func() {
		soon.Stop()
		again.Stop()
		every.Stop()
		close(ended)
	}
}

// reloadOnHangup has SIGHUP read the settings file again, where there is one.
// Without one the signal ends the instance, as it does when a terminal is closed.
func reloadOnHangup(ctx context.Context, cfg *config.Config, a *app.App) (stop func()) {
	if cfg.File() == "" {
		return func() {}
	}
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	ended := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-hangup:
				_ = a.Reload(ctx) // the log has what is wrong
			case <-ended:
				return
			}
		}
	}()
	return func() {
		signal.Stop(hangup)
		close(ended)
		<-done
	}
}

// twins are the instances that bench measures the price of records and of all
// gates against, by role.
func twins() map[string]app.Option {
	return map[string]app.Option{bench.Twin: app.WithoutRecords(), bench.Ungated: app.WithoutGates()}
}

// twin runs such an instance until ctx or the standard input ends. It serves
// nobody else: it listens on loopback only and begins with nothing, so no server
// that somebody configured is behind it.
func (c *cli) twin(ctx context.Context, missing app.Option) error {
	cfg, err := config.Load(config.Sources{Env: c.lookup})
	if err != nil {
		return err
	}
	at, err := netip.ParseAddrPort(cfg.Listen)
	if err != nil || !at.Addr().IsLoopback() {
		return junctor.Errorf(junctor.CodeDenied, "the twin keeps no records, so it listens on a loopback address only, not on %s", cfg.Listen)
	}
	if entries, err := os.ReadDir(cfg.DataDir); cfg.DB != nil || len(entries) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return junctor.Errorf(junctor.CodeDenied, "the twin keeps no records, so it begins with an empty data directory and no other database; %s is not empty, or db is set", cfg.DataDir)
	}
	return c.with(ctx, cfg, func(a *app.App) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			_, _ = io.Copy(io.Discard, c.in)
			cancel()
		}()
		defer release()()
		return a.Run(ctx)
	}, missing)
}

// with makes an instance, lets use have it, and closes it whatever happened.
func (c *cli) with(ctx context.Context, cfg *config.Config, use func(*app.App) error, opts ...app.Option) error {
	a, err := app.New(ctx, cfg, version(), append(opts, app.WithLog(c.err))...)
	if err != nil {
		return err
	}
	return errors.Join(use(a), a.Close()) //nolint:contextcheck // closing has its own limit: ctx has mostly ended by then
}

func (c *cli) stdioCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "stdio", Short: "Speak MCP on standard input and output, for hosts that start a process",
		Long: "Speak MCP on standard input and output. When an instance runs on this data directory, its tools are served\n" +
			"through it; otherwise this process serves them itself, without listening on the network. With JUNCTOR_KEY the\n" +
			"client is whom that key names; without it, the operator who started this.",
		Example: "  junctor stdio --data-dir ~/.local/share/junctor", Args: cobra.NoArgs,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.load(cmd)
			if err != nil {
				return err
			}
			return c.stdio(cmd.Context(), cfg)
		}),
	}
	c.settings(cmd)
	return cmd
}

func (c *cli) stdio(ctx context.Context, cfg *config.Config) error {
	key := c.getenv("JUNCTOR_KEY")
	if _, err := os.Stat(socketOf(cfg.DataDir)); err == nil {
		err := app.RelayStdio(ctx, socketOf(cfg.DataDir), c.in, c.out, key)
		if junctor.CodeOf(err) != junctor.CodeUnreachable {
			return err
		}
		// A socket that a dead process left behind: nothing was read yet.
	}
	return c.with(ctx, cfg, func(a *app.App) error {
		defer release()()
		return a.ServeStdio(ctx, c.in, c.out, key)
	})
}

// patient gathers what doctor looks at, and whether the settings are valid.
func (c *cli) patient(cmd *cobra.Command) (*patient, finding) {
	src := c.sources(cmd)
	// Opening the database must not replace the admin key.
	src.Env = func(name string) (string, bool) {
		if name == "JUNCTOR_ADMIN_KEY" {
			return "", false
		}
		return c.lookup(name)
	}
	cfg, err := config.Load(src)
	if err == nil {
		_, err = c.load(cmd) // the admin key is a setting too
	}
	if err != nil {
		return nil, finding{"settings", bad, err.Error(), "junctor config check names every problem"}
	}
	found := finding{"settings", good, "are valid", ""}
	if warnings := append(config.UnknownEnv(c.env), cfg.Warnings()...); len(warnings) > 0 {
		found = finding{"settings", warning, warnings[0], "junctor config check names every warning"}
	}
	return &patient{
		dataDir: cfg.DataDir, listen: cfg.Listen, now: time.Now(),
		running: func(ctx context.Context) (string, error) { return c.runningAt(ctx, cfg.DataDir) },
		open:    func(ctx context.Context) ([]string, error) { return c.openDatabase(ctx, cfg) },
		file: func(ctx context.Context) (state admin.FileState, err error) {
			return state, localClient(cfg.DataDir).get(ctx, "/settings/file", &state)
		},
		exposed: func(ctx context.Context, runs bool) (*exposure, error) { return exposureOf(ctx, cfg, runs) },
		cluster: func(ctx context.Context) (*admin.ClusterState, error) {
			state := new(admin.ClusterState)
			return state, localClient(cfg.DataDir).get(ctx, "/cluster", state)
		},
	}, found
}

// exposureOf gathers what decides how safe an instance is, or would be.
func exposureOf(ctx context.Context, cfg *config.Config, runs bool) (*exposure, error) {
	values := list[config.Value]{Items: cfg.Values()}
	var keys list[junctor.Key]
	if runs {
		values.Items = nil
		client := localClient(cfg.DataDir)
		if err := errors.Join(client.get(ctx, "/settings", &values), client.get(ctx, "/keys", &keys)); err != nil {
			return nil, err
		}
	}
	e := &exposure{set: map[string]string{}, keys: keys.Items, now: time.Now()}
	for _, v := range values.Items {
		e.set[v.Name] = v.Value
	}
	return e, nil
}

// runningAt asks the instance on this data directory for its address; "" when
// there is none.
func (c *cli) runningAt(ctx context.Context, dataDir string) (string, error) {
	address, err := c.probe(ctx, dataDir)
	if junctor.CodeOf(err) == junctor.CodeUnreachable {
		return "", nil
	}
	return address, err
}

// openDatabase opens what is there. While an instance runs, that instance has
// answered from its database already.
func (c *cli) openDatabase(ctx context.Context, cfg *config.Config) (journal []string, err error) {
	if _, err := c.probe(ctx, cfg.DataDir); err == nil {
		return nil, nil
	}
	if _, err := os.Stat(filepath.Join(cfg.DataDir, "junctor.db")); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	err = c.with(ctx, cfg, func(a *app.App) error {
		journal = a.JournalProblems()
		return nil
	}, app.AsItIs())
	return journal, err
}

// checkDeclared finds what is wrong with the servers of a settings file.
func (c *cli) checkDeclared(cfg *config.Config) []config.Problem {
	return app.CheckDeclared(cfg, cfg.DataDir)
}

// archive writes a backup of the instance that the settings name.
func (c *cli) archive(ctx context.Context, cfg *config.Config, w io.Writer) (backup.Manifest, error) {
	return app.Backup(ctx, cfg, version(), w)
}

// unarchive makes an instance of a backup where the settings say.
func (c *cli) unarchive(ctx context.Context, cfg *config.Config, r io.Reader, unverified bool) (backup.Manifest, error) {
	return app.Restore(ctx, cfg, r, unverified)
}

// verifyArchive checks a backup, and restores nothing.
func (c *cli) verifyArchive(ctx context.Context, cfg *config.Config, r io.Reader) (backup.Manifest, error) {
	return app.VerifyBackup(ctx, cfg, r)
}

// free says whether an address can be listened on.
func free(ctx context.Context, address string) bool {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}

// verify verifies the journal on this data directory, or its copy in the
// database that the settings name.
func (c *cli) verify(cmd *cobra.Command, o audit.VerifyOptions, inDatabase, filesOnly bool) (audit.Report, error) {
	cfg, err := c.load(cmd)
	if err != nil {
		return audit.Report{}, err
	}
	switch {
	case inDatabase:
		return app.VerifyCopy(cmd.Context(), cfg, o)
	case filesOnly:
		return app.VerifyFiles(cmd.Context(), cfg, o)
	}
	return app.VerifyJournal(cmd.Context(), cfg, o)
}
