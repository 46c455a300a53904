package telemetry

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	junctor "github.com/junctor-mcp/junctor"
)

// DefaultMaxNames is the default of MetricsOptions.MaxNames. Each name costs
// about 15 series once its tool was called.
const DefaultMaxNames = 1000

// otherName is the label of all names beyond the limit.
const otherName = "other"

// MetricsOptions configure the metrics of an instance.
type MetricsOptions struct {
	Version   string // of the binary
	GoVersion string
	MaxNames  int // tool names with their own label; default DefaultMaxNames
}

// Metrics are the metrics of one instance, in its own registry. All methods may
// be called from any goroutine.
type Metrics struct {
	registry          *prometheus.Registry
	calls             *prometheus.CounterVec
	duration          *prometheus.HistogramVec
	toolLists         *prometheus.CounterVec
	definitionTokens  *prometheus.CounterVec
	unauthenticated   prometheus.Counter
	attempts          *prometheus.CounterVec
	fileFailures      *prometheus.CounterVec
	attemptDuration   prometheus.Histogram
	queueReadFailures prometheus.Counter

	mu         sync.Mutex
	maxNames   int
	adhocNames int // of the names in routes, those of endpoints that are no registered servers
	routes     map[string]*Route
	otherRoute *Route // of all names beyond the limit
}

// NewMetrics returns the metrics and registers them, together with those of the
// Go runtime and the process.
func NewMetrics(opt MetricsOptions) *Metrics {
	if opt.MaxNames <= 0 {
		opt.MaxNames = DefaultMaxNames
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		maxNames: opt.MaxNames,
		routes:   map[string]*Route{},
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mcp_calls_total", Help: "Calls that ended, by tool and status.",
		}, []string{"tool_name", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "mcp_call_duration_seconds", Help: "Duration of calls that ran in seconds, by tool.",
			Buckets: []float64{.0005, .001, .005, .01, .05, .1, .5, 1, 5, 10, 30},
		}, []string{"tool_name"}),
		unauthenticated: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "junctor_unauthenticated_total", Help: "Requests that were refused because they had no valid credential.",
		}),
	}
	m.toolLists = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "junctor_tool_lists_total", Help: "Tool lists that clients and models received, by entry point.",
	}, []string{"entry_point"})
	m.definitionTokens = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "junctor_definition_tokens_total", Help: "Estimated tokens of the tool definitions in these lists, by entry point: one for each four bytes.",
	}, []string{"entry_point"})
	m.fileFailures = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "verify_failures_total", Help: "Files of events that failed verification, by kind: hash, contradiction, unusable or unreachable.",
	}, []string{"kind"})
	m.attempts = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "delivery_attempts_total", Help: "Attempts to deliver an event, by outcome: delivered, or the kind of failure.",
	}, []string{"outcome"})
	m.attemptDuration = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "delivery_attempt_duration_seconds", Help: "Duration of attempts to deliver an event in seconds.", Buckets: []float64{.01, .1, .5, 1, 5, 10, 30},
	})
	m.queueReadFailures = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "queue_read_failures_total", Help: "Failed reads of the queue. After one, queue_depth, job_oldest_ready_seconds and breaker_state are absent.",
	})
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "junctor_build_info", Help: "Always 1. The labels have the version of Junctor and of Go.",
		ConstLabels: prometheus.Labels{"version": opt.Version, "go_version": opt.GoVersion},
	})
	build.Set(1)
	m.registry.MustRegister(m.calls, m.duration, m.toolLists, m.definitionTokens, m.unauthenticated, m.attempts, m.attemptDuration, m.fileFailures, m.queueReadFailures, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.otherRoute = m.newRoute(otherName)
	return m
}

// Handler serves the metrics in the format of Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// CountUnauthenticated counts a request without a valid credential.
func (m *Metrics) CountUnauthenticated() { m.unauthenticated.Inc() }

// AddGauge adds a gauge that is read whenever the metrics are read. Adding a name
// twice is an error.
func (m *Metrics) AddGauge(name, help string, read func() float64) error {
	err := m.registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
	if err != nil {
		return junctor.Errorf(junctor.CodeInternal, "the metric %s cannot be added: %w", name, err)
	}
	return nil
}

// CountFileFailure counts a file of an event that failed verification.
func (m *Metrics) CountFileFailure(kind string) { m.fileFailures.WithLabelValues(kind).Inc() }

// CountQueueReadFailure counts that the figures of the queue could not be read.
func (m *Metrics) CountQueueReadFailure() { m.queueReadFailures.Inc() }

// ObserveAttempt counts an attempt to deliver an event.
func (m *Metrics) ObserveAttempt(outcome string, took time.Duration) {
	m.attempts.WithLabelValues(outcome).Inc()
	m.attemptDuration.Observe(took.Seconds())
}

// AddCollector adds gauges that are read together whenever the metrics are read. read
// calls set for each of them; label may be "".
func (m *Metrics) AddCollector(read func(set func(name, help, label, value string, number float64))) error {
	if err := m.registry.Register(gaugeCollector(read)); err != nil {
		return junctor.Errorf(junctor.CodeInternal, "metrics cannot be added: %w", err)
	}
	return nil
}

// gaugeCollector is a prometheus.Collector of the gauges that a function sets.
type gaugeCollector func(set func(name, help, label, value string, number float64))

// Describe implements prometheus.Collector. The metrics are not known in advance.
func (c gaugeCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c gaugeCollector) Collect(to chan<- prometheus.Metric) {
	c(func(name, help, label, value string, number float64) {
		var labels, values []string
		if label != "" {
			labels, values = []string{label}, []string{value}
		}
		to <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, labels, nil), prometheus.GaugeValue, number, values...)
	})
}
