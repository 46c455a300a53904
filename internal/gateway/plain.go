package gateway

import (
	"context"
	"net/http"
	"net/netip"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// servePlain serves POST /mcp/request: JSON-RPC 2.0 without sessions and streams. Errors
// of the protocol are sent with HTTP status 200, except that a caller over its limit gets
// 429.
func (g *Gateway) servePlain(w http.ResponseWriter, r *http.Request) {
	p := g.authenticateMethod(w, r, http.MethodPost)
	if p == nil {
		return
	}
	in := g.readBody(w, r, p)
	if in == nil {
		return
	}
	defer g.releaseMessage(in)
	if wire.IsBatch(in.body) {
		ctx, address := r.Context(), g.clientAddress(r)
		g.serveBatch(w, http.StatusOK, in.body, func(m *wire.Message) []byte {
			if m.Kind != wire.Request {
				return nil
			}
			answer, long, _, _ := g.answerPlain(ctx, p, address, m)
			if long == nil {
				return answer
			}
			return g.joinParts(p, answer, long)
		})
		return
	}
	rep := &postResponse{gateway: g, w: w}
	if err := in.message.Parse(in.body); err != nil {
		rep.writeFinal(http.StatusOK, wire.AppendError(nil, in.message.ID, toClientError(err, false, "").rpcError))
		return
	}
	if in.message.Kind != wire.Request {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer, long, f, allowance := g.answerPlain(r.Context(), p, g.clientAddress(r), &in.message)
	setRetryAfter(w.Header(), f.retryAfter)
	setRateLimitHeaders(w.Header(), allowance, g.options.Now())
	status := http.StatusOK
	if f.status == http.StatusTooManyRequests {
		status = f.status
	}
	if long != nil {
		rep.writeFinalParts(answer, long)
		return
	}
	rep.writeFinal(status, answer)
}

// answerPlain answers one request of the plain endpoint. A long result is not copied: the
// response is then answer, long and a closing brace. If long is nil, answer is the whole
// response.
func (g *Gateway) answerPlain(ctx context.Context, p *junctor.Principal, address netip.Addr, m *wire.Message) (answer, long []byte, f clientError, left junctor.Allowance) {
	x := &exchange{
		gateway: g, principal: p, entryPoint: junctor.EntryPlain, view: catalog.Scope{Plain: true, Older: true}, address: address, message: m,
		session: newSession("", wire.V20241105, nil, nil), caller: catalog.Caller{Protocol: wire.V20241105},
	}
	o, err := x.runPlain(ctx)
	if err != nil {
		f := toClientError(err, false, "")
		return wire.AppendError(nil, m.ID, f.rpcError), nil, f, x.allowance
	}
	if len(o.body) >= longBodySize {
		answer, long = x.appendResponseHead(nil, o)
		return answer, long, clientError{}, x.allowance
	}
	return wire.AppendResult(nil, m.ID, o.body), nil, clientError{}, x.allowance
}

// runPlain handles the methods of the plain endpoint.
func (x *exchange) runPlain(ctx context.Context) (outcome, error) {
	switch x.message.Method {
	case wire.MethodInitialize:
		if v := x.message.ProtocolVersion; slices.Contains(wire.LegacyVersions(), v) {
			x.session.version = v
		}
		return outcome{body: x.initializeResult(`{"tools":{}}`)}, nil
	case wire.MethodPing:
		return outcome{body: []byte("{}")}, nil
	case wire.MethodToolsList:
		return x.runMethod(ctx)
	case wire.MethodToolsCall:
		o, err := x.runMethod(ctx)
		o.body = flattenStructured(o.body)
		return o, err
	}
	return outcome{}, &wire.Error{Code: wire.CodeMethodNotFound, Message: "unknown method " + quoteShort(x.message.Method) + "; this endpoint supports initialize, ping, tools/list and tools/call"}
}

// flattenStructured copies the members of structuredContent to the top of a result, where
// clients of this endpoint look for them. It neither replaces a member of the result nor
// adds one that MCP defines for results.
func flattenStructured(body []byte) []byte {
	structured := wire.Get(body, "structuredContent")
	if len(structured) == 0 || structured[0] != '{' {
		return body
	}
	var add []wire.Member
	for key, value := range wire.Members(structured) {
		name := wire.Unescape(key)
		if wire.Get(body, name) == nil && !slices.Contains([]string{"content", "isError", "_meta"}, name) {
			add = append(add, wire.Member{Key: name, Value: value})
		}
	}
	return wire.AppendObject(nil, body, nil, add...)
}

// serveTools serves GET /mcp/tools: the tools as one plain list.
func (g *Gateway) serveTools(w http.ResponseWriter, r *http.Request) {
	p := g.authenticate(w, r)
	if p == nil {
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		methodNotAllowed(w, "GET")
		return
	}
	body, err := g.options.Pipeline.List(p, catalog.Scope{Plain: true, Older: true}, catalog.ListTools)
	if err != nil {
		f := toClientError(err, true, "")
		g.writeError(w, f.status, nil, f.rpcError)
		return
	}
	if r.Method == http.MethodGet {
		g.options.Pipeline.RecordToolList(r.Context(), p, junctor.EntryPlain, "", len(body))
	}
	(&postResponse{gateway: g, w: w}).writeFinal(http.StatusOK, body)
}
