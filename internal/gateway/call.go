package gateway

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Endpoint is where a caller of the bridge wants a tool called, when that is no
// registered server.
type Endpoint struct {
	URL       string
	Transport junctor.Transport
	Header    http.Header // sent to it and kept nowhere
}

// Bridge makes a backend of an endpoint for one call; done gives it back.
type Bridge func(Endpoint) (b catalog.Backend, done func(), err error)

// Bounds of timeout_ms.
const (
	callTimeout    = 30 * time.Second
	maxCallTimeout = 300 * time.Second
)

// bridgeCall is what the body of POST /mcp/call asks for.
type bridgeCall struct {
	server    string // a registered one; "" with an endpoint
	endpoint  Endpoint
	tool      string
	arguments []byte
	timeout   time.Duration
}

// serveCall is POST /mcp/call: one tool call as plain JSON, on a registered
// server or on an endpoint that the request names. Every answer says success; a
// refusal of our own is a 4xx, a call that failed is 500.
func (g *Gateway) serveCall(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		g.callFailed(w, http.StatusMethodNotAllowed, "this door takes POST")
		return
	}
	p, err := g.o.Authenticate(basicKey(r))
	if err != nil {
		w.Header().Set("WWW-Authenticate", `Bearer realm="junctor"`)
		g.callFailed(w, http.StatusUnauthorized, junctor.AsError(err).Message)
		return
	}
	if p, err = g.acting(r, p); err != nil {
		g.callFailed(w, http.StatusNotFound, junctor.AsError(err).Message)
		return
	}
	in, refused := g.take(w, r, p)
	if refused != nil {
		g.callFailed(w, http.StatusBadRequest, refused.wire.Message)
		return
	}
	defer g.release(in)
	call, err := readCall(in.body)
	if err != nil {
		g.callFailed(w, http.StatusBadRequest, junctor.AsError(err).Message)
		return
	}
	body, status, allowance, err := g.bridge(r.Context(), p, call)
	setLimits(w.Header(), allowance, g.o.Now())
	if err != nil {
		e := junctor.AsError(err)
		setRetry(w.Header(), e.RetryAfter)
		g.callFailed(w, status, e.Message)
		return
	}
	(&reply{g: g, w: w}).finishParts([]byte(`{"success":true,"result":`), body)
}

// bridge runs the call through the pipeline. The status is that of an error; left
// is what the caller's limits leave.
func (g *Gateway) bridge(ctx context.Context, p *junctor.Principal, call *bridgeCall) (body []byte, status int, left junctor.Allowance, err error) {
	params := wire.AppendString([]byte(`{"name":`), call.tool)
	params = append(append(append(params, `,"arguments":`...), call.arguments...), '}')
	op := guard.Op{
		Principal: p, Door: junctor.DoorCall, View: catalog.View{Server: call.server}, Kind: junctor.KindTool, Name: call.tool,
		Params: params, Arguments: call.arguments, Caller: catalog.Caller{Protocol: wire.Modern}, Timeout: call.timeout,
	}
	if call.server == "" {
		b, done, err := g.adhoc(call.endpoint)
		if err != nil {
			return nil, callStatus(err, false), left, err
		}
		defer done()
		op.Adhoc, op.View.Server = b, junctor.AdhocServer
	}
	res, err := g.o.Pipeline.Do(ctx, &op, quiet{})
	left = op.Allowance(err)
	if err == nil && res.Input {
		err = junctor.Errorf(junctor.CodeUnavailable, "the tool asks for input while it runs, which needs an MCP client: use /mcp")
		if state, ok := wire.String(wire.Get(res.Body, "requestState")); ok {
			op.RequestState, op.HasState = state, true
			g.o.Pipeline.GiveUp(ctx, &op, err)
		}
		return nil, http.StatusInternalServerError, left, err
	}
	return res.Body, callStatus(err, op.Ran), left, err
}

func (g *Gateway) adhoc(e Endpoint) (catalog.Backend, func(), error) {
	if g.o.Bridge == nil {
		return nil, nil, junctor.Errorf(junctor.CodeDenied, `this instance calls registered servers only: write "endpoint":{"server":"<id>"}`)
	}
	return g.o.Bridge(e)
}

// quiet is the sink of a caller that wants the result alone.
type quiet struct{}

func (quiet) Progress([]byte)    {}
func (quiet) Log(string, []byte) {}

// callStatus is how this door says what kind of error it was: what we refused,
// or what failed. A call that ran has failed, unless the way to its endpoint is
// not allowed.
func callStatus(err error, ran bool) int {
	if ran && notAllowed(err) {
		return http.StatusForbidden
	}
	switch junctor.CodeOf(err) {
	case junctor.CodeDenied:
		return http.StatusForbidden
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

// notAllowed says whether egress refused the way: a backend tells its own
// errors, and that as their cause.
func notAllowed(err error) bool {
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

func (g *Gateway) callFailed(w http.ResponseWriter, status int, message string) {
	w.Header()["Content-Type"] = g.jsonType
	w.WriteHeader(status)
	_, _ = w.Write(append(wire.AppendString([]byte(`{"success":false,"error":`), message), '}'))
}

// basicKey gives a request with the password of HTTP Basic as its bearer token,
// since some callers can be given a URL and nothing else.
func basicKey(r *http.Request) *http.Request {
	_, password, ok := r.BasicAuth()
	if !ok || len(r.Header["Authorization"]) != 1 {
		return r
	}
	as := new(http.Request)
	*as = *r
	as.Header = r.Header.Clone()
	as.Header.Set("Authorization", "Bearer "+password)
	return as
}

// readCall reads the body strictly: members are case-sensitive and stand once. A
// member that is null counts as absent.
func readCall(body []byte) (*bridgeCall, error) {
	bad := func(what string) (*bridgeCall, error) {
		return nil, junctor.Errorf(junctor.CodeInvalid, "%s", what)
	}
	if err := wire.Check(body); err != nil || len(body) == 0 || body[0] != '{' {
		return bad("the body is not a JSON object, or has a member twice")
	}
	get := func(obj []byte, key string) []byte {
		raw := wire.Get(obj, key)
		if wire.IsNull(raw) {
			return nil
		}
		return raw
	}
	call := &bridgeCall{arguments: []byte("{}"), timeout: callTimeout}
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
			return bad("timeout_ms is a whole number of at most " + strconv.FormatInt(maxCallTimeout.Milliseconds(), 10))
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
		return bad(`a call cannot bring a command: add it with "junctor server add NAME -- command" and write "endpoint":{"server":"NAME"}`)
	}
	if raw := get(endpoint, "server"); raw != nil {
		if call.server, ok = wire.String(raw); !ok || junctor.CheckServerID(call.server) != nil || get(endpoint, "url") != nil || get(endpoint, "headers") != nil {
			return bad("endpoint.server is the id of a server, and stands alone")
		}
		return call, nil
	}
	return call, call.endpoint.read(endpoint, get)
}

func (e *Endpoint) read(raw []byte, get func([]byte, string) []byte) error {
	e.Transport = junctor.TransportHTTP
	if t := get(raw, "transport"); t != nil {
		text, _ := wire.String(t)
		e.Transport = junctor.Transport(text)
	}
	switch e.Transport {
	case junctor.TransportHTTP, junctor.TransportSSE:
	case junctor.TransportStdio:
		return junctor.Errorf(junctor.CodeInvalid, `a command is called by naming its server: "endpoint":{"server":"<id>"}`)
	default:
		return junctor.Errorf(junctor.CodeInvalid, "endpoint.transport is http or sse")
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
	conn := junctor.Connection{Transport: e.Transport, URL: e.URL, Headers: map[string]string{}}
	for key, value := range wire.Members(headers) {
		text, ok := wire.String(value)
		if !ok || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return junctor.Errorf(junctor.CodeInvalid, "the values of endpoint.headers are texts without line breaks")
		}
		conn.Headers[wire.Unescape(key)] = text
		e.Header.Set(wire.Unescape(key), text)
	}
	return conn.Check()
}
