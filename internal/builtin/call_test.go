package builtin

import (
	"context"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	var kept *Call
	must(t, AddTool(s, Tool{Name: "x"}, func(_ context.Context, c *Call, _ none) (string, error) {
		c.Progress(0, 10, "")
		c.Progress(2.5, 10, "half \"way\"")
		c.Progress(2.5, 10, "not above the last")
		c.Progress(1, 10, "back")
		c.Progress(math.NaN(), 10, "")
		c.Progress(3, math.Inf(1), "")
		c.Progress(1e21, 0, "unknown total")
		kept = c
		return "", nil
	}))
	for _, wanted := range []bool{true, false} {
		sink := &recorder{}
		_, err := s.Do(t.Context(), &catalog.Request{Kind: junctor.KindTool, Name: "x", Caller: catalog.Caller{Progress: wanted}}, sink)
		must(t, err)
		kept.Progress(1e22, 0, "after the end")
		var want []string
		if wanted {
			want = []string{`{"progress":0,"total":10}`, `{"progress":2.5,"total":10,"message":"half \"way\""}`, `{"progress":1000000000000000000000,"message":"unknown total"}`}
		}
		if diff := cmp.Diff(want, sink.progress); diff != "" {
			t.Errorf("wanted %v (-want +got):\n%s", wanted, diff)
		}
	}
	if _, err := s.Do(t.Context(), &catalog.Request{Kind: junctor.KindTool, Name: "x", Caller: catalog.Caller{Progress: true}}, nil); err != nil {
		t.Errorf("without a sink: %v", err)
	}
}

func TestLogLevels(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	levels := []Level{LevelDebug, LevelInfo, LevelNotice, LevelWarning, LevelError, LevelCritical, LevelAlert, LevelEmergency}
	var kept *Call
	must(t, AddTool(s, Tool{Name: "x"}, func(_ context.Context, c *Call, _ none) (string, error) {
		for _, l := range levels {
			c.Log(l, "", 1)
		}
		c.Log("loud", "", 1)
		kept = c
		return "", nil
	}))
	for i := -2; i < len(levels); i++ {
		wanted, count := "", 0
		switch {
		case i >= 0:
			wanted, count = string(levels[i]), len(levels)-i
		case i == -1:
			wanted = "loud"
		}
		sink := &recorder{}
		_, err := s.Do(t.Context(), &catalog.Request{Kind: junctor.KindTool, Name: "x", Caller: catalog.Caller{LogLevel: wanted}}, sink)
		must(t, err)
		kept.Log(LevelEmergency, "", "after the end")
		if len(sink.logs) != count {
			t.Errorf("wanted %q: %d messages, want %d: %v", wanted, len(sink.logs), count, sink.logs)
		}
	}
}

func TestLogForm(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	must(t, AddTool(s, Tool{Name: "x"}, func(_ context.Context, c *Call, _ none) (string, error) {
		c.Log(LevelInfo, "db", map[string]any{"rows": 2, "at": "é"})
		c.Log(LevelError, "", func() {})
		return "", nil
	}))
	sink := &recorder{}
	_, err := s.Do(t.Context(), &catalog.Request{Kind: junctor.KindTool, Name: "x", Caller: catalog.Caller{LogLevel: "debug"}}, sink)
	must(t, err)
	want := []string{
		`info {"level":"info","logger":"db","data":{"at":"é","rows":2}}`,
		`error {"level":"error","data":"(a value that cannot be written as JSON)"}`,
	}
	if diff := cmp.Diff(want, sink.logs); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
}

func TestCallKnowsItsRequest(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	who := &junctor.Principal{Subject: "ada"}
	must(t, AddTool(s, Tool{Name: "x"}, func(_ context.Context, c *Call, _ none) (string, error) {
		return c.ID() + " " + c.Name() + " " + c.Principal().Subject, nil
	}))
	res, err := call(t, s, catalog.Request{Name: "x", CallID: "c1", Principal: who})
	must(t, err)
	wantBody(t, res.Body, `{"content":[{"type":"text","text":"c1 x ada"}]}`)
}
