package telemetry

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	junctor "github.com/junctor-mcp/junctor"
)

// TracingOptions say where traces are sent.
type TracingOptions struct {
	// URL of an OTLP/HTTP collector; "" disables tracing. Without a path it gets
	// /v1/traces.
	Endpoint string
	Client   *http.Client // reaches the endpoint; comes from internal/egress
	Logger   *slog.Logger // receives a warning if the collector refuses spans
	Version  string       // of the binary
}

// StartTracing starts tracing. Without an endpoint the tracer does nothing, at no
// cost, and shutdown is empty. Otherwise the caller must call shutdown, which
// sends the remaining spans.
func StartTracing(ctx context.Context, opt TracingOptions) (shutdown func(context.Context) error, tracer trace.Tracer, err error) {
	if opt.Endpoint == "" {
		return func(context.Context) error { return nil }, disabledTracer{}, nil
	}
	if opt.Client == nil || opt.Logger == nil {
		return nil, nil, junctor.Errorf(junctor.CodeInternal, "tracing needs an HTTP client and a logger")
	}
	u, err := url.Parse(opt.Endpoint)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, nil, junctor.Errorf(junctor.CodeInvalid, "otel-endpoint is no http or https URL: write it like http://127.0.0.1:4318")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(u.String()), otlptracehttp.WithHTTPClient(opt.Client))
	if err != nil {
		return nil, nil, junctor.Errorf(junctor.CodeInternal, "tracing could not be started: %w", err)
	}
	provider := sdk.NewTracerProvider(
		sdk.WithBatcher(&exportLogger{SpanExporter: exporter, log: opt.Logger}),
		sdk.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "junctor"),
			attribute.String("service.version", opt.Version),
		)),
	)
	return provider.Shutdown, provider.Tracer("github.com/junctor-mcp/junctor"), nil
}

// ExtractTrace returns ctx with the trace of a caller, from the members traceparent
// and tracestate of a request's _meta (W3C Trace Context). Invalid values are
// ignored.
func ExtractTrace(ctx context.Context, traceparent, tracestate string) context.Context {
	if traceparent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{
		"traceparent": traceparent,
		"tracestate":  tracestate,
	})
}

// InjectTrace returns the trace of ctx in the form that ExtractTrace accepts; two empty
// strings if there is none.
func InjectTrace(ctx context.Context) (traceparent, tracestate string) {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"], carrier["tracestate"]
}

// CopyTrace returns ctx with the trace of from, and nothing else of it.
func CopyTrace(from, ctx context.Context) context.Context {
	return trace.ContextWithSpanContext(ctx, trace.SpanContextFromContext(from))
}

// TraceFromHeaders takes the trace of a caller from the headers of its requests, for
// requests without one in _meta.
func TraceFromHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if parent := r.Header.Get("Traceparent"); parent != "" {
			r = r.WithContext(ExtractTrace(r.Context(), parent, r.Header.Get("Tracestate")))
		}
		next.ServeHTTP(w, r)
	})
}

// disabledTracer is the tracer without an endpoint. Unlike the library's own, it
// returns the context unchanged, so it allocates nothing.
type disabledTracer struct{ noop.Tracer }

// Start returns ctx and a span that does nothing.
func (disabledTracer) Start(ctx context.Context, _ string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	return ctx, noop.Span{}
}

// exportLogger logs failed exports to our log; the library would use a global
// one. Lost spans never fail anything.
type exportLogger struct {
	sdk.SpanExporter
	log *slog.Logger
}

// ExportSpans implements sdk.SpanExporter. It logs an error and returns nil.
func (e *exportLogger) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil {
		e.log.WarnContext(ctx, "cannot export traces", slog.Int("spans", len(spans)), ErrorAttr(err))
	}
	return nil
}
