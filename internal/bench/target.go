package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Names of the yardsticks.
const (
	Raw = "raw" // net/http and encoding/json
	Rev = "rev" // httputil.ReverseProxy in front of raw

	// Twin is Junctor without records: no journal, no copy of it, no history.
	Twin = "twin"
)

// targets is everything that runs while a point is measured.
type targets struct {
	load     *peer
	junctor  target
	yard     map[string]target
	argument string // what the tool calls its text
	results  *json.Decoder
	jobs     *json.Encoder
}

type target struct {
	*peer
	endpoint endpoint
	tool     string
}

func (t *targets) stop() {
	for _, p := range []*peer{t.load, t.junctor.peer, t.yard[Twin].peer, t.yard[Rev].peer, t.yard[Raw].peer} {
		if p != nil {
			p.stop()
		}
	}
}

// startTargets starts all of them. Raw gets Junctor's own list to answer
// tools/list with, so that both send as many bytes.
func (r *run) startTargets(ctx context.Context, twin bool) (t *targets, err error) {
	t = &targets{yard: make(map[string]target)}
	defer func() {
		if err != nil {
			t.stop()
		}
	}()
	p, e, _, err := r.startInstance(ctx, "junctor", r.opt.Junctor, filepath.Join(r.dir, "data"))
	if err != nil {
		return t, err
	}
	t.junctor = target{p, e, r.opt.Tool}
	if err := r.idleMemory(ctx, p.Pid()); err != nil {
		return t, err
	}
	list, err := fetchList(ctx, e)
	if err != nil {
		return t, r.broken("junctor", "did not list its tools", err)
	}
	if t.argument, err = textArgument(list, r.opt.Tool); err != nil {
		return t, err
	}
	file := filepath.Join(r.dir, "list.json")
	if err := os.WriteFile(file, list, 0o600); err != nil {
		return t, junctor.Errorf(junctor.CodeUnavailable, "cannot hand over the list: %w", err)
	}
	raw, rawAt, err := r.startYardstick(ctx, Raw, "echo", "-list", file)
	if err != nil {
		return t, err
	}
	t.yard[Raw] = target{raw, rawAt, r.opt.Tool}
	rev, revAt, err := r.startYardstick(ctx, Rev, "rev", "-to", rawAt.Addr)
	if err != nil {
		return t, err
	}
	t.yard[Rev] = target{rev, revAt, r.opt.Tool}
	if twin {
		p, e, _, err := r.startInstance(ctx, Twin, r.opt.Twin, filepath.Join(r.dir, "twin"))
		if err != nil {
			return t, err
		}
		t.yard[Twin] = target{p, e, r.opt.Tool}
	}
	if t.load, err = r.start(ctx, "load", append(append([]string{}, r.opt.Child...), "load"), nil); err != nil {
		return t, err
	}
	t.jobs, t.results = json.NewEncoder(t.load.in), json.NewDecoder(t.load.out)
	return t, nil
}

// fetchList gets the result of tools/list.
func fetchList(ctx context.Context, e endpoint) (json.RawMessage, error) {
	c, err := dial(ctx, e.Addr, time.Now().Add(patience))
	if err != nil {
		return nil, err
	}
	defer c.close()
	s, err := c.handshake(e, versionLegacy)
	if err != nil {
		return nil, err
	}
	a, err := c.exchange(post(e, s, methodList, "", []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`)))
	if err != nil {
		return nil, err
	}
	var m struct {
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(a.message(), &m); err != nil || m.Result == nil {
		return nil, fmt.Errorf("tools/list: status %d, answer %.200q", a.status, a.body)
	}
	return m.Result, nil
}

// textArgument finds what a tool calls the text that it answers with: its first
// required argument.
func textArgument(list json.RawMessage, tool string) (string, error) {
	var l struct {
		Tools []struct {
			Name        string `json:"name"`
			InputSchema struct {
				Required []string `json:"required"`
			} `json:"inputSchema"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(list, &l); err != nil {
		return "", junctor.Errorf(junctor.CodeUpstream, "the list of tools cannot be read: %w", err)
	}
	for _, t := range l.Tools {
		if t.Name != tool {
			continue
		}
		if len(t.InputSchema.Required) == 0 {
			return "", junctor.Errorf(junctor.CodeInvalid, "the tool %s has no required argument to carry a text: name one that answers with its text", tool)
		}
		return t.InputSchema.Required[0], nil
	}
	return "", junctor.Errorf(junctor.CodeNotFound, "the measured instance does not offer %s: is the built-in server demo removed?", tool)
}
