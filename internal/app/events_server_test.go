package app

import (
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/servers"
	"github.com/junctor-mcp/junctor/internal/testkit/output"
)

// TestEventsServerIsAttachedOnce: the first trigger brings the server for events,
// and who follows the rows of servers, as replicas do, knows that it is there:
// beside it, after it, and when it was removed.
func TestEventsServerIsAttachedOnce(t *testing.T) {
	t.Parallel()
	cfg, err := config.Load(config.Sources{Flags: map[string]string{"data-dir": t.TempDir(), "listen": "127.0.0.1:0", "builtin": "demo"}})
	if err != nil {
		t.Fatal(err)
	}
	log := &output.Buffer{}
	a, err := New(t.Context(), cfg, "test", WithLog(log))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	p := a.identity.OperatorPrincipal()
	shown := func() bool {
		_, err := a.catalog.Snapshot().For(p.Tenant).Server(p, servers.EventsID)
		return err == nil
	}

	stop, followed := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			err := a.servers.Follow(t.Context(), false)
			select {
			case <-stop:
				followed <- err
				return
			default:
			}
			if err != nil {
				followed <- err
				return
			}
		}
	}()
	if shown() {
		t.Error("there is a server for events before there is a trigger")
	}
	_, err = a.events.EventAPI().AddTrigger(t.Context(), p, junctor.Trigger{Name: "paid", Match: junctor.Match{Type: "paid"}, Action: junctor.Action{Server: "demo", Tool: "echo"}})
	if err != nil {
		t.Errorf("the first trigger: %v", err)
	}
	if !shown() {
		t.Error("with a trigger there is no server for events")
	}
	close(stop)
	if err := <-followed; err != nil {
		t.Error(err)
	}
	if err := a.servers.Follow(t.Context(), false); err != nil {
		t.Error(err)
	}

	if err := a.store.For(p.Tenant).RemoveServer(t.Context(), servers.EventsID); err != nil { // as another replica does
		t.Fatal(err)
	}
	if err := a.servers.Follow(t.Context(), false); err != nil {
		t.Error(err)
	}
	if shown() {
		t.Error("it is shown after it was removed")
	}
	if strings.Contains(log.String(), "cannot attach a server") {
		t.Errorf("the log says:\n%s", log.String())
	}
}
