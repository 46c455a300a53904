package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/proc"
)

// minFreeBytes is the disk space below which the check of the disk fails.
const minFreeBytes = 256 << 20

// checkState is the result of a check.
type checkState string

const (
	stateOK   checkState = "ok"
	stateWarn checkState = "warn"
	stateFail checkState = "fail"
)

// finding is the result of one check, and what to do about it. Its fields are
// in the order of the composite literals below: name, state, detail, fix.
type finding struct {
	Check  string     `json:"check"`
	State  checkState `json:"state"`
	Detail string     `json:"detail"`
	Fix    string     `json:"fix,omitempty"`
}

// instanceChecks is what the checks of `junctor doctor` look at. Everything
// that needs an instance is a function, so tests can replace it.
type instanceChecks struct {
	dataDir string
	listen  string
	// askAddress returns the listen address of the instance on the data
	// directory; "" if none runs.
	askAddress func(context.Context) (address string, err error)
	// openDatabase opens the database and the journal, closes them, and returns
	// the problems of the journal.
	openDatabase func(context.Context) (journal []string, err error)
	// askSettingsFile asks the instance for the state of its settings file.
	askSettingsFile func(context.Context) (admin.FileState, error)
	// loadExposure returns what decides how safe the instance is; the argument
	// says whether one runs.
	loadExposure func(context.Context, bool) (*exposure, error)
	// askCluster asks the instance for all replicas that share its database.
	// nil skips these checks.
	askCluster func(context.Context) (*admin.ClusterState, error)
	// testServers reaches the servers of the running instance. nil skips these
	// checks.
	testServers func(context.Context) ([]serverCheck, error)
	now         time.Time
}

// doctorCommand returns `junctor doctor`.
func (c *cli) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check the settings, the machine and the running instance", Example: "  junctor doctor --format json", Args: cobra.NoArgs,
		Long: "Check the settings and the secrets that they refer to, the data directory, files, database, port, address, clock and disk, and whether the " +
			"running instance answers and is exposed safely. If an instance runs, its own settings are checked. With " +
			"PostgreSQL, all replicas are checked: whether they reach each other, and their versions, clocks, sealing " +
			"keys, Redis, journals and leases.\n\n" +
			"The command also connects to each enabled server of a running instance, as junctor server test does: it " +
			"starts commands, and sends APIs a request that changes nothing. A server that clients cannot use is a " +
			"failure.\n\n" +
			"Each check is printed with its remedy. The exit code is 1 if a check fails.",
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			findings := []finding{}
			i, first := c.newInstanceChecks(cmd)
			findings = append(findings, first)
			var cluster *admin.ClusterState
			if i != nil {
				var more []finding
				_ = c.runWithProgress("waiting for the servers of the instance to answer", func() error {
					more, cluster = i.runChecks(cmd.Context())
					return nil
				})
				findings = append(findings, more...)
			}
			return c.printFindings(findings, cluster)
		}),
	}
	c.addSettings(cmd)
	return cmd
}

// printFindings prints the findings, and for programs also the cluster, which
// may be nil. If a check failed, it returns an error that prints nothing more.
func (c *cli) printFindings(findings []finding, cluster *admin.ClusterState) error {
	failed := 0
	for _, f := range findings {
		if f.State == stateFail {
			failed++
		}
	}
	if c.wantsJSON() {
		all := map[string]any{"ok": failed == 0, "checks": findings}
		if cluster != nil {
			all["cluster"] = cluster
		}
		if err := c.printJSON(all); err != nil {
			return err
		}
	} else {
		colours := map[checkState]string{stateOK: green, stateWarn: yellow, stateFail: red}
		for _, f := range findings {
			fmt.Fprintf(c.out, "%s  %-11s  %s\n", c.colourText(colours[f.State], fmt.Sprintf("%-4s", f.State)), f.Check, toCell(f.Detail))
			if f.Fix != "" {
				fmt.Fprintf(c.out, "      %-11s  %s\n", "", f.Fix)
			}
		}
	}
	if failed > 0 {
		return silentFailure(fmt.Sprintf("%d checks failed", failed))
	}
	return nil
}

// runChecks makes every check, whatever the others found. cluster is nil if the
// database is not shared.
func (i *instanceChecks) runChecks(ctx context.Context) (found []finding, cluster *admin.ClusterState) {
	// An instance that does not answer is a finding. It does not end the other
	// checks.
	address, err := i.askAddress(ctx)
	e, unknown := i.loadExposure(ctx, address != "")
	if unknown != nil {
		// The checks below read the exposure; an empty one stands for unknown.
		e = &exposure{}
	}
	if address != "" {
		i.listen = address // a running instance listens where it was told at its start, not where this command line says
	}
	database, journal := i.checkDatabase(ctx)
	found = []finding{
		i.checkDirectory(), i.checkFiles(), database, i.checkInstance(address, err), i.checkSettingsFile(ctx, address),
		i.checkPort(ctx, address), i.checkListenAddress(e), i.checkClock(), i.checkDisk(),
	}
	if unknown != nil {
		return append(found, finding{"safety", stateFail, unknown.Error(), "junctor doctor asks the instance through its socket: is it of this version?"}), nil
	}
	// Without the settings of the instance, these checks would report what they
	// do not know as safe.
	found = append(found, e.runChecks(i.dataDir)...)
	if address != "" && i.testServers != nil {
		found = append(found, i.checkServers(ctx)...)
	}
	if address == "" || i.askCluster == nil {
		return append(found, checkJournal(journal)), nil
	}
	cluster, err = i.askCluster(ctx)
	switch {
	case err != nil:
		return append(found, finding{"cluster", stateFail, err.Error(), "see whether the instance reaches its database, and is of this version"}), nil
	// Only this replica's journal counts if the database is its own.
	case !cluster.Shared:
		for _, j := range cluster.Journals {
			if j.Writing {
				journal = append(journal, j.Problems...)
			}
		}
		return append(found, checkJournal(journal)), nil
	}
	return append(found, checkCluster(cluster)...), cluster
}

// checkServers reaches the servers of the running instance.
func (i *instanceChecks) checkServers(ctx context.Context) (found []finding) {
	servers, err := i.testServers(ctx)
	if err != nil {
		return []finding{{"server", stateFail, err.Error(), "junctor server ls asks the instance for its servers: is it of this version?"}}
	}
	for j := range servers {
		if servers[j].Mode != junctor.ModeDiscovered {
			found = append(found, servers[j].check(i.now))
		}
	}
	return found
}

// checkDirectory checks that the data directory is writable. One that does not
// exist is fine: the first start creates it.
func (i *instanceChecks) checkDirectory() finding {
	const name = "directory"
	info, err := os.Stat(i.dataDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return finding{name, stateOK, i.dataDir + " does not exist yet; the first start creates it", ""}
	case err != nil:
		return finding{name, stateFail, err.Error(), "make it readable, or choose another one with --data-dir"}
	case !info.IsDir():
		return finding{name, stateFail, i.dataDir + " is not a directory", "choose another one with --data-dir"}
	}
	// Only an attempt shows whether writing is possible: permissions, quotas
	// and read-only mounts all count.
	f, err := os.CreateTemp(i.dataDir, ".doctor-*")
	if err != nil {
		return finding{name, stateFail, i.dataDir + " cannot be written: " + err.Error(), "give this user the right to write there, or choose another one with --data-dir"}
	}
	err = errors.Join(f.Close(), os.Remove(f.Name()))
	if err != nil {
		return finding{name, stateFail, err.Error(), ""}
	}
	return finding{name, stateOK, i.dataDir + " is writable", ""}
}

// checkFiles checks that only this user can read the files of the data
// directory. They contain keys, hashes and records.
func (i *instanceChecks) checkFiles() finding {
	const name = "files"
	if runtime.GOOS == "windows" {
		return finding{name, stateOK, "not checked on this system", ""}
	}
	entries, err := os.ReadDir(i.dataDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return finding{name, stateFail, err.Error(), ""}
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() && info.Mode().Type() != fs.ModeSocket {
			continue // deleted meanwhile, or not one of Junctor's files
		}
		// Neither the group nor others may have any right.
		if info.Mode().Perm()&0o077 != 0 {
			file := filepath.Join(i.dataDir, e.Name())
			return finding{name, stateFail, fmt.Sprintf("%s has mode %04o: others can read it", file, info.Mode().Perm()), "chmod 600 '" + file + "'"}
		}
	}
	return finding{name, stateOK, fmt.Sprintf("only this user can read the %d files of the data directory", len(entries)), ""}
}

// checkDatabase checks that the database opens. journal has the problems of the
// journal.
func (i *instanceChecks) checkDatabase(ctx context.Context) (f finding, journal []string) {
	const name = "database"
	if _, err := os.Stat(i.dataDir); errors.Is(err, fs.ErrNotExist) {
		return finding{name, stateOK, "does not exist yet; the first start creates it", ""}, nil
	}
	journal, err := i.openDatabase(ctx)
	if err != nil {
		return finding{name, stateFail, err.Error(), "restore the data directory from a backup, or start a new instance with another --data-dir"}, nil
	}
	return finding{name, stateOK, "can be opened", ""}, journal
}

// checkJournal reports the known problems of the journal of this replica.
func checkJournal(problems []string) finding {
	const name = "journal"
	if len(problems) > 0 {
		return finding{name, stateWarn, strings.Join(problems, "; "), "run junctor audit verify, and do not change the files or the database until you know the cause"}
	}
	return finding{name, stateOK, "no problem is known; junctor audit verify checks every record", ""}
}

// checkInstance reports whether an instance runs here. It is a failure if one
// holds the data directory and does not answer.
func (i *instanceChecks) checkInstance(address string, err error) finding {
	const name = "instance"
	switch {
	case err != nil:
		return finding{name, stateFail, err.Error(), "restart the instance: it holds the data directory, but does not answer"}
	case address == "":
		return finding{name, stateOK, "no instance runs on this data directory", ""}
	}
	return finding{name, stateOK, "answers, and listens on " + address, ""}
}

// checkSettingsFile checks that the settings file of the running instance is in
// force.
func (i *instanceChecks) checkSettingsFile(ctx context.Context, address string) finding {
	const name = "file"
	if address == "" {
		return finding{name, stateOK, "no instance runs, so none uses a settings file", ""}
	}
	state, err := i.askSettingsFile(ctx)
	switch {
	case err != nil:
		return finding{name, stateFail, err.Error(), ""}
	// Settings may come from flags and variables alone.
	case state.Path == "":
		return finding{name, stateOK, "the instance uses no settings file", ""}
	case !state.OK && len(state.Problems) > 0:
		first := state.Problems[0]
		return finding{name, stateFail, first.Where + ": " + first.Message, "the instance continues with the settings from before; correct " + state.Path}
	// Such settings are read at the start only.
	case len(state.Restart) > 0:
		return finding{name, stateWarn, "changed settings take effect at the next start: " + strings.Join(state.Restart, ", "), "restart the instance"}
	}
	return finding{name, stateOK, state.Path + " is in effect", ""}
}

// checkPort checks that the listen address is free or, if an instance runs, that the
// instance accepts connections there. ours is the address of that instance; "" if none
// runs.
func (i *instanceChecks) checkPort(ctx context.Context, ours string) finding {
	const name = "port"
	if ours != "" {
		return checkRunningPort(ctx, ours)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", i.listen)
	if err != nil {
		return finding{name, stateFail, err.Error(), "stop the program that listens there, or choose another address with --listen"}
	}
	if err := l.Close(); err != nil {
		return finding{name, stateFail, err.Error(), ""}
	}
	return finding{name, stateOK, i.listen + " is free", ""}
}

// checkRunningPort connects to the address that a running instance listens on.
func checkRunningPort(ctx context.Context, address string) finding {
	const name = "port"
	if err := egress.CheckListening(ctx, address); err != nil {
		return finding{name, stateFail, "the running instance does not answer on " + address + ": " + err.Error(), "clients cannot reach it: read its log, and restart it"}
	}
	return finding{name, stateOK, address + " is used by the running instance", ""}
}

// checkListenAddress warns if other machines reach the instance without TLS.
func (i *instanceChecks) checkListenAddress(e *exposure) finding {
	const name = "address"
	host, _, err := net.SplitHostPort(i.listen)
	if err != nil {
		return finding{name, stateFail, err.Error(), "write it as host:port"}
	}
	if addr, err := netip.ParseAddr(host); host == "localhost" || err == nil && addr.IsLoopback() {
		return finding{name, stateOK, i.listen + " can be reached from this machine only", ""}
	}
	if e.settings["tls-cert"] != "" || e.settings["trusted-proxy"] != "" {
		return finding{name, stateOK, i.listen + " can be reached from other machines, with TLS", ""}
	}
	return finding{name, stateWarn, i.listen + " can be reached from other machines without TLS", "use TLS: set --tls-cert and --tls-key, or run a proxy with TLS and name it with --trusted-proxy"}
}

// checkClock checks that the clock is not behind the last write to the data
// directory. With a wrong clock, keys expire too late and sessions too early.
func (i *instanceChecks) checkClock() finding {
	const name = "clock"
	info, err := os.Stat(i.dataDir)
	if err == nil && info.ModTime().After(i.now.Add(time.Minute)) {
		return finding{name, stateFail, fmt.Sprintf("the time of this machine is %s, but the data directory was written at %s", formatTime(i.now), formatTime(info.ModTime())), "set the clock"}
	}
	// A machine without a battery-backed clock starts in 1970 or 2000.
	if i.now.Year() < 2025 {
		return finding{name, stateFail, "the time of this machine is " + formatTime(i.now), "set the clock"}
	}
	return finding{name, stateOK, "the time of this machine is " + formatTime(i.now), ""}
}

// checkDisk checks the free space of the file system of the data directory, or
// of its nearest existing parent.
func (i *instanceChecks) checkDisk() finding {
	const name = "disk"
	dir := i.dataDir
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		// The data directory may not exist yet. Its nearest existing parent is
		// on the same file system.
		dir = filepath.Dir(dir)
	}
	free, known := proc.FreeBytes(dir)
	switch {
	case !known:
		return finding{name, stateOK, "not checked on this system", ""}
	case free < minFreeBytes:
		return finding{name, stateFail, fmt.Sprintf("%d MiB are free", free>>20), fmt.Sprintf("free at least %d MiB", minFreeBytes>>20)}
	}
	return finding{name, stateOK, fmt.Sprintf("%d MiB are free", free>>20), ""}
}
