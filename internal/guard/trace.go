package guard

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/telemetry"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// TraceCalls returns the Options.Trace that makes a span of every operation. The span is
// part of the trace that the caller names in _meta or in the headers of its request, and
// the backend receives it in _meta.
func TraceCalls(tracer trace.Tracer) func(context.Context, *Op) (context.Context, func(error)) {
	return func(ctx context.Context, op *Op) (context.Context, func(error)) {
		parent, _ := wire.String(wire.Get(op.Meta, wire.MetaTraceparent))
		state, _ := wire.String(wire.Get(op.Meta, wire.MetaTracestate))
		ctx, span := tracer.Start(telemetry.ExtractTrace(ctx, parent, state), "junctor "+string(op.Kind), trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(attribute.String("mcp.name", op.Name), attribute.String("junctor.entry_point", string(op.EntryPoint))))
		op.Meta = replaceTrace(ctx, op.Meta)
		return ctx, func(err error) {
			if err != nil {
				span.SetStatus(codes.Error, string(junctor.CodeOf(err)))
			}
			span.End()
		}
	}
}

// replaceTrace puts the trace of ctx in the place of the one in meta.
func replaceTrace(ctx context.Context, meta []byte) []byte {
	parent, state := telemetry.InjectTrace(ctx)
	if parent == "" {
		return meta
	}
	members := []wire.Member{{Key: wire.MetaTraceparent, Value: wire.AppendString(nil, parent)}}
	if state != "" {
		members = append(members, wire.Member{Key: wire.MetaTracestate, Value: wire.AppendString(nil, state)})
	}
	return wire.AppendObject(nil, meta, []string{wire.MetaTracestate}, members...)
}
