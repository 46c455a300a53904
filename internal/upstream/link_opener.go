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

// protocolEra is the protocol that a server was found to speak.
type protocolEra string

const (
	eraUnknown protocolEra = ""
	eraModern  protocolEra = "modern"
	eraLegacy  protocolEra = "legacy"
	eraSSE     protocolEra = "sse"
)

// linkOpener opens links to one server and remembers the server's era, which saves later
// links the probing. It remembers only what was proved: refused credentials, time-outs
// and server errors prove nothing.
type linkOpener struct {
	opts         *Options
	paramHeaders func(tool string) []wire.ParamHeader // which arguments of a tool go into headers, too

	mu        sync.Mutex
	era       protocolEra
	handshake handshakeInfo // of a modern server, which later links reuse
}

// knownEra gives the era that is remembered, and the handshake of a modern server.
func (d *linkOpener) knownEra() (protocolEra, handshakeInfo) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.era, d.handshake
}

// rememberEra keeps the era for later links.
func (d *linkOpener) rememberEra(m protocolEra, g handshakeInfo) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.era, d.handshake = m, g
}

// forgetEra makes the next link detect the era again, such as after an update of the
// server.
func (d *linkOpener) forgetEra() { d.rememberEra(eraUnknown, handshakeInfo{}) }

// openLink opens a link. ctx bounds the opening, not the link. If the server no longer
// speaks the era that is remembered, the era is detected again.
func (d *linkOpener) openLink(ctx context.Context, op linkSettings) (link, error) {
	switch d.opts.Transport {
	case TransportStdio:
		l, err := openStdio(ctx, d.opts, op)
		switch {
		case err != nil:
		case l.isModern():
			d.rememberEra(eraModern, handshakeInfo{}) // callers with other capabilities can share the process
		default:
			d.rememberEra(eraLegacy, handshakeInfo{})
		}
		return l, err
	case TransportSSE:
		return openSSE(ctx, op.optionsFrom(d.opts), op)
	case TransportHTTP:
	}
	// A server that answers 4xx to the era that is remembered may have been replaced:
	// then the era is detected again below.
	known, hello := d.knownEra()
	switch known {
	case eraModern:
		return newHTTPLink(op.optionsFrom(d.opts), hello, op, d.paramHeaders), nil
	case eraLegacy:
		l, err := d.openLegacy(ctx, op)
		if status := statusOf(err); status < 400 || status > 499 || isInconclusive(err) {
			return l, err
		}
	case eraSSE:
		l, err := openSSE(ctx, op.optionsFrom(d.opts), op)
		if status := statusOf(err); status < 400 || status > 499 || isInconclusive(err) {
			return l, err
		}
	case eraUnknown:
	}
	d.forgetEra()
	return d.detectEra(ctx, op)
}

// isInconclusive reports whether a failure tells nothing about the era of the server.
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

// detectEra opens a link to a server of unknown era. It tries server/discover first,
// since only modern servers answer it with our version. Then it tries the legacy
// handshake, then HTTP+SSE. The error is that of the newest transport that told something
// about the server.
func (d *linkOpener) detectEra(ctx context.Context, op linkSettings) (link, error) {
	l, first := d.tryDiscover(ctx, op)
	if l != nil {
		return l, nil
	}
	// After these errors another handshake would fail in the same way, or must not be
	// tried.
	switch junctor.CodeOf(first) {
	case junctor.CodeUnauthenticated, junctor.CodeUnreachable, junctor.CodeCanceled, junctor.CodeDenied, junctor.CodeUnavailable, junctor.CodeTooLarge:
		return nil, first
	default:
	}
	if e, ok := errors.AsType[*wire.Error](first); ok && isModernError(e) && !speaksLegacy(e) {
		return nil, junctor.Errorf(junctor.CodeUpstream, "server %s supports only protocol versions that Junctor does not support: %s", d.opts.ID, d.opts.quoteText(e.Message))
	}
	l, err := d.openLegacy(ctx, op)
	switch status := statusOf(err); {
	case err == nil:
		if !isInconclusive(first) {
			d.rememberEra(eraLegacy, handshakeInfo{})
		}
		return l, nil
	case status == http.StatusBadRequest, status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
	case first != nil && isInconclusive(first):
		return nil, first
	default:
		return nil, err
	}
	l, sseErr := openSSE(ctx, op.optionsFrom(d.opts), op)
	if sseErr != nil {
		if junctor.CodeOf(sseErr) == junctor.CodeUnauthenticated {
			return nil, sseErr
		}
		return nil, err // the error of the newer transport says more
	}
	d.rememberEra(eraSSE, handshakeInfo{})
	return l, nil
}

// speaksLegacy reports whether a server that refused our modern version names a legacy
// one.
func speaksLegacy(e *wire.Error) bool {
	for raw := range wire.Elements(wire.Get(e.Data, "supported")) {
		if v, _ := wire.String(raw); wire.IsSupported(v) && !wire.IsModern(v) {
			return true
		}
	}
	return false
}

// tryDiscover tries the modern era. If it returns neither a link nor an error, the server
// answered and is legacy.
func (d *linkOpener) tryDiscover(ctx context.Context, op linkSettings) (link, error) {
	// A legacy server may never answer an unknown method. This leaves time for its own
	// handshake.
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, time.Now().Add(time.Until(deadline)/2))
		defer cancel()
	}
	l := newHTTPLink(op.optionsFrom(d.opts), handshakeInfo{modernEra: true, version: wire.ModernVersion}, op, d.paramHeaders)
	result, err := l.roundTrip(ctx, wire.MethodServerDiscover, d.opts.discoverParams(), nil)
	if err == nil {
		if g, ok := readDiscover(result); ok {
			d.rememberEra(eraModern, g)
			l.handshakeInfo = g
			return l, nil
		}
	}
	_ = l.close() //nolint:contextcheck // the server is notified even if ctx has ended
	return nil, err
}

// openLegacy opens a link with the legacy handshake.
func (d *linkOpener) openLegacy(ctx context.Context, op linkSettings) (link, error) {
	l := newHTTPLink(op.optionsFrom(d.opts), handshakeInfo{}, op, d.paramHeaders)
	err := l.sendInitialize(ctx, op.capabilities)
	if err != nil {
		_ = l.close() //nolint:contextcheck // the server is notified even if ctx has ended
		return nil, err
	}
	return l, nil
}

// sendInitialize does the legacy handshake, and keeps the session id and the protocol
// version for the requests that follow.
func (l *httpLink) sendInitialize(ctx context.Context, declared []byte) error {
	x := &httpExchange{link: l, id: []byte("0")}
	defer x.closeExchange()
	params := l.opts.initializeParams(declared)
	resp, err := x.postMessage(ctx, wire.MethodInitialize, nil, wire.AppendRequest(nil, x.id, wire.MethodInitialize, params))
	if err != nil {
		return contextError(ctx, err)
	}
	id := resp.header.Get(wire.HeaderSessionID)
	result, err := x.readResult(ctx, resp)
	if e, own := errors.AsType[*wire.Error](err); own && resp.status != http.StatusOK {
		// The status counts more than the error here: it decides what is tried next.
		return &junctor.Error{Code: junctor.CodeUpstream, Message: "server " + l.opts.ID + " refused initialize: " + l.opts.quoteText(e.Message), Cause: &httpStatusError{status: resp.status}}
	}
	if err != nil {
		return err
	}
	if l.handshakeInfo, err = readInitialize(l.opts.ID, result); err != nil {
		return err
	}
	h := maps.Clone(l.currentHeader())
	if l.hasSession = id != ""; l.hasSession {
		h[wire.HeaderSessionID] = []string{id}
	}
	h[wire.HeaderProtocolVersion] = []string{l.version}
	l.setHeader(h)
	return l.notify(ctx, wire.NotificationInitialized, nil)
}
