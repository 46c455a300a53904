package mcpappstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/mcpapps"
)

// answerRequest is the host's side of a request. It checks that the page may send
// the request now, and returns the answer or a refusal.
func (v *View) answerRequest(method string, params json.RawMessage) (any, *Error) {
	m, ok := mcpapps.FindMethod(mcpapps.PartyView, method)
	if !ok || !m.IsRequest {
		return nil, &Error{codeMethodNotFound, method + " is no request that a page makes"}
	}
	in, err := m.DecodeParams(params)
	switch {
	case err != nil:
		return nil, &Error{codeInvalidParams, err.Error()}
	case v.state == stateClosed:
		return nil, &Error{codeRefused, "the page is closed"}
	case v.state == stateOpened && method != mcpapps.MethodInitialize && method != "ping":
		return nil, &Error{codeRefused, "the page did not initialize yet"}
	}
	// A page must not use a service that the host does not announce, so the test
	// host refuses it as a strict host would.
	caps := v.host.opts.Capabilities
	missing := func(name string) *Error { return &Error{codeRefused, "the host does not do " + name} }
	switch in := in.(type) {
	case *mcpapps.InitializeParams:
		v.state, v.appCapabilities = max(v.state, stateInitializing), in.AppCapabilities
		return v.newInitializeResult(), nil
	case *mcpapps.OpenLinkParams:
		if !caps.OpenLinks {
			return nil, missing("openLinks")
		}
		return v.applyUnlessRefused(func() { v.Links = append(v.Links, in.URL) }), nil
	case *mcpapps.DownloadFileParams:
		if !caps.DownloadFile {
			return nil, missing("downloadFile")
		}
		return v.applyUnlessRefused(func() { v.Downloads = append(v.Downloads, in.Contents...) }), nil
	case *mcpapps.MessageParams:
		if caps.Message == nil {
			return nil, missing("message")
		}
		return v.applyUnlessRefused(func() { v.Messages = append(v.Messages, in.Content) }), nil
	case *mcpapps.UpdateModelContextParams:
		if caps.UpdateModelContext == nil {
			return nil, missing("updateModelContext")
		}
		v.ModelContext = in
		return mcpapps.Empty{}, nil
	case *mcpapps.RequestDisplayModeParams:
		// A mode that the page did not announce is not an error: the present mode
		// stays.
		if slices.Contains(v.appCapabilities.AvailableDisplayModes, in.Mode) {
			v.Mode = in.Mode
		}
		return mcpapps.RequestDisplayModeResult{Mode: v.Mode}, nil
	}
	return v.forwardToServer(method, params)
}

// newInitializeResult returns the answer to ui/initialize.
func (v *View) newInitializeResult() mcpapps.InitializeResult {
	ctx := v.host.opts.Context
	if tool, err := mcpapps.NewRaw(v.tool); err == nil {
		ctx.ToolInfo = &mcpapps.ToolInfo{Tool: tool}
	}
	ctx.DisplayMode = v.Mode
	return mcpapps.InitializeResult{
		ProtocolVersion: mcpapps.ProtocolVersion, HostInfo: mcp.Implementation{Name: "mcpappstest", Version: "1"},
		HostCapabilities: *v.host.opts.Capabilities, HostContext: ctx,
	}
}

// applyUnlessRefused applies an action that a person must accept, unless
// Options.RefuseActions is set.
func (v *View) applyUnlessRefused(do func()) mcpapps.ActionResult {
	if v.host.opts.RefuseActions {
		return mcpapps.ActionResult{IsError: true}
	}
	do()
	return mcpapps.ActionResult{}
}

// forwardToServer answers a request of the page that is for its server.
func (v *View) forwardToServer(method string, params json.RawMessage) (any, *Error) {
	caps, s, ctx := v.host.opts.Capabilities, v.host.session, v.host.t.Context()
	switch method {
	case "ping":
		return mcpapps.Empty{}, nil
	case "tools/call":
		var p mcp.CallToolParams
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, &Error{codeInvalidParams, err.Error()}
		}
		// A tool that the page may not call looks like one that does not exist.
		if caps.ServerTools == nil || v.host.Tools(mcpapps.VisibleToApp)[p.Name] == nil {
			return nil, &Error{codeInvalidParams, fmt.Sprintf("there is no tool %q for this page", p.Name)}
		}
		return toAnswer(s.CallTool(ctx, &p))
	case "tools/list":
		if caps.ServerTools == nil {
			return nil, &Error{codeRefused, "the host does not do serverTools"}
		}
		list := &mcp.ListToolsResult{Tools: []*mcp.Tool{}}
		for _, t := range v.host.Tools(mcpapps.VisibleToApp) {
			list.Tools = append(list.Tools, t)
		}
		return list, nil
	case "prompts/list":
		return toAnswer(s.ListPrompts(ctx, &mcp.ListPromptsParams{}))
	}
	if caps.ServerResources == nil {
		return nil, &Error{codeRefused, "the host does not do serverResources"}
	}
	switch method {
	case "resources/read":
		var p mcp.ReadResourceParams
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, &Error{codeInvalidParams, err.Error()}
		}
		return toAnswer(s.ReadResource(ctx, &p))
	case "resources/list":
		return toAnswer(s.ListResources(ctx, &mcp.ListResourcesParams{}))
	case "resources/templates/list":
		return toAnswer(s.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{}))
	}
	return nil, &Error{codeMethodNotFound, "this host does not do " + method}
}

// toAnswer turns the result of an SDK call into an answer or a refusal.
func toAnswer[R any](res R, err error) (any, *Error) {
	if err != nil {
		return nil, &Error{codeRefused, err.Error()}
	}
	return res, nil
}

// handleNotification is the host's side of a notification. A notification that a
// page may not send is an error, so that a test notices it; a real host would drop
// it.
func (v *View) handleNotification(method string, params json.RawMessage) error {
	m, ok := mcpapps.FindMethod(mcpapps.PartyView, method)
	if !ok || m.IsRequest {
		return fmt.Errorf("%s is no notification that a page sends", method)
	}
	in, err := m.DecodeParams(params)
	if err != nil {
		return err
	}
	switch method {
	case mcpapps.NotificationInitialized:
		if v.state != stateInitializing {
			return errors.New("initialized comes once, after the answer to ui/initialize")
		}
		// Only from here on may the host send the input and the result.
		v.state = stateRunning
		if err := v.sendNotification(mcpapps.NotificationToolInput, map[string]json.RawMessage{"arguments": v.toolInput}); err != nil {
			return err
		}
		return v.sendNotification(mcpapps.NotificationToolResult, v.Result)
	case mcpapps.NotificationSizeChanged:
		if p, ok := in.(*mcpapps.SizeChangedParams); ok && p.Height != nil {
			v.Height = *p.Height
		}
	case mcpapps.NotificationRequestTeardown:
		return v.Close()
	}
	return nil
}

// sendNotification puts a notification of the host into the page's inbox. It checks
// that a host may send it in this form.
func (v *View) sendNotification(method string, params any) error {
	if v.state != stateRunning {
		return fmt.Errorf("%s before initialized", method)
	}
	data, err := v.recordParams(mcpapps.PartyHost, rpcMessage{Method: method}, params)
	if err != nil {
		return err
	}
	m, ok := mcpapps.FindMethod(mcpapps.PartyHost, method)
	if !ok {
		return fmt.Errorf("%s is nothing that a host says", method)
	}
	if _, err := m.DecodeParams(data); err != nil {
		return err
	}
	v.inbox = append(v.inbox, Notification{Method: method, Params: data})
	return nil
}

// ChangeContext plays the host: it announces a change of the environment to the
// page.
func (v *View) ChangeContext(changes mcpapps.HostContext) error {
	return v.sendNotification(mcpapps.NotificationHostContextChanged, changes)
}

// CallAppTool plays the agent: it calls a tool that the page provides. An error of the
// tool becomes a result with IsError, as in MCP.
func (v *View) CallAppTool(tool string, args any) (*mcp.CallToolResult, error) {
	v.lastID++
	id := v.lastID
	data, err := v.recordParams(mcpapps.PartyHost, rpcMessage{ID: id, Method: "tools/call"}, map[string]any{"name": tool, "arguments": args})
	if err != nil {
		return nil, err
	}
	run := v.tools[tool]
	if v.state != stateRunning || run == nil {
		// A missing tool is a refusal of the page, which is part of the
		// conversation too.
		refusal := &Error{codeInvalidParams, fmt.Sprintf("the page has no tool %q, or is closed", tool)}
		v.appendLog(mcpapps.PartyView, rpcMessage{ID: id, Error: refusal})
		return nil, refusal
	}
	var p struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, err
	}
	res, err := run(p.Arguments)
	if err != nil {
		res = &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}
	}
	raw, err := json.Marshal(res)
	if err != nil {
		return nil, err
	}
	v.appendLog(mcpapps.PartyView, rpcMessage{ID: id, Result: raw})
	return res, nil
}

// Close plays the host: it announces the teardown to the page, and closes it.
func (v *View) Close() error {
	if v.state == stateClosed {
		return errors.New("the page is closed already")
	}
	v.lastID++
	if _, err := v.recordParams(mcpapps.PartyHost, rpcMessage{ID: v.lastID, Method: mcpapps.MethodResourceTeardown}, mcpapps.Empty{}); err != nil {
		return err
	}
	v.appendLog(mcpapps.PartyView, rpcMessage{ID: v.lastID, Result: json.RawMessage("{}")})
	v.state = stateClosed
	return nil
}
