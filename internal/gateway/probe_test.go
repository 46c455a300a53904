package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/app"
	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/testkit"
)

// probe is a built-in server whose tools tell the test what happened to them.
type probe struct {
	server  *builtin.Server
	runs    atomic.Int64  // of want
	started chan struct{} // one for each run of block
	ended   chan error    // why block ended
	release chan struct{} // lets block answer
}

const anything = `{"type":"object"}`

func newProbe(t testing.TB) *probe {
	t.Helper()
	s, err := builtin.New("probe", "Probe", builtin.Options{Instructions: "for tests"})
	if err != nil {
		t.Fatal(err)
	}
	p := &probe{server: s, started: make(chan struct{}, 64), ended: make(chan error, 64), release: make(chan struct{}, 64)}
	p.tool(t, "raw", anything, func(_ context.Context, _ *builtin.Call, args []byte) (builtin.Result, error) {
		return builtin.TextResult(string(args)), nil
	})
	p.tool(t, "headers", `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"},"on":{"type":"boolean","x-mcp-header":"On"}}}`,
		func(_ context.Context, _ *builtin.Call, args []byte) (builtin.Result, error) {
			return builtin.TextResult(string(args)), nil
		})
	p.tool(t, "internal", anything, func(context.Context, *builtin.Call, []byte) (builtin.Result, error) {
		return builtin.Result{}, junctor.Errorf(junctor.CodeInternal, "a wire is loose")
	})
	p.tool(t, "panic", anything, func(context.Context, *builtin.Call, []byte) (builtin.Result, error) { panic("on purpose") })
	p.tool(t, "shaped", anything, func(context.Context, *builtin.Call, []byte) (builtin.Result, error) {
		return builtin.Result{
			Content:    []builtin.Content{builtin.Text("fine")},
			Structured: json.RawMessage(`{"text":"t","isError":true,"content":7,"_meta":8,"structuredContent":9}`),
		}, nil
	})
	p.tool(t, "count", `{"type":"object","properties":{"to":{"type":"integer"}}}`, countTo)
	p.tool(t, "levels", anything, func(_ context.Context, c *builtin.Call, _ []byte) (builtin.Result, error) {
		for _, l := range []builtin.Level{builtin.LevelDebug, builtin.LevelInfo, builtin.LevelNotice, builtin.LevelWarning, builtin.LevelError, builtin.LevelCritical, builtin.LevelAlert, builtin.LevelEmergency} {
			c.Log(l, "probe", string(l))
		}
		return builtin.TextResult("said"), nil
	})
	p.tool(t, "tag", anything, func(_ context.Context, c *builtin.Call, args []byte) (builtin.Result, error) {
		var in struct{ Tag string }
		if err := json.Unmarshal(args, &in); err != nil {
			return builtin.Result{}, err
		}
		c.Progress(1, 0, in.Tag)
		c.Log(builtin.LevelError, in.Tag, in.Tag)
		return builtin.TextResult(in.Tag), nil
	})
	p.tool(t, "block", anything, p.block)
	p.tool(t, "want", anything, p.want)
	p.tool(t, "want2", anything, p.want)
	p.tool(t, "rounds", anything, rounds)
	p.tool(t, "sample", anything, func(_ context.Context, c *builtin.Call, _ []byte) (builtin.Result, error) {
		if err := c.Ask(sampleRequest("s", "say something")); err != nil {
			return builtin.Result{}, err
		}
		a, _ := c.Answer("s")
		return builtin.TextResult(string(a)), nil
	})
	if err := s.AddPrompt(builtin.Prompt{Name: "panic", Description: "for tests"}, func(context.Context, *builtin.Call, map[string]string) ([]builtin.Message, error) {
		panic("on purpose")
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.AddResource(builtin.Resource{URI: "probe://a", Name: "a"}, builtin.StaticText("a")); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *probe) tool(t testing.TB, name, schema string, h builtin.RawHandler) {
	t.Helper()
	if err := p.server.AddRawTool(builtin.Tool{Name: name, Description: "for tests", InputSchema: json.RawMessage(schema), Timeout: time.Minute}, h); err != nil {
		t.Fatal(err)
	}
}

// countTo reports progress as often as it is told.
func countTo(_ context.Context, c *builtin.Call, args []byte) (builtin.Result, error) {
	var in struct{ To int }
	if err := json.Unmarshal(args, &in); err != nil {
		return builtin.Result{}, err
	}
	for n := 1; n <= in.To; n++ {
		c.Progress(float64(n), float64(in.To), "")
	}
	return builtin.TextResult("counted to " + strconv.Itoa(in.To)), nil
}

// block reports one step and waits to be released or cancelled.
func (p *probe) block(ctx context.Context, c *builtin.Call, _ []byte) (builtin.Result, error) {
	c.Progress(1, 0, "")
	p.started <- struct{}{}
	select {
	case <-p.release:
		p.ended <- nil
		return builtin.TextResult("released"), nil
	case <-ctx.Done():
		p.ended <- ctx.Err()
		return builtin.Result{}, ctx.Err()
	}
}

// want needs one answer; runs counts how often it was heard.
func (p *probe) want(_ context.Context, c *builtin.Call, _ []byte) (builtin.Result, error) {
	p.runs.Add(1)
	if err := c.Ask(builtin.ElicitRequest("q", "well?", json.RawMessage(`{"type":"object","properties":{}}`))); err != nil {
		return builtin.Result{}, err
	}
	a, _ := c.Answer("q")
	return builtin.TextResult(string(a)), nil
}

// sampleRequest asks the client's model to answer a prompt.
func sampleRequest(key, prompt string) builtin.InputRequest {
	params := fmt.Sprintf(`{"messages":[{"role":"user","content":%s}],"maxTokens":10}`, builtin.Text(prompt))
	return builtin.InputRequest{Key: key, Method: "sampling/createMessage", Params: json.RawMessage(params)}
}

// rounds asks three times, and two things in the last.
func rounds(_ context.Context, c *builtin.Call, _ []byte) (builtin.Result, error) {
	form := json.RawMessage(`{"type":"object","properties":{}}`)
	for _, round := range [][]builtin.InputRequest{
		{builtin.ElicitRequest("first", "1", form)},
		{builtin.ElicitRequest("second", "2", form)},
		{builtin.ElicitRequest("third", "3", form), sampleRequest("model", "4")},
	} {
		if err := c.Ask(round...); err != nil {
			return builtin.Result{}, err
		}
	}
	text := ""
	for _, key := range []string{"first", "second", "third", "model"} {
		a, _ := c.Answer(key)
		text += key + "=" + string(a) + " "
	}
	return builtin.TextResult(text), nil
}

// start runs an instance with a probe beside the demo.
func start(t testing.TB, s testkit.Settings, opts ...app.Option) (*testkit.Instance, *probe) {
	t.Helper()
	p := newProbe(t)
	return run(t, s, append(opts, app.WithServer(p.server))...), p
}
