package gateway

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// JSON-RPC codes of our own, outside the ranges that JSON-RPC and MCP keep for
// themselves. data.code names the reason in words.
const (
	codeDenied      = -31001
	codeLimited     = -31002
	codeTimeout     = -31003
	codeCanceled    = -31004
	codeUnreachable = -31005
	codeUpstream    = -31006
	codeUnavailable = -31007
	codeConflict    = -31008
	codeTooLarge    = -31009
)

// fault is an error on its way out of an MCP door: what the body says, and what
// HTTP says where the era lets it.
type fault struct {
	wire       *wire.Error
	status     int // in the modern era
	retryAfter time.Duration
}

// asFault maps every error that can reach a door. uri is that of a resource that
// was asked for: modern clients get it back when it is not there.
func asFault(err error, modern bool, uri string) fault {
	if w, ok := errors.AsType[*wire.Error](err); ok {
		return fault{wire: w, status: wireStatus(w.Code)}
	}
	e := junctor.AsError(err)
	var needs interface{ RequiredCapabilities() []byte }
	if errors.As(err, &needs) {
		data := append([]byte(`{"requiredCapabilities":`), needs.RequiredCapabilities()...)
		return fault{wire: &wire.Error{Code: wire.CodeMissingCapability, Message: e.Message, Data: append(data, '}')}, status: http.StatusBadRequest}
	}
	code, status := rpcCode(e.Code)
	f := fault{wire: &wire.Error{Code: code, Message: e.Message}, status: status, retryAfter: e.RetryAfter}
	switch {
	case e.Code == junctor.CodeNotFound && uri != "":
		if !modern {
			f.wire.Code = wire.CodeResourceNotFound
		}
		f.wire.Data = append(wire.AppendString([]byte(`{"uri":`), uri), '}')
	case code == wire.CodeInternal:
	default:
		f.wire.Data = faultData(e)
	}
	return f
}

func faultData(e *junctor.Error) []byte {
	d := wire.AppendString([]byte(`{"code":`), string(e.Code))
	if e.RetryAfter > 0 {
		d = strconv.AppendInt(append(d, `,"retryAfterMs":`...), e.RetryAfter.Milliseconds()+1, 10)
	}
	if a := e.Allowance; a != nil {
		d = wire.AppendString(append(d, `,"limit":{"name":`...), a.Name)
		d = strconv.AppendInt(append(d, `,"limit":`...), int64(a.Limit), 10)
		d = strconv.AppendInt(append(d, `,"remaining":`...), int64(a.Remaining), 10)
		d = append(a.Reset.AppendFormat(append(d, `,"reset":"`...), time.RFC3339), `"}`...)
	}
	if len(e.Violations) > 0 {
		d = append(d, `,"violations":[`...)
		for i, v := range e.Violations {
			if i > 0 {
				d = append(d, ',')
			}
			d = wire.AppendString(append(d, `{"pointer":`...), v.Pointer)
			d = append(wire.AppendString(append(d, `,"message":`...), v.Message), '}')
		}
		d = append(d, ']')
	}
	return append(d, '}')
}

// rpcCode is the one table from our codes to those of this edge: the JSON-RPC
// code, and the HTTP status in the modern era (the legacy era says 200).
func rpcCode(c junctor.Code) (code, status int) {
	switch c {
	case junctor.CodeInvalid, junctor.CodeNotFound:
		return wire.CodeInvalidParams, http.StatusBadRequest
	case junctor.CodeUnauthenticated:
		// It is a server that wants a credential. The caller's own was accepted at
		// the door: a client that reads 401 would throw that one away.
		return codeDenied, http.StatusOK
	case junctor.CodeDenied:
		return codeDenied, http.StatusForbidden
	case junctor.CodeLimited:
		return codeLimited, http.StatusTooManyRequests
	case junctor.CodeConflict, junctor.CodePrecondition:
		return codeConflict, http.StatusOK
	case junctor.CodeTooLarge:
		return codeTooLarge, http.StatusOK
	case junctor.CodeTimeout:
		return codeTimeout, http.StatusOK
	case junctor.CodeCanceled:
		return codeCanceled, http.StatusOK
	case junctor.CodeUnreachable:
		return codeUnreachable, http.StatusOK
	case junctor.CodeUpstream:
		return codeUpstream, http.StatusOK
	case junctor.CodeUnavailable:
		return codeUnavailable, http.StatusServiceUnavailable
	case junctor.CodeInternal:
	}
	return wire.CodeInternal, http.StatusOK
}

// wireStatus is the HTTP status of a protocol error in the modern era.
func wireStatus(code int) int {
	if code == wire.CodeMethodNotFound {
		return http.StatusNotFound
	}
	if code == wire.CodeInternal {
		return http.StatusOK
	}
	return http.StatusBadRequest
}

// refuse answers a request that never became a message, by HTTP status and a
// JSON-RPC error without id.
func (g *Gateway) refuse(w http.ResponseWriter, status int, id []byte, e *wire.Error) {
	w.Header()["Content-Type"] = g.jsonType
	w.WriteHeader(status)
	_, _ = w.Write(wire.AppendError(nil, id, e))
}

// setLimits writes what the limits of a call leave, and when they are whole
// again, in seconds.
func setLimits(h http.Header, a junctor.Allowance, now time.Time) {
	if a.Limit == 0 {
		return
	}
	h.Set("RateLimit-Limit", strconv.Itoa(a.Limit))
	h.Set("RateLimit-Remaining", strconv.Itoa(a.Remaining))
	h.Set("RateLimit-Reset", strconv.Itoa(int(max(0, a.Reset.Sub(now)+time.Second-1)/time.Second)))
}

// setRetry writes when to come back, in whole seconds as HTTP wants it.
func setRetry(h http.Header, d time.Duration) {
	if d > 0 {
		h.Set("Retry-After", strconv.Itoa(int((d+time.Second-1)/time.Second)))
	}
}

// admit is authenticate for a door of one method; it answers 405 for others.
func (g *Gateway) admit(w http.ResponseWriter, r *http.Request, method string) *junctor.Principal {
	p := g.authenticate(w, r)
	if p != nil && r.Method != method {
		methodNotAllowed(w, method)
		return nil
	}
	return p
}

// acting is the principal as the agent that the door names, and itself where it
// names none. The error is that there is no such agent.
func (g *Gateway) acting(r *http.Request, p *junctor.Principal) (*junctor.Principal, error) {
	name := r.PathValue("agent")
	if name == "" {
		return p, nil
	}
	as, err := g.o.Catalog.Snapshot().For(p.Tenant).Acting(p, name)
	if err != nil {
		door := junctor.DoorMCP
		switch {
		case strings.HasSuffix(r.URL.Path, "/call"):
			door = junctor.DoorCall
		case r.URL.Path != "/mcp/a/"+name:
			door = junctor.DoorPlain
		}
		g.turnAway(r, p, door, junctor.KindAgent, name, err)
	}
	return as, err
}

// turnAway records who posted to a door that is not there for them.
func (g *Gateway) turnAway(r *http.Request, p *junctor.Principal, door junctor.Door, kind junctor.Kind, name string, err error) {
	if r.Method == http.MethodPost {
		_ = g.o.Pipeline.Refuse(r.Context(), p, door, kind, name, err)
	}
}
