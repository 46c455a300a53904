package app

import (
	"io"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	others "github.com/junctor-mcp/junctor/internal/testkit/upstreams"
)

// delivers is the call of a delivery.
func delivers(server, tool string) *guard.Op {
	return &guard.Op{
		Principal: &junctor.Principal{Tenant: junctor.DefaultTenant, Issuer: junctor.IssuerTrigger, Subject: "t", Scopes: []junctor.Scope{junctor.ScopeToolsCall}},
		Scope:     catalog.Scope{Server: server}, Kind: junctor.KindTool, Name: tool,
	}
}

// TestUnknownToolsOfServersThatOthersAdded: a delivery waits while what another
// process did to a server is still to be read, and is given up where nothing is to
// come.
func TestUnknownToolsOfServersThatOthersAdded(t *testing.T) {
	t.Parallel()
	pg, err := pgtest.Start(pgtest.Options{})
	pgtest.Need(t, err)
	t.Cleanup(pg.Stop)
	cfg, err := config.Load(config.Sources{Flags: map[string]string{"data-dir": t.TempDir(), "listen": "127.0.0.1:0", "db": pg.Database(t), "egress-allow": "127.0.0.0/8"}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(t.Context(), cfg, "test", WithLog(io.Discard), WithoutServers())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	rows := a.store.For(junctor.DefaultTenant)
	follow := func() error { return a.servers.Follow(t.Context(), false) }
	for _, step := range []struct {
		what string
		do   func() error
		want queue.Outcome
	}{
		{"there is no such server", func() error { return nil }, queue.OutcomeFatal},
		{"another process added it", func() error {
			_, err := rows.AddServer(t.Context(), admission.Stored(junctor.Server{Tenant: junctor.DefaultTenant, ID: "bot", Mode: junctor.ModeBYO, State: junctor.StateActive, Connection: junctor.Connection{URL: "http://127.0.0.1:1/mcp", Transport: junctor.TransportHTTP}}))
			return err
		}, queue.OutcomeNotStarted},
		{"it was read, and has not answered yet", follow, queue.OutcomeRetry},
		{"another process changed it", func() error {
			row, err := rows.Server(t.Context(), "bot")
			if err == nil {
				row.Title = "Bot"
				_, err = rows.UpdateServer(t.Context(), admission.Stored(row))
			}
			return err
		}, queue.OutcomeNotStarted},
		{"another process switched it off", func() error { return rows.SetServerState(t.Context(), "bot", junctor.StateInactive, "") }, queue.OutcomeFatal},
		{"and this one knows", follow, queue.OutcomeFatal},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		if got := a.servers.ClassifyUnknownTool(t.Context(), delivers("bot", "receive")); got != step.want {
			t.Errorf("%s: %v, want %v", step.what, got, step.want)
		}
	}

	// What a server has may be heard of after the call, and before it is asked why the tool was unknown.
	if _, err := rows.AddServer(t.Context(), admission.Stored(junctor.Server{
		Tenant: junctor.DefaultTenant, ID: "heard", Mode: junctor.ModeBYO, State: junctor.StateActive, Connection: junctor.Connection{URL: others.Start(t, others.Modern).URL, Transport: junctor.TransportHTTP},
	})); err != nil {
		t.Fatal(err)
	}
	if err := follow(); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "the server's offer", time.Minute, func() bool {
		at, err := a.catalog.Snapshot().For(junctor.DefaultTenant).Server(a.identity.OperatorPrincipal(), "heard")
		return err == nil && !at.Offer.Awaited
	})
	for tool, want := range map[string]queue.Outcome{"tag": queue.OutcomeRetry, "nothing": queue.OutcomeFatal} {
		if got := a.servers.ClassifyUnknownTool(t.Context(), delivers("heard", tool)); got != want {
			t.Errorf("%s: %v, want %v", tool, got, want)
		}
	}
	// It is connected before lists have it.
	a.catalog.Detach(junctor.DefaultTenant, "heard")
	if got := a.servers.ClassifyUnknownTool(t.Context(), delivers("heard", "tag")); got != queue.OutcomeRetry {
		t.Errorf("connected, and in no list: %v", got)
	}
}
