package builtin

import (
	"context"
	"errors"
	"log/slog"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// Do implements catalog.Backend. The handler runs on the caller's goroutine, so
// one that does not heed its context holds Do up.
func (s *Server) Do(ctx context.Context, req *catalog.Request, sink catalog.Sink) (res catalog.Result, err error) {
	call := &Call{req: req, sink: sink}
	defer func() {
		call.end()
		if p := recover(); p != nil {
			res, err = s.panicked(ctx, req, p)
		}
	}()
	if call.input, err = readInput(req.Input); err != nil {
		return catalog.Result{}, err
	}
	it := s.items.Load()
	switch req.Kind {
	case junctor.KindTool:
		res, err = s.tool(ctx, it, call)
	case junctor.KindResource:
		res, err = s.read(ctx, it, call)
	case junctor.KindPrompt:
		res, err = s.prompt(ctx, it, call)
	case junctor.KindCompletion:
		res, err = s.complete(ctx, it, call)
	case junctor.KindSubscription:
		res, err = s.subscribe(it, req)
	default:
		return catalog.Result{}, junctor.Errorf(junctor.CodeInternal, "server %q cannot do a %q", s.id, string(req.Kind))
	}
	if err != nil {
		return s.settle(ctx, call, err)
	}
	return res, nil
}

func (s *Server) tool(ctx context.Context, it *items, call *Call) (catalog.Result, error) {
	versions := it.tools[call.req.Name]
	if versions == nil {
		return catalog.Result{}, s.notFound("tool", call.req.Name)
	}
	t := versions.find(call.req.Version)
	if t == nil {
		return catalog.Result{}, junctor.Errorf(junctor.CodeNotFound, "tool %q of server %q has no version %q; it has: %s",
			call.req.Name, s.id, call.req.Version, versions.names())
	}
	run, err := t.run.get(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return catalog.Result{}, ctx.Err()
	case err != nil:
		return catalog.Result{}, junctor.Errorf(junctor.CodeUnavailable, "tool %q of server %q could not be started, and is tried anew at the next call: %w",
			t.Name, s.id, err)
	}
	return run(ctx, call, call.req.Arguments)
}

// settle turns what a handler returned in place of a value into what the
// contract knows: a pause, a protocol error, or a tool's failure.
func (s *Server) settle(ctx context.Context, call *Call, err error) (catalog.Result, error) {
	kind := call.req.Kind
	if need, ok := errors.AsType[*NeedInput](err); ok && kind != junctor.KindCompletion {
		return call.pause(need)
	}
	if end := ctx.Err(); end != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return catalog.Result{}, junctor.AsError(end)
	}
	if e, ok := errors.AsType[*junctor.Error](err); ok && (kind != junctor.KindTool || !failed(e.Code)) {
		return catalog.Result{}, e
	}
	if kind == junctor.KindTool {
		return textResult(err.Error(), true), nil
	}
	return catalog.Result{}, junctor.Errorf(junctor.CodeInternal, "%s %q of server %q failed: %w", string(kind), call.req.Name, s.id, err)
}

// failed says whether a code is about work that was tried and came to nothing,
// which a model should read, and not about the request or about us.
func failed(code junctor.Code) bool {
	switch code {
	case junctor.CodeUnreachable, junctor.CodeUpstream, junctor.CodeTimeout, junctor.CodeCanceled:
		return true
	default:
		return false
	}
}

func (s *Server) panicked(ctx context.Context, req *catalog.Request, p any) (catalog.Result, error) {
	s.log.LogAttrs(ctx, slog.LevelError, "panic in a built-in handler",
		slog.String("server", s.id), slog.String("kind", string(req.Kind)), slog.String("name", req.Name),
		slog.String("call", req.CallID), telemetry.Panic(p))
	if req.Kind == junctor.KindTool {
		return textResult("The tool "+req.Name+" broke while it ran. This is a fault of the tool, not of the arguments; the log of this instance says more.", true), nil
	}
	return catalog.Result{}, junctor.Errorf(junctor.CodeInternal, "%s %q of server %q broke while it ran; the log of this instance says more",
		string(req.Kind), req.Name, s.id)
}
