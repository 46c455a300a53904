package telemetry

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	junctor "github.com/junctor-mcp/junctor"
)

// listStatuses are the ends a call can have, in the order of Route.ended. An end
// that is none of them counts as error.
func listStatuses() [8]junctor.Status {
	return [8]junctor.Status{
		junctor.StatusError, junctor.StatusSuccess, junctor.StatusTimeout, junctor.StatusCanceled,
		junctor.StatusDenied, junctor.StatusLimited, junctor.StatusInvalid, junctor.StatusLapsed,
	}
}

func statusIndex(s junctor.Status) int {
	switch s {
	case junctor.StatusSuccess:
		return 1
	case junctor.StatusTimeout:
		return 2
	case junctor.StatusCanceled:
		return 3
	case junctor.StatusDenied:
		return 4
	case junctor.StatusLimited:
		return 5
	case junctor.StatusInvalid:
		return 6
	case junctor.StatusLapsed:
		return 7
	case junctor.StatusError, junctor.StatusRunning:
	}
	return 0
}

// adhocShare is which part of the names may be those of endpoints that are no
// registered servers: callers choose those names, and must not use up the others'.
const adhocShare = 5

// IsAdhoc says whether a name is that of a tool at an endpoint that is no registered
// server.
func IsAdhoc(tool string) bool { return strings.HasPrefix(tool, junctor.AdhocServer+"__") }

// Other says that the names past the cap share it.
func (r *Route) Other() bool { return r.name == otherName }

// Route counts the calls of one tool. Keep it with the tool: it costs a lock
// to find, and nothing to use.
type Route struct {
	metrics *Metrics
	name    string
	// Resolved when first needed: a tool that nobody calls has no series, and
	// one that never fails has no series of failures.
	endedCalls [8]atomic.Pointer[prometheus.Counter]
	duration   atomic.Pointer[prometheus.Observer]
}

// Route gives the handle of a tool, by its exposed name. Equal names share one.
// Names past the cap share the one of "other".
func (m *Metrics) Route(tool string) *Route {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.routes[tool]; r != nil {
		return r
	}
	adhoc := IsAdhoc(tool)
	if tool == otherName || len(m.routes) >= m.maxNames || adhoc && m.adhocNames >= m.maxNames/adhocShare {
		return m.otherRoute
	}
	if adhoc {
		m.adhocNames++
	}
	r := m.newRoute(tool)
	m.routes[tool] = r
	return r
}

func (m *Metrics) newRoute(name string) *Route { return &Route{metrics: m, name: name} }

// Done counts one call that ended. It neither looks up a label nor allocates,
// but for the first call of each status.
func (r *Route) Done(status junctor.Status, d time.Duration) {
	i := statusIndex(status)
	counter := r.endedCalls[i].Load()
	if counter == nil {
		c := r.metrics.calls.WithLabelValues(r.name, string(listStatuses()[i]))
		counter = &c
		r.endedCalls[i].Store(counter)
	}
	(*counter).Inc()

	observer := r.duration.Load()
	if observer == nil {
		o := r.metrics.duration.WithLabelValues(r.name)
		observer = &o
		r.duration.Store(observer)
	}
	(*observer).Observe(d.Seconds())
}
