package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
)

// The names of the targets that are measured.
const (
	Junctor      = "junctor"
	Direct       = "direct"    // the upstream server itself
	ReverseProxy = "rev"       // httputil.ReverseProxy in front of it
	Ungated      = "ungated"   // Junctor without limits, argument checks and records
	Raw          = "raw"       // net/http and encoding/json, for a built-in tool
	Unrecorded   = "twin"      // Junctor without records: no journal, no copy of it, no history
	Uncounted    = "uncounted" // Junctor without numbers over time; only a test measures it
	NetHTTP      = "nethttp"   // Junctor with --http-fast-path off, and all checks enabled
)

// commandServer is the id of the stdio server behind Junctor. The servers at a
// URL are named after their era.
const commandServer = "command"

// target is one process, or one address of it.
type target struct {
	*childProcess
	// Where the load is sent.
	endpoint endpoint
}

// testStage is everything that runs while points are measured.
type testStage struct {
	// In the order of their start.
	processes []*childProcess
	// By name; direct and rev by name and era.
	targets map[string]target
	// results and jobs are the pipes of the load generator.
	results *json.Decoder
	jobs    *json.Encoder
}

// stopAll stops all processes, the last one first.
func (s *testStage) stopAll() {
	for _, p := range slices.Backward(s.processes) {
		p.stop()
	}
}

// targetFor returns the target of a point's load, and the tool to call or expect
// there.
func (s *testStage) targetFor(name string, p Point) (target, string) {
	key := name
	if name == Direct || name == ReverseProxy {
		key += p.eraName()
	}
	return s.targets[key], toolFor(name, p)
}

// toolFor returns the tool that a point uses at a target: its own name at the
// servers, the name with its server at Junctor.
func toolFor(name string, p Point) string {
	direct := name == Direct || name == ReverseProxy || name == Raw
	switch p.Via {
	case viaHTTP, viaStdio:
		if direct {
			return toolEcho
		}
		if p.Via == viaStdio {
			return commandServer + "__" + toolEcho
		}
		return p.eraName() + "__" + toolEcho
	case viaList: // the last tool of the list
		if direct {
			return toolName(p.Tools - 1)
		}
		return serverName(serverCount-1) + "__" + toolName(p.Tools/serverCount-1)
	}
	return "demo__echo"
}

// startLoad starts the load generator.
func (r *benchRun) startLoad(ctx context.Context, s *testStage) error {
	p, err := r.startProcess(ctx, "load", r.childArgv("load"), nil)
	if err != nil {
		return err
	}
	s.processes = append(s.processes, p)
	s.jobs, s.results = json.NewEncoder(p.in), json.NewDecoder(p.out)
	return nil
}

// startCalls starts what the points need: the upstream server, the yardsticks in
// front of it, and Junctor on a data directory that already has the server. The
// caller stops the stage; after an error it is stopped.
func (r *benchRun) startCalls(ctx context.Context, points []Point) (s *testStage, err error) {
	s = &testStage{targets: map[string]target{}}
	defer func() {
		if err != nil {
			s.stopAll()
		}
	}()
	needs := func(yardstick string) bool {
		return slices.ContainsFunc(points, func(p Point) bool { return slices.Contains(p.listYardsticks(), yardstick) })
	}
	add := func(p *childProcess, targets map[string]endpoint) {
		s.processes = append(s.processes, p)
		for name, e := range targets {
			s.targets[name] = target{p, e}
		}
	}
	// The upstream server comes first: everything else needs its addresses.
	up, at, err := r.startServer(ctx, "upstream", "upstream", eraLegacy+":10", eraModern+":10")
	if err != nil {
		return s, err
	}
	add(up, map[string]endpoint{Direct + eraLegacy: at[0], Direct + eraModern: at[1]})
	if needs(ReverseProxy) {
		p, to, err := r.startServer(ctx, ReverseProxy, "rev", at[0].Addr, at[1].Addr)
		if err != nil {
			return s, err
		}
		add(p, map[string]endpoint{ReverseProxy + eraLegacy: to[0], ReverseProxy + eraModern: to[1]})
	}
	if needs(Raw) {
		p, to, err := r.startServer(ctx, Raw, "echo")
		if err != nil {
			return s, err
		}
		add(p, map[string]endpoint{Raw: to[0]})
	}
	known := []serverSpec{{ID: eraLegacy, URL: at[0].buildURL()}, {ID: eraModern, URL: at[1].buildURL()}}
	// The variants of Junctor have the same servers and their own data directories.
	for name, argv := range map[string][]string{Ungated: r.options.Ungated, Unrecorded: r.options.Unrecorded, NetHTTP: r.options.Junctor} {
		if !needs(name) {
			continue
		}
		in, err := r.startInstance(ctx, name, argv, filepath.Join(r.dir, name), nil)
		if err != nil {
			return s, err
		}
		add(in.childProcess, map[string]endpoint{name: in.endpoint})
		if err := r.addServers(ctx, in, known); err != nil {
			return s, err
		}
	}
	if slices.ContainsFunc(points, func(p Point) bool { return p.Via == viaStdio }) {
		if err := os.MkdirAll(r.marksDir(), 0o700); err != nil {
			return s, junctor.Errorf(junctor.CodeUnavailable, "cannot make a directory: %w", err)
		}
		known = append(known, serverSpec{ID: commandServer, Command: r.childArgv("upstream", "-stdio", "-mark", r.marksDir(), eraLegacy+":10")})
	}
	in, err := r.startWithServers(ctx, filepath.Join(r.dir, "calls"), known)
	if err != nil {
		return s, err
	}
	add(in.childProcess, map[string]endpoint{Junctor: in.endpoint})
	if err := r.measureIdleMemory(ctx, "memory, idle", in.Pid(), Goal{AtMost: maxIdle, FailsBeyond: failIdle}); err != nil {
		return s, err
	}
	if _, err := r.countChildren(); err != nil { // the starts of the probe do not count
		return s, junctor.Errorf(junctor.CodeUnavailable, "cannot read what the command left: %w", err)
	}
	return s, r.startLoad(ctx, s)
}

// marksDir returns the folder in which each start of the stdio server's command
// leaves a file.
func (r *benchRun) marksDir() string { return filepath.Join(r.dir, "marks") }

// countChildren returns how many processes of the command were started since the
// last call.
func (r *benchRun) countChildren() (int, error) {
	all, err := os.ReadDir(r.marksDir())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, f := range all {
		err = errors.Join(err, os.Remove(filepath.Join(r.marksDir(), f.Name())))
	}
	return len(all), err
}

// startWithServers starts Junctor on a data directory that already has these
// servers, as after a restart: it starts Junctor, adds them, and starts it again.
func (r *benchRun) startWithServers(ctx context.Context, data string, known []serverSpec) (*instance, error) {
	in, err := r.startInstance(ctx, Junctor, r.options.Junctor, data, nil)
	if err != nil {
		return nil, err
	}
	err = r.addServers(ctx, in, known)
	in.stop()
	if err != nil {
		return nil, err
	}
	return r.startInstance(ctx, Junctor, r.options.Junctor, data, nil)
}

// serverCount is how many servers a list is joined from.
const serverCount = 10

// serverName returns the id of the i-th server of a list.
func serverName(i int) string { return fmt.Sprintf("s%d", i) }
