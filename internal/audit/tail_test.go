package audit

import (
	"context"
	"strconv"
	"sync"
	"testing"
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
	return func(id string) bool { return id == "open" && p.Has(junctor.ScopeAuditRead) }
}

func (viewSources) List(context.Context, *junctor.Principal) ([]junctor.Room, error) {
	return []junctor.Room{{ID: "lobby"}}, nil
}

func TestTail(t *testing.T) {
	t.Parallel()
	tails := &Tails{}
	s := NewCallReader(CallReaderOptions{Tails: tails, Servers: viewSources{}, Rooms: viewSources{}})
	tails.send(&junctor.Call{ID: "nobody looks"})
	mine, other := s.Follow(&junctor.Principal{Tenant: "a", Scopes: []junctor.Scope{junctor.ScopeAdmin}}), s.Follow(&junctor.Principal{Tenant: "b", Scopes: []junctor.Scope{junctor.ScopeAdmin}})
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range tailCapacity / 2 {
				tails.send(&junctor.Call{ID: strconv.Itoa(i*tailCapacity + j), Tenant: "a"})
			}
		})
	}
	all.Wait()
	calls, missed := mine.Next(t.Context(), time.Second)
	if len(calls) != tailCapacity || missed != tailCapacity {
		t.Errorf("%d calls, %d missed, of %d", len(calls), missed, 2*tailCapacity)
	}
	if calls, missed := other.Next(t.Context(), 0); len(calls) != 0 || missed != 0 {
		t.Errorf("another tenant receives %d calls", len(calls))
	}
	mine.Close()
	other.Close()
	if tails.all.Load() != nil {
		t.Error("a tail is left")
	}
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
