package guard

import (
	"context"
	"errors"
	"strconv"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// recordRefusal records a call that never ran, with its reason, and returns the error.
// shown is the exposed name, or "" if the name was not resolved: unknown names must not
// become metric labels. The record has no payload, unless a rule denied the call: then its
// parameters were checked against the schema, and the rule is explained by them.
func (g *Guard) recordRefusal(ctx context.Context, call *junctor.Call, shown string, params []byte, err error) error {
	e := junctor.AsError(err)
	if call.ID == "" {
		call.ID = g.options.NewID()
	}
	call.Status, call.Code, call.Reason = refusalStatus(e.Code), e.Code, recordedReason(e)
	if hidden, ok := errors.AsType[*catalog.HiddenError](e.Cause); ok { // the caller gets not_found; the record has the true reason
		call.Status, call.Reason, shown = junctor.StatusDenied, string(hidden.Reason), ""
	}
	call.Name = truncateText(call.Name, maxNameLength)
	// Record it even if the caller has disconnected.
	if aerr := g.options.Journal.Append(context.WithoutCancel(ctx), call); aerr != nil {
		g.options.Logger.Error("cannot record a refusal in the journal", "error", aerr)
	}
	g.endLog.logEnd(ctx, g.options.Logger, call, g.options.Now())
	if _, ok := errors.AsType[*RuleError](e.Cause); !ok {
		params = nil // it may be a secret in the wrong place
	}
	g.options.Recorder.Record(call, params, nil)
	if shown == "" {
		shown = "unknown"
	}
	g.options.Meter.Observe(shown, call.Status, 0)
	return e
}

// Bounds for texts that callers choose, in bytes. Records are kept for long, and
// callers must not be able to fill them.
const (
	maxNameLength   = 256
	maxReasonLength = 512
)

// recordedReason returns the text of an error for a record. For a schema violation it
// names the places but not the values, because a record holds no payload. Of a rule that could
// not be evaluated it does not say why: that quotes the condition and arguments, and the
// history has it for those who may read them.
func recordedReason(e *junctor.Error) string {
	if denied, ok := errors.AsType[*RuleError](e.Cause); ok {
		return denied.reason()
	}
	if len(e.Violations) == 0 {
		return truncateText(e.Message, maxReasonLength)
	}
	places := make([]string, len(e.Violations))
	for i, v := range e.Violations {
		places[i] = "the top"
		if v.Pointer != "" {
			places[i] = strconv.Quote(v.Pointer)
		}
	}
	return truncateText("the arguments do not match the tool's input schema at "+strings.Join(places, ", "), maxReasonLength)
}

// truncateText cuts s to at most most bytes without leaving half a character.
func truncateText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}

// refusalStatus maps the error of a call that never ran to its status.
func refusalStatus(c junctor.Code) junctor.Status {
	switch c {
	case junctor.CodeDenied, junctor.CodeUnauthenticated:
		return junctor.StatusDenied
	case junctor.CodeLimited:
		return junctor.StatusLimited
	case junctor.CodeInvalid, junctor.CodeNotFound, junctor.CodeTooLarge, junctor.CodeConflict, junctor.CodePrecondition:
		return junctor.StatusInvalid
	default:
		return junctor.StatusError
	}
}

// recordEnd records and counts the end of a call that ran, and returns its error as a
// *junctor.Error. item is the item that ran.
func (g *Guard) recordEnd(ctx context.Context, op *Op, call *junctor.Call, item catalog.Item, res catalog.Result, err error) error {
	call.Status = junctor.StatusSuccess
	if call.BytesOut = len(res.Body); call.BytesOut > 0 {
		call.ResultDigest = g.hashers.sumBytes(res.Body[:min(call.BytesOut, junctor.DigestedResult)])
	}
	call.Duration = g.options.Now().Sub(call.Start)
	op.Duration = call.Duration
	var e *junctor.Error
	switch {
	case err != nil:
		e = junctor.AsError(err)
		call.Status, call.Code, call.Reason = failureStatus(e.Code), e.Code, recordedReason(e)
		if e.Code == junctor.CodeInternal {
			g.options.Logger.Error("call failed with an internal error", "call", call.ID, "server", call.Server, "name", call.Name, "error", e.Cause)
		}
	case res.IsError:
		call.Status = junctor.StatusError
	}
	// Record it even if the caller has disconnected.
	if aerr := g.options.Journal.Append(context.WithoutCancel(ctx), call); aerr != nil {
		g.options.Logger.Error("cannot record the end of a call in the journal", "call", call.ID, "error", aerr)
	}
	g.endLog.logEnd(ctx, g.options.Logger, call, g.options.Now())
	if each, ok := item.Server.Backend.(junctor.Keepers); ok {
		call.Keeper = each.KeeperFor(op.Principal)
	} else {
		call.Keeper, _ = item.Server.Backend.(junctor.Keeper)
	}
	g.options.Recorder.Record(call, op.Params, res.Body)
	g.options.Meter.Observe(item.Shown, call.Status, call.Duration)
	if e == nil {
		return nil
	}
	return e
}

// failureStatus maps the error of a call that ran to its status.
func failureStatus(c junctor.Code) junctor.Status {
	switch c {
	case junctor.CodeTimeout:
		return junctor.StatusTimeout
	case junctor.CodeCanceled:
		return junctor.StatusCanceled
	default:
		return junctor.StatusError
	}
}

// recordedName returns the name of the item for a record: URIs are redacted.
func (op *Op) recordedName(name string) string {
	if op.IsURI || op.Kind == junctor.KindResource || op.Kind == junctor.KindSubscription {
		return redactURI(name)
	}
	return name
}

// redactURI removes the parts of a URI that may hold credentials: the user, the query and
// the fragment.
func redactURI(uri string) string {
	if i := strings.IndexAny(uri, "?#"); i >= 0 {
		uri = uri[:i] + uri[i:i+1] + "…"
	}
	if scheme, rest, ok := strings.Cut(uri, "://"); ok {
		authority, path, _ := strings.Cut(rest, "/")
		if at := strings.LastIndexByte(authority, '@'); at >= 0 {
			uri = scheme + "://…" + authority[at:] + "/" + path
		}
	}
	return uri
}

// judgeResult lets the policy judge a result, and replaces it by what the rules leave
// of it. Of a task that is its result, once it has one. A withheld result is removed, so
// that no record keeps it.
func (g *Guard) judgeResult(ctx context.Context, op *Op, item *catalog.Item, call *junctor.Call, res *catalog.Result) error {
	if g.options.Policy == nil || len(res.Body) == 0 {
		return nil
	}
	result := res.Body
	if res.Task {
		if result = wire.Get(res.Body, "result"); result == nil {
			return g.judgeTaskError(ctx, op, item, call, res)
		}
	}
	judged, err := g.options.Policy.JudgeResult(ctx, op, item, call, result)
	switch {
	case err != nil:
		*res = catalog.Result{}
		return err
	case res.Task:
		res.Body = wire.AppendObject(nil, res.Body, nil, wire.Member{Key: "result", Value: judged})
	default:
		res.Body = judged
	}
	return nil
}
