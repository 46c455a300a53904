package telemetry

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	junctor "github.com/junctor-mcp/junctor"
)

// listStatuses returns the statuses of an ended call, in the order of
// Route.endedCalls. Any other status counts as error.
func listStatuses() [8]junctor.Status {
	return [8]junctor.Status{
		junctor.StatusError, junctor.StatusSuccess, junctor.StatusTimeout, junctor.StatusCanceled,
		junctor.StatusDenied, junctor.StatusLimited, junctor.StatusInvalid, junctor.StatusLapsed,
	}
}

// statusIndex returns the position of a status in listStatuses.
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

// adhocShare limits the names of endpoints that are no registered servers to
// 1/adhocShare of all names. Callers choose those names, and must not use up the
// labels of the others.
const adhocShare = 5

// IsAdhoc reports whether a name is that of a tool at an endpoint that is no
// registered server.
func IsAdhoc(tool string) bool { return strings.HasPrefix(tool, junctor.AdhocServer+"__") }

// IsOther reports whether the route is the one that all names beyond the limit
// share.
func (r *Route) IsOther() bool { return r.name == otherName }

// Route counts the calls of one tool. Keep it with the tool: finding it takes a
// lock, using it does not.
type Route struct {
	metrics *Metrics
	name    string
	// The counters are resolved when they are first needed. So a tool that is
	// never called has no series, and a tool that never fails has no series of
	// failures.
	endedCalls [8]atomic.Pointer[prometheus.Counter]
	duration   atomic.Pointer[prometheus.Observer]
}

// Route returns the route of a tool by its exposed name. Equal names share one.
// Names beyond the limit share the route "other".
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

// newRoute returns a route without series.
func (m *Metrics) newRoute(name string) *Route { return &Route{metrics: m, name: name} }

// CountCall counts one call that ended. It neither looks up a label nor allocates,
// except for the first call of each status.
func (r *Route) CountCall(status junctor.Status, d time.Duration) {
	i := statusIndex(status)
	counter := r.endedCalls[i].Load()
	if counter == nil {
		c := r.metrics.calls.WithLabelValues(r.name, string(listStatuses()[i]))
		counter = &c
		r.endedCalls[i].Store(counter)
	}
	(*counter).Inc()
	if status == junctor.StatusDenied || status == junctor.StatusLimited || status == junctor.StatusInvalid {
		return // it never ran, so it has no duration
	}
	observer := r.duration.Load()
	if observer == nil {
		o := r.metrics.duration.WithLabelValues(r.name)
		observer = &o
		r.duration.Store(observer)
	}
	(*observer).Observe(d.Seconds())
}
