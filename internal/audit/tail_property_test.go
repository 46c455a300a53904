package audit

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
)

// modelReader is a reader of TestTailsAgainstModel with what it has to receive.
type modelReader struct {
	p      *junctor.Principal
	server string // its filter; "" selects all
	tail   *Tail
	// expected are the calls that were sent since the tail began, in the form in which the
	// reader may read them.
	expected []junctor.Call
	received []junctor.Call
	missed   int
}

// matches is the filter of the reader.
func (r *modelReader) matches(c *junctor.Call) bool { return r.server == "" || c.Server == r.server }

// take moves what the tail has into received.
func (r *modelReader) take(t *testing.T) {
	t.Helper()
	calls, missed := taken(t, r.tail, r.p)
	r.received, r.missed = append(r.received, calls...), r.missed+missed
}

// check returns what is wrong with what the reader received.
func (r *modelReader) check() error {
	at := 0
	for i := range r.received {
		got := &r.received[i]
		for at < len(r.expected) && r.expected[at].ID != got.ID {
			at++
		}
		if at == len(r.expected) {
			return fmt.Errorf("%s received %s, which it may not see, or twice, or out of order", r.p.Subject, got.ID)
		}
		if want := &r.expected[at]; got.Reason != want.Reason || got.Restricted != want.Restricted {
			return fmt.Errorf("%s received %s with the reason %q, restricted %t", r.p.Subject, got.ID, got.Reason, got.Restricted)
		}
		at++
	}
	if len(r.received)+r.missed != len(r.expected) {
		return fmt.Errorf("%s received %d calls and missed %d of %d", r.p.Subject, len(r.received), r.missed, len(r.expected))
	}
	return nil
}

// modelStep is one step of TestTailsAgainstModel.
type modelStep struct {
	kind                 string // call, wait, take, follow or close
	tenant               junctor.TenantID
	server, subject, who string
	reader               int
}

// TestTailsAgainstModel holds that each reader receives the calls that its filter and its
// rights allow, in order and in the form that it may read, and that what it did not receive
// is counted as missed.
func TestTailsAgainstModel(t *testing.T) {
	t.Parallel()
	steps := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) modelStep {
		return modelStep{
			kind:    rapid.SampledFrom([]string{"call", "call", "call", "call", "call", "wait", "take", "follow", "close"}).Draw(rt, "kind"),
			tenant:  rapid.SampledFrom([]junctor.TenantID{"a", "a", "b"}).Draw(rt, "tenant"),
			server:  rapid.SampledFrom([]string{"", "open", "hidden"}).Draw(rt, "server"),
			subject: rapid.SampledFrom([]string{"ann", "bob"}).Draw(rt, "subject"),
			who:     rapid.SampledFrom([]string{"admin", "auditor", "user", "agent"}).Draw(rt, "who"),
			reader:  rapid.IntRange(0, 5).Draw(rt, "reader"),
		}
	}), 20, 120)
	rapid.Check(t, func(rt *rapid.T) {
		script := steps.Draw(rt, "steps")
		var problem error
		synctest.Test(t, func(t *testing.T) { problem = runTailModel(t, script) })
		if problem != nil {
			rt.Fatal(problem)
		}
	})
}

// newModelReader returns the reader that a step describes.
func newModelReader(s *modelStep) *modelReader {
	p := &junctor.Principal{Tenant: s.tenant, Issuer: junctor.IssuerUser, Subject: s.subject, User: s.subject}
	switch s.who {
	case "admin":
		p.Scopes = []junctor.Scope{junctor.ScopeAdmin}
	case "auditor":
		p.Scopes = []junctor.Scope{junctor.ScopeAuditRead}
	case "agent":
		p.Agent, p.Scopes = "helper", []junctor.Scope{junctor.ScopeAdmin}
	}
	return &modelReader{p: p, server: s.server}
}

// runTailModel runs the steps, in a synctest bubble, against tails of a small capacity, and returns the first thing
// that is wrong.
func runTailModel(t *testing.T, script []modelStep) error {
	t.Helper()
	tails := &Tails{capacity: 4}
	view := NewCallReader(CallReaderOptions{Tails: tails, Servers: viewSources{}, Rooms: viewSources{}})
	var readers []*modelReader
	defer func() {
		for _, r := range readers {
			r.tail.Close()
		}
	}()
	follow := func(s *modelStep) {
		r := newModelReader(s)
		match := r.matches
		if r.server == "" {
			match = nil
		}
		r.tail = view.Follow(r.p, match)
		readers = append(readers, r)
	}
	for _, who := range []string{"admin", "auditor", "user", "agent"} {
		follow(&modelStep{tenant: "a", subject: "ann", who: who})
	}
	for n := range script {
		s := &script[n]
		switch {
		case s.kind == "call":
			c := &junctor.Call{
				ID: strconv.Itoa(n), Tenant: s.tenant, Server: s.server, Issuer: junctor.IssuerUser, Subject: s.subject, User: s.subject,
				Kind: junctor.KindTool, Status: junctor.StatusError, Reason: "because of " + s.subject, Start: time.Now(),
			}
			for _, r := range readers {
				access := junctor.NewCallAccess(r.p, nil)
				if r.p.Has(junctor.ScopeAuditRead) && r.p.Agent == "" {
					access = junctor.NewCallAccess(r.p, map[string]time.Time{"open": {}})
				}
				if access.Sees(c) && r.matches(c) {
					limited := *c
					access.Limit(&limited)
					r.expected = append(r.expected, limited)
				}
			}
			tails.send(c)
		case s.kind == "wait":
			time.Sleep(maxTailInterval)
		case s.kind == "follow":
			follow(s)
		case len(readers) == 0:
		case s.kind == "take":
			readers[s.reader%len(readers)].take(t)
		default:
			at := s.reader % len(readers)
			readers[at].tail.Close()
			readers = slices.Delete(readers, at, at+1)
		}
	}
	time.Sleep(maxTailInterval)
	for _, r := range readers {
		r.take(t)
		if err := r.check(); err != nil {
			return err
		}
	}
	return nil
}

// The start of a call is left out if its end follows in the same part, and only then.
func TestTailLeavesOutStartsThatHaveEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tails := &Tails{}
		tail := followCalls(tails, nil, admin("a"))
		defer tail.Close()
		tails.send(&junctor.Call{ID: "short", Tenant: "a", Status: junctor.StatusRunning})
		tails.send(&junctor.Call{ID: "long", Tenant: "a", Status: junctor.StatusRunning})
		tails.send(&junctor.Call{ID: "short", Tenant: "a", Status: junctor.StatusSuccess})
		time.Sleep(maxTailInterval)
		tails.send(&junctor.Call{ID: "long", Tenant: "a", Status: junctor.StatusSuccess})
		time.Sleep(maxTailInterval)
		calls, _ := taken(t, tail, admin("a"))
		var got []string
		for i := range calls {
			got = append(got, calls[i].ID+" "+string(calls[i].Status))
		}
		if want := []string{"long running", "short success", "long success"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// A reader that takes nothing misses calls, and changes nothing for the others.
func TestSlowReaderDelaysNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tails := &Tails{capacity: 100}
		slow, quick := followCalls(tails, nil, admin("a")), followCalls(tails, nil, admin("a"))
		defer slow.Close()
		defer quick.Close()
		const rounds, each = 20, 50
		received := 0
		for range rounds {
			before := time.Now()
			for i := range each {
				tails.send(&junctor.Call{ID: strconv.Itoa(i), Tenant: "a"})
			}
			if time.Since(before) != 0 {
				t.Error("a call waited for a reader")
			}
			quick.Wait(t.Context(), time.Minute)
			if took := time.Since(before); took != minTailInterval {
				t.Errorf("the quick reader waited %s", took)
			}
			calls, missed := taken(t, quick, admin("a"))
			if received += len(calls); missed != 0 {
				t.Errorf("the quick reader missed %d calls", missed)
			}
		}
		if received != rounds*each {
			t.Errorf("the quick reader received %d calls of %d", received, rounds*each)
		}
		calls, missed := taken(t, slow, admin("a"))
		if len(calls) != 100 || len(calls)+missed != rounds*each {
			t.Errorf("the slow reader received %d calls and missed %d of %d", len(calls), missed, rounds*each)
		}
	})
}

// Tails come and go while calls are made, for the race detector.
func TestTailsComeAndGo(t *testing.T) {
	t.Parallel()
	tails := &Tails{capacity: 64}
	var callers, readers sync.WaitGroup
	var stop atomic.Bool
	for range 4 {
		readers.Go(func() {
			for !stop.Load() {
				p := admin("a")
				tail := followCalls(tails, func(c *junctor.Call) bool { return c.ID != "7" }, p)
				for range 3 {
					tail.Wait(t.Context(), time.Millisecond)
					if _, _, err := tail.AppendCalls(t.Context(), p, nil); err != nil {
						t.Error(err)
					}
				}
				tail.Close()
			}
		})
	}
	for range 4 {
		callers.Go(func() {
			for i := range 20_000 {
				tails.send(&junctor.Call{ID: strconv.Itoa(i), Tenant: junctor.TenantID("ab"[i%2 : i%2+1])})
			}
		})
	}
	callers.Wait()
	stop.Store(true)
	readers.Wait()
	if tails.tenants.Load() != nil {
		t.Error("a tail is left")
	}
}

// What a call costs with tails does not depend on their number: it is collected once and
// encoded once.
func TestTailAllocations(t *testing.T) {
	if raceOn {
		t.Skip("the race detector allocates")
	}
	cost := func(readers int) float64 {
		tails := &Tails{}
		p := admin("a")
		all := make([]*Tail, readers)
		for i := range all {
			all[i] = followCalls(tails, nil, p)
		}
		b := make([]byte, 0, 1<<20)
		const calls = 1000
		allocations := testing.AllocsPerRun(10, func() {
			for range calls {
				tails.send(&junctor.Call{ID: "c1", Tenant: "a", Status: junctor.StatusSuccess})
			}
			(*tails.tenants.Load())["a"].addBatch()
			for _, one := range all {
				if got, missed, err := one.AppendCalls(t.Context(), p, b); err != nil || missed != 0 || len(got) < calls {
					t.Fatalf("%d bytes, %d missed, %v", len(got), missed, err)
				}
			}
		})
		for _, one := range all {
			one.Close()
		}
		return allocations / calls
	}
	one, many := cost(1), cost(50)
	t.Logf("%.2f allocations per call with one tail, %.2f with 50", one, many)
	if many > one+0.25 {
		t.Errorf("%.2f allocations per call with 50 tails, %.2f with one", many, one)
	}
}

// changingServers is a viewSources whose servers can change, and that counts how often they
// were read.
type changingServers struct {
	viewSources
	ids   map[string]bool
	reads int
}

func (s *changingServers) KnownServers(context.Context, *junctor.Principal) (map[string]time.Time, error) {
	s.reads++
	known := map[string]time.Time{}
	for id := range s.ids {
		known[id] = time.Time{}
	}
	return known, nil
}

func (s *changingServers) ServerLookup(*junctor.Principal) func(string) bool {
	return func(id string) bool { return s.ids[id] }
}

// A tail shows the calls of a server from the moment at which its reader may know of it, and
// none from the moment at which it may not, without reading rights for each part.
func TestTailFollowsRights(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tails, servers := &Tails{}, &changingServers{ids: map[string]bool{"open": true}}
		p := &junctor.Principal{Tenant: "a", Issuer: junctor.IssuerUser, Subject: "me", User: "me", Scopes: []junctor.Scope{junctor.ScopeAuditRead}}
		tail := NewCallReader(CallReaderOptions{Tails: tails, Servers: servers, Rooms: viewSources{}}).Follow(p, nil)
		defer tail.Close()
		servedBy := func() (got []string) {
			tails.send(&junctor.Call{ID: "1", Tenant: "a", Subject: "you", Server: "open"})
			tails.send(&junctor.Call{ID: "2", Tenant: "a", Subject: "you", Server: "hidden"})
			time.Sleep(maxTailInterval)
			calls, _ := taken(t, tail, p)
			for i := range calls {
				got = append(got, calls[i].Server)
			}
			return got
		}
		for range 5 {
			if got := servedBy(); !slices.Equal(got, []string{"open"}) {
				t.Errorf("calls of %q", got)
			}
		}
		if servers.reads != 1 {
			t.Errorf("the servers were read %d times", servers.reads)
		}
		servers.ids["hidden"] = true
		if got := servedBy(); !slices.Equal(got, []string{"open", "hidden"}) {
			t.Errorf("calls of %q after a server became visible", got)
		}
		delete(servers.ids, "open")
		if got := servedBy(); !slices.Equal(got, []string{"hidden"}) {
			t.Errorf("calls of %q after a server was hidden", got)
		}
		p = &junctor.Principal{Tenant: "a", Issuer: junctor.IssuerUser, Subject: "me", User: "me"}
		for range 2 { // the first part begins the tail again, with other scopes
			if got := servedBy(); len(got) != 0 {
				t.Errorf("calls of %q without the scope", got)
			}
		}
	})
}
