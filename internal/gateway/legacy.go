package gateway

import (
	"cmp"
	"context"
	"net/http"
	"net/netip"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// postLegacy serves one POST of the legacy era. It releases in.
func (g *Gateway) postLegacy(w http.ResponseWriter, r *http.Request, p *junctor.Principal, view catalog.Scope, in *inboundMessage, streamFirst bool) {
	m := &in.message
	if !g.checkLegacyVersion(w, r, m.ID) {
		g.releaseMessage(in)
		return
	}
	if m.Method == wire.MethodInitialize && m.Kind == wire.Request {
		g.serveInitialize(w, r, p, view, m, &postResponse{gateway: g, w: w, streamFirst: streamFirst})
		g.releaseMessage(in)
		return
	}
	s := g.transientSession(r, m)
	if s == nil {
		s = g.findSession(w, r, p, view, m.ID)
	}
	if s == nil {
		g.releaseMessage(in)
		return
	}
	if m.Kind == wire.Request {
		g.serveLegacyRequest(w, r, g.newLegacyExchange(p, junctor.EntryMCP, view, g.clientAddress(r), m, s), in, streamFirst)
		return
	}
	// The request that this message answers may have been sent by another replica,
	// which waits for the response.
	if g.forwardOrFail(w, r, g.replicaOfResponse(m), m.ID, in.body) {
		g.releaseMessage(in)
		return
	}
	g.handleOneWay(r.Context(), p, s, m)
	g.releaseMessage(in)
	w.WriteHeader(http.StatusAccepted)
}

// transientSession returns a session for a request that has none and needs none. Scripts,
// and clients of servers without sessions, list and call without a handshake. The client
// cannot be asked for input in such a session, and nothing of it is kept. It returns nil
// for all other requests. Without a version header, the version is the one that the
// specification assumes.
func (g *Gateway) transientSession(r *http.Request, m *wire.Message) *session {
	if m.Kind != wire.Request || len(r.Header[wire.HeaderSessionID]) > 0 {
		return nil
	}
	switch m.Method {
	// All methods whose response needs nothing that a handshake settles.
	case wire.MethodToolsList, wire.MethodToolsCall, wire.MethodResourcesList, wire.MethodResourcesTemplatesList, wire.MethodResourcesRead,
		wire.MethodPromptsList, wire.MethodPromptsGet, wire.MethodCompletionComplete:
		return newSession(g.newBootID(), cmp.Or(r.Header.Get(wire.HeaderProtocolVersion), wire.V20250326), nil, nil)
	}
	return nil
}

// checkLegacyVersion answers 400 and returns false if the version header is present and
// names no supported legacy version.
func (g *Gateway) checkLegacyVersion(w http.ResponseWriter, r *http.Request, id []byte) bool {
	v := r.Header.Get(wire.HeaderProtocolVersion)
	if v == "" || slices.Contains(wire.LegacyVersions(), v) {
		return true
	}
	g.writeError(w, http.StatusBadRequest, id, &wire.Error{Code: wire.CodeInvalidRequest, Message: "MCP-Protocol-Version " + quoteShort(v) + " is not supported"})
	return false
}

// newLegacyExchange makes the exchange for a request of a legacy session.
func (g *Gateway) newLegacyExchange(p *junctor.Principal, entryPoint junctor.EntryPoint, view catalog.Scope, address netip.Addr, m *wire.Message, s *session) *exchange {
	profile, searches := s.clientTraits()
	if view.SearchesTools = searches; view.Profile == junctor.ProfileNone {
		view.Profile = profile
	}
	x := &exchange{gateway: g, principal: p, entryPoint: entryPoint, view: view, address: address, message: m, session: s, caller: s.newCaller(m.ProgressToken != nil)}
	x.view.Audience, x.view.Older = audienceOf(x.caller.Capabilities), true
	return x
}

// serveInitialize creates a session and answers with its id.
func (g *Gateway) serveInitialize(w http.ResponseWriter, r *http.Request, p *junctor.Principal, view catalog.Scope, m *wire.Message, rep *postResponse) {
	version := wire.NegotiateVersion(m.ProtocolVersion)
	s, err := g.createSession(r.Context(), p, view, version, m.Capabilities, m.ClientInfo)
	if err != nil {
		f := toClientError(err, false, "")
		rep.writeFinal(http.StatusOK, wire.AppendError(nil, m.ID, f.rpcError))
		return
	}
	x := g.newLegacyExchange(p, junctor.EntryMCP, view, g.clientAddress(r), m, s)
	w.Header().Set(wire.HeaderSessionID, s.sealedID)
	rep.writeFinal(http.StatusOK, wire.AppendResult(nil, m.ID, x.initializeResult(x.capabilitiesJSON())))
}

// initializeResult returns the result of initialize with the given capabilities.
func (x *exchange) initializeResult(capabilities string) []byte {
	b := wire.AppendString([]byte(`{"protocolVersion":`), x.session.version)
	b = append(append(b, `,"capabilities":`...), capabilities...)
	b = append(append(b, `,"serverInfo":`...), x.gateway.serverInfo...)
	if text := x.serverInstructions(); text != "" {
		b = wire.AppendString(append(b, `,"instructions":`...), text)
	}
	return append(b, '}')
}

// runLegacy runs a legacy request from any entry point.
func (x *exchange) runLegacy(ctx context.Context) (outcome, error) {
	switch x.message.Method {
	case wire.MethodPing:
		return outcome{body: []byte("{}")}, nil
	case wire.MethodLoggingSetLevel:
		return x.setLogLevel(ctx)
	case wire.MethodResourcesSubscribe, wire.MethodResourcesUnsubscribe:
		return x.changeSubscription(ctx)
	case wire.MethodTasksGet, wire.MethodTasksResult, wire.MethodTasksList, wire.MethodTasksCancel:
		return x.runLegacyTask(ctx)
	}
	return x.runMethod(ctx)
}

// setLogLevel answers logging/setLevel.
func (x *exchange) setLogLevel(ctx context.Context) (outcome, error) {
	if wire.Severity(x.message.Level) == 0 {
		return outcome{}, &wire.Error{Code: wire.CodeInvalidParams, Message: "unknown log level " + quoteShort(x.message.Level)}
	}
	x.session.mu.Lock()
	x.session.logLevel = x.message.Level
	x.session.mu.Unlock()
	return outcome{body: []byte("{}")}, x.saveSession(ctx)
}

// changeSubscription answers resources/subscribe and resources/unsubscribe.
func (x *exchange) changeSubscription(ctx context.Context) (outcome, error) {
	if !x.message.HasURI || x.message.InvalidMember != "" {
		return outcome{}, errMissingParam("uri")
	}
	// The pipeline judges the subscription; only a granted one is remembered.
	end := x.message.Method == wire.MethodResourcesUnsubscribe
	if _, err := x.gateway.options.Pipeline.Do(ctx, x.newSubscriptionOp(x.message.URI, end), x); err != nil {
		return outcome{}, err
	}
	x.session.mu.Lock()
	if end {
		delete(x.session.subscriptions, x.message.URI)
	} else {
		x.session.subscriptions[x.message.URI] = true
	}
	x.session.mu.Unlock()
	return outcome{body: []byte("{}")}, x.saveSession(ctx)
}

// saveSession stores the session's row and notifies the other replicas. It does nothing
// for sessions without an id, which end with their connection.
func (x *exchange) saveSession(ctx context.Context) error {
	if x.session.sealedID == "" {
		return nil
	}
	err := x.gateway.options.Sessions.SaveSession(ctx, x.principal.Tenant, x.session.toRow())
	if err == nil {
		x.gateway.notifyReplicas(ctx, SessionEvent{Kind: eventSaved, Tenant: x.principal.Tenant, Session: x.session.id})
	}
	return err
}

// answerLegacy runs a legacy request and appends the whole response to dst.
func (x *exchange) answerLegacy(ctx context.Context, dst []byte) (message []byte) {
	head, long, _ := x.answerLegacyParts(ctx, dst)
	if long == nil {
		return head
	}
	return x.gateway.joinParts(x.principal, head, long)
}

// answerLegacyParts is answerLegacy without the copy of a long result: the response is
// then head, long and a closing brace. If long is nil, head is the whole response.
func (x *exchange) answerLegacyParts(ctx context.Context, dst []byte) (head, long []byte, retryAfter time.Duration) {
	o, err := x.runLegacy(ctx)
	if err != nil {
		x.callErr = err
		f := toClientError(err, false, resourceOf(x.message))
		return wire.AppendError(dst, x.message.ID, f.rpcError), nil, f.retryAfter
	}
	if len(o.body) >= longBodySize {
		head, long = x.appendResponseHead(dst, o)
		return head, long, 0
	}
	return x.appendResponse(slices.Grow(dst, len(o.body)+64), o), nil, 0
}
