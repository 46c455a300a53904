package audit

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// viewSources are the servers and rooms of a test: every principal knows the server
// "open" and is in the room "lobby".
type viewSources struct{ added time.Time }

func (s viewSources) KnownServers(context.Context, *junctor.Principal) (map[string]time.Time, error) {
	return map[string]time.Time{"open": s.added}, nil
}

func (viewSources) ServerLookup(p *junctor.Principal) func(string) bool {
	return func(id string) bool { return id == "open" && p.Agent == "" && p.Has(junctor.ScopeAuditRead) }
}

func (viewSources) List(context.Context, *junctor.Principal) ([]junctor.Room, error) {
	return []junctor.Room{{ID: "lobby"}}, nil
}

// followCalls begins a tail of a principal of a tenant, with scopes.
func followCalls(tails *Tails, match func(*junctor.Call) bool, p *junctor.Principal) *Tail {
	return NewCallReader(CallReaderOptions{Tails: tails, Servers: viewSources{}, Rooms: viewSources{}}).Follow(p, match)
}

// admin returns an admin of a tenant.
func admin(tenant junctor.TenantID) *junctor.Principal {
	return &junctor.Principal{Tenant: tenant, Scopes: []junctor.Scope{junctor.ScopeAdmin}}
}

// taken returns what a tail has for a principal now.
func taken(t *testing.T, tail *Tail, p *junctor.Principal) (calls []junctor.Call, missed int) {
	t.Helper()
	b, missed, err := tail.AppendCalls(t.Context(), p, []byte("["))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(append(b, ']'), &calls); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return calls, missed
}

// A tail receives the calls of its tenant once per interval.
func TestTailReceivesOncePerInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tails := &Tails{}
		tails.send(&junctor.Call{ID: "nobody looks", Tenant: "a"})
		mine, other := followCalls(tails, nil, admin("a")), followCalls(tails, nil, admin("b"))
		for i := range 5 {
			tails.send(&junctor.Call{ID: strconv.Itoa(i), Tenant: "a"})
		}
		if calls, _ := taken(t, mine, admin("a")); len(calls) != 0 {
			t.Errorf("%d calls before the interval is over", len(calls))
		}
		before := time.Now()
		mine.Wait(t.Context(), time.Hour)
		if took := time.Since(before); took != minTailInterval {
			t.Errorf("it took %s", took)
		}
		calls, missed := taken(t, mine, admin("a"))
		if len(calls) != 5 || missed != 0 || calls[0].ID != "0" || calls[4].ID != "4" {
			t.Errorf("%v, %d missed", calls, missed)
		}
		if calls, missed := taken(t, other, admin("b")); len(calls) != 0 || missed != 0 {
			t.Errorf("another tenant receives %d calls, %d missed", len(calls), missed)
		}
		before = time.Now()
		mine.Wait(t.Context(), time.Second)
		if took := time.Since(before); took != time.Second {
			t.Errorf("with nothing new it waited %s", took)
		}
		mine.Close()
		other.Close()
		if tails.tenants.Load() != nil {
			t.Error("a tail is left")
		}
	})
}

// More calls than an interval holds are dropped and counted.
func TestTailCountsWhatIsTooMuch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tails := &Tails{}
		tail := followCalls(tails, nil, admin("a"))
		defer tail.Close()
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				for j := range tailCapacity / 2 {
					tails.send(&junctor.Call{ID: strconv.Itoa(i*tailCapacity + j), Tenant: "a"})
				}
			})
		}
		all.Wait()
		tail.Wait(t.Context(), time.Second)
		calls, missed := taken(t, tail, admin("a"))
		if len(calls) != tailCapacity || missed != tailCapacity {
			t.Errorf("%d calls, %d missed, of %d", len(calls), missed, 2*tailCapacity)
		}
	})
}

// TestCallAccess holds whose calls a principal sees: its own, those in its rooms, and with
// audit:read those on servers that it knows.
func TestCallAccess(t *testing.T) {
	t.Parallel()
	added := time.Now()
	view := NewCallReader(CallReaderOptions{Servers: viewSources{added}, Rooms: viewSources{}})
	calls := map[string]*junctor.Call{
		"own":            {Tenant: "a", Issuer: junctor.IssuerUser, Subject: "me", Server: "hidden", Start: added},
		"in the room":    {Tenant: "a", Subject: "you", Server: "hidden", Room: "lobby", Start: added},
		"on open":        {Tenant: "a", Subject: "you", Server: "open", Start: added.Add(time.Second)},
		"before open":    {Tenant: "a", Subject: "you", Server: "open", Start: added.Add(-time.Hour)},
		"on hidden":      {Tenant: "a", Subject: "you", Server: "hidden", Start: added},
		"another tenant": {Tenant: "b", Subject: "you", Server: "open", Start: added},
	}
	for name, c := range map[string]struct {
		scopes []junctor.Scope
		sees   []string
	}{
		"a user":                 {nil, []string{"own", "in the room"}},
		"a reader of the record": {[]junctor.Scope{junctor.ScopeAuditRead}, []string{"own", "in the room", "on open"}},
	} {
		access, err := view.CallAccess(t.Context(), &junctor.Principal{Tenant: "a", Issuer: junctor.IssuerUser, Subject: "me", Scopes: c.scopes})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]bool{}
		for _, one := range c.sees {
			want[one] = true
		}
		for what, call := range calls {
			if got := access.Sees(call); got != want[what] {
				t.Errorf("%s sees the call %s: %t", name, what, got)
			}
		}
	}
}

func BenchmarkSendToNobody(b *testing.B) {
	var tails Tails
	for b.Loop() {
		tails.send(&junctor.Call{})
	}
}
