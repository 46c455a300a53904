package upstream

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// manner is how a server turned out to speak.
type manner string

const (
	mannerUnknown manner = ""
	mannerModern  manner = "modern"
	mannerLegacy  manner = "legacy"
	mannerSSE     manner = "sse"
)

// opener opens links to one server and remembers how it speaks. What proved
// nothing, a refused credential, a time-out, a server error, is not remembered.
type opener struct {
	o       *Options
	mirrors func(tool string) []wire.ParamHeader

	mu    sync.Mutex
	known manner
	hello greeting // of a modern server
}

func (d *opener) knows() (manner, greeting) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.known, d.hello
}

func (d *opener) learn(m manner, g greeting) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known, d.hello = m, g
}

// forget makes the next link find out anew how the server speaks.
func (d *opener) forget() { d.learn(mannerUnknown, greeting{}) }

// open opens a link. ctx bounds the opening, not the link.
func (d *opener) open(ctx context.Context, op opening) (link, error) {
	switch d.o.Transport {
	case TransportStdio:
		l, err := openStdio(ctx, d.o, op)
		switch {
		case err != nil:
		case l.modern():
			d.learn(mannerModern, greeting{}) // callers share one whatever they declare
		default:
			d.learn(mannerLegacy, greeting{})
		}
		return l, err
	case TransportSSE:
		return openSSE(ctx, op.options(d.o), op)
	case TransportHTTP:
	}
	known, hello := d.knows()
	switch known {
	case mannerModern:
		return newHTTPLink(op.options(d.o), hello, op, d.mirrors), nil
	case mannerLegacy:
		l, err := d.initialize(ctx, op)
		if status := statusOf(err); status < 400 || status > 499 || isInconclusive(err) {
			return l, err
		}
	case mannerSSE:
		l, err := openSSE(ctx, op.options(d.o), op)
		if status := statusOf(err); status < 400 || status > 499 || isInconclusive(err) {
			return l, err
		}
	case mannerUnknown:
	}
	d.forget()
	return d.probe(ctx, op)
}

// isInconclusive says that a failure tells nothing about how the server speaks.
func isInconclusive(err error) bool {
	if _, own := errors.AsType[*wire.Error](err); own {
		return false
	}
	switch junctor.CodeOf(err) {
	case junctor.CodeUnauthenticated, junctor.CodeUnreachable, junctor.CodeTimeout, junctor.CodeCanceled, junctor.CodeDenied, junctor.CodeUnavailable:
		return true
	default:
		return statusOf(err) >= 500
	}
}

// probe finds out how the server speaks: modern first, since whoever answers
// server/discover with our version is; then the legacy handshake, then HTTP+SSE.
func (d *opener) probe(ctx context.Context, op opening) (link, error) {
	l, first := d.discover(ctx, op)
	if l != nil {
		return l, nil
	}
	switch junctor.CodeOf(first) {
	case junctor.CodeUnauthenticated, junctor.CodeUnreachable, junctor.CodeCanceled, junctor.CodeDenied, junctor.CodeUnavailable, junctor.CodeTooLarge:
		return nil, first
	default:
	}
	if e, ok := errors.AsType[*wire.Error](first); ok && isModernError(e) && !speaksLegacy(e) {
		return nil, junctor.Errorf(junctor.CodeUpstream, "server %s speaks only protocol versions that are not spoken here: %s", d.o.ID, d.o.said(e.Message))
	}
	l, err := d.initialize(ctx, op)
	switch status := statusOf(err); {
	case err == nil:
		if !isInconclusive(first) {
			d.learn(mannerLegacy, greeting{})
		}
		return l, nil
	case status == http.StatusBadRequest, status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
	case first != nil && isInconclusive(first):
		return nil, first
	default:
		return nil, err
	}
	l, sseErr := openSSE(ctx, op.options(d.o), op)
	if sseErr != nil {
		if junctor.CodeOf(sseErr) == junctor.CodeUnauthenticated {
			return nil, sseErr
		}
		return nil, err // of the newer transport: it says more
	}
	d.learn(mannerSSE, greeting{})
	return l, nil
}

// speaksLegacy says whether a server that refused our modern version names a
// legacy one.
func speaksLegacy(e *wire.Error) bool {
	for raw := range wire.Elements(wire.Get(e.Data, "supported")) {
		if v, _ := wire.String(raw); wire.Supported(v) && !wire.IsModern(v) {
			return true
		}
	}
	return false
}

// discover tries the modern era. Without a link and without an error the server
// answered, and is legacy.
func (d *opener) discover(ctx context.Context, op opening) (link, error) {
	// A legacy server may never answer what it does not know: leave time for
	// its own handshake.
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, time.Now().Add(time.Until(deadline)/2))
		defer cancel()
	}
	l := newHTTPLink(op.options(d.o), greeting{isModern: true, spoken: wire.Modern}, op, d.mirrors)
	result, err := l.roundTrip(ctx, wire.MethodServerDiscover, d.o.discoverParams(), nil)
	if err == nil {
		if g, ok := readDiscover(result); ok {
			d.learn(mannerModern, g)
			l.greeting = g
			return l, nil
		}
	}
	_ = l.close() //nolint:contextcheck // it is told even when ctx has ended
	return nil, err
}

// initialize is the legacy handshake.
func (d *opener) initialize(ctx context.Context, op opening) (link, error) {
	l := newHTTPLink(op.options(d.o), greeting{}, op, d.mirrors)
	err := l.handshake(ctx, op.declared)
	if err != nil {
		_ = l.close() //nolint:contextcheck // it is told even when ctx has ended
		return nil, err
	}
	return l, nil
}

func (l *httpLink) handshake(ctx context.Context, declared []byte) error {
	x := &exchange{l: l, id: []byte("0")}
	defer x.done()
	params := l.o.initializeParams(declared)
	resp, err := x.postMessage(ctx, wire.MethodInitialize, nil, wire.AppendRequest(nil, x.id, wire.MethodInitialize, params))
	if err != nil {
		return contextError(ctx, err)
	}
	id := resp.header.Get(wire.HeaderSessionID)
	result, err := x.read(ctx, resp)
	if e, own := errors.AsType[*wire.Error](err); own && resp.status != http.StatusOK {
		// What the status says counts here: it decides what is tried next.
		return &junctor.Error{Code: junctor.CodeUpstream, Message: "server " + l.o.ID + " refused initialize: " + l.o.said(e.Message), Cause: &httpStatusError{status: resp.status}}
	}
	if err != nil {
		return err
	}
	if l.greeting, err = readInitialize(l.o.ID, result); err != nil {
		return err
	}
	h := maps.Clone(l.header())
	if l.session = id != ""; l.session {
		h[wire.HeaderSessionID] = []string{id}
	}
	h[wire.HeaderProtocolVersion] = []string{l.spoken}
	l.set(h)
	return l.notify(ctx, wire.NoteInitialized, nil)
}
