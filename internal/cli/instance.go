package cli

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/instance"
	"github.com/junctor-mcp/junctor/internal/proc"
)

// This file is where the command line meets a whole instance: all it knows of
// internal/app is here.

// This file is where the command line meets a whole instance: almost all uses
// of internal/app are here.
//
// socketPath returns the path of the operator's socket of an instance on a data
// directory.
func socketPath(dataDir string) string { return filepath.Join(dataDir, app.SocketName) }

// journalPath returns the folder of the audit journal of an instance on a data
// directory.
func journalPath(dataDir string) string { return filepath.Join(dataDir, instance.JournalDir) }

// serveInstance runs an instance until ctx ends. It refuses to start a second
// one on the same data directory. When the instance listens, it prints s,
// completed with the addresses and, at the first start, with the admin key and
// a link to sign in.
func (c *cli) serveInstance(ctx context.Context, cfg *config.Config, s startInfo) error {
	for _, w := range append(config.UnknownEnv(c.env), cfg.Warnings()...) {
		c.printNote("warning: %s", w)
	}
	if _, err := c.probeInstance(ctx, cfg.DataDir); err == nil {
		return junctor.Errorf(junctor.CodeConflict, "an instance already runs on the data directory %s; stop it, or choose another with --data-dir", cfg.DataDir)
	}
	return c.withInstance(ctx, cfg, func(a *app.App) error {
		s.URL, s.Console = a.URL(), a.ConsoleURL()
		if err := c.offerSignIn(ctx, a, &s); err != nil {
			return err
		}
		s.hasDemoTools = a.HasTools(demoServer)
		if s.demo {
			if err := a.FurnishDemo(ctx, c.getenv("MAP_SERVER_URL")); err != nil {
				return err
			}
		}
		key, made, err := a.MakeAdminKey(ctx)
		if err != nil {
			return err
		}
		if made {
			s.AdminKey = key
		}
		if err := c.printStartInfo(s); err != nil {
			return err
		}
		// From here on the instance serves until ctx ends.
		defer writePID(cfg.DataDir)()
		defer reloadOnHangup(ctx, cfg, a)()
		defer releaseMemoryLater()()
		return a.Run(ctx)
	}, app.Listening()) // an address that is taken must not use up the admin key
}

// offerSignIn makes a link to sign in if nobody has signed in yet, and at every start of a
// demo. A terminal shows it. Any other standard output may be kept as a log, so the link
// goes to a file there.
func (c *cli) offerSignIn(ctx context.Context, a *app.App, s *startInfo) error {
	link, err := a.CreateStartLink(ctx, s.demo)
	switch {
	case err != nil || link.URL == "":
		return err
	case isTerminal(c.out):
		s.SignIn = link.URL
		return nil
	}
	path, err := a.SaveStartLink(link)
	s.SignInFile = absolutePath(path)
	return err
}

// releaseSoon and releaseAgain are the times after the start at which memory
// that only the start needed is returned to the system: soon for an idle
// instance, and again when slow servers have listed their tools. releaseEvery
// is how often pages of the program's code that were used once are returned.
const (
	releaseSoon  = 300 * time.Millisecond
	releaseAgain = 15 * time.Second
	releaseEvery = 10 * time.Second
)

// releaseMemoryLater returns unused memory to the system at the times above
// until stop is called. Most of the resident memory after the start is code
// that never runs again.
func releaseMemoryLater() (stop func()) {
	soon, again := time.AfterFunc(releaseSoon, proc.ReleaseMemory), time.AfterFunc(releaseAgain, proc.ReleaseMemory)
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

// reloadOnHangup makes SIGHUP reload the settings file until stop is called.
// Without a settings file the signal keeps its default, which ends the instance
// when its terminal is closed. stop waits for a reload that is running.
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
				_ = a.Reload(ctx) // Reload logs its error
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

// benchVariants returns the instances that `junctor bench` compares a normal
// one with, by the name of their role: without records, without any checks, and without
// numbers over time.
func benchVariants() map[string]app.Option {
	return map[string]app.Option{bench.Unrecorded: app.WithoutRecords(), bench.Ungated: app.WithoutGates(), bench.Uncounted: app.WithoutNumbers()}
}

// serveBenchVariant runs such an instance until ctx or standard input ends.
// Because it records or checks nothing, it must be of no use to anybody else:
// it listens on loopback only, and starts with an empty data directory and
// without a database, so no configured server is behind it.
func (c *cli) serveBenchVariant(ctx context.Context, missing app.Option) error {
	cfg, err := config.Load(config.Sources{Env: c.lookupEnv})
	if err != nil {
		return err
	}
	at, err := netip.ParseAddrPort(cfg.Listen)
	if err != nil || !at.Addr().IsLoopback() {
		return junctor.Errorf(junctor.CodeDenied, "a benchmark instance keeps no records, so it listens on loopback addresses only, and not on %s: change --listen", cfg.Listen)
	}
	if entries, err := os.ReadDir(cfg.DataDir); cfg.DB != nil || len(entries) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return junctor.Errorf(junctor.CodeDenied, "a benchmark instance keeps no records, so it begins with an empty data directory and no other database; %s is not empty, or db is set", cfg.DataDir)
	}
	return c.withInstance(ctx, cfg, func(a *app.App) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			_, _ = io.Copy(io.Discard, c.in)
			cancel()
		}()
		defer releaseMemoryLater()()
		return a.Run(ctx)
	}, missing)
}

// withInstance creates an instance, calls use with it, and closes it in any
// case.
func (c *cli) withInstance(ctx context.Context, cfg *config.Config, use func(*app.App) error, opts ...app.Option) error {
	a, err := app.New(ctx, cfg, version(), append(opts, app.WithLog(c.err))...)
	if err != nil {
		return err
	}
	return errors.Join(use(a), a.Close()) //nolint:contextcheck // closing has its own time limit, since ctx has usually ended by then
}

// stdioCommand returns `junctor stdio`, which speaks MCP on the standard
// streams.
func (c *cli) stdioCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "stdio", Short: "Run as an MCP server on standard input and output",
		Long: "Run as an MCP server on standard input and output, for MCP clients that start a command. If an instance " +
			"runs on the data directory, the command forwards to it; otherwise this process serves the tools itself, " +
			"without listening on the network.\n\n" +
			"With JUNCTOR_KEY the client acts as the owner of that key; otherwise as the operator.",
		Example: "  junctor stdio --data-dir ~/.local/share/junctor", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.loadConfig(cmd)
			if err != nil {
				return err
			}
			return c.serveStdio(cmd.Context(), cfg)
		}),
	}
	c.addSettings(cmd)
	return cmd
}

// serveStdio relays the standard streams to the running instance. If none runs,
// this process serves them itself.
func (c *cli) serveStdio(ctx context.Context, cfg *config.Config) error {
	key := c.getenv("JUNCTOR_KEY")
	if _, err := os.Stat(socketPath(cfg.DataDir)); err == nil {
		err := gateway.RelayStdio(ctx, socketPath(cfg.DataDir), c.in, c.out, key)
		// A process that was killed leaves its socket behind. Nothing was read
		// from standard input yet, so this process can serve it.
		if junctor.CodeOf(err) != junctor.CodeUnreachable {
			return err
		}
		// A socket that a dead process left behind: nothing was read yet.
	}
	isNew := isMissing(cfg.DataDir)
	return c.withInstance(ctx, cfg, func(a *app.App) error {
		if isNew {
			c.noteNewDataDir(cfg)
		}
		defer releaseMemoryLater()()
		return a.ServeStdio(ctx, c.in, c.out, key)
	})
}

// noteNewDataDir says that a data directory is new, and where its admin key comes from.
func (c *cli) noteNewDataDir(cfg *config.Config) {
	dir := absolutePath(cfg.DataDir)
	key := fmt.Sprintf("It has no admin key yet: the first start of `junctor up%s` makes one and prints it, with a link to sign in", dataDirFlag(dir))
	if cfg.AdminKey() != "" {
		key = "Its admin key is the one in JUNCTOR_ADMIN_KEY"
	}
	c.printNote("junctor created the data directory %s. %s.", dir, key)
}

// isMissing reports whether there is no file or folder at a path.
func isMissing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// newInstanceChecks returns the checks of `junctor doctor` for the settings of
// the command line, and the finding about these settings. The checks are nil if
// the settings are invalid.
func (c *cli) newInstanceChecks(cmd *cobra.Command) (*instanceChecks, finding) {
	src := c.configSources(cmd)
	// Opening the database with JUNCTOR_ADMIN_KEY would replace the stored
	// admin key.
	src.Env = func(name string) (string, bool) {
		if name == "JUNCTOR_ADMIN_KEY" {
			return "", false
		}
		return c.lookupEnv(name)
	}
	cfg, err := config.Load(src)
	if err == nil {
		_, err = c.loadConfig(cmd) // the admin key is a setting too
	}
	if err != nil {
		return nil, finding{"settings", stateFail, err.Error(), "junctor config check names every problem"}
	}
	found := finding{"settings", stateOK, "are valid", ""}
	if warnings := append(config.UnknownEnv(c.env), cfg.Warnings()...); len(warnings) > 0 {
		found = finding{"settings", stateWarn, warnings[0], "junctor config check names every warning"}
	}
	return &instanceChecks{
		dataDir: cfg.DataDir, listen: cfg.Listen, now: time.Now(),
		askAddress:   func(ctx context.Context) (string, error) { return c.findRunningAddress(ctx, cfg.DataDir) },
		openDatabase: func(ctx context.Context) ([]string, error) { return c.tryDatabase(ctx, cfg) },
		askSettingsFile: func(ctx context.Context) (state admin.FileState, err error) {
			return state, newLocalClient(cfg.DataDir).get(ctx, "/settings/file", &state)
		},
		loadExposure: func(ctx context.Context, runs bool) (*exposure, error) { return loadExposure(ctx, cfg, runs) },
		askCluster: func(ctx context.Context) (*admin.ClusterState, error) {
			state := new(admin.ClusterState)
			return state, newLocalClient(cfg.DataDir).get(ctx, "/cluster", state)
		},
		testServers: func(ctx context.Context) ([]serverCheck, error) { return testServers(ctx, newLocalClient(cfg.DataDir)) },
	}, found
}

// loadExposure returns what decides how safe an instance is. If one runs, its
// own settings and keys count, because they may differ from those of this
// command line.
func loadExposure(ctx context.Context, cfg *config.Config, runs bool) (*exposure, error) {
	var values listPage[admin.Setting]
	var keys listPage[junctor.Key]
	var endpoints listPage[junctor.AgentEndpoint]
	e := &exposure{settings: map[string]string{}, now: time.Now()}
	if !runs {
		for _, v := range cfg.Values() {
			e.settings[v.Name] = v.Value
		}
		e.unreadable = append(instance.FindUnreadableSecrets(ctx, cfg), instance.FindUnreadableDeclared(ctx, cfg)...)
	} else {
		client := newLocalClient(cfg.DataDir)
		if err := errors.Join(client.get(ctx, "/settings", &values), client.get(ctx, "/keys", &keys), client.get(ctx, "/agent-tokens", &endpoints)); err != nil {
			return nil, err
		}
	}
	e.keys = keys.Items
	for _, v := range values.Items {
		e.settings[v.Name] = v.Value
		if v.Problem != "" {
			e.unreadable = append(e.unreadable, instance.UnreadableSecret{Setting: v.Name, Problem: v.Problem})
		}
	}
	for _, one := range endpoints.Items {
		if one.Problem != "" {
			e.unreadable = append(e.unreadable, instance.UnreadableSecret{Setting: "token of the agent " + one.Agent + " for " + one.Origin, Problem: one.Problem})
		}
	}
	return e, nil
}

// findRunningAddress returns the listen address of the instance on a data
// directory; "" if none runs.
func (c *cli) findRunningAddress(ctx context.Context, dataDir string) (string, error) {
	address, err := c.probeInstance(ctx, dataDir)
	if junctor.CodeOf(err) == junctor.CodeUnreachable {
		return "", nil
	}
	return address, err
}

// tryDatabase opens the database and the journal and closes them again. It
// returns the problems of the journal. It does nothing while an instance runs,
// which then has answered from its database already, or if there is no database
// yet.
func (c *cli) tryDatabase(ctx context.Context, cfg *config.Config) (journal []string, err error) {
	if _, err := c.probeInstance(ctx, cfg.DataDir); err == nil {
		return nil, nil
	}
	if _, err := os.Stat(filepath.Join(cfg.DataDir, "junctor.db")); errors.Is(err, fs.ErrNotExist) {
		return nil, instance.CheckJournalHasDatabase(ctx, cfg)
	}
	err = c.withInstance(ctx, cfg, func(a *app.App) error {
		journal = a.JournalProblems()
		return nil
	}, app.AsItIs())
	return journal, err
}

// checkDeclared returns the problems of the declarations of a settings file
// that only internal/app can find.
func (c *cli) checkDeclared(cfg *config.Config) []config.Problem {
	return app.CheckDeclared(cfg, cfg.DataDir)
}

// writeBackup writes a backup of the instance that the settings name to w.
func (c *cli) writeBackup(ctx context.Context, cfg *config.Config, w io.Writer) (backup.Manifest, error) {
	return instance.Backup(ctx, cfg, version(), w)
}

// restoreBackup creates an instance from a backup at the place that the
// settings name. unverified accepts a backup that no known key authenticates.
func (c *cli) restoreBackup(ctx context.Context, cfg *config.Config, r io.Reader, unverified bool) (backup.Manifest, error) {
	return instance.Restore(ctx, cfg, r, unverified)
}

// verifyBackup checks that a backup is complete and authentic, and restores
// nothing.
func (c *cli) verifyBackup(ctx context.Context, cfg *config.Config, r io.Reader) (backup.Manifest, error) {
	return instance.VerifyBackup(ctx, cfg, r)
}

// isAddressFree reports whether an address can be listened on now.
func isAddressFree(ctx context.Context, address string) bool {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}

// verifyJournal verifies the journal on the data directory, or its copy in the
// database, or the files without the database.
func (c *cli) verifyJournal(cmd *cobra.Command, o audit.VerifyOptions, inDatabase, filesOnly bool) (audit.Report, error) {
	cfg, err := c.loadConfig(cmd)
	if err != nil {
		return audit.Report{}, err
	}
	switch {
	case inDatabase:
		return instance.VerifyCopy(cmd.Context(), cfg, o)
	case filesOnly:
		return instance.VerifyFiles(cmd.Context(), cfg, o)
	}
	return instance.VerifyJournal(cmd.Context(), cfg, o)
}
