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

	"github.com/junctor-mcp/junctor/internal/admin"
)

// minFree is how little disk space is too little to run on.
const minFree = 256 << 20

// verdict is how a check came out.
type verdict string

const (
	good    verdict = "ok"
	warning verdict = "warn"
	bad     verdict = "fail"
)

// finding is what one check found, and what to do about it.
type finding struct {
	Check  string  `json:"check"`
	State  verdict `json:"state"`
	Detail string  `json:"detail"`
	Fix    string  `json:"fix,omitempty"`
}

// patient is what the checks look at.
type patient struct {
	dataDir string
	listen  string
	running func(context.Context) (address string, err error)   // asks the instance on this data directory
	open    func(context.Context) (journal []string, err error) // opens the database and the journal, and closes them; journal is what is wrong with that
	file    func(context.Context) (admin.FileState, error)      // asks the instance for its settings file
	exposed func(context.Context, bool) (*exposure, error)      // what decides how safe it is, asked of the instance where one runs
	cluster func(context.Context) (*admin.ClusterState, error)  // asks the instance for all that share its database; nil is not asked
	now     time.Time
}

func (c *cli) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check that an instance can run here, or does", Example: "  junctor doctor --format json", Args: cobra.NoArgs,
		Long: "Check settings, data directory, files, database, port, address, clock and disk, whether the running\n" +
			"instance answers, and what is unsafe about it: its own settings count where one runs. Of an instance on\n" +
			"PostgreSQL, all that share the database are looked at: whether they reach each other, their versions,\n" +
			"clocks, sealing keys, Redis, journals and leases. Every check is printed, with what to do; the command\n" +
			"exits 1 if any fails.",
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			findings := []finding{}
			p, first := c.patient(cmd)
			findings = append(findings, first)
			var cluster *admin.ClusterState
			if p != nil {
				var more []finding
				more, cluster = p.examine(cmd.Context())
				findings = append(findings, more...)
			}
			return c.printFindings(findings, cluster)
		}),
	}
	c.settings(cmd)
	return cmd
}

// printFindings prints what was found, and for programs the cluster as well; it may
// be nil.
func (c *cli) printFindings(findings []finding, cluster *admin.ClusterState) error {
	failed := 0
	for _, f := range findings {
		if f.State == bad {
			failed++
		}
	}
	if c.json() {
		all := map[string]any{"ok": failed == 0, "checks": findings}
		if cluster != nil {
			all["cluster"] = cluster
		}
		if err := c.printJSON(all); err != nil {
			return err
		}
	} else {
		colours := map[verdict]string{good: green, warning: yellow, bad: red}
		for _, f := range findings {
			fmt.Fprintf(c.out, "%s  %-11s  %s\n", c.paint(colours[f.State], fmt.Sprintf("%-4s", f.State)), f.Check, cell(f.Detail))
			if f.Fix != "" {
				fmt.Fprintf(c.out, "      %-11s  %s\n", "", f.Fix)
			}
		}
	}
	if failed > 0 {
		return said(fmt.Sprintf("%d checks failed", failed))
	}
	return nil
}

// examine makes every check, whatever the others found. cluster is nil where the
// database is nobody else's.
func (p *patient) examine(ctx context.Context) (found []finding, cluster *admin.ClusterState) {
	address, err := p.running(ctx)
	e, unknown := p.exposed(ctx, address != "")
	if unknown != nil {
		e = &exposure{}
	}
	database, journal := p.database(ctx)
	found = []finding{
		p.directory(), p.files(), database, p.instance(address, err), p.settingsFile(ctx, address),
		p.port(ctx, address), p.bind(e), p.clock(), p.disk(),
	}
	if unknown != nil {
		return append(found, finding{"safety", bad, unknown.Error(), "junctor doctor asks the instance through its socket: is it of this version?"}), nil
	}
	found = append(found, e.judge(p.dataDir)...)
	if address == "" || p.cluster == nil {
		return append(found, judgeJournal(journal)), nil
	}
	cluster, err = p.cluster(ctx)
	switch {
	case err != nil:
		return append(found, finding{"cluster", bad, err.Error(), "see whether the instance reaches its database, and is of this version"}), nil
	case !cluster.Shared:
		for _, j := range cluster.Journals {
			if j.Writing {
				journal = append(journal, j.Problems...)
			}
		}
		return append(found, judgeJournal(journal)), nil
	}
	return append(found, judgeCluster(cluster)...), cluster
}

// directory must be there and writable, or possible to make.
func (p *patient) directory() finding {
	const name = "directory"
	info, err := os.Stat(p.dataDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return finding{name, good, p.dataDir + " is not there yet; the first start makes it", ""}
	case err != nil:
		return finding{name, bad, err.Error(), "make it readable, or name another one with --data-dir"}
	case !info.IsDir():
		return finding{name, bad, p.dataDir + " is not a directory", "name another one with --data-dir"}
	}
	f, err := os.CreateTemp(p.dataDir, ".doctor-*")
	if err != nil {
		return finding{name, bad, p.dataDir + " cannot be written: " + err.Error(), "give this user the right to write there, or name another one with --data-dir"}
	}
	err = errors.Join(f.Close(), os.Remove(f.Name()))
	if err != nil {
		return finding{name, bad, err.Error(), ""}
	}
	return finding{name, good, p.dataDir + " is writable", ""}
}

// files below the data directory hold keys, hashes and records: they are for
// this user alone.
func (p *patient) files() finding {
	const name = "files"
	if runtime.GOOS == "windows" {
		return finding{name, good, "not checked on this system", ""}
	}
	entries, err := os.ReadDir(p.dataDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return finding{name, bad, err.Error(), ""}
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() && info.Mode().Type() != fs.ModeSocket {
			continue // gone meanwhile, or nothing of ours
		}
		if info.Mode().Perm()&0o077 != 0 {
			file := filepath.Join(p.dataDir, e.Name())
			return finding{name, bad, fmt.Sprintf("%s has mode %04o: others can read it", file, info.Mode().Perm()), "chmod 600 '" + file + "'"}
		}
	}
	return finding{name, good, fmt.Sprintf("all %d are this user's alone", len(entries)), ""}
}

func (p *patient) database(ctx context.Context) (f finding, journal []string) {
	const name = "database"
	if _, err := os.Stat(p.dataDir); errors.Is(err, fs.ErrNotExist) {
		return finding{name, good, "is not there yet; the first start makes it", ""}, nil
	}
	journal, err := p.open(ctx)
	if err != nil {
		return finding{name, bad, err.Error(), "restore the data directory from a backup, or start afresh with another --data-dir"}, nil
	}
	return finding{name, good, "opens", ""}, journal
}

// judgeJournal is about the journal here: records that the database knows must be in
// it, and its chain must hold.
func judgeJournal(problems []string) finding {
	const name = "journal"
	if len(problems) > 0 {
		return finding{name, warning, strings.Join(problems, "; "), "run junctor audit verify, and keep the files and the database as they are until you know what happened"}
	}
	return finding{name, good, "nothing is known to be wrong; junctor audit verify reads all of it", ""}
}

// instance says whether one runs here. None is no fault.
func (p *patient) instance(address string, err error) finding {
	const name = "instance"
	switch {
	case err != nil:
		return finding{name, bad, err.Error(), "stop it and start it again: it holds the data directory and does not answer"}
	case address == "":
		return finding{name, good, "none is running on this data directory", ""}
	}
	return finding{name, good, "answers; it was told to listen on " + address, ""}
}

// settingsFile must be in force where an instance reads one.
func (p *patient) settingsFile(ctx context.Context, address string) finding {
	const name = "file"
	if address == "" {
		return finding{name, good, "no instance runs that reads one", ""}
	}
	state, err := p.file(ctx)
	switch {
	case err != nil:
		return finding{name, bad, err.Error(), ""}
	case state.Path == "":
		return finding{name, good, "the instance was started without one", ""}
	case !state.OK && len(state.Problems) > 0:
		first := state.Problems[0]
		return finding{name, bad, first.Where + ": " + first.Message, "the instance goes on with what was in force before; mend " + state.Path}
	case len(state.Restart) > 0:
		return finding{name, warning, "changes of " + strings.Join(state.Restart, ", ") + " wait for a restart", "restart the instance"}
	}
	return finding{name, good, state.Path + " is in force", ""}
}

// port must be free for an instance to come, or belong to the one that runs.
func (p *patient) port(ctx context.Context, ours string) finding {
	const name = "port"
	if ours != "" && sameAddress(ours, p.listen) {
		return finding{name, good, p.listen + " is held by the running instance", ""}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", p.listen)
	if err != nil {
		return finding{name, bad, err.Error(), "stop what listens there, or name another address with --listen"}
	}
	if err := l.Close(); err != nil {
		return finding{name, bad, err.Error(), ""}
	}
	return finding{name, good, p.listen + " is free", ""}
}

// sameAddress compares a real address with a configured one.
func sameAddress(has, wants string) bool {
	a, err1 := net.ResolveTCPAddr("tcp", has)
	b, err2 := net.ResolveTCPAddr("tcp", wants)
	return err1 == nil && err2 == nil && a.Port == b.Port && (a.IP.Equal(b.IP) || len(b.IP) == 0)
}

func (p *patient) bind(e *exposure) finding {
	const name = "address"
	host, _, err := net.SplitHostPort(p.listen)
	if err != nil {
		return finding{name, bad, err.Error(), "write it as host:port"}
	}
	if addr, err := netip.ParseAddr(host); host == "localhost" || err == nil && addr.IsLoopback() {
		return finding{name, good, p.listen + " is reached from this machine only", ""}
	}
	if e.set["tls-cert"] != "" || e.set["trusted-proxy"] != "" {
		return finding{name, good, p.listen + " is reached from other machines, with TLS before it", ""}
	}
	return finding{name, warning, p.listen + " is reached from other machines", "have TLS before it: --tls-cert and --tls-key, or a proxy named in --trusted-proxy"}
}

// clock is wrong when the data directory was last written in the future: keys
// would expire late and sessions early.
func (p *patient) clock() finding {
	const name = "clock"
	info, err := os.Stat(p.dataDir)
	if err == nil && info.ModTime().After(p.now.Add(time.Minute)) {
		return finding{name, bad, fmt.Sprintf("it is %s, and the data directory was written at %s", moment(p.now), moment(info.ModTime())), "set the clock"}
	}
	if p.now.Year() < 2025 {
		return finding{name, bad, "it is " + moment(p.now), "set the clock"}
	}
	return finding{name, good, "it is " + moment(p.now), ""}
}

func (p *patient) disk() finding {
	const name = "disk"
	dir := p.dataDir
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	free, known := freeBytes(dir)
	switch {
	case !known:
		return finding{name, good, "not checked on this system", ""}
	case free < minFree:
		return finding{name, bad, fmt.Sprintf("%d MiB are free", free>>20), fmt.Sprintf("make room for at least %d MiB", minFree>>20)}
	}
	return finding{name, good, fmt.Sprintf("%d MiB are free", free>>20), ""}
}
