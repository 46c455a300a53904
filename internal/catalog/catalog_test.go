package catalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

func TestAttach(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, catalog.Options{})
	first := server(t, "s", "a")
	attach(t, c, "s", junctor.ModeBuiltin, first)
	before := c.Snapshot()
	if err := c.Attach(t.Context(), tenant, "s", junctor.ModeBuiltin, first); junctor.CodeOf(err) != junctor.CodeConflict {
		t.Errorf("the same id again: %v", err)
	}
	for _, id := range []string{"", "S", "a_b", "-a", strings.Repeat("a", 33)} {
		if err := c.Attach(t.Context(), tenant, id, junctor.ModeBYO, first); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("id %q: %v", id, err)
		}
	}
	down := junctor.Errorf(junctor.CodeUnreachable, "down")
	broken := &scripted{err: down}
	if err := c.Attach(t.Context(), tenant, "broken", junctor.ModeBYO, broken); !errors.Is(err, down) {
		t.Errorf("a server that cannot be read: %v", err)
	}
	if c.Snapshot() != before {
		t.Error("what was refused changed the catalog")
	}
	broken.set(toolOffer("t"), nil)
	attach(t, c, "broken", junctor.ModeBYO, broken) // its id is free again
	// The refused second attachment did not take the listener away.
	w := c.Watch()
	defer w.Stop()
	addTool(t, first, builtin.Tool{Name: "b"})
	<-w.Ready()
	if got := toolNames(t, c, catalog.Scope{Server: "s"}); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%q", got)
	}
	if c.Snapshot().Version() <= before.Version() {
		t.Error("the version did not rise")
	}
	// The same id in another tenant is another server.
	if err := c.Attach(t.Context(), "elsewhere", "s", junctor.ModeBuiltin, server(t, "s", "x")); err != nil {
		t.Error(err)
	}
	c.Detach(tenant, "s")
	c.Detach(tenant, "never-there")
	if got := toolNames(t, c, catalog.Scope{}); !slices.Equal(got, []string{"broken__t"}) {
		t.Errorf("%q", got)
	}
}

// Each list is announced by itself: who watches prompts hears nothing of tools.
func TestChangesAreSplit(t *testing.T) {
	t.Parallel()
	s := server(t, "s", "a")
	c := newCatalog(t, catalog.Options{})
	attach(t, c, "s", junctor.ModeBuiltin, s)
	w := c.Watch()
	defer w.Stop()
	none := func(context.Context, *builtin.Call, map[string]string) ([]builtin.Message, error) { return nil, nil }
	for _, step := range []struct {
		name   string
		change func() error
		want   catalog.Change
	}{
		{"tool", func() error { addTool(t, s, builtin.Tool{Name: "b"}); return nil }, catalog.Change{Tools: true}},
		{"tool changes", func() error { s.RemoveTool("b"); return nil }, catalog.Change{Tools: true}},
		{"prompt", func() error { return s.AddPrompt(builtin.Prompt{Name: "p"}, none) }, catalog.Change{Prompts: true}},
		{"resource", func() error {
			return s.AddResource(builtin.Resource{URI: "x://r"}, builtin.StaticText("r"))
		}, catalog.Change{Resources: true}},
		{"template", func() error {
			return s.AddTemplate(builtin.Template{URITemplate: "x://{t}"}, func(context.Context, *builtin.Call, string, map[string]string) ([]builtin.Contents, error) {
				return nil, nil
			})
		}, catalog.Change{Resources: true}},
		{"content", func() error { s.Updated("x://r"); return nil }, catalog.Change{URI: "x://r"}},
	} {
		if err := step.change(); err != nil {
			t.Fatal(step.name, err)
		}
		<-w.Ready()
		step.want.Tenant, step.want.Server = tenant, "s"
		if got := w.Take(); !slices.Equal(got, []catalog.Change{step.want}) {
			t.Errorf("%s: %+v, want %+v", step.name, got, step.want)
		}
	}
	c.Detach(tenant, "s")
	<-w.Ready()
	if got := w.Take(); !slices.Equal(got, []catalog.Change{{Tenant: tenant, Server: "s", Tools: true, Prompts: true, Resources: true}}) {
		t.Errorf("detach: %+v", got)
	}
	s.Updated("x://r") // nobody is there to say it any more
	if got := w.Take(); len(got) != 0 {
		t.Errorf("a detached server is heard: %+v", got)
	}
}

// A server's announcement is passed on as it is, whatever its lists say.
func TestAnnouncementsArePassedOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCatalog(t, catalog.Options{})
		b := &scripted{offer: toolOffer("a")}
		attach(t, c, "s", junctor.ModeBYO, b)
		w := c.Watch()
		defer w.Stop()
		before := c.Snapshot()
		b.send(catalog.Event{Kind: catalog.EventAnnounced, Lists: catalog.Lists{Prompts: true}})
		b.send(catalog.Event{Kind: catalog.EventAnnounced})
		synctest.Wait()
		if got := w.Take(); !slices.Equal(got, []catalog.Change{{Tenant: tenant, Server: "s", Prompts: true}}) || c.Snapshot() != before {
			t.Errorf("%+v", got)
		}
	})
}

// What changes beside the lists is taken over, and announced to nobody.
func TestAbilitiesAreTakenOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCatalog(t, catalog.Options{})
		b := &scripted{offer: toolOffer("a")}
		attach(t, c, "s", junctor.ModeBYO, b)
		w := c.Watch()
		defer w.Stop()
		next := toolOffer("a")
		next.Completions, next.Instructions = true, "new"
		b.set(next, nil)
		b.send(catalog.Event{Kind: catalog.EventChanged})
		synctest.Wait()
		s, err := shelf(c).Server(reader("r"), "s")
		if err != nil || !s.Offer.Completions || s.Offer.Instructions != "new" {
			t.Errorf("%+v, %v", s, err)
		}
		if got := w.Take(); len(got) != 0 {
			t.Errorf("%+v", got)
		}
	})
}

func TestFailedRefreshKeepsTheList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l logs
		c := newCatalog(t, catalog.Options{Logger: l.logger()})
		b := &scripted{offer: toolOffer("a")}
		attach(t, c, "s", junctor.ModeBYO, b)
		w := c.Watch()
		defer w.Stop()
		before := c.Snapshot()
		b.set(nil, errors.New("away"))
		b.send(catalog.Event{Kind: catalog.EventChanged})
		synctest.Wait()
		if c.Snapshot() != before || len(w.Take()) != 0 {
			t.Error("a failed refresh changed something")
		}
		if !strings.Contains(l.String(), "away") {
			t.Errorf("log: %s", l.String())
		}
		b.set(toolOffer("a", "b"), nil)
		b.send(catalog.Event{Kind: catalog.EventChanged})
		synctest.Wait()
		if got := toolNames(t, c, catalog.Scope{}); !slices.Equal(got, []string{"s__a", "s__b"}) {
			t.Errorf("after it came back: %q", got)
		}
	})
}

// A change that comes while the offer is being read, also for the first time,
// is read again.
func TestNoChangeIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCatalog(t, catalog.Options{})
		b := &scripted{}
		reads := 0
		b.before = func(context.Context) {
			reads++
			b.set(toolOffer(fmt.Sprint("t", reads)), nil)
			if reads <= 3 {
				b.send(catalog.Event{Kind: catalog.EventChanged})
				b.send(catalog.Event{Kind: catalog.EventChanged})
			}
		}
		attach(t, c, "s", junctor.ModeBYO, b)
		synctest.Wait()
		if got := toolNames(t, c, catalog.Scope{}); reads != 4 || !slices.Equal(got, []string{"s__t4"}) {
			t.Errorf("after %d reads: %q", reads, got)
		}
	})
}

func TestDetachedWhileAttached(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, catalog.Options{})
	b := &scripted{offer: toolOffer("a")}
	b.before = func(context.Context) { c.Detach(tenant, "s") }
	if err := c.Attach(t.Context(), tenant, "s", junctor.ModeBYO, b); junctor.CodeOf(err) != junctor.CodeConflict {
		t.Errorf("%v", err)
	}
	if got := toolNames(t, c, catalog.Scope{}); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// Close does not wait for a server that hangs.
func TestCloseEndsRefreshes(t *testing.T) {
	t.Parallel()
	c := catalog.New(catalog.Options{})
	b := &scripted{offer: toolOffer("a")}
	attach(t, c, "s", junctor.ModeBYO, b)
	hangs := make(chan struct{})
	b.mu.Lock()
	b.before = func(ctx context.Context) {
		close(hangs)
		<-ctx.Done()
	}
	b.mu.Unlock()
	b.send(catalog.Event{Kind: catalog.EventChanged})
	<-hangs
	c.Close()
	b.send(catalog.Event{Kind: catalog.EventChanged}) // would close hangs again
	c.Close()
}

func TestToolsThatAreLeftOut(t *testing.T) {
	t.Parallel()
	var l logs
	c := newCatalog(t, catalog.Options{Logger: l.logger()})
	attach(t, c, "s", junctor.ModeBYO, &scripted{offer: &catalog.Offer{
		Tools: []catalog.ToolDef{
			toolDef("bad", `{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}}`),
			toolDef("good", `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`),
			{Name: "bare", JSON: []byte(`{"name":"bare","annotations":{"readOnlyHint":true}}`)},
		},
		Prompts: []catalog.PromptDef{{Name: "p", JSON: []byte(`{"name":"p"}`)}, {Name: "p", JSON: []byte(`{"name":"p","title":"again"}`)}},
	}})
	if got := toolNames(t, c, catalog.Scope{}); !slices.Equal(got, []string{"s__good", "s__bare"}) {
		t.Errorf("%q", got)
	}
	if got := names(t, shelf(c).List(reader("r"), catalog.Scope{}, catalog.ListPrompts)); !slices.Equal(got, []string{"s__p"}) {
		t.Errorf("prompts %q", got)
	}
	for _, want := range []string{"x-mcp-header", "tool=bad", "prompt=p"} {
		if !strings.Contains(l.String(), want) {
			t.Errorf("the log does not say %q: %s", want, l.String())
		}
	}
	item, err := shelf(c).Tool(reader("r"), catalog.Scope{}, "s__good", "")
	if err != nil || len(item.Tool.Headers) != 1 || item.Tool.Headers[0].Header != "Mcp-Param-Region" {
		t.Errorf("%+v, %v", item.Tool, err)
	}
	item, err = shelf(c).Tool(reader("r"), catalog.Scope{}, "s__bare", "")
	if err != nil || item.Tool.ReadOnly || item.Tool.Idempotent || item.Tool.Input.Check(t.Context(), []byte(`{"any":1}`)) != nil || item.Tool.Input.Check(t.Context(), []byte(`[]`)) == nil {
		t.Errorf("a tool without schema takes any object: %+v, %v", item.Tool, err)
	}
}

// Compiled schemas live on as long as their definition does.
func TestSchemasAreKept(t *testing.T) {
	t.Parallel()
	s := server(t, "s", "a")
	c := newCatalog(t, catalog.Options{})
	attach(t, c, "s", junctor.ModeBuiltin, s)
	find := func(name string) *catalog.ToolVersion { // nil where there is none
		item, _ := shelf(c).Tool(reader("r"), catalog.Scope{Server: "s"}, name, "")
		return item.Tool
	}
	before := find("a")
	w := c.Watch()
	defer w.Stop()
	addTool(t, s, builtin.Tool{Name: "b"})
	<-w.Ready()
	if find("a") != before {
		t.Error("an unchanged tool was made anew")
	}
	s.RemoveTool("a")
	addTool(t, s, builtin.Tool{Name: "a", Description: "changed"})
	after := find("a")
	for ; after == nil || after.Digest == before.Digest; after = find("a") {
		<-w.Ready()
	}
	if after.Input == before.Input {
		t.Error("a changed tool has its former schema")
	}
}

// Equal changes are joined, and none is lost, however slow the listener is.
func TestWatcher(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c := catalog.New(catalog.Options{})
		defer c.Close()
		s := &scripted{offer: toolOffer("a")}
		if err := c.Attach(t.Context(), tenant, "s", junctor.ModeBYO, s); err != nil {
			rt.Fatal(err)
		}
		w := c.Watch()
		stopped := c.Watch()
		stopped.Stop()
		plan := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 1, 8), 1, 4).Draw(rt, "uris")
		want := map[string]bool{}
		var senders sync.WaitGroup
		for _, uris := range plan {
			for _, u := range uris {
				want[u] = true
			}
			senders.Go(func() {
				for _, u := range uris {
					s.send(catalog.Event{Kind: catalog.EventUpdated, URI: u})
				}
			})
		}
		done := make(chan struct{})
		go func() { senders.Wait(); close(done) }()
		got := map[string]bool{}
		take := func() {
			once := map[catalog.Change]bool{}
			for _, ch := range w.Take() {
				if once[ch] {
					rt.Errorf("%+v twice in one batch", ch)
				}
				once[ch] = true
				got[ch.URI] = true
			}
		}
		for open := true; open; {
			select {
			case <-w.Ready():
				take()
			case <-done:
				open = false
			}
		}
		select {
		case <-w.Ready(): // the last signal, if its change was not taken with another
			take()
		default:
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			rt.Fatalf("heard %v of %v", got, want)
		}
		w.Stop()
		s.send(catalog.Event{Kind: catalog.EventUpdated, URI: "late"})
		if len(w.Take()) != 0 || len(stopped.Take()) != 0 {
			rt.Fatal("a stopped watcher hears")
		}
	})
}

// A snapshot stays as it is while the catalog moves on.
func TestSnapshotsNeverChange(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, catalog.Options{})
	s := server(t, "s", "a", "b")
	attach(t, c, "s", junctor.ModeBuiltin, s)
	p := reader("r")
	held := c.Snapshot()
	want := string(held.For(tenant).List(p, catalog.Scope{}, catalog.ListTools))
	var writers, readers sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			version := uint64(0)
			for {
				select {
				case <-stop:
					return
				default:
				}
				snap := c.Snapshot()
				if snap.Version() < version {
					t.Error("the version went back")
				}
				version = snap.Version()
				sh := snap.For(tenant)
				for _, name := range names(t, sh.List(p, catalog.Scope{}, catalog.ListTools)) {
					if _, err := sh.Tool(p, catalog.Scope{}, name, ""); err != nil {
						t.Errorf("listed, and not found in the same snapshot: %v", err)
					}
				}
				if item, err := held.For(tenant).Tool(p, catalog.Scope{}, "s__a", ""); err != nil || item.Tool.Input.Check(t.Context(), []byte(`{}`)) != nil {
					t.Error(err)
				}
				held.For(tenant).List(p, catalog.Scope{Plain: true}, catalog.ListTools)
			}
		})
	}
	for i := range 4 {
		id := fmt.Sprint("w", i)
		extra := server(t, id, "x")
		writers.Go(func() {
			for n := range 20 {
				if err := c.Attach(t.Context(), tenant, id, junctor.ModeBuiltin, extra); err != nil {
					t.Error(err)
				}
				s.RemoveTool("a")
				extra.RemoveTool(fmt.Sprint("y", n-1))
				if err := extra.AddRawTool(builtin.Tool{Name: fmt.Sprint("y", n), InputSchema: []byte(`{"type":"object"}`)}, nothing); err != nil {
					t.Error(err)
				}
				c.Detach(tenant, id)
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	if got := string(held.For(tenant).List(p, catalog.Scope{}, catalog.ListTools)); got != want {
		t.Errorf("%s, and before %s", got, want)
	}
}

// What is refreshed is seen when Refresh returns, and a reading that began
// before and ends after it brings nothing back.
func TestRefreshHoldsAtOnce(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, catalog.Options{})
	b := &scripted{}
	b.set(toolOffer("one", "two"), nil)
	slow := &heldOffer{scripted: b, read: make(chan struct{}), release: make(chan struct{})}
	attach(t, c, "s", junctor.ModeBYO, slow)
	slow.hold.Store(true)
	b.send(catalog.Event{Kind: catalog.EventChanged})
	<-slow.read // the former offer is on its way
	b.set(toolOffer("one"), nil)
	if err := c.Refresh(t.Context(), tenant, "s"); err != nil {
		t.Fatal(err)
	}
	if got := toolNames(t, c, catalog.Scope{Server: "s"}); !slices.Equal(got, []string{"one"}) {
		t.Errorf("after a refresh: %v", got)
	}
	close(slow.release)
	c.Close() // waits for it
	if got := toolNames(t, c, catalog.Scope{Server: "s"}); !slices.Equal(got, []string{"one"}) {
		t.Errorf("after the reading that began before: %v", got)
	}
	if err := c.Refresh(t.Context(), tenant, "none"); err != nil {
		t.Error(err)
	}
}

// heldOffer keeps the next reading of the offer back after it was made.
type heldOffer struct {
	*scripted
	hold          atomic.Bool
	read, release chan struct{}
}

func (h *heldOffer) Offer(ctx context.Context) (*catalog.Offer, error) {
	offer, err := h.scripted.Offer(ctx)
	if h.hold.CompareAndSwap(true, false) {
		close(h.read)
		<-h.release
	}
	return offer, err
}

// A tool whose schema explodes is left out, and the server's problems say why;
// its other tools are listed.
func TestExplosiveToolsAreLeftOut(t *testing.T) {
	t.Parallel()
	var defs strings.Builder
	for i := range 40 {
		fmt.Fprintf(&defs, `"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	explosive := json.RawMessage(`{"type":"object","properties":{"x":{"$ref":"#/$defs/a0"}},"$defs":{` + defs.String() + `"a40":{}}}`)
	s := server(t, "s", "first", "last")
	addTool(t, s, builtin.Tool{Name: "boom", InputSchema: explosive})
	addTool(t, s, builtin.Tool{Name: "bang", OutputSchema: explosive})
	c := newCatalog(t, catalog.Options{})
	attach(t, c, "s", junctor.ModeBYO, s)
	p := reader("a")
	shelf := c.Snapshot().For(tenant)
	var names []string
	for _, tool := range shelf.Describe(p, catalog.Filter{Server: "s"}) {
		names = append(names, tool.Name)
	}
	if slices.Sort(names); !slices.Equal(names, []string{"first", "last"}) {
		t.Errorf("listed: %q", names)
	}
	of, err := shelf.Server(p, "s")
	if err != nil {
		t.Fatal(err)
	}
	if len(of.Problems) != 2 || of.Problems[0].Tool != "boom" || !strings.Contains(of.Problems[0].Reason, "inputSchema") ||
		of.Problems[1].Tool != "bang" || !strings.Contains(of.Problems[1].Reason, "outputSchema") {
		t.Errorf("problems: %+v", of.Problems)
	}
}

// TestAnnotationsCountForTrustedServers has three servers claim the same of their
// tools: the built-in one and the one that is believed are taken at their word.
func TestAnnotationsCountForTrustedServers(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, catalog.Options{})
	claims := func() *scripted {
		return &scripted{offer: &catalog.Offer{Tools: []catalog.ToolDef{
			{Name: "reads", JSON: []byte(`{"name":"reads","annotations":{"readOnlyHint":true}}`)},
			{Name: "again", JSON: []byte(`{"name":"again","annotations":{"idempotentHint":true}}`)},
			{Name: "silent", JSON: []byte(`{"name":"silent"}`)},
		}}}
	}
	attach(t, c, "own", junctor.ModeBuiltin, claims())
	attach(t, c, "liar", junctor.ModeBYO, claims())
	attach(t, c, "made", junctor.ModeGenerated, claims())
	attach(t, c, "known", junctor.ModeBYO, catalog.Believe(claims()))
	for server, believed := range map[string]bool{"own": true, "liar": false, "made": false, "known": true} {
		if got := shelf(c).Believes(server); got != believed {
			t.Errorf("%s is believed: %v", server, got)
		}
		for tool, want := range map[string][2]bool{"reads": {believed, false}, "again": {false, believed}, "silent": {}} {
			item, err := shelf(c).Tool(reader("r"), catalog.Scope{}, server+"__"+tool, "")
			if err != nil {
				t.Fatal(err)
			}
			if got := [2]bool{item.Tool.ReadOnly, item.Tool.Idempotent}; got != want {
				t.Errorf("%s of %s: read-only and idempotent are %v, want %v", tool, server, got, want)
			}
		}
	}
	if shelf(c).Believes("nobody") {
		t.Error("a server that is not there is believed")
	}
}
