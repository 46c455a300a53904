package guard

import (
	"context"
	"errors"
	"fmt"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard/lazyctx"
)

// CallLimits are the limits of time of an operation.
type CallLimits struct {
	Idle  time.Duration // without a sign of the server
	Total time.Duration // 0: none
}

// limitsOf returns the limits of an operation on an item. The limits of a server hold for
// its resources and prompts, too.
func (g *Guard) limitsOf(op *Op, item catalog.Item) catalog.CallLimits {
	limits := catalog.NewCallLimits(junctor.LimitOfInstance, g.options.Limits.Idle, g.options.Limits.Total)
	if offer := item.Server.Offer; offer != nil {
		limits = offer.Limits.Or(limits)
	}
	if item.Tool != nil {
		limits = item.Tool.Limits.Or(limits)
	}
	if op.Timeout > 0 {
		limits.Idle = catalog.CallLimit{}
		if limits.Total.Duration == 0 || op.Timeout <= limits.Total.Duration {
			limits.Total = catalog.CallLimit{Duration: op.Timeout, SetBy: junctor.LimitOfCaller}
		}
	}
	return limits
}

// EndCalls ends all operations that run, and those that begin later, with the error why.
func (g *Guard) EndCalls(why *junctor.Error) {
	g.endReason.Store(why)
	g.running.End()
}

// endError returns the error of an operation whose context ended before its backend
// answered. ctx is that of the caller, and cause the backend's error.
func (g *Guard) endError(ctx context.Context, op *Op, item catalog.Item, limited *lazyctx.Limited, limits *catalog.CallLimits, cause error) error {
	switch limited.Which() {
	case lazyctx.LimitIdle:
		return newLimitError(op, item, limits.Tool, "call_timeout", limits.Idle, cause)
	case lazyctx.LimitTotal:
		return newLimitError(op, item, limits.Tool, "call_timeout_max", limits.Total, cause)
	case lazyctx.LimitNone:
	}
	if ctx.Err() == nil && g.running.Ended() {
		if why := g.endReason.Load(); why != nil {
			ended := *why
			ended.Cause = cause
			return &ended
		}
	}
	// The caller may say why it ended the operation.
	if own, ok := errors.AsType[*junctor.Error](context.Cause(ctx)); ok {
		ended := *own
		ended.Cause = cause
		return &ended
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &junctor.Error{Code: junctor.CodeTimeout, Cause: cause, Message: "no answer before the deadline of the caller; the call was cancelled"}
	}
	return &junctor.Error{Code: junctor.CodeCanceled, Cause: cause, Message: "the call was cancelled"}
}

// newLimitError returns the error of a call that a limit ended. It says how to raise the
// limit. name is the field that sets it, and tool the key in the overrides if it is one of
// theirs.
func newLimitError(op *Op, item catalog.Item, tool, name string, limit catalog.CallLimit, cause error) *junctor.Error {
	server := ""
	if op.AdhocBackend == nil {
		server = item.Server.ID
	}
	out := &junctor.TimeLimit{Name: name, SetBy: limit.SetBy, Server: server, Limit: limit.Duration}
	if limit.SetBy == junctor.LimitOfCaller {
		out.Name = "timeout_ms"
	}
	if limit.SetBy == junctor.LimitOfTool {
		out.Tool = tool
	}
	what := "the server " + item.Server.ID
	if server == "" {
		what = "the endpoint"
	}
	length := junctor.Duration(limit.Duration)
	message := fmt.Sprintf("the call was cancelled: %s sent no answer and no progress for %s", what, length)
	switch {
	case op.Wait:
		// It needs no setting: a client asks again for as long as it wants to wait.
		return &junctor.Error{Code: junctor.CodeTimeout, Cause: cause, TimeLimit: out, Message: fmt.Sprintf("the task has not ended within %s; it goes on, and its result can be requested again", length)}
	case limit.SetBy == junctor.LimitOfCaller:
		message = fmt.Sprintf("the call was cancelled: no answer within %s", length)
	case name == "call_timeout_max":
		message = fmt.Sprintf("the call was cancelled: %s had not answered after %s, with or without progress", what, length)
	}
	return &junctor.Error{Code: junctor.CodeTimeout, Cause: cause, TimeLimit: out, Message: message + " (" + howToRaise(op, item, out) + ")"}
}

// howToRaise says which setting a limit is, and how to raise it.
func howToRaise(op *Op, item catalog.Item, l *junctor.TimeLimit) string {
	flag := "--call-timeout"
	if l.Name == "call_timeout_max" {
		flag = "--call-timeout-max"
	}
	// The longest values that the fields and settings take.
	more := junctor.Duration(min(2*l.Limit, 24*time.Hour))
	if l.Name == "call_timeout_max" {
		more = junctor.Duration(min(2*l.Limit, 168*time.Hour))
	}
	// The servers inside the program have no such field.
	change := fmt.Sprintf("raise it with `junctor server set %s %s %s`", l.Server, flag, more)
	if l.Server == "" || item.Server.Mode == junctor.ModeBuiltin {
		change = fmt.Sprintf("raise it with %s %s when the instance starts", flag, more)
	}
	switch l.SetBy {
	case junctor.LimitOfCaller:
		if op.EntryPoint == junctor.EntryDelivery {
			return fmt.Sprintf("timeout_ms of the trigger %s; raise it there", op.Principal.Name)
		}
		return "timeout_ms of the request; raise it there"
	case junctor.LimitOfTool:
		return fmt.Sprintf("overrides.%s.%s of the server %s; raise it with `junctor server set %s --tool%s %s=%s`", l.Tool, l.Name, l.Server, l.Server, flag[1:], l.Tool, more)
	case junctor.LimitOfServer:
		return fmt.Sprintf("%s of the server %s; %s", l.Name, l.Server, change)
	case junctor.LimitOfBuiltin:
		return "the limit that the tool has in the program"
	case junctor.LimitOfInstance:
	}
	return fmt.Sprintf("%s of the instance; %s", flag, change)
}
