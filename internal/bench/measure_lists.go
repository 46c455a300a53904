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

// measureLists measures everything about one number of tools, joined from ten
// servers: the list itself, the first list after a change, memory, and starts.
// large means that it is the long list, which has its own goals.
func (r *benchRun) measureLists(ctx context.Context, tools int, large bool) (err error) {
	points := r.plan.listPoints(tools)
	start, change := r.plan.includesPoint(fmt.Sprintf("%s %d", nameStart, tools)), large && r.plan.includesPoint(fmt.Sprintf("%s %d", nameChange, tools))
	if len(points) == 0 && !start && !change {
		return nil
	}
	r.showProgress("%d tools of %d servers", tools, serverCount)
	s := &testStage{targets: map[string]target{}}
	defer func() { s.stopAll() }()
	// The last server is a separate process, so that it can be stopped alone.
	each := strconv.Itoa(tools / serverCount)
	specs := slices.Repeat([]string{eraLegacy + ":" + each}, serverCount-1)
	farm, at, err := r.startServer(ctx, "farm", append([]string{"upstream", eraLegacy + ":" + strconv.Itoa(tools), eraModern + ":" + strconv.Itoa(tools)}, specs...)...)
	if err != nil {
		return err
	}
	s.processes = append(s.processes, farm)
	s.targets[Direct+eraLegacy], s.targets[Direct+eraModern] = target{farm, at[0]}, target{farm, at[1]}
	mortal, last, err := r.startServer(ctx, "mortal", "upstream", eraLegacy+":"+each)
	if err != nil {
		return err
	}
	s.processes = append(s.processes, mortal)
	// Junctor is in front of all but the first two servers, which are the yardstick
	// direct: one server with all tools, in each era.
	var known []serverSpec
	for i, e := range append(at[2:], last[0]) {
		known = append(known, serverSpec{ID: serverName(i), URL: e.buildURL()})
	}
	data := filepath.Join(r.dir, "lists"+strconv.Itoa(tools))
	in, err := r.startWithServers(ctx, data, known)
	if err != nil {
		return err
	}
	s.processes = append(s.processes, in.childProcess)
	s.targets[Junctor] = target{in.childProcess, in.endpoint}
	if err := r.measureInstance(ctx, s, in, tools, points, large, change); err != nil {
		return err
	}
	s.processes = slices.DeleteFunc(s.processes, func(p *childProcess) bool { return p == in.childProcess })
	in.stop()
	if !start {
		return nil
	}
	return r.measureListStarts(ctx, data, tools, mortal, last[0].Addr, large)
}

// measureInstance measures an instance that has all of its tools: memory, the
// points and the changes.
func (r *benchRun) measureInstance(ctx context.Context, s *testStage, in *instance, tools int, points []Point, large, change bool) error {
	whole := expectTools(tools)
	if err := r.awaitReady(ctx, Junctor, in, time.Now().Add(startTimeout), whole); err != nil {
		return err
	}
	if large {
		if err := r.measureIdleMemory(ctx, fmt.Sprintf("memory, %d tools", tools), in.Pid(), Goal{AtMost: maxToolsMemory, FailsBeyond: failToolsMemory}); err != nil {
			return err
		}
	}
	if len(points) > 0 {
		if err := r.startLoad(ctx, s); err != nil {
			return err
		}
	}
	for _, p := range points {
		if err := r.measurePoint(ctx, s, p); err != nil {
			return err
		}
	}
	if !change {
		return nil
	}
	return r.measureChanges(ctx, in, tools)
}

// measureChanges times the first list after a server was disabled, and after it
// was enabled again.
func (r *benchRun) measureChanges(ctx context.Context, in *instance, tools int) error {
	c, err := dialConn(ctx, in.endpoint.Addr, time.Now().Add(startTimeout))
	if err != nil {
		return r.processError(Junctor, "does not answer", err)
	}
	defer c.close()
	var took []float64
	for range r.options.Starts {
		for _, on := range []bool{false, true} {
			want := tools
			if !on {
				want -= tools / serverCount
			}
			if err := in.switchServer(ctx, serverName(0), on); err != nil {
				return r.processError(Junctor, "did not switch a server", err)
			}
			begin := time.Now()
			n, err := c.countTools(in.endpoint)
			spent := time.Since(begin)
			if err == nil && n != want {
				err = fmt.Errorf("%d tools, want %d", n, want)
			}
			if err != nil {
				return r.processError(Junctor, "did not list its tools after a change", err)
			}
			took = append(took, toMillis(spent))
		}
	}
	r.addFigure(fmt.Sprintf("first list after a change, %d tools", tools), "ms", summarizeSamples(took), Goal{AtMost: maxChange, FailsBeyond: failChange})
	return nil
}

// measureListStarts times starts until the first complete list: with all servers
// available, with one of them unreachable, and with one that never answers.
func (r *benchRun) measureListStarts(ctx context.Context, data string, tools int, mortal *childProcess, addr string, large bool) error {
	goal := Goal{AtMost: maxSmall, FailsBeyond: failSmall}
	if large {
		goal = Goal{AtMost: maxLarge, FailsBeyond: failLarge}
	}
	name := fmt.Sprintf("start to the whole list, %d tools", tools)
	if err := r.measureListStart(ctx, name, data, tools, goal); err != nil {
		return err
	}
	mortal.stop()
	if err := r.measureListStart(ctx, fmt.Sprintf("%s, one of %d servers gone", name, serverCount), data, tools, goal); err != nil {
		return err
	}
	p, _, err := r.startServer(ctx, "silent", "silent", addr)
	if err != nil {
		return err
	}
	defer p.stop()
	return r.measureListStart(ctx, fmt.Sprintf("%s, one of %d servers silent", name, serverCount), data, tools, goal)
}

// measureListStart times Options.Starts starts until the first complete list.
func (r *benchRun) measureListStart(ctx context.Context, name, data string, tools int, goal Goal) error {
	var took []float64
	for i := range r.options.Starts {
		r.showProgress("%s: %d of %d", name, i+1, r.options.Starts)
		in, err := r.startInstance(ctx, Junctor, r.options.Junctor, data, expectTools(tools))
		if err != nil {
			return err
		}
		took = append(took, toMillis(in.startTime))
		in.stop()
	}
	r.addFigure(name, "ms", summarizeSamples(took), goal)
	return nil
}

// expectTools returns a check that lists the tools once and requires the given
// number of them.
func expectTools(tools int) func(context.Context, endpoint) error {
	return func(ctx context.Context, e endpoint) error {
		c, err := dialConn(ctx, e.Addr, time.Now().Add(answerTimeout))
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

// countTools lists the tools, without a session, and counts those of upstream
// servers.
func (c *conn) countTools(e endpoint) (int, error) {
	a, err := c.exchange(buildPost(e, session{version: versionModern}, methodList, "", []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modernMeta+`}}`)))
	if err != nil {
		return 0, err
	}
	if a.status != 200 {
		return 0, fmt.Errorf("tools/list: status %d, %.200q", a.status, a.body)
	}
	return bytes.Count(a.body, []byte(toolDescription)), nil
}
