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

// Names of what is measured.
const (
	Junctor = "junctor"
	Direct  = "direct"  // the upstream itself
	Rev     = "rev"     // httputil.ReverseProxy in front of it
	Ungated = "ungated" // Junctor without limits, argument checks and records
	Raw     = "raw"     // net/http and encoding/json, beside a built-in tool
	Twin    = "twin"    // Junctor without records: no journal, no copy of it, no history
	NetHTTP = "nethttp" // Junctor with --http-fast-path off, and every gate on
)

// Ids of the servers that Junctor stands in front of; those at a URL are named
// after their era.
const commandServer = "command"

// target is one process, or one address of it.
type target struct {
	*peer
	endpoint endpoint
}

// stage is everything that runs while points are measured.
type stage struct {
	peers   []*peer           // in the order they were started
	targets map[string]target // by name; of direct and rev by name and era
	results *json.Decoder
	jobs    *json.Encoder
}

func (s *stage) stop() {
	for _, p := range slices.Backward(s.peers) {
		p.stop()
	}
}

// at is where a point's load finds a target, and the tool that it asks for there.
func (s *stage) at(name string, p Point) (target, string) {
	key := name
	if name == Direct || name == Rev {
		key += p.era()
	}
	return s.targets[key], toolAt(name, p)
}

func toolAt(name string, p Point) string {
	direct := name == Direct || name == Rev || name == Raw
	switch p.Via {
	case viaHTTP, viaStdio:
		if direct {
			return toolEcho
		}
		if p.Via == viaStdio {
			return commandServer + "__" + toolEcho
		}
		return p.era() + "__" + toolEcho
	case viaList: // the last of the list
		if direct {
			return toolName(p.Tools - 1)
		}
		return serverName(servers-1) + "__" + toolName(p.Tools/servers-1)
	}
	return "demo__echo"
}

// startLoad starts the load generator.
func (r *run) startLoad(ctx context.Context, s *stage) error {
	p, err := r.start(ctx, "load", r.child("load"), nil)
	if err != nil {
		return err
	}
	s.peers = append(s.peers, p)
	s.jobs, s.results = json.NewEncoder(p.in), json.NewDecoder(p.out)
	return nil
}

// startCalls starts what the points need: the upstream, what stands before it,
// and Junctor on a data directory that knows the upstream from before.
func (r *run) startCalls(ctx context.Context, points []Point) (s *stage, err error) {
	s = &stage{targets: map[string]target{}}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	needs := func(yardstick string) bool {
		return slices.ContainsFunc(points, func(p Point) bool { return slices.Contains(p.yardsticks(), yardstick) })
	}
	add := func(p *peer, targets map[string]endpoint) {
		s.peers = append(s.peers, p)
		for name, e := range targets {
			s.targets[name] = target{p, e}
		}
	}
	up, at, err := r.startServer(ctx, "upstream", "upstream", eraLegacy+":10", eraModern+":10")
	if err != nil {
		return s, err
	}
	add(up, map[string]endpoint{Direct + eraLegacy: at[0], Direct + eraModern: at[1]})
	if needs(Rev) {
		p, to, err := r.startServer(ctx, Rev, "rev", at[0].Addr, at[1].Addr)
		if err != nil {
			return s, err
		}
		add(p, map[string]endpoint{Rev + eraLegacy: to[0], Rev + eraModern: to[1]})
	}
	if needs(Raw) {
		p, to, err := r.startServer(ctx, Raw, "echo")
		if err != nil {
			return s, err
		}
		add(p, map[string]endpoint{Raw: to[0]})
	}
	known := []server{{ID: eraLegacy, URL: at[0].url()}, {ID: eraModern, URL: at[1].url()}}
	for name, argv := range map[string][]string{Ungated: r.opt.Ungated, Twin: r.opt.Twin, NetHTTP: r.opt.Junctor} {
		if !needs(name) {
			continue
		}
		in, err := r.startInstance(ctx, name, argv, filepath.Join(r.dir, name), nil)
		if err != nil {
			return s, err
		}
		add(in.peer, map[string]endpoint{name: in.endpoint})
		if err := r.addServers(ctx, in, known); err != nil {
			return s, err
		}
	}
	if slices.ContainsFunc(points, func(p Point) bool { return p.Via == viaStdio }) {
		if err := os.MkdirAll(r.marks(), 0o700); err != nil {
			return s, junctor.Errorf(junctor.CodeUnavailable, "cannot make a directory: %w", err)
		}
		known = append(known, server{ID: commandServer, Command: r.child("upstream", "-stdio", "-mark", r.marks(), eraLegacy+":10")})
	}
	in, err := r.startKnowing(ctx, filepath.Join(r.dir, "calls"), known)
	if err != nil {
		return s, err
	}
	add(in.peer, map[string]endpoint{Junctor: in.endpoint})
	if err := r.memory(ctx, "memory, idle", in.Pid(), Goal{AtMost: mostIdle, Fails: failIdle}); err != nil {
		return s, err
	}
	if _, err := r.children(); err != nil { // those of the probe do not count
		return s, junctor.Errorf(junctor.CodeUnavailable, "cannot read what the command left: %w", err)
	}
	return s, r.startLoad(ctx, s)
}

// marks is where each start of the command leaves a file.
func (r *run) marks() string { return filepath.Join(r.dir, "marks") }

// children is how many processes of the command were started since it was last
// asked.
func (r *run) children() (int, error) {
	all, err := os.ReadDir(r.marks())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, f := range all {
		err = errors.Join(err, os.Remove(filepath.Join(r.marks(), f.Name())))
	}
	return len(all), err
}

// startKnowing starts Junctor on a data directory that holds these servers, as
// after any restart: it is started, told of them, and started again.
func (r *run) startKnowing(ctx context.Context, data string, known []server) (*instance, error) {
	in, err := r.startInstance(ctx, Junctor, r.opt.Junctor, data, nil)
	if err != nil {
		return nil, err
	}
	err = r.addServers(ctx, in, known)
	in.stop()
	if err != nil {
		return nil, err
	}
	return r.startInstance(ctx, Junctor, r.opt.Junctor, data, nil)
}

// servers is how many servers a list is joined from.
const servers = 10

func serverName(i int) string { return fmt.Sprintf("s%d", i) }
