package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/app"
	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// TestClocksApart has replicas whose clocks differ by five minutes and more. They
// go by the database's: no delivery is taken from one that is at work on it, no
// signed message is too old, and no key has expired at one and not at another.
func TestClocksApart(t *testing.T) {
	pg, err := pgtest.Start(pgtest.Options{})
	pgtest.Need(t, err)
	t.Cleanup(pg.Stop)
	db, seal, front := pg.Database(t), filepath.Join(t.TempDir(), "seal.key"), program.NewBalancer(t)
	var replicas []*testkit.Instance
	for _, off := range []time.Duration{0, 5 * time.Minute, -5 * time.Minute} {
		in := testkit.Start(t, testkit.Settings{
			"db": db, "seal-key-file": seal, "allowed-hosts": strings.TrimPrefix(front.URL, "http://"), "egress-allow": "127.0.0.0/8",
		}, app.WithClock(func() time.Time { return time.Now().Add(off) }))
		replicas = append(replicas, in)
		front.Send(in.URL)
	}
	for n, in := range replicas {
		if said := strings.Contains(in.Log.String(), "differs from the database's"); said != (n > 0) {
			t.Errorf("replica %d says that its clock is off: %v", n, said)
		}
	}

	// A key that lives for three minutes, of which each replica says the same.
	for n, in := range replicas {
		var made struct{ Key string }
		a := in.Do(t, http.MethodPost, "/api/v1/keys", fmt.Sprintf(`{"name":"short%d","scopes":["tools:read"],"expires_at":%q}`, n, time.Now().Add(3*time.Minute).UTC().Format(time.RFC3339)))
		if err := json.Unmarshal([]byte(a.Body), &made); err != nil || made.Key == "" {
			t.Fatalf("replica %d: %d %s", n, a.Status, a.Body)
		}
		for at, other := range replicas {
			poll.Until(t, fmt.Sprintf("the key of replica %d opens replica %d", n, at), patience, func() bool {
				return other.Do(t, http.MethodGet, "/mcp/tools", "", "Authorization: Bearer "+made.Key).Status == http.StatusOK
			})
		}
	}

	// Deliveries that take a while: a replica that is ahead would think that the lease of
	// another has run out.
	agent := program.NewReceiver(t)
	agent.Hold = func(int) time.Duration { return 500 * time.Millisecond }
	program.At(replicas[0].URL).Events(t, agent.URL)
	events := program.NewSender(front.URL, 600*time.Millisecond) // about as fast as they are delivered
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		events.Run(ctx, 6)
	}()
	poll.Until(t, "events come", patience, func() bool { return agent.Came() >= 30 })
	cancel()
	<-done
	taken := events.Taken()
	agent.Check(t, taken)
	all := agent.Told()
	checkIndependent(t, all, nil)
	seen := map[string]bool{}
	for _, one := range all {
		if seen[one.ID] {
			t.Errorf("%s was delivered twice", one.ID)
		}
		seen[one.ID] = true
	}
	t.Logf("figure: clocks five minutes apart: %d events, each delivered once", len(taken))
}
