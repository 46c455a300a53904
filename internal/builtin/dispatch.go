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
// a handler that ignores its context delays Do.
func (s *Server) Do(ctx context.Context, req *catalog.Request, sink catalog.Sink) (res catalog.Result, err error) {
	call := &Call{req: req, sink: sink}
	defer func() {
		call.closeSink()
		if p := recover(); p != nil {
			res, err = s.recoverPanic(ctx, req, p)
		}
	}()
	if call.input, err = readInput(req.Input); err != nil {
		return catalog.Result{}, err
	}
	it := s.registry.Load()
	switch req.Kind {
	case junctor.KindTool:
		res, err = s.callTool(ctx, it, call)
	case junctor.KindResource:
		res, err = s.readResource(ctx, it, call)
	case junctor.KindPrompt:
		res, err = s.getPrompt(ctx, it, call)
	case junctor.KindCompletion:
		res, err = s.completeArgument(ctx, it, call)
	case junctor.KindSubscription:
		res, err = s.subscribeResource(it, req)
	default:
		return catalog.Result{}, junctor.Errorf(junctor.CodeInternal, "server %q does not support requests of kind %q", s.id, string(req.Kind))
	}
	if err != nil {
		return s.settleError(ctx, call, err)
	}
	return res, nil
}

// callTool runs a tool in the requested version. The first call builds the
// handler.
func (s *Server) callTool(ctx context.Context, it *registry, call *Call) (catalog.Result, error) {
	versions := it.tools[call.req.Name]
	if versions == nil {
		return catalog.Result{}, s.notFound("tool", call.req.Name)
	}
	t := versions.findVersion(call.req.Version)
	if t == nil {
		return catalog.Result{}, junctor.Errorf(junctor.CodeNotFound, "tool %q of server %q has no version %q; it has: %s",
			call.req.Name, s.id, call.req.Version, versions.joinNames())
	}
	run, err := t.run.get(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return catalog.Result{}, ctx.Err()
	case err != nil:
		return catalog.Result{}, junctor.Errorf(junctor.CodeUnavailable, "tool %q of server %q could not be started; the next call tries again: %w",
			t.Name, s.id, err)
	}
	return run(ctx, call, call.req.Arguments)
}

// settleError turns the error of a handler into what catalog.Backend specifies:
// a request for input, a protocol error, or the result of a tool that failed.
func (s *Server) settleError(ctx context.Context, call *Call, err error) (catalog.Result, error) {
	kind := call.req.Kind
	if need, ok := errors.AsType[*NeedInput](err); ok && kind != junctor.KindCompletion {
		return call.renderPause(need)
	}
	if end := ctx.Err(); end != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return catalog.Result{}, junctor.AsError(end)
	}
	if e, ok := errors.AsType[*junctor.Error](err); ok && (kind != junctor.KindTool || !isToolFailure(e.Code)) {
		return catalog.Result{}, e
	}
	if kind == junctor.KindTool {
		return textResult(err.Error(), true), nil
	}
	return catalog.Result{}, junctor.Errorf(junctor.CodeInternal, "%s %q of server %q failed: %w", string(kind), call.req.Name, s.id, err)
}

// isToolFailure reports whether a code is about work that was tried and failed,
// which a model should read, and not about the request or this instance.
func isToolFailure(code junctor.Code) bool {
	switch code {
	case junctor.CodeUnreachable, junctor.CodeUpstream, junctor.CodeTimeout, junctor.CodeCanceled:
		return true
	default:
		return false
	}
}

// recoverPanic logs a panic of a handler with its stack, and returns the answer
// to the caller. The answer does not repeat the panic, which may contain a
// secret.
func (s *Server) recoverPanic(ctx context.Context, req *catalog.Request, p any) (catalog.Result, error) {
	s.log.LogAttrs(ctx, slog.LevelError, "built-in tool panicked",
		slog.String("server", s.id), slog.String("kind", string(req.Kind)), slog.String("name", req.Name),
		slog.String("call", req.CallID), telemetry.PanicAttr(p))
	if req.Kind == junctor.KindTool {
		return textResult("The tool "+req.Name+" crashed. This is a bug of the tool, not of the arguments; the log of this instance has the details.", true), nil
	}
	return catalog.Result{}, junctor.Errorf(junctor.CodeInternal, "%s %q of server %q crashed; the log of this instance has the details",
		string(req.Kind), req.Name, s.id)
}
