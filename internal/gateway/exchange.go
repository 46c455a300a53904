package gateway

import (
	"context"
	"net/http"
	"net/netip"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// messageSender sends whole JSON-RPC messages to the client before the response.
type messageSender interface{ sendMessage(message []byte) }

// exchange is one request of a client and its response, of either era and from any entry
// point. It is the catalog.Sink of its own call: it forwards progress and log messages.
type exchange struct {
	gateway    *Gateway
	principal  *junctor.Principal
	entryPoint junctor.EntryPoint
	view       catalog.Scope // the catalog scope of the endpoint
	message    *wire.Message
	address    netip.Addr // of the client; invalid if it is not known
	modern     bool       // the era of the request
	caller     catalog.Caller
	sender     messageSender // nil: nothing can be sent before the response
	header     http.Header   // of a modern HTTP request, to compare with the arguments
	session    *session      // of a legacy client

	callErr   error             // the error of a legacy call that has no result
	allowance junctor.Allowance // remaining allowance after the call was counted

	op           guard.Op // of the call; a field to save an allocation
	resultBuffer *[]byte  // for the result of the call; nil allocates
}

// outcome is the result of an exchange, before it is written in the form of its era.
type outcome struct {
	body       []byte
	isList     bool // body is a rendered list: shared, perhaps long, and without _meta
	needsInput bool // resultType is input_required
	isTask     bool // the call became a task
	cacheable  bool // carries ttlMs and cacheScope in the modern era
	ttlMillis  int64
	isPublic   bool
}

// runMethod handles the methods that both eras share. The caller has handled the methods
// of its own era.
func (x *exchange) runMethod(ctx context.Context) (outcome, error) {
	if x.message.InvalidMember != "" {
		return outcome{}, &wire.Error{Code: wire.CodeInvalidParams, Message: x.message.InvalidMember + " has the wrong type or spelling"}
	}
	switch x.message.Method {
	case wire.MethodToolsList:
		return x.listItems(ctx, catalog.ListTools)
	case wire.MethodPromptsList:
		return x.listItems(ctx, catalog.ListPrompts)
	case wire.MethodResourcesList:
		return x.listItems(ctx, catalog.ListResources)
	case wire.MethodResourcesTemplatesList:
		return x.listItems(ctx, catalog.ListTemplates)
	case wire.MethodToolsCall:
		if !x.message.HasName {
			return outcome{}, errMissingParam("name")
		}
		return x.callItem(ctx, junctor.KindTool, x.message.Name)
	case wire.MethodPromptsGet:
		if !x.message.HasName {
			return outcome{}, errMissingParam("name")
		}
		return x.callItem(ctx, junctor.KindPrompt, x.message.Name)
	case wire.MethodResourcesRead:
		if !x.message.HasURI {
			return outcome{}, errMissingParam("uri")
		}
		return x.callItem(ctx, junctor.KindResource, x.message.URI)
	case wire.MethodCompletionComplete:
		return x.completeArgument(ctx)
	}
	return outcome{}, &wire.Error{Code: wire.CodeMethodNotFound, Message: "unknown method " + quoteShort(x.message.Method)}
}

// errMissingParam is the error for a member of params that is required.
func errMissingParam(what string) error {
	return &wire.Error{Code: wire.CodeInvalidParams, Message: "params." + what + " is required"}
}

// quoteShort quotes text of a client for an error message, cut to 64 bytes.
func quoteShort(s string) string {
	if len(s) > 64 {
		s = s[:64]
	}
	return string(wire.AppendString(nil, s))
}

// listItems answers a list method. Lists have one page, so a cursor is an error.
func (x *exchange) listItems(ctx context.Context, kind catalog.ListKind) (outcome, error) {
	if x.message.HasCursor {
		return outcome{}, &wire.Error{Code: wire.CodeInvalidParams, Message: "unknown cursor: this list has one page"}
	}
	body, err := x.gateway.options.Pipeline.List(x.principal, x.view, kind)
	if err != nil {
		return outcome{}, err
	}
	if kind == catalog.ListTools {
		x.gateway.options.Pipeline.RecordToolList(ctx, x.principal, x.entryPoint, x.view.Server, len(body))
	}
	return outcome{body: body, isList: catalog.Whole(body), cacheable: true, ttlMillis: x.listTTL(body)}, nil
}

// listTTL returns how long a client may cache a list, in milliseconds. A list that lacks
// servers which have not answered yet must not be cached.
func (x *exchange) listTTL(body []byte) int64 {
	if !catalog.Whole(body) {
		return 0
	}
	return x.gateway.options.ListTTL.Milliseconds()
}

// completeArgument answers completion/complete.
func (x *exchange) completeArgument(ctx context.Context) (outcome, error) {
	kind, _ := wire.String(wire.Get(x.message.Ref, "type"))
	if x.message.Argument == nil {
		return outcome{}, errMissingParam("argument")
	}
	switch kind {
	case "ref/prompt":
		name, ok := wire.String(wire.Get(x.message.Ref, "name"))
		if !ok {
			return outcome{}, errMissingParam("ref.name")
		}
		return x.callItem(ctx, junctor.KindCompletion, name)
	case "ref/resource":
		uri, ok := wire.String(wire.Get(x.message.Ref, "uri"))
		if !ok {
			return outcome{}, errMissingParam("ref.uri")
		}
		return x.runOperation(ctx, &guard.Op{Kind: junctor.KindCompletion, Name: uri, IsURI: true})
	}
	return outcome{}, &wire.Error{Code: wire.CodeInvalidParams, Message: "params.ref.type must be ref/prompt or ref/resource"}
}

// callItem calls a tool, gets a prompt or reads a resource.
func (x *exchange) callItem(ctx context.Context, kind junctor.Kind, name string) (outcome, error) {
	op := &x.op
	*op = guard.Op{Kind: kind, Name: name, Version: x.message.ToolVersion}
	if x.view.Plain && x.message.Version != "" {
		op.Version = x.message.Version
	}
	if x.header != nil {
		op.CheckHeaders = x.checkMirroredHeaders
	}
	return x.runOperation(ctx, op)
}

// checkMirroredHeaders compares the headers in which a modern client repeats arguments
// with the arguments. The guard calls it once the tool is known to be visible.
func (x *exchange) checkMirroredHeaders(t *catalog.ToolVersion) error {
	if len(t.Headers) == 0 {
		return nil
	}
	if e := wire.CheckParamHeaders(x.header, t.Headers, x.message.Arguments); e != nil {
		return &junctor.Error{Code: junctor.CodeInvalid, Message: e.Message, Cause: e}
	}
	return nil
}

// runOperation fills in op and runs it through the pipeline. If the operation asks for
// input, a legacy client is asked here, in further rounds.
func (x *exchange) runOperation(ctx context.Context, op *guard.Op) (outcome, error) {
	op.Principal, op.EntryPoint, op.Scope, op.Address = x.principal, x.entryPoint, x.view, x.address
	op.Params, op.Arguments, op.Meta = x.message.Params, x.message.Arguments, x.message.Meta
	op.InputResponses, op.RequestState, op.HasState = x.message.InputResponses, x.message.RequestState, x.message.HasRequestState
	op.Caller, op.ResultBuffer = x.caller, x.resultBuffer
	if op.Kind == junctor.KindTool && !x.modern && x.message.Task != nil {
		op.Caller = x.taskCaller()
	}
	res, err := x.gateway.options.Pipeline.Do(ctx, op, x)
	x.allowance = op.Allowance(err)
	if err == nil && res.Input && !x.modern {
		res, err = x.runInputRounds(ctx, op, res)
	}
	if err != nil {
		return x.toolErrorOutcome(op, err)
	}
	// The legacy form of tasks wraps the task in a result of its own.
	if res.Task && !x.modern {
		return outcome{body: toCreateTaskResult(res.Body)}, nil
	}
	return outcome{
		body: res.Body, needsInput: res.Input, isTask: res.Task, isPublic: res.Public,
		cacheable: op.Kind == junctor.KindResource && !res.Input && !op.HasState, ttlMillis: res.TTL.Milliseconds(),
	}, nil
}

// toolErrorOutcome turns invalid arguments of a tool into a result with isError, which
// the model can read and correct, as the specification requires. It returns other errors
// unchanged.
func (x *exchange) toolErrorOutcome(op *guard.Op, err error) (outcome, error) {
	e := junctor.AsError(err)
	if op.Kind != junctor.KindTool || len(e.Violations) == 0 || x.view.Plain {
		return outcome{}, err
	}
	body := wire.AppendString([]byte(`{"content":[{"type":"text","text":`), e.Message)
	return outcome{body: append(body, `}],"isError":true}`...)}, nil
}

// Progress forwards a progress notification with the caller's own token. Without a token
// it sends nothing.
func (x *exchange) Progress(params []byte) {
	if x.sender == nil || x.message.ProgressToken == nil {
		return
	}
	p := wire.AppendObject(nil, params, nil, wire.Member{Key: wire.MetaProgressToken, Value: x.message.ProgressToken})
	x.sender.sendMessage(wire.AppendNotification(nil, wire.NotificationProgress, p))
}

// Log forwards a log message at or above the level that the caller requested.
func (x *exchange) Log(level string, params []byte) {
	if x.sender == nil || x.caller.LogLevel == "" || wire.Severity(level) < wire.Severity(x.caller.LogLevel) {
		return
	}
	x.sender.sendMessage(wire.AppendNotification(nil, wire.NotificationMessage, params))
}
