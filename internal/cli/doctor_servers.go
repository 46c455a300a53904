package cli

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// maxServerTests is how many servers are reached at the same time.
const maxServerTests = 4

// serverCheck is a server as `junctor doctor` looks at it.
type serverCheck struct {
	serverItem
	Test *junctor.Probe // nil if the server was not reached for a reason that its health or TestError says
	// TestError is why the server could not be tested.
	TestError error
}

// testServers returns the servers of the instance on a data directory. Each that is
// switched on and has its credentials is reached as it is stored.
func testServers(ctx context.Context, client *adminClient) ([]serverCheck, error) {
	items, err := loadServerHealth(ctx, client)
	if err != nil {
		return nil, err
	}
	out := make([]serverCheck, len(items))
	var work sync.WaitGroup
	slots := make(chan struct{}, maxServerTests)
	for i := range items {
		s := &out[i]
		s.serverItem = items[i]
		if !s.isTested() {
			continue
		}
		work.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			p := new(junctor.Probe)
			if s.TestError = client.exchange(ctx, http.MethodPost, apiPath("servers", s.ID, "test"), nil, p); s.TestError == nil {
				s.Test = p
			}
		})
	}
	work.Wait()
	return out, nil
}

// isTested reports whether a server is reached: a missing credential is known without
// that, and built-in servers are part of the instance.
func (s *serverCheck) isTested() bool {
	known := s.Health.State == junctor.HealthOff || len(s.Health.Missing) > 0 || s.Health.Login == junctor.LoginNone && s.Health.Problem != "" || s.Health.Login == junctor.LoginEnded
	return !known && (s.Mode == junctor.ModeBYO || s.Mode == junctor.ModeGenerated)
}

// check returns the finding about a server.
func (s *serverCheck) check(now time.Time) finding {
	const name = "server"
	facts := []string{fmt.Sprintf("%d tools, about %d tokens", s.Health.Tools, s.Health.Tokens)}
	if age := formatAge(now, s.Health.CredentialsAt); age != "" {
		facts = append(facts, "credentials entered "+age+" ago")
	}
	about := " (" + strings.Join(facts, "; ") + ")"
	switch {
	case s.Health.State == junctor.HealthOff:
		return finding{name, stateOK, s.ID + " is switched off", ""}
	case s.TestError != nil:
		return finding{name, stateFail, s.ID + ": " + s.TestError.Error(), "junctor server test " + s.ID + " shows each step"}
	case s.Test != nil && s.Test.Failed != "":
		fix := s.Test.Hint
		if fix == "" {
			fix = "junctor server test " + s.ID + " shows each step"
		}
		return finding{name, stateFail, s.ID + ": " + s.Test.Failed + ": " + s.Test.Reason, fix}
	case s.Test == nil && s.Health.Problem != "":
		return finding{name, stateFail, s.ID + ": " + s.Health.Problem, s.Health.Fix}
	case s.Test != nil && s.Test.Skipped != "":
		return finding{name, stateOK, s.ID + ": " + s.Test.Skipped + about, ""}
	case s.Test == nil:
		return finding{name, stateOK, s.ID + " is built in" + about, ""}
	}
	return finding{name, stateOK, s.ID + " answers" + about, ""}
}
