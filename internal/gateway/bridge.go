package gateway

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// BridgeEndpoint is an MCP server that a bridge call names by its address, because it is not
// registered.
type BridgeEndpoint struct {
	URL       string
	Transport junctor.Transport
	Header    http.Header // sent to the endpoint, stored nowhere
}

// Bridge makes a backend for one call to an endpoint. The caller must call done after the
// call.
type Bridge func(BridgeEndpoint) (b catalog.Backend, done func(), err error)

// Default and maximum of timeout_ms.
const (
	defaultCallTimeout = 30 * time.Second
	maxCallTimeout     = 300 * time.Second
)

// bridgeCall is the parsed body of POST /mcp/call.
type bridgeCall struct {
	server    string // id of a registered server; "" with an endpoint
	endpoint  BridgeEndpoint
	tool      string
	arguments []byte
	timeout   time.Duration
}

// serveCall serves POST /mcp/call: one tool call as plain JSON, on a registered server or
// on an endpoint that the request names. Every response has the member success. A refusal
// of ours has a status of 4xx, and a call that failed has 500.
func (g *Gateway) serveCall(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		g.writeCallError(w, http.StatusMethodNotAllowed, "this endpoint requires POST")
		return
	}
	p, err := g.options.Authenticate(withBasicKey(r))
	if err != nil {
		w.Header().Set("WWW-Authenticate", `Bearer realm="junctor"`)
		g.writeCallError(w, http.StatusUnauthorized, junctor.AsError(err).Message)
		return
	}
	if p, err = g.resolveAgent(r, p); err != nil {
		g.writeCallError(w, http.StatusNotFound, junctor.AsError(err).Message)
		return
	}
	in, refused := g.tryReadBody(w, r, p)
	if refused != nil {
		g.writeCallError(w, http.StatusBadRequest, refused.rpcError.Message)
		return
	}
	defer g.releaseMessage(in)
	call, err := parseBridgeCall(in.body)
	if err != nil {
		g.writeCallError(w, http.StatusBadRequest, junctor.AsError(err).Message)
		return
	}
	body, status, allowance, err := g.runBridgeCall(r.Context(), p, g.clientAddress(r), call)
	setRateLimitHeaders(w.Header(), allowance, g.options.Now())
	if err != nil {
		e := junctor.AsError(err)
		setRetryAfter(w.Header(), e.RetryAfter)
		g.writeCallError(w, status, e.Message)
		return
	}
	(&postResponse{gateway: g, w: w}).writeFinalParts([]byte(`{"success":true,"result":`), body)
}

// runBridgeCall runs the call through the pipeline. status is that of the error, and left
// is the remaining allowance of the caller. A tool that asks for input fails, because
// this endpoint cannot ask its client.
func (g *Gateway) runBridgeCall(ctx context.Context, p *junctor.Principal, address netip.Addr, call *bridgeCall) (body []byte, status int, left junctor.Allowance, err error) {
	params := wire.AppendString([]byte(`{"name":`), call.tool)
	params = append(append(append(params, `,"arguments":`...), call.arguments...), '}')
	op := guard.Op{
		Principal: p, EntryPoint: junctor.EntryBridge, Address: address, Scope: catalog.Scope{Server: call.server}, Kind: junctor.KindTool, Name: call.tool,
		Params: params, Arguments: call.arguments, Caller: catalog.Caller{Protocol: wire.ModernVersion}, Timeout: call.timeout,
	}
	// An endpoint that is not registered runs as the server junctor.AdhocServer. The
	// guard requires a scope of its own for it.
	if call.server == "" {
		b, done, err := g.connectEndpoint(call.endpoint)
		if err != nil {
			return nil, callStatus(err, false), left, err
		}
		defer done()
		op.AdhocBackend, op.Scope.Server = b, junctor.AdhocServer
	}
	res, err := g.options.Pipeline.Do(ctx, &op, catalog.Discard{})
	left = op.Allowance(err)
	if err == nil && res.Input {
		// End the call now, so that its record does not stay open until it lapses.
		err = junctor.Errorf(junctor.CodeUnavailable, "the tool requests input during the call, which requires an MCP client: use /mcp")
		if state, ok := wire.String(wire.Get(res.Body, "requestState")); ok {
			op.RequestState, op.HasState = state, true
			g.options.Pipeline.AbandonCall(ctx, &op, err)
		}
		return nil, http.StatusInternalServerError, left, err
	}
	return res.Body, callStatus(err, op.Dispatched), left, err
}

// connectEndpoint makes a backend for an endpoint, if this instance allows endpoints that
// are not registered.
func (g *Gateway) connectEndpoint(e BridgeEndpoint) (catalog.Backend, func(), error) {
	if g.options.Bridge == nil {
		return nil, nil, junctor.Errorf(junctor.CodeDenied, `this instance calls only registered servers: send "endpoint":{"server":"<id>"}`)
	}
	return g.options.Bridge(e)
}

// callStatus returns the HTTP status for an error: 4xx if we refused the call, and 500 if
// it failed. A call that ran has failed, unless the egress rules denied its connection.
func callStatus(err error, ran bool) int {
	if ran && isEgressDenied(err) {
		return http.StatusForbidden
	}
	switch junctor.CodeOf(err) {
	case junctor.CodeDenied:
		return http.StatusForbidden
	// The codes below can also come from the server. Then the call has failed, and
	// the caller cannot fix it by changing its request.
	case junctor.CodeUnauthenticated:
		if !ran {
			return http.StatusUnauthorized
		}
	case junctor.CodeLimited:
		if !ran {
			return http.StatusTooManyRequests
		}
	case junctor.CodeInvalid, junctor.CodeNotFound, junctor.CodeTooLarge, junctor.CodeConflict, junctor.CodePrecondition:
		if !ran {
			return http.StatusBadRequest
		}
	case junctor.CodeTimeout, junctor.CodeCanceled, junctor.CodeUnreachable, junctor.CodeUpstream, junctor.CodeUnavailable, junctor.CodeInternal:
	}
	return http.StatusInternalServerError
}

// isEgressDenied reports whether package egress denied the connection. A backend wraps
// that error as the cause of its own.
func isEgressDenied(err error) bool {
	for e := junctor.AsError(err); e != nil; {
		if e.Code == junctor.CodeDenied {
			return true
		}
		inner, ok := errors.AsType[*junctor.Error](e.Cause)
		if !ok {
			return false
		}
		e = inner
	}
	return false
}

// writeCallError answers with an error in the form of this endpoint.
func (g *Gateway) writeCallError(w http.ResponseWriter, status int, message string) {
	w.Header()["Content-Type"] = g.jsonType
	w.WriteHeader(status)
	_, _ = w.Write(append(wire.AppendString([]byte(`{"success":false,"error":`), message), '}'))
}

// withBasicKey returns a request with the password of HTTP Basic as its bearer token, for
// callers that can be configured with a URL only.
func withBasicKey(r *http.Request) *http.Request {
	_, password, ok := r.BasicAuth()
	if !ok || len(r.Header["Authorization"]) != 1 {
		return r
	}
	// Copy the request: the original header must not change under net/http.
	as := new(http.Request)
	*as = *r
	as.Header = r.Header.Clone()
	as.Header.Set("Authorization", "Bearer "+password)
	return as
}

// parseBridgeCall reads the body strictly: names are case-sensitive and may occur once. A
// member that is null counts as absent. A command is refused: a caller must not be able
// to start processes.
func parseBridgeCall(body []byte) (*bridgeCall, error) {
	bad := func(what string) (*bridgeCall, error) {
		return nil, junctor.Errorf(junctor.CodeInvalid, "%s", what)
	}
	if err := wire.CheckJSON(body); err != nil || len(body) == 0 || body[0] != '{' {
		return bad("the body must be a JSON object without duplicate members")
	}
	get := func(obj []byte, key string) []byte {
		raw := wire.Get(obj, key)
		if wire.IsNull(raw) {
			return nil
		}
		return raw
	}
	call := &bridgeCall{arguments: []byte("{}"), timeout: defaultCallTimeout}
	var ok bool
	if call.tool, ok = wire.String(get(body, "tool_name")); !ok || call.tool == "" {
		return bad("tool_name, the name of the tool, is required")
	}
	if raw := get(body, "arguments"); raw != nil {
		if raw[0] != '{' {
			return bad("arguments must be an object")
		}
		call.arguments = raw
	}
	if raw := get(body, "timeout_ms"); raw != nil {
		ms, ok := wire.Int(raw)
		if !ok || ms < 0 || ms > maxCallTimeout.Milliseconds() {
			return bad("timeout_ms must be an integer of at most " + strconv.FormatInt(maxCallTimeout.Milliseconds(), 10))
		}
		if ms > 0 {
			call.timeout = time.Duration(ms) * time.Millisecond
		}
	}
	endpoint := get(body, "endpoint")
	if len(endpoint) == 0 || endpoint[0] != '{' {
		return bad(`endpoint is required: {"url":"https://…"} or {"server":"<id>"}`)
	}
	if get(endpoint, "command") != nil || get(endpoint, "args") != nil {
		return bad(`a call must not contain a command: add a server with "junctor server add NAME -- command", and send "endpoint":{"server":"NAME"}`)
	}
	if raw := get(endpoint, "server"); raw != nil {
		if call.server, ok = wire.String(raw); !ok || junctor.CheckServerID(call.server) != nil || get(endpoint, "url") != nil || get(endpoint, "headers") != nil {
			return bad("endpoint.server must be the ID of a server, without url and headers")
		}
		return call, nil
	}
	return call, call.endpoint.parseMembers(endpoint, get)
}

// parseMembers reads the members of the endpoint object and checks them like those of a
// registered server. get returns nil for members that are absent or null.
func (e *BridgeEndpoint) parseMembers(raw []byte, get func([]byte, string) []byte) error {
	e.Transport = junctor.TransportHTTP
	if t := get(raw, "transport"); t != nil {
		text, _ := wire.String(t)
		e.Transport = junctor.Transport(text)
	}
	switch e.Transport {
	case junctor.TransportHTTP, junctor.TransportSSE:
	case junctor.TransportStdio:
		return junctor.Errorf(junctor.CodeInvalid, `a server with a command is called by its ID: "endpoint":{"server":"<id>"}`)
	default:
		return junctor.Errorf(junctor.CodeInvalid, "endpoint.transport must be http or sse")
	}
	e.URL, _ = wire.String(get(raw, "url"))
	if err := junctor.CheckServerURL(e.URL); err != nil {
		return err
	}
	e.Header = http.Header{}
	headers := get(raw, "headers")
	if headers != nil && headers[0] != '{' {
		return junctor.Errorf(junctor.CodeInvalid, "endpoint.headers must be an object")
	}
	// A line break in a value would let the caller add headers of its own.
	conn := junctor.Connection{Transport: e.Transport, URL: e.URL, Headers: map[string]string{}}
	for key, value := range wire.Members(headers) {
		text, ok := wire.String(value)
		if !ok || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return junctor.Errorf(junctor.CodeInvalid, "the values of endpoint.headers must be strings without line breaks")
		}
		conn.Headers[wire.Unescape(key)] = text
		e.Header.Set(wire.Unescape(key), text)
	}
	return conn.Check()
}
