package bench

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// lists measures everything about one number of tools, joined from ten servers:
// the list itself, the first one after a change, memory, and starts.
func (r *run) lists(ctx context.Context, tools int, large bool) (err error) {
	points := r.plan.lists(tools)
	start, change := r.plan.has(fmt.Sprintf("%s %d", nameStart, tools)), large && r.plan.has(fmt.Sprintf("%s %d", nameChange, tools))
	if len(points) == 0 && !start && !change {
		return nil
	}
	r.step("%d tools of %d servers", tools, servers)
	s := &stage{targets: map[string]target{}}
	defer func() { s.stop() }()
	// The last server is a process of its own, so that it can die alone.
	each := strconv.Itoa(tools / servers)
	specs := slices.Repeat([]string{eraLegacy + ":" + each}, servers-1)
	farm, at, err := r.startServer(ctx, "farm", append([]string{"upstream", eraLegacy + ":" + strconv.Itoa(tools), eraModern + ":" + strconv.Itoa(tools)}, specs...)...)
	if err != nil {
		return err
	}
	s.peers = append(s.peers, farm)
	s.targets[Direct+eraLegacy], s.targets[Direct+eraModern] = target{farm, at[0]}, target{farm, at[1]}
	mortal, last, err := r.startServer(ctx, "mortal", "upstream", eraLegacy+":"+each)
	if err != nil {
		return err
	}
	s.peers = append(s.peers, mortal)
	var known []server
	for i, e := range append(at[2:], last[0]) {
		known = append(known, server{ID: serverName(i), URL: e.url()})
	}
	data := filepath.Join(r.dir, "lists"+strconv.Itoa(tools))
	in, err := r.startKnowing(ctx, data, known)
	if err != nil {
		return err
	}
	s.peers = append(s.peers, in.peer)
	s.targets[Junctor] = target{in.peer, in.endpoint}
	if err := r.listed(ctx, s, in, tools, points, large, change); err != nil {
		return err
	}
	s.peers = slices.DeleteFunc(s.peers, func(p *peer) bool { return p == in.peer })
	in.stop()
	if !start {
		return nil
	}
	return r.wholeLists(ctx, data, tools, mortal, last[0].Addr, large)
}

// listed measures an instance that has all its tools.
func (r *run) listed(ctx context.Context, s *stage, in *instance, tools int, points []Point, large, change bool) error {
	whole := wholeList(tools)
	if err := r.await(ctx, Junctor, in, time.Now().Add(startPatience), whole); err != nil {
		return err
	}
	if large {
		if err := r.memory(ctx, fmt.Sprintf("memory, %d tools", tools), in.Pid(), Goal{AtMost: mostTools, Fails: failTools}); err != nil {
			return err
		}
	}
	if len(points) > 0 {
		if err := r.startLoad(ctx, s); err != nil {
			return err
		}
	}
	for _, p := range points {
		if err := r.point(ctx, s, p); err != nil {
			return err
		}
	}
	if !change {
		return nil
	}
	return r.changes(ctx, in, tools)
}

// changes times the first list after a server went and after it came back.
func (r *run) changes(ctx context.Context, in *instance, tools int) error {
	c, err := dial(ctx, in.endpoint.Addr, time.Now().Add(startPatience))
	if err != nil {
		return r.broken(Junctor, "does not answer", err)
	}
	defer c.close()
	var took []float64
	for range r.opt.Starts {
		for _, on := range []bool{false, true} {
			want := tools
			if !on {
				want -= tools / servers
			}
			if err := in.switchServer(ctx, serverName(0), on); err != nil {
				return r.broken(Junctor, "did not switch a server", err)
			}
			begin := time.Now()
			n, err := c.countTools(in.endpoint)
			spent := time.Since(begin)
			if err == nil && n != want {
				err = fmt.Errorf("%d tools, want %d", n, want)
			}
			if err != nil {
				return r.broken(Junctor, "did not list its tools after a change", err)
			}
			took = append(took, millis(spent))
		}
	}
	r.figure(fmt.Sprintf("first list after a change, %d tools", tools), "ms", summarize(took), Goal{AtMost: mostChange, Fails: failChange})
	return nil
}

// wholeLists times starts until the first whole list: with every server there,
// and with the last of them gone or silent.
func (r *run) wholeLists(ctx context.Context, data string, tools int, mortal *peer, addr string, large bool) error {
	goal := Goal{AtMost: mostSmall, Fails: failSmall}
	if large {
		goal = Goal{AtMost: mostLarge, Fails: failLarge}
	}
	name := fmt.Sprintf("start to the whole list, %d tools", tools)
	if err := r.wholeList(ctx, name, data, tools, goal); err != nil {
		return err
	}
	mortal.stop()
	if err := r.wholeList(ctx, fmt.Sprintf("%s, one of %d servers gone", name, servers), data, tools, goal); err != nil {
		return err
	}
	p, _, err := r.startServer(ctx, "silent", "silent", addr)
	if err != nil {
		return err
	}
	defer p.stop()
	return r.wholeList(ctx, fmt.Sprintf("%s, one of %d servers silent", name, servers), data, tools, goal)
}

func (r *run) wholeList(ctx context.Context, name, data string, tools int, goal Goal) error {
	var took []float64
	for i := range r.opt.Starts {
		r.step("%s: %d of %d", name, i+1, r.opt.Starts)
		in, err := r.startInstance(ctx, Junctor, r.opt.Junctor, data, wholeList(tools))
		if err != nil {
			return err
		}
		took = append(took, millis(in.took))
		in.stop()
	}
	r.figure(name, "ms", summarize(took), goal)
	return nil
}

// wholeList asks once for the list and wants all tools in it.
func wholeList(tools int) func(context.Context, endpoint) error {
	return func(ctx context.Context, e endpoint) error {
		c, err := dial(ctx, e.Addr, time.Now().Add(patience))
		if err != nil {
			return err
		}
		defer c.close()
		n, err := c.countTools(e)
		if err == nil && n != tools {
			err = fmt.Errorf("%d tools, want %d", n, tools)
		}
		return err
	}
}

// countTools lists the tools, without a session, and counts those of upstreams.
func (c *conn) countTools(e endpoint) (int, error) {
	a, err := c.exchange(post(e, session{version: versionModern}, methodList, "", []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+meta+`}}`)))
	if err != nil {
		return 0, err
	}
	if a.status != 200 {
		return 0, fmt.Errorf("tools/list: status %d, %.200q", a.status, a.body)
	}
	return bytes.Count(a.body, []byte(toolAbout)), nil
}
