package gateway

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// postModern serves one POST of the modern era. It does not release in.
func (g *Gateway) postModern(w http.ResponseWriter, r *http.Request, p *junctor.Principal, view catalog.Scope, in *inboundMessage, streamFirst bool) {
	m := &in.message
	if m.Kind == wire.Response {
		g.writeError(w, http.StatusBadRequest, nil, &wire.Error{Code: wire.CodeInvalidRequest, Message: "the message is a response, but in this protocol version the server sends no requests"})
		return
	}
	var e *wire.Error
	if m.Kind == wire.Request {
		e = checkModernMeta(m)
	}
	if e == nil {
		e = wire.CheckHeaders(r.Header, m)
	}
	if e == nil && m.Kind == wire.Request {
		e = checkVersion(m.MetaVersion) // the header has the same value
	}
	if e != nil {
		g.writeError(w, http.StatusBadRequest, m.ID, e)
		return
	}
	if m.Kind == wire.Notification {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	// A call that waits for input in another replica can continue only there.
	if m.HasRequestState && g.forwardOrFail(w, r, g.replicaOfState(m.RequestState), m.ID, in.body) {
		return
	}
	rep := &postResponse{gateway: g, w: w, streamFirst: streamFirst}
	x := g.newModernExchange(p, junctor.EntryMCP, view, g.clientAddress(r), m, rep)
	x.header, x.resultBuffer = r.Header, &in.result
	if m.Method == wire.MethodSubscriptionsListen {
		g.listenHTTP(r, x, rep)
		return
	}
	// A modern client cancels a request by closing its connection. net/http then
	// cancels r.Context.
	o, err := x.runModern(r.Context())
	setRateLimitHeaders(w.Header(), x.allowance, g.options.Now())
	if err != nil {
		f := toClientError(err, true, resourceOf(m))
		setRetryAfter(w.Header(), f.retryAfter)
		g.setScopeChallenge(w, r, p, err)
		rep.writeFinal(f.status, wire.AppendError(nil, m.ID, f.rpcError))
		return
	}
	// Lists are shared between clients, and long results are expensive to copy:
	// both are written in parts.
	if o.isList || len(o.body) >= longBodySize {
		head, body := x.appendResponseHead(in.response[:0], o)
		in.response = head
		rep.writeFinalParts(head, body)
		return
	}
	in.response = x.appendResponse(slices.Grow(in.response[:0], len(o.body)+256+len(g.serverInfo)), o)
	rep.writeFinal(http.StatusOK, in.response)
}

// resourceOf returns the URI that an error about a missing resource repeats, or "".
func resourceOf(m *wire.Message) string {
	if m.Method == wire.MethodResourcesRead || m.Method == wire.MethodResourcesSubscribe {
		return m.URI
	}
	return ""
}

// checkModernMeta returns an error if the _meta of a modern request lacks a required
// member.
func checkModernMeta(m *wire.Message) *wire.Error {
	switch {
	case !m.HasMetaVersion:
		return &wire.Error{Code: wire.CodeInvalidParams, Message: "params._meta must have " + wire.MetaProtocolVersion}
	case !m.HasMetaCapabilities:
		return &wire.Error{Code: wire.CodeInvalidParams, Message: "params._meta must have " + wire.MetaClientCapabilities}
	case m.MetaLogLevel != "" && wire.Severity(m.MetaLogLevel) == 0:
		return &wire.Error{Code: wire.CodeInvalidParams, Message: "unknown log level " + quoteShort(m.MetaLogLevel)}
	}
	return nil
}

// checkVersion returns an error if v is no supported modern version.
func checkVersion(v string) *wire.Error {
	if v == wire.ModernVersion {
		return nil
	}
	data := append(wire.AppendString(nil, wire.ModernVersion), `],"requested":`...)
	data = append([]byte(`{"supported":[`), data...)
	data = append(wire.AppendString(data, v), '}')
	return &wire.Error{Code: wire.CodeUnsupportedVersion, Message: "protocol version " + quoteShort(v) + " requires initialize; without it, use " + wire.ModernVersion, Data: data}
}

// newModernExchange makes the exchange for a modern request. The client describes itself
// in every request.
func (g *Gateway) newModernExchange(p *junctor.Principal, entryPoint junctor.EntryPoint, view catalog.Scope, address netip.Addr, m *wire.Message, out messageSender) *exchange {
	// A profile in the URL wins over the one of the client's name.
	if view.Profile == junctor.ProfileNone {
		view.Profile = profileOfClient(m.MetaClientInfo)
	}
	view.Audience, view.SearchesTools = audienceOf(m.MetaCapabilities), searchesTools(m.MetaClientInfo)
	return &exchange{
		gateway: g, principal: p, entryPoint: entryPoint, view: view, address: address, message: m, modern: true, sender: out,
		caller: catalog.Caller{
			Protocol: m.MetaVersion, Capabilities: m.MetaCapabilities, Info: m.MetaClientInfo,
			LogLevel: m.MetaLogLevel, Progress: m.ProgressToken != nil, Tasks: acceptsTasks(m.MetaCapabilities),
		},
	}
}

// audienceOf returns the audience of a client with these capabilities: a host if it shows
// MCP Apps, else a model.
func audienceOf(capabilities []byte) catalog.Audience {
	if catalog.ShowsApps(capabilities) {
		return catalog.AudienceHost
	}
	return catalog.AudienceModel
}

// runModern runs a modern request other than a subscription.
func (x *exchange) runModern(ctx context.Context) (outcome, error) {
	if x.message.Method == wire.MethodServerDiscover {
		return x.answerDiscover(), nil
	}
	switch x.message.Method {
	case wire.MethodTasksGet:
		return x.runModernTask(ctx, junctor.KindTask)
	case wire.MethodTasksUpdate:
		return x.runModernTask(ctx, junctor.KindTaskUpdate)
	case wire.MethodTasksCancel:
		return x.runModernTask(ctx, junctor.KindTaskCancel)
	}
	return x.runMethod(ctx)
}

// answerDiscover answers server/discover.
func (x *exchange) answerDiscover() outcome {
	b := append(wire.AppendString([]byte(`{"supportedVersions":[`), wire.ModernVersion), `],"capabilities":`...)
	b = append(b, x.capabilitiesJSON()...)
	if text := x.serverInstructions(); text != "" {
		b = wire.AppendString(append(b, `,"instructions":`...), text)
	}
	return outcome{body: append(b, '}'), cacheable: true, ttlMillis: x.gateway.options.ListTTL.Milliseconds()}
}

// capabilitiesJSON returns the server capabilities. They are the same for every catalog
// scope, because a server may gain prompts or resources at any time and then reports a
// list change. There are two exceptions: tasks are declared if a server of the scope
// makes them, and MCP Apps are declared to clients that declare them, too.
func (x *exchange) capabilitiesJSON() string {
	const shared = `"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"completions":{},"logging":{}`
	tasks, extensions, more := x.serversMakeTasks(), []string{}, ""
	if x.view.Audience == catalog.AudienceHost {
		extensions = append(extensions, `"`+wire.ExtensionUI+`":{"mimeTypes":["`+wire.MediaTypeApp+`"]}`)
	}
	switch {
	case tasks && x.modern:
		extensions = append(extensions, `"`+wire.ExtensionTasks+`":{}`)
	case tasks && x.session.version >= wire.V20251125:
		more = `,"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`
	}
	if x.modern || len(extensions) > 0 {
		more += `,"extensions":{` + strings.Join(extensions, ",") + `}`
	}
	return `{` + shared + more + `}`
}

// serverInstructions returns what the client is told about the servers of the endpoint
// at which the request came in, or "".
func (x *exchange) serverInstructions() string {
	return x.gateway.options.Catalog.Snapshot().For(x.principal.Tenant).Instructions(x.principal, x.view)
}

// subscriptionMeta returns the _meta of notifications for the subscription with this
// request id.
func subscriptionMeta(id []byte) []byte {
	b := append([]byte(`{`), strconv.Quote(wire.MetaSubscriptionID)...)
	return append(append(append(b, ':'), id...), '}')
}
