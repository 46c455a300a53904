package gateway

import (
	"context"
	"net/http"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// servePlain is POST /mcp/request: JSON-RPC 2.0 with nothing around it. There is
// no session and no stream; errors of the protocol travel as HTTP 200.
func (g *Gateway) servePlain(w http.ResponseWriter, r *http.Request) {
	p := g.admit(w, r, http.MethodPost)
	if p == nil {
		return
	}
	in := g.read(w, r, p)
	if in == nil {
		return
	}
	defer g.release(in)
	if wire.IsBatch(in.body) {
		ctx := r.Context()
		g.batch(w, http.StatusOK, in.body, func(m *wire.Message) []byte {
			if m.Kind != wire.Request {
				return nil
			}
			answer, long, _, _ := g.plain(ctx, p, m)
			if long == nil {
				return answer
			}
			answer = append(append(slices.Grow(answer, len(long)+1), long...), '}')
			g.o.Bytes.Count(limit.PartyOf(p), answer)
			return answer
		})
		return
	}
	rep := &reply{g: g, w: w}
	if err := in.m.Parse(in.body); err != nil {
		rep.finish(http.StatusOK, wire.AppendError(nil, in.m.ID, asFault(err, false, "").wire))
		return
	}
	if in.m.Kind != wire.Request {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer, long, f, allowance := g.plain(r.Context(), p, &in.m)
	setRetry(w.Header(), f.retryAfter)
	setLimits(w.Header(), allowance, g.o.Now())
	status := http.StatusOK
	if f.status == http.StatusTooManyRequests {
		status = f.status
	}
	if long != nil {
		rep.finishParts(answer, long)
		return
	}
	rep.finish(status, answer)
}

// plain answers one request of the plain door. A long result is not copied: the
// answer is what answer holds, long and a brace. Where long is nil, answer is all.
func (g *Gateway) plain(ctx context.Context, p *junctor.Principal, m *wire.Message) (answer, long []byte, f fault, left junctor.Allowance) {
	x := &exchange{
		g: g, p: p, door: junctor.DoorPlain, view: catalog.View{Plain: true, Older: true}, m: m,
		s: newSession("", wire.V20241105, nil, nil), caller: catalog.Caller{Protocol: wire.V20241105},
	}
	o, err := x.runPlain(ctx)
	if err != nil {
		f := asFault(err, false, "")
		return wire.AppendError(nil, m.ID, f.wire), nil, f, x.allowance
	}
	if len(o.body) >= longBody {
		answer, long = x.appendHead(nil, o)
		return answer, long, fault{}, x.allowance
	}
	return wire.AppendResult(nil, m.ID, o.body), nil, fault{}, x.allowance
}

func (x *exchange) runPlain(ctx context.Context) (outcome, error) {
	switch x.m.Method {
	case wire.MethodInitialize:
		if v := x.m.ProtocolVersion; slices.Contains(wire.LegacyVersions(), v) {
			x.s.version = v
		}
		return outcome{body: x.initializeResult(`{"tools":{}}`)}, nil
	case wire.MethodPing:
		return outcome{body: []byte("{}")}, nil
	case wire.MethodToolsList:
		return x.run(ctx)
	case wire.MethodToolsCall:
		o, err := x.run(ctx)
		o.body = flatten(o.body)
		return o, err
	}
	return outcome{}, &wire.Error{Code: wire.CodeMethodNotFound, Message: "unknown method " + quoteShort(x.m.Method) + "; this door has initialize, ping, tools/list and tools/call"}
}

// flatten puts the members of structuredContent at the top of a result as well,
// where clients of this door look for them. A member that the result has itself
// stays as it is, and none is taken for what MCP says of a result.
func flatten(body []byte) []byte {
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

// serveTools is GET /mcp/tools: the tools as one simple list.
func (g *Gateway) serveTools(w http.ResponseWriter, r *http.Request) {
	p := g.authenticate(w, r)
	if p == nil {
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		methodNotAllowed(w, "GET")
		return
	}
	body, err := g.o.Pipeline.List(p, catalog.View{Plain: true, Older: true}, catalog.ListTools)
	if err != nil {
		f := asFault(err, true, "")
		g.refuse(w, f.status, nil, f.wire)
		return
	}
	(&reply{g: g, w: w}).finish(http.StatusOK, body)
}
