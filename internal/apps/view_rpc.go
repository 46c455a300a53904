package apps

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/wire"
	"github.com/junctor-mcp/junctor/mcpapps"
)

// codeRefused is the JSON-RPC error code with which a host of MCP Apps refuses a request.
const codeRefused = -32000

// HandleRPC does what a View asks for. The View can reach its own server alone, under the
// server's own names. Requests are judged as the principal who opened the View, or as the
// agent it acts as, and are on record.
//
// The answer is for the View, including refusals. The error is for the console: the
// session has no such View, or params is not valid JSON.
func (h *Host) HandleRPC(ctx context.Context, p *junctor.Principal, id, method string, params json.RawMessage) (junctor.ViewAnswer, error) {
	v, err := h.findView(p, id)
	if err != nil {
		return junctor.ViewAnswer{}, err
	}
	if len(params) > 0 {
		if err := wire.CheckJSON(params); err != nil {
			return junctor.ViewAnswer{}, junctor.Errorf(junctor.CodeInvalid, "params: %w", err)
		}
		if params[0] != '{' {
			return refusalAnswer(&wire.Error{Code: wire.CodeInvalidParams, Message: "params must be an object"}), nil
		}
	}
	acts, err := h.actingPrincipal(p, v.agentName)
	if err != nil { // the owner may no longer act as the agent
		return refusalAnswer(err), nil
	}
	result, err := h.serveRequest(ctx, acts, v, method, params)
	if err != nil {
		answer := refusalAnswer(err)
		h.addNote(v, sourceGateway, kindRPC, method, map[string]any{"refused": answer.Error.Message, "code": answer.Error.Code})
		return answer, nil
	}
	return junctor.ViewAnswer{Result: result}, nil
}

// serveRequest answers one request of a View, with p as the acting principal. Methods
// that MCP Apps give to Views are the only ones it knows. Errors are *wire.Error or
// *junctor.Error.
func (h *Host) serveRequest(ctx context.Context, p *junctor.Principal, v *view, method string, params []byte) (json.RawMessage, error) {
	sees := catalog.Scope{Server: v.tool.item.Server.ID, Audience: catalog.AudienceApp}
	list := func(kind catalog.ListKind) (json.RawMessage, error) { return h.opts.Pipeline.List(p, sees, kind) }
	op := &guard.Op{
		Principal: p, EntryPoint: junctor.EntryAppView, Scope: sees, Params: params, Arguments: wire.Get(params, "arguments"), Meta: wire.Get(params, "_meta"),
		Caller: viewCaller(), AppViewID: v.id,
	}
	var ok bool
	switch method {
	case wire.MethodPing:
		return json.RawMessage(`{}`), nil
	case wire.MethodToolsList:
		return list(catalog.ListTools)
	case wire.MethodResourcesList:
		return list(catalog.ListResources)
	case wire.MethodResourcesTemplatesList:
		return list(catalog.ListTemplates)
	case wire.MethodPromptsList:
		return list(catalog.ListPrompts)
	case wire.MethodToolsCall:
		op.Kind = junctor.KindTool
		op.Name, ok = wire.String(wire.Get(params, "name"))
	case wire.MethodPromptsGet:
		op.Kind = junctor.KindPrompt
		op.Name, ok = wire.String(wire.Get(params, "name"))
	case wire.MethodResourcesRead:
		op.Kind = junctor.KindResource
		op.Name, ok = wire.String(wire.Get(params, "uri"))
	case wire.MethodCompletionComplete:
		ok = readCompletion(op, params)
	case mcpapps.MethodMessage, mcpapps.MethodUpdateModelContext:
		return h.recordMessage(v, method, params)
	default:
		return nil, &wire.Error{Code: wire.CodeMethodNotFound, Message: "an App view cannot request " + clipText(method) + " here"}
	}
	if !ok || len(op.Arguments) > 0 && op.Arguments[0] != '{' {
		return nil, &wire.Error{Code: wire.CodeInvalidParams, Message: "the params of " + method + " lack a required member, or have the wrong type"}
	}
	res, err := h.opts.Pipeline.Do(ctx, op, catalog.Discard{})
	switch {
	case err != nil:
		return argumentsResult(op.Kind, err)
	case res.Input:
		return nil, h.refuseInput(ctx, op, res)
	}
	return res.Body, nil
}

// readCompletion reads the reference of a completion request into op. It returns false if
// params lack it.
func readCompletion(op *guard.Op, params []byte) (ok bool) {
	op.Kind = junctor.KindCompletion
	ref := wire.Get(params, "ref")
	if wire.Get(params, "argument") == nil {
		return false
	}
	switch kind, _ := wire.String(wire.Get(ref, "type")); kind {
	case "ref/prompt":
		op.Name, ok = wire.String(wire.Get(ref, "name"))
	case "ref/resource":
		op.IsURI = true
		op.Name, ok = wire.String(wire.Get(ref, "uri"))
	}
	return ok
}

// argumentsResult turns the error of arguments that do not fit a tool's schema into a
// tool result, as the MCP endpoints do: the page can then read the violations. It returns
// other errors unchanged.
func argumentsResult(kind junctor.Kind, err error) (json.RawMessage, error) {
	e := junctor.AsError(err)
	if kind != junctor.KindTool || len(e.Violations) == 0 {
		return nil, err
	}
	body := wire.AppendString([]byte(`{"content":[{"type":"text","text":`), e.Message)
	return append(body, `}],"isError":true}`...), nil
}

// recordMessage takes a message to the person, or context for the model. Of the context,
// the last one counts. The console shows both; nothing reaches a model here.
func (h *Host) recordMessage(v *view, method string, params []byte) (json.RawMessage, error) {
	known, _ := mcpapps.FindMethod(mcpapps.PartyView, method)
	if _, err := known.DecodeParams(params); err != nil {
		return nil, &wire.Error{Code: wire.CodeInvalidParams, Message: "the params of " + method + " do not match the MCP Apps specification"}
	}
	if len(params) > maxContextBytes {
		return nil, junctor.Errorf(junctor.CodeTooLarge, "%s must not be larger than %d KiB", method, maxContextBytes>>10)
	}
	h.addNote(v, sourceGateway, kindRPC, method, map[string]any{"bytes": len(params)})
	if method == mcpapps.MethodUpdateModelContext {
		h.mu.Lock()
		v.modelContext = append(json.RawMessage(nil), params...)
		h.mu.Unlock()
	}
	return json.RawMessage(`{}`), nil
}

// refusalAnswer turns an error into an answer for a View. Items that the View may not use
// and items that do not exist give the same code, so a page cannot probe for names.
func refusalAnswer(err error) junctor.ViewAnswer {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return junctor.ViewAnswer{Error: &junctor.ViewError{Code: e.Code, Message: e.Message, Data: e.Data}}
	}
	e := junctor.AsError(err)
	out := &junctor.ViewError{Code: codeRefused, Message: e.Message}
	if e.Code == junctor.CodeNotFound || e.Code == junctor.CodeInvalid {
		out.Code = wire.CodeInvalidParams
		return junctor.ViewAnswer{Error: out}
	}
	data := wire.AppendString([]byte(`{"code":`), string(e.Code))
	if e.RetryAfter > 0 {
		data = strconv.AppendInt(append(data, `,"retryAfterMs":`...), e.RetryAfter.Milliseconds()+1, 10)
	}
	data = append(data, '}')
	out.Data = data
	return junctor.ViewAnswer{Error: out}
}
