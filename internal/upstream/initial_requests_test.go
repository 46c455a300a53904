//go:build unix

package upstream

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// What a server wants to know before its first call is answered by who makes
// that call, and nobody else's calls are held to it.
func TestServerAsksBeforeTheFirstCall(t *testing.T) {
	t.Parallel()
	s := newRig(t, "choosy").server(t, true)
	for _, who := range []string{"ada", "bob", "ada"} {
		req := toolCall("where", `{}`)
		req.Principal = &junctor.Principal{Tenant: "default", Issuer: "key", Subject: who}
		req.Caller.Capabilities = []byte(`{"roots":{}}`)
		res := do(t, s, req)
		if res.Input {
			res = do(t, s, retry(req, res, func(_, method string) string {
				if method != wire.MethodRootsList {
					t.Errorf("asked for %s", method)
				}
				return fmt.Sprintf(`{"roots":[{"uri":"file:///%s"}]}`, who)
			}))
		}
		if got := textOf(t, res); got != "file:///"+who {
			t.Errorf("%s is at %s", who, got)
		}
	}
	if s.State().IsolationReason == "" {
		t.Error("callers still share")
	}
	// Who has no roots is not asked.
	if got := textOf(t, do(t, s, toolCall("where", `{}`))); got != "none" {
		t.Errorf("without roots: %s", got)
	}
}

// A server may keep the roots that it asked for in a call: nobody else's calls
// are held to them.
func TestRootsAreTheirCallersAlone(t *testing.T) {
	t.Parallel()
	s := newRig(t, "mindful").server(t, true)
	for _, who := range []string{"ada", "bob", "ada", "bob"} {
		req := toolCall("where", `{}`)
		req.Principal = &junctor.Principal{Tenant: "default", Issuer: "key", Subject: who}
		req.Caller.Capabilities = []byte(`{"roots":{}}`)
		res := do(t, s, req)
		if res.Input {
			res = do(t, s, retry(req, res, func(string, string) string { return fmt.Sprintf(`{"roots":[{"uri":"file:///%s"}]}`, who) }))
		}
		if got := textOf(t, res); got != "file:///"+who {
			t.Errorf("%s is at %s", who, got)
		}
	}
	if st := s.State(); st.IsolationReason == "" || st.Processes != 2 {
		t.Errorf("%d processes, isolated because %q", st.Processes, st.IsolationReason)
	}
}

// A server that holds a client's roots is told when they change, asks again, and
// holds the very next call to them; one that works for somebody else is not told.
func TestRootsThatChange(t *testing.T) {
	t.Parallel()
	for _, isolation := range []junctor.Isolation{junctor.IsolationShared, junctor.IsolationUser, junctor.IsolationSession} {
		t.Run(string(isolation), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "choosy")
			r.Isolation = isolation
			s := r.server(t, true)
			where := func(who, root string) (at string, asked bool) {
				req := callerOf(who, who+"'s")
				req.Name, req.Caller.Protocol, req.Caller.Capabilities = "where", wire.V20250618, []byte(`{"roots":{"listChanged":true}}`)
				res := do(t, s, req)
				for res.Input {
					asked = true
					res = do(t, s, retry(req, res, func(string, string) string { return fmt.Sprintf(`{"roots":[{"uri":"file:///%s"}]}`, root) }))
				}
				return textOf(t, res), asked
			}
			for _, step := range []struct {
				who, root string
				changes   bool // before the call
				want      string
				asked     bool
			}{
				{"ada", "a1", false, "file:///a1", true},
				{"bob", "b1", false, "file:///b1", true},
				{"ada", "a2", false, "file:///a1", false}, // she has not said so
				{"ada", "a2", true, "file:///a2", true},
				{"bob", "b2", false, "file:///b1", false},
				{"ada", "a3", false, "file:///a2", false},
			} {
				if step.changes {
					s.MarkRootsChanged(callerOf(step.who, "").Principal, step.who+"'s")
				}
				if at, asked := where(step.who, step.root); at != step.want || asked != step.asked {
					t.Errorf("%s with %s: at %s, asked %v; want %s, %v", step.who, step.root, at, asked, step.want, step.asked)
				}
			}
			// Nobody says it for somebody else.
			s.MarkRootsChanged(callerOf("eve", "").Principal, "ada's")
			if _, asked := where("ada", "a4"); asked {
				t.Error("another principal had a server ask for these roots")
			}
		})
	}
}

// A question between calls is answered by the next one.
func TestQuestionBetweenCalls(t *testing.T) {
	t.Parallel()
	told := make(chan struct{}, 1)
	l := newRig(t, "plain").open(t, linkSettings{onAmbiguous: func() bool { told <- struct{}{}; return false }})
	p, refused := l.pending.findAnswerer(wire.MethodRootsList)
	if p == nil || refused != nil || len(told) != 1 {
		t.Fatalf("%v, %v", p, refused)
	}
	got := make(chan string, 1)
	ask := func() {
		result, err := p.answerRequest(t.Context(), wire.MethodRootsList, nil)
		got <- fmt.Sprint(string(result), err)
	}
	go ask()
	// The first call ends without an answer, the second gives it.
	first := &interactiveCall{abilities: clientAbilities{roots: true}, done: make(chan struct{}), questionAdded: make(chan struct{}, 1)}
	fl, err := l.pending.beginCall(nil, first)
	if err != nil {
		t.Fatal(err)
	}
	<-first.questionAdded
	l.pending.endCall(fl)
	close(first.done)
	second := newRecordingHandler()
	if fl, err = l.pending.beginCall(nil, second); err != nil {
		t.Fatal(err)
	}
	if s := <-got; !strings.Contains(s, `{"action":"accept"}`) {
		t.Errorf("answered %s", s)
	}
	l.pending.endCall(fl)
	// Nobody waits where no call is to be expected, and for what nobody has to answer.
	l.pending.onAmbiguous = nil
	if p, refused := l.pending.findAnswerer(wire.MethodRootsList); p != nil || refused == nil {
		t.Errorf("%v, %v", p, refused)
	}
	if p, refused := l.pending.findAnswerer(wire.MethodPing); p != nil || refused != nil {
		t.Errorf("ping: %v, %v", p, refused)
	}
}

// Tools that a server shows only to clients that can be asked are found by a
// probe, and by callers who can be.
func TestConditionalTools(t *testing.T) {
	t.Parallel()
	names := func(o *catalog.Offer) (all []string) {
		for _, tool := range o.Tools {
			all = append(all, fmt.Sprint(tool.Name, " ", tool.Conditional))
		}
		return all
	}
	plain, all := []string{"where false"}, []string{"where false", "elicit true"}
	t.Run("probe", func(t *testing.T) {
		t.Parallel()
		s := newRig(t, "choosy").server(t, true)
		report, err := s.Probe(ctxFor(t))
		if err != nil || report.State.Tools != 2 {
			t.Fatalf("%+v, %v", report, err)
		}
		o, err := s.Offer(ctxFor(t))
		if err != nil || !slices.Equal(names(o), all) {
			t.Fatalf("%v, %v", names(o), err)
		}
		// They outlive a restart, regardless of the first lister.
		r := newRig(t, "choosy")
		r.KnownOffer = o
		again := r.server(t, true)
		if _, err := again.refreshOffer(ctxFor(t), false); err != nil || !slices.Equal(names(again.knownOffer()), all) {
			t.Errorf("%v, %v", names(again.knownOffer()), err)
		}
	})
	t.Run("caller", func(t *testing.T) {
		t.Parallel()
		s := newRig(t, "choosy").server(t, true)
		events := make(chan catalog.Event, 4)
		o, err := s.Offer(ctxFor(t))
		if err != nil || !slices.Equal(names(o), plain) {
			t.Fatalf("%v, %v", names(o), err)
		}
		s.Watch(func(e catalog.Event) { events <- e })
		req := toolCall("elicit", `{}`)
		req.Caller.Capabilities = []byte(`{"elicitation":{}}`)
		if got := textOf(t, do(t, s, req)); got != "here" {
			t.Errorf("got %q", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), never)
		defer cancel()
		select {
		case e := <-events:
			if e.Kind != catalog.EventChanged || !slices.Equal(names(s.knownOffer()), all) {
				t.Errorf("%+v, %v", e, names(s.knownOffer()))
			}
		case <-ctx.Done():
			t.Fatalf("not found: %v", names(s.knownOffer()))
		}
	})
}

// A legacy server is connected to once when it is added, and what it shows only
// to some is told apart when it is first used: after a restart too.
func TestBeginConnectsOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, "choosy")
	s := r.server(t, true)
	report, err := s.Connect(ctxFor(t))
	if err != nil || report.State.Tools != 2 || !s.State().Connected {
		t.Fatalf("%+v, %v, %+v", report, err, s.State())
	}
	o, err := s.Offer(ctxFor(t))
	if err != nil || len(o.Tools) != 2 {
		t.Fatalf("%v, %v", o, err)
	}
	if n := len(pids(t, r.roll)); n != 1 {
		t.Errorf("%d processes were started to add one server", n)
	}
	again := newRig(t, "choosy")
	again.KnownOffer = o
	for when, s := range map[string]*Server{"at once": s, "after a restart": again.server(t, true)} {
		if got := textOf(t, do(t, s, toolCall("where", `{}`))); got != "none" {
			t.Errorf("%s: where says %q", when, got)
		}
		if _, err := s.refreshOffer(ctxFor(t), false); err != nil {
			t.Fatal(err)
		}
		tools := s.knownOffer().Tools
		if len(tools) != 2 || tools[0].Name != "where" || tools[0].Conditional || tools[1].Name != "elicit" || !tools[1].Conditional {
			t.Errorf("%s: %+v", when, tools)
		}
	}
}

func TestConditionalToolsKeepTheirPlaces(t *testing.T) {
	t.Parallel()
	var c conditionalTools
	tools := func(names ...string) (all []catalog.ToolDef) {
		for _, name := range names {
			all = append(all, catalog.ToolDef{Name: name})
		}
		return all
	}
	for _, tt := range []struct {
		saw   []string
		all   bool
		plain []string
		want  string
	}{
		{[]string{"a", "b", "x", "y", "z"}, true, []string{"b", "a"}, "b a x y z"},
		{[]string{"a", "b", "x", "z"}, false, []string{"b", "a"}, "b a x y z"},
		{[]string{"w", "z", "a"}, false, []string{"b", "a"}, "b a x y z w"},
		{[]string{"w"}, true, []string{"b", "a", "z"}, "b a z w"},
		{nil, true, nil, ""},
	} {
		c.recordTools(tools(tt.saw...), tt.all)
		var got []string
		for _, tool := range c.appendTo(tools(tt.plain...)) {
			got = append(got, tool.Name)
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%v: %s, want %s", tt.saw, s, tt.want)
		}
	}
}
