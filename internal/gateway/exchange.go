package gateway

import (
	"context"
	"net/http"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// outlet takes whole JSON-RPC messages for the client before the answer.
type outlet interface{ send(message []byte) }

// exchange is one request of a client, of either era, through whichever door.
// It is the sink of its own call.
type exchange struct {
	g      *Gateway
	p      *junctor.Principal
	door   junctor.Door
	view   catalog.View
	m      *wire.Message
	modern bool
	caller catalog.Caller
	out    outlet      // nil: nothing can be sent before the answer
	header http.Header // of a modern HTTP request, to compare with the arguments
	s      *session    // legacy

	failure   error             // why a legacy call gave no result
	allowance junctor.Allowance // what the limits of the call leave, once it was judged

	op   guard.Op // of the call
	room *[]byte  // for its result; nil is new memory
}

// outcome is the result of an exchange, before its era writes it.
type outcome struct {
	body      []byte
	list      bool // body is a rendered list: shared, perhaps long, and without _meta
	input     bool // input_required
	task      bool // the call became a task
	cacheable bool // carries ttlMs and cacheScope in the modern era
	ttl       int64
	public    bool
}

// run handles the methods that both eras know. Methods of one era only are
// handled before it.
func (x *exchange) run(ctx context.Context) (outcome, error) {
	if x.m.Wrong != "" {
		return outcome{}, &wire.Error{Code: wire.CodeInvalidParams, Message: x.m.Wrong + " has the wrong type or spelling"}
	}
	switch x.m.Method {
	case wire.MethodToolsList:
		return x.list(catalog.ListTools)
	case wire.MethodPromptsList:
		return x.list(catalog.ListPrompts)
	case wire.MethodResourcesList:
		return x.list(catalog.ListResources)
	case wire.MethodResourcesTemplatesList:
		return x.list(catalog.ListTemplates)
	case wire.MethodToolsCall:
		if !x.m.HasName {
			return outcome{}, missing("name")
		}
		return x.call(ctx, junctor.KindTool, x.m.Name)
	case wire.MethodPromptsGet:
		if !x.m.HasName {
			return outcome{}, missing("name")
		}
		return x.call(ctx, junctor.KindPrompt, x.m.Name)
	case wire.MethodResourcesRead:
		if !x.m.HasURI {
			return outcome{}, missing("uri")
		}
		return x.call(ctx, junctor.KindResource, x.m.URI)
	case wire.MethodCompletionComplete:
		return x.complete(ctx)
	}
	return outcome{}, &wire.Error{Code: wire.CodeMethodNotFound, Message: "unknown method " + quoteShort(x.m.Method)}
}

func missing(what string) error {
	return &wire.Error{Code: wire.CodeInvalidParams, Message: "params." + what + " is required"}
}

func quoteShort(s string) string {
	if len(s) > 64 {
		s = s[:64]
	}
	return string(wire.AppendString(nil, s))
}

func (x *exchange) list(kind catalog.ListKind) (outcome, error) {
	if x.m.HasCursor {
		return outcome{}, &wire.Error{Code: wire.CodeInvalidParams, Message: "unknown cursor: this list has one page"}
	}
	body, err := x.g.o.Pipeline.List(x.p, x.view, kind)
	if err != nil {
		return outcome{}, err
	}
	return outcome{body: body, list: catalog.Whole(body), cacheable: true, ttl: x.listTTL(body)}, nil
}

// listTTL is how long a client may keep a list: not at all while servers are
// awaited.
func (x *exchange) listTTL(body []byte) int64 {
	if !catalog.Whole(body) {
		return 0
	}
	return x.g.o.ListTTL.Milliseconds()
}

func (x *exchange) complete(ctx context.Context) (outcome, error) {
	kind, _ := wire.String(wire.Get(x.m.Ref, "type"))
	if x.m.Argument == nil {
		return outcome{}, missing("argument")
	}
	switch kind {
	case "ref/prompt":
		name, ok := wire.String(wire.Get(x.m.Ref, "name"))
		if !ok {
			return outcome{}, missing("ref.name")
		}
		return x.call(ctx, junctor.KindCompletion, name)
	case "ref/resource":
		uri, ok := wire.String(wire.Get(x.m.Ref, "uri"))
		if !ok {
			return outcome{}, missing("ref.uri")
		}
		return x.do(ctx, &guard.Op{Kind: junctor.KindCompletion, Name: uri, IsURI: true})
	}
	return outcome{}, &wire.Error{Code: wire.CodeInvalidParams, Message: "params.ref.type must be ref/prompt or ref/resource"}
}

func (x *exchange) call(ctx context.Context, kind junctor.Kind, name string) (outcome, error) {
	op := &x.op
	*op = guard.Op{Kind: kind, Name: name, Version: x.m.ToolVersion}
	if x.view.Plain && x.m.Version != "" {
		op.Version = x.m.Version
	}
	if x.header != nil {
		op.Mirror = x.mirror
	}
	return x.do(ctx, op)
}

// mirror compares the arguments that a modern client repeats as headers.
func (x *exchange) mirror(t *catalog.ToolVersion) error {
	if len(t.Headers) == 0 {
		return nil
	}
	if e := wire.CheckParamHeaders(x.header, t.Headers, x.m.Arguments); e != nil {
		return &junctor.Error{Code: junctor.CodeInvalid, Message: e.Message, Cause: e}
	}
	return nil
}

// do takes an operation through the pipeline; a legacy client is asked here for
// the input that the operation wants.
func (x *exchange) do(ctx context.Context, op *guard.Op) (outcome, error) {
	op.Principal, op.Door, op.View = x.p, x.door, x.view
	op.Params, op.Arguments, op.Meta = x.m.Params, x.m.Arguments, x.m.Meta
	op.InputResponses, op.RequestState, op.HasState = x.m.InputResponses, x.m.RequestState, x.m.HasRequestState
	op.Caller, op.Room = x.caller, x.room
	if op.Kind == junctor.KindTool && !x.modern && x.m.Task != nil {
		op.Caller = x.taskCaller()
	}
	res, err := x.g.o.Pipeline.Do(ctx, op, x)
	x.allowance = op.Allowance(err)
	if err == nil && res.Input && !x.modern {
		res, err = x.ask(ctx, op, res)
	}
	if err != nil {
		return x.failed(op, err)
	}
	if res.Task && !x.modern {
		return outcome{body: createdTask(res.Body)}, nil
	}
	return outcome{
		body: res.Body, input: res.Input, task: res.Task, public: res.Public,
		cacheable: op.Kind == junctor.KindResource && !res.Input && !op.HasState, ttl: res.TTL.Milliseconds(),
	}, nil
}

// failed turns wrong arguments of a tool into a result that the model can read
// and correct itself by, as the specification wants it. Other errors stay.
func (x *exchange) failed(op *guard.Op, err error) (outcome, error) {
	e := junctor.AsError(err)
	if op.Kind != junctor.KindTool || len(e.Violations) == 0 || x.view.Plain {
		return outcome{}, err
	}
	body := wire.AppendString([]byte(`{"content":[{"type":"text","text":`), e.Message)
	return outcome{body: append(body, `}],"isError":true}`...)}, nil
}

// Progress sends the caller's own token with it; nothing when it gave none.
func (x *exchange) Progress(params []byte) {
	if x.out == nil || x.m.ProgressToken == nil {
		return
	}
	p := wire.AppendObject(nil, params, nil, wire.Member{Key: wire.MetaProgressToken, Value: x.m.ProgressToken})
	x.out.send(wire.AppendNotification(nil, wire.NoteProgress, p))
}

// Log sends what is at or above the level that the caller asked for.
func (x *exchange) Log(level string, params []byte) {
	if x.out == nil || x.caller.LogLevel == "" || wire.Severity(level) < wire.Severity(x.caller.LogLevel) {
		return
	}
	x.out.send(wire.AppendNotification(nil, wire.NoteMessage, params))
}
