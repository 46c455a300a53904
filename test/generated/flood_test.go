package generated

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// slow is an API that answers nobody until it is told to, and counts who waits.
type slow struct {
	*httptest.Server
	now, most, seen atomic.Int64
	open            chan struct{}
}

func newSlow(t *testing.T) *slow {
	t.Helper()
	s := &slow{open: make(chan struct{})}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := s.now.Add(1)
		defer s.now.Add(-1)
		s.seen.Add(1)
		for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
		}
		select {
		case <-s.open:
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{}`)
	}))
	t.Cleanup(s.Close)
	return s
}

// One generated server is flooded: its API has 32 requests under way and no more,
// the other calls wait for their turn, and another generated server answers each
// of its calls at once meanwhile, though as many of its slots are wanted.
func TestFloodTakesNothingFromOthers(t *testing.T) {
	t.Parallel()
	const flood, slots = 150, 32
	instance := testkit.Start(t, testkit.Settings{"egress-allow": "127.0.0.0/8"})
	flooded, other := newSlow(t), newKeeper(t)
	for id, address := range map[string]string{"flooded": flooded.URL, "other": other.URL} {
		addServer(t, instance, fmt.Sprintf(`{"id":%q,"mode":"auto-generated","document":%q,"base_url":%q,"call_timeout":"4m"}`, id, document("header", "X-Pets"), address))
	}
	var group sync.WaitGroup
	var answered atomic.Int64
	for range flood {
		group.Go(func() {
			a, err := program.NewCaller(t, program.Plain, instance.URL, testkit.AdminKey).Call(t.Context(), "flooded__list_pets", `{}`)
			if err == nil && a.OK {
				answered.Add(1)
			} else {
				t.Errorf("a call of the flood: %v %s", err, a.Body)
			}
		})
	}
	poll.Until(t, "every slot is taken", 2*time.Minute, func() bool { return flooded.now.Load() == slots })
	c := program.NewCaller(t, program.Plain, instance.URL, testkit.AdminKey)
	var took []time.Duration
	for i := range 3 * slots {
		begin := time.Now()
		a, err := c.Call(t.Context(), "other__list_pets", `{"q":"x"}`)
		if err != nil || !a.OK || !strings.HasPrefix(other.last(), "q=x") {
			t.Fatalf("call %d of another server: %v %s", i, err, a.Body)
		}
		took = append(took, time.Since(begin))
	}
	if n := answered.Load(); n != 0 {
		t.Errorf("%d calls of the flood ended: nothing was measured under it", n)
	}
	close(flooded.open)
	group.Wait()
	if most, seen := flooded.most.Load(), flooded.seen.Load(); most != slots || seen != flood {
		t.Errorf("the flooded API had %d requests at a time and %d in all", most, seen)
	}
	var longest time.Duration
	for _, d := range took {
		longest = max(longest, d)
	}
	t.Logf("figure: %d calls at once of one generated server: its API has %d requests at a time; of %d calls of another all are answered meanwhile, the longest in %s",
		flood, slots, len(took), longest.Round(time.Millisecond))
}
