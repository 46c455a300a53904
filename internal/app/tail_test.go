package app

import (
	"strconv"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/servers"
)

func TestTail(t *testing.T) {
	t.Parallel()
	s := callView{&App{servers: &servers.Registry{}}}
	tails := &s.app.tails
	tails.tell(&junctor.Call{ID: "nobody looks"})
	mine, other := s.Tail(&junctor.Principal{Tenant: "a", Scopes: []junctor.Scope{junctor.ScopeAdmin}}), s.Tail(&junctor.Principal{Tenant: "b", Scopes: []junctor.Scope{junctor.ScopeAdmin}})
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range tailRoom / 2 {
				tails.tell(&junctor.Call{ID: strconv.Itoa(i*tailRoom + j), Tenant: "a"})
			}
		})
	}
	all.Wait()
	calls, missed := mine.Next(t.Context(), time.Second)
	if len(calls) != tailRoom || missed != tailRoom {
		t.Errorf("%d calls, %d missed, of %d", len(calls), missed, 2*tailRoom)
	}
	if calls, missed := other.Next(t.Context(), 0); len(calls) != 0 || missed != 0 {
		t.Errorf("another tenant is told of %d calls", len(calls))
	}
	mine.Close()
	other.Close()
	if tails.all.Load() != nil {
		t.Error("somebody is left")
	}
}

func BenchmarkTellNobody(b *testing.B) {
	var tails tails
	for b.Loop() {
		tails.tell(&junctor.Call{})
	}
}
