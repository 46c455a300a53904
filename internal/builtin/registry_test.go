package builtin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

func TestToolIsMadeOnceWhenFirstUsed(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	var made atomic.Int32
	must(t, AddLazyTool(s, Tool{Name: "x"}, func(context.Context) (Handler[none, string], error) {
		made.Add(1)
		return func(context.Context, *Call, none) (string, error) { return "ok", nil }, nil
	}))
	if _, err := s.Offer(t.Context()); err != nil || made.Load() != 0 {
		t.Fatalf("made %d times by being listed (%v)", made.Load(), err)
	}
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if res, err := call(t, s, catalog.Request{Name: "x"}); err != nil || res.IsError {
				t.Errorf("%s, %v", res.Body, err)
			}
		})
	}
	wg.Wait()
	if n := made.Load(); n != 1 {
		t.Errorf("made %d times, want once", n)
	}
}

func TestToolThatCannotBeMadeIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	var tries int
	must(t, AddLazyTool(s, Tool{Name: "x"}, func(context.Context) (Handler[none, string], error) {
		switch tries++; tries {
		case 1:
			return nil, errors.New("no model file at /models/a")
		case 2:
			panic("worse")
		case 3:
			return nil, nil
		}
		return func(context.Context, *Call, none) (string, error) { return "ok", nil }, nil
	}))
	_, err := call(t, s, catalog.Request{Name: "x"})
	wantCode(t, err, junctor.CodeUnavailable)
	if !strings.Contains(err.Error(), "no model file at /models/a") {
		t.Errorf("the reason is lost: %v", err)
	}
	res, err := call(t, s, catalog.Request{Name: "x"})
	if err != nil || !res.IsError {
		t.Errorf("a panicking factory: %s, %v", res.Body, err)
	}
	_, err = call(t, s, catalog.Request{Name: "x"})
	wantCode(t, err, junctor.CodeUnavailable)
	for range 2 {
		if res, err := call(t, s, catalog.Request{Name: "x"}); err != nil || res.IsError {
			t.Errorf("%s, %v", res.Body, err)
		}
	}
	if tries != 4 {
		t.Errorf("made in %d tries, want 4", tries)
	}
}

func TestWaitingForAToolEndsWithTheContext(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	making, release := make(chan struct{}), make(chan struct{})
	must(t, AddLazyTool(s, Tool{Name: "x"}, func(context.Context) (Handler[none, string], error) {
		close(making)
		<-release
		return func(context.Context, *Call, none) (string, error) { return "ok", nil }, nil
	}))
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := call(t, s, catalog.Request{Name: "x"}); err != nil {
			t.Error(err)
		}
	})
	<-making
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Do(ctx, &catalog.Request{Kind: junctor.KindTool, Name: "x"}, nil)
	wantCode(t, err, junctor.CodeCanceled)
	close(release)
	wg.Wait()
}

func TestVersionsSideBySide(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	add := func(version string, preferred bool) {
		must(t, AddTool(s, Tool{Name: "x", Version: version, Default: preferred},
			func(context.Context, *Call, none) (string, error) { return version, nil }))
	}
	check := func(want ...string) {
		t.Helper()
		offer, err := s.Offer(t.Context())
		must(t, err)
		var got []string
		for _, d := range offer.Tools {
			mark := ""
			if d.Default {
				mark = "*"
			}
			got = append(got, d.Name+d.Version+mark)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("offer (-want +got):\n%s", diff)
		}
	}
	runs := func(version, want string) {
		t.Helper()
		res, err := call(t, s, catalog.Request{Name: "x", Version: version})
		must(t, err)
		wantBody(t, res.Body, `{"content":[{"type":"text","text":"`+want+`"}]}`)
	}
	add("1", false)
	check("x1")
	runs("", "1")
	must(t, AddTool(s, Tool{Name: "between"}, func(context.Context, *Call, none) (string, error) { return "", nil }))
	add("2", false)
	check("x1", "x2*", "between")
	runs("", "2")
	runs("1", "1")
	add("3-rc", false)
	add("2.1", true)
	check("x1", "x2", "x3-rc", "x2.1*", "between")
	runs("", "2.1")
	runs("3-rc", "3-rc")
	_, err := call(t, s, catalog.Request{Name: "x", Version: "9"})
	wantCode(t, err, junctor.CodeNotFound)
	if !strings.Contains(err.Error(), "1, 2, 3-rc, 2.1") {
		t.Errorf("the error does not list the versions: %v", err)
	}
}

func TestChangesAreReported(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	var events []catalog.Event
	s.Updated("a:before") // nobody listens yet
	s.Watch(func(e catalog.Event) { events = append(events, e) })
	read := StaticText("")
	steps := []struct {
		name    string
		do      func() bool
		changed bool
	}{
		{"add resource", func() bool { return s.AddResource(Resource{URI: "a:b"}, read) == nil }, true},
		{"add it again", func() bool { return s.AddResource(Resource{URI: "a:b"}, read) != nil }, false},
		{"add template", func() bool {
			return s.AddTemplate(Template{URITemplate: "a:{b}"}, func(context.Context, *Call, string, map[string]string) ([]Contents, error) { return nil, nil }) == nil
		}, true},
		{"add prompt", func() bool {
			return s.AddPrompt(Prompt{Name: "p"}, func(context.Context, *Call, map[string]string) ([]Message, error) { return nil, nil }) == nil
		}, true},
		{"remove prompt", func() bool { return s.RemovePrompt("p") && !s.RemovePrompt("p") }, true},
	}
	for _, step := range steps {
		events = nil
		if !step.do() {
			t.Errorf("%s: wrong answer", step.name)
		}
		var want []catalog.Event
		if step.changed {
			want = []catalog.Event{{Kind: catalog.EventChanged}}
		}
		if diff := cmp.Diff(want, events); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", step.name, diff)
		}
	}
	events = nil
	s.Updated("a:b")
	if diff := cmp.Diff([]catalog.Event{{Kind: catalog.EventUpdated, URI: "a:b"}}, events); diff != "" {
		t.Errorf("updated: events (-want +got):\n%s", diff)
	}
}

func TestRemovalWhileACallRuns(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	running, release := make(chan struct{}), make(chan struct{})
	must(t, AddTool(s, Tool{Name: "x"}, func(context.Context, *Call, none) (string, error) {
		close(running)
		<-release
		return "to the end", nil
	}))
	var wg sync.WaitGroup
	wg.Go(func() {
		res, err := call(t, s, catalog.Request{Name: "x"})
		if err != nil || !strings.Contains(string(res.Body), "to the end") {
			t.Errorf("%s, %v", res.Body, err)
		}
	})
	<-running
	if !s.RemoveTool("x") {
		t.Error("not removed")
	}
	_, err := call(t, s, catalog.Request{Name: "x"})
	wantCode(t, err, junctor.CodeNotFound)
	close(release)
	wg.Wait()
}

// Whatever is added, removed and called at once: a call answers with the tool
// it named or with not_found, an offer never shows a tool twice or one that
// neither was nor will be there, and at the end the registry holds what the
// last change of each name left.
func TestConcurrentChanges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := newServer(t)
		workers := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, 3), 1, 20), 2, 6).Draw(rt, "workers")
		present := make([]bool, len(workers)) // each worker owns one name, so its last step is known
		var wg sync.WaitGroup
		for w, steps := range workers {
			wg.Go(func() {
				mine := fmt.Sprintf("tool-%d", w)
				for _, step := range steps {
					switch step {
					case 0:
						err := AddTool(s, Tool{Name: mine}, func(context.Context, *Call, none) (string, error) { return mine, nil })
						if (err == nil) == present[w] {
							t.Errorf("adding %s: %v", mine, err)
						}
						present[w] = true
					case 1:
						if s.RemoveTool(mine) != present[w] {
							t.Errorf("removing %s: wrong answer", mine)
						}
						present[w] = false
					case 2:
						other := fmt.Sprintf("tool-%d", (w+1)%len(workers))
						res, err := call(t, s, catalog.Request{Name: other})
						if err != nil {
							wantCode(t, err, junctor.CodeNotFound)
						} else if !strings.Contains(string(res.Body), `"`+other+`"`) {
							t.Errorf("asked %s, got %s", other, res.Body)
						}
					case 3:
						checkOffer(t, s, len(workers))
					}
				}
			})
		}
		wg.Wait()
		offer, err := s.Offer(t.Context())
		must(t, err)
		for w := range workers {
			name := fmt.Sprintf("tool-%d", w)
			if got := slices.ContainsFunc(offer.Tools, func(d catalog.ToolDef) bool { return d.Name == name }); got != present[w] {
				rt.Errorf("%s offered: %v, want %v", name, got, present[w])
			}
		}
	})
}

func checkOffer(t *testing.T, s *Server, limit int) {
	t.Helper()
	offer, err := s.Offer(t.Context())
	if err != nil {
		t.Error(err)
		return
	}
	seen := map[string]bool{}
	for _, d := range offer.Tools {
		if seen[d.Name] || d.JSON == nil {
			t.Errorf("%s is offered twice, or half", d.Name)
		}
		seen[d.Name] = true
	}
	if len(seen) > limit {
		t.Errorf("%d tools offered, of %d", len(seen), limit)
	}
}
