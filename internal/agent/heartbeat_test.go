package agent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junctor-mcp/junctor/internal/agent"
)

// A replica reports at every interval and recovers twice per timeout, whether the
// former attempt failed or not, until its context ends.
func TestHeartbeatReportsAndRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const minutes = 3
		ctx, cancel := context.WithTimeout(t.Context(), minutes*agent.HeartbeatTimeout+time.Second)
		defer cancel()
		reports, recoveries, failures := 0, 0, 0
		heartbeat := agent.Heartbeat{
			Now:     time.Now,
			Report:  func(context.Context) error { reports++; return errors.New("the database is down") },
			Recover: func(context.Context) error { recoveries++; return nil },
			LogFailure: func(_ context.Context, err error) {
				if err != nil {
					failures++
				}
			},
		}
		heartbeat.Run(ctx)
		if want := int(minutes * agent.HeartbeatTimeout / agent.HeartbeatInterval); reports != want || failures != want {
			t.Errorf("%d reports and %d failures in %d minutes; want %d of each", reports, failures, minutes, want)
		}
		if want := 2*minutes - 1; recoveries != want { // each comes with the first report after half a timeout
			t.Errorf("%d recoveries in %d minutes; want %d", recoveries, minutes, want)
		}
	})
}
