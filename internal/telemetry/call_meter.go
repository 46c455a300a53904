package telemetry

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// CallMeter counts calls by the name of what was called. It finds the counters of a known
// name without a lock or an allocation, and is safe for concurrent use.
type CallMeter struct {
	metrics *Metrics
	routes  atomic.Pointer[map[string]*Route]
	mu      sync.Mutex // held while the map is replaced
}

// NewCallMeter returns a CallMeter for the metrics.
func NewCallMeter(m *Metrics) *CallMeter {
	meter := &CallMeter{metrics: m}
	meter.routes.Store(&map[string]*Route{})
	return meter
}

// maxRoutes bounds the map. Metrics have their own bound for labels.
const maxRoutes = 20000

// Observe counts one call. It implements guard.Meter.
func (m *CallMeter) Observe(name string, status junctor.Status, d time.Duration) {
	route := (*m.routes.Load())[name]
	if route == nil {
		route = m.addRoute(name)
	}
	route.CountCall(status, d)
}

// ObserveToolList counts a list of tools that was served. It implements guard.Meter.
func (m *CallMeter) ObserveToolList(entryPoint junctor.EntryPoint, tokens int) {
	m.metrics.toolLists.WithLabelValues(string(entryPoint)).Inc()
	m.metrics.definitionTokens.WithLabelValues(string(entryPoint)).Add(float64(tokens))
}

// addRoute remembers the counters of a name, unless callers choose such names, which have
// no end.
func (m *CallMeter) addRoute(name string) *Route {
	route := m.metrics.Route(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	old := *m.routes.Load()
	if len(old) >= maxRoutes || route.IsOther() && IsAdhoc(name) {
		return route
	}
	next := make(map[string]*Route, len(old)+1)
	maps.Copy(next, old)
	next[name] = route
	m.routes.Store(&next)
	return route
}
