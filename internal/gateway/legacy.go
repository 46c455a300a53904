package gateway

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// postLegacy serves one POST of the era of sessions. It releases in.
func (g *Gateway) postLegacy(w http.ResponseWriter, r *http.Request, p *junctor.Principal, view catalog.View, in *inbound, streamFirst bool) {
	m := &in.m
	if !g.legacyVersion(w, r, m.ID) {
		g.release(in)
		return
	}
	if m.Method == wire.MethodInitialize && m.Kind == wire.Request {
		g.initialize(w, r, p, view, m, &reply{g: g, w: w, streamFirst: streamFirst})
		g.release(in)
		return
	}
	s := g.passing(r, m)
	if s == nil {
		s = g.session(w, r, p, view, m.ID)
	}
	if s == nil {
		g.release(in)
		return
	}
	if m.Kind == wire.Request {
		g.requestLegacy(w, r, g.legacyExchange(p, junctor.DoorMCP, view, m, s), in, streamFirst)
		return
	}
	if g.elsewhere(w, r, g.askedBy(m), m.ID, in.body) {
		g.release(in)
		return
	}
	g.hear(r.Context(), p, s, m)
	g.release(in)
	w.WriteHeader(http.StatusAccepted)
}

// passing is the session of a request that has none and needs none: scripts, and
// clients of servers without sessions, list and call without a handshake. Nobody
// can be asked anything in it, and nothing of it stays. Without a header its version
// is the one that the specification assumes.
func (g *Gateway) passing(r *http.Request, m *wire.Message) *session {
	if m.Kind != wire.Request || len(r.Header[headerSession]) > 0 {
		return nil
	}
	switch m.Method {
	case wire.MethodToolsList, wire.MethodToolsCall, wire.MethodResourcesList, wire.MethodResourcesTemplatesList, wire.MethodResourcesRead,
		wire.MethodPromptsList, wire.MethodPromptsGet, wire.MethodCompletionComplete:
		return newSession(g.bootID(), cmp.Or(r.Header.Get(headerVersion), wire.V20250326), nil, nil)
	}
	return nil
}

// legacyVersion holds the version header of a legacy request, which may be
// absent, to those that are spoken; it answers 400 for others.
func (g *Gateway) legacyVersion(w http.ResponseWriter, r *http.Request, id []byte) bool {
	v := r.Header.Get(headerVersion)
	if v == "" || slices.Contains(wire.LegacyVersions(), v) {
		return true
	}
	g.refuse(w, http.StatusBadRequest, id, &wire.Error{Code: wire.CodeInvalidRequest, Message: "MCP-Protocol-Version " + quoteShort(v) + " is not spoken here"})
	return false
}

func (g *Gateway) legacyExchange(p *junctor.Principal, door junctor.Door, view catalog.View, m *wire.Message, s *session) *exchange {
	if view.Profile == junctor.ProfileNone {
		view.Profile = s.profile()
	}
	x := &exchange{g: g, p: p, door: door, view: view, m: m, s: s, caller: s.caller(m.ProgressToken != nil)}
	x.view.Audience, x.view.Older = audienceOf(x.caller.Capabilities), true
	return x
}

// initialize begins a session.
func (g *Gateway) initialize(w http.ResponseWriter, r *http.Request, p *junctor.Principal, view catalog.View, m *wire.Message, rep *reply) {
	version := wire.Negotiate(m.ProtocolVersion)
	s, err := g.createSession(r.Context(), p, view, version, m.Capabilities, m.ClientInfo)
	if err != nil {
		f := asFault(err, false, "")
		rep.finish(http.StatusOK, wire.AppendError(nil, m.ID, f.wire))
		return
	}
	x := g.legacyExchange(p, junctor.DoorMCP, view, m, s)
	w.Header().Set(headerSession, s.text)
	rep.finish(http.StatusOK, wire.AppendResult(nil, m.ID, x.initializeResult(x.capabilities())))
}

func (x *exchange) initializeResult(capabilities string) []byte {
	b := wire.AppendString([]byte(`{"protocolVersion":`), x.s.version)
	b = append(append(b, `,"capabilities":`...), capabilities...)
	b = append(append(b, `,"serverInfo":`...), x.g.serverInfo...)
	if text := x.instructions(); text != "" {
		b = wire.AppendString(append(b, `,"instructions":`...), text)
	}
	return append(b, '}')
}

// runLegacy handles a legacy request, wherever it came from.
func (x *exchange) runLegacy(ctx context.Context) (outcome, error) {
	switch x.m.Method {
	case wire.MethodPing:
		return outcome{body: []byte("{}")}, nil
	case wire.MethodLoggingSetLevel:
		return x.setLevel(ctx)
	case wire.MethodResourcesSubscribe, wire.MethodResourcesUnsubscribe:
		return x.subscribe(ctx)
	case wire.MethodTasksGet, wire.MethodTasksResult, wire.MethodTasksList, wire.MethodTasksCancel:
		return x.taskLegacy(ctx)
	}
	return x.run(ctx)
}

func (x *exchange) setLevel(ctx context.Context) (outcome, error) {
	if wire.Severity(x.m.Level) == 0 {
		return outcome{}, &wire.Error{Code: wire.CodeInvalidParams, Message: "unknown log level " + quoteShort(x.m.Level)}
	}
	x.s.mu.Lock()
	x.s.logLevel = x.m.Level
	x.s.mu.Unlock()
	return outcome{body: []byte("{}")}, x.save(ctx)
}

func (x *exchange) subscribe(ctx context.Context) (outcome, error) {
	if !x.m.HasURI || x.m.Wrong != "" {
		return outcome{}, missing("uri")
	}
	end := x.m.Method == wire.MethodResourcesUnsubscribe
	if _, err := x.g.o.Pipeline.Do(ctx, x.subscription(x.m.URI, end), x); err != nil {
		return outcome{}, err
	}
	x.s.mu.Lock()
	if end {
		delete(x.s.subs, x.m.URI)
	} else {
		x.s.subs[x.m.URI] = true
	}
	x.s.mu.Unlock()
	return outcome{body: []byte("{}")}, x.save(ctx)
}

// save writes the session's row, where the session can be come back to.
func (x *exchange) save(ctx context.Context) error {
	if x.s.text == "" {
		return nil
	}
	err := x.g.o.Sessions.SaveSession(ctx, x.p.Tenant, x.s.saved())
	if err == nil {
		x.g.tell(ctx, News{Kind: newsSaved, Tenant: x.p.Tenant, Session: x.s.id})
	}
	return err
}

// answerLegacy runs a legacy request and appends the whole answer to dst.
func (x *exchange) answerLegacy(ctx context.Context, dst []byte) (message []byte) {
	head, long, _ := x.answerLegacyParts(ctx, dst)
	if long == nil {
		return head
	}
	message = append(append(slices.Grow(head, len(long)+1), long...), '}')
	x.g.o.Bytes.Count(limit.PartyOf(x.p), message)
	return message
}

// answerLegacyParts is answerLegacy, but does not copy a long result: that is long,
// and the answer is head, long and a brace. Where long is nil, head is all.
func (x *exchange) answerLegacyParts(ctx context.Context, dst []byte) (head, long []byte, retryAfter time.Duration) {
	o, err := x.runLegacy(ctx)
	if err != nil {
		x.failure = err
		f := asFault(err, false, resourceOf(x.m))
		return wire.AppendError(dst, x.m.ID, f.wire), nil, f.retryAfter
	}
	if len(o.body) >= longBody {
		head, long = x.appendHead(dst, o)
		return head, long, 0
	}
	return x.appendAnswer(slices.Grow(dst, len(o.body)+64), o), nil, 0
}
