package guard

import (
	"context"
	"errors"
	"strconv"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// refuse records a call that never ran, with its reason, and gives the error
// back. shown is the exposed name where one was found: unknown names must not
// become labels of counters.
func (g *Guard) refuse(ctx context.Context, call *junctor.Call, shown string, err error) error {
	e := junctor.AsError(err)
	if call.ID == "" {
		call.ID = g.o.NewID()
	}
	call.Status, call.Code, call.Reason = refusal(e.Code), e.Code, reason(e)
	if hidden, ok := errors.AsType[*catalog.HiddenError](e.Cause); ok { // the caller hears that it is not there
		call.Status, call.Reason, shown = junctor.StatusDenied, string(hidden.Reason), ""
	}
	call.Name = clip(call.Name, maxName)
	// The record outlives a caller that went away.
	if aerr := g.o.Journal.Append(context.WithoutCancel(ctx), call); aerr != nil {
		g.o.Logger.Error("a refusal could not be recorded", "error", aerr)
	}
	g.ends.write(ctx, g.o.Logger, call, g.o.Now())
	g.o.Recorder.Record(call, nil, nil) // what was refused may be a secret in the wrong place
	if shown == "" {
		shown = "unknown"
	}
	g.o.Meter.Observe(shown, call.Status, 0)
	return e
}

// Records are kept long: what callers make up must not fill them.
const (
	maxName   = 256
	maxReason = 512
)

// reason is what a record says about an error: where arguments broke their
// schema, but not with which values, because a record holds no payload.
func reason(e *junctor.Error) string {
	if len(e.Violations) == 0 {
		return clip(e.Message, maxReason)
	}
	places := make([]string, len(e.Violations))
	for i, v := range e.Violations {
		places[i] = "the top"
		if v.Pointer != "" {
			places[i] = strconv.Quote(v.Pointer)
		}
	}
	return clip("the arguments do not fit the tool's input schema at "+strings.Join(places, ", "), maxReason)
}

func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}

func refusal(c junctor.Code) junctor.Status {
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

// finish records and counts the end of a call that ran, and gives its error
// back in the one type. item is what ran.
func (g *Guard) finish(ctx context.Context, op *Op, call *junctor.Call, item catalog.Item, res catalog.Result, err error) error {
	call.Status = junctor.StatusSuccess
	if call.BytesOut = len(res.Body); call.BytesOut > 0 {
		call.ResultDigest = g.digests.of(res.Body[:min(call.BytesOut, junctor.DigestedResult)])
	}
	call.Duration = g.o.Now().Sub(call.Start)
	var e *junctor.Error
	switch {
	case err != nil:
		e = junctor.AsError(err)
		call.Status, call.Code, call.Reason = ending(e.Code), e.Code, reason(e)
		if e.Code == junctor.CodeInternal {
			g.o.Logger.Error("a call failed inside", "call", call.ID, "server", call.Server, "name", call.Name, "error", e.Cause)
		}
	case res.IsError:
		call.Status = junctor.StatusError
	}
	// The record outlives a caller that went away.
	if aerr := g.o.Journal.Append(context.WithoutCancel(ctx), call); aerr != nil {
		g.o.Logger.Error("the end of a call could not be recorded", "call", call.ID, "error", aerr)
	}
	g.ends.write(ctx, g.o.Logger, call, g.o.Now())
	if each, ok := item.Server.Backend.(junctor.Keepers); ok {
		call.Keeper = each.KeeperOf(op.Principal)
	} else {
		call.Keeper, _ = item.Server.Backend.(junctor.Keeper)
	}
	g.o.Recorder.Record(call, op.Params, res.Body)
	g.o.Meter.Observe(item.Shown, call.Status, call.Duration)
	if e == nil {
		return nil
	}
	return e
}

func ending(c junctor.Code) junctor.Status {
	switch c {
	case junctor.CodeTimeout:
		return junctor.StatusTimeout
	case junctor.CodeCanceled:
		return junctor.StatusCanceled
	default:
		return junctor.StatusError
	}
}

// recorded is how a record names what was asked for.
func (op *Op) recorded(name string) string {
	if op.IsURI || op.Kind == junctor.KindResource || op.Kind == junctor.KindSubscription {
		return plainURI(name)
	}
	return name
}

// plainURI is a URI as records and errors may show it: without a user, a query
// and a fragment, where credentials travel.
func plainURI(uri string) string {
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
