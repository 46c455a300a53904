package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// sseLink is a link over HTTP+SSE of 2024-11-05: all messages of the server arrive on one
// stream, and those of the client are posted to a URL that the stream names first.
type sseLink struct {
	handshakeInfo
	opts *Options
	linkHeaders
	endpoint string // URL to post to

	pending        pendingCalls
	serverRequests serverRequests
	background     backgroundGroup // the reader of the stream, and notices to the server

	ctx         context.Context // ends with close, and so does the stream
	cancel      context.CancelFunc
	streamEnded chan struct{} // closed when the stream has ended
}

// openSSE opens the stream, waits for the URL to post to, and does the handshake.
func openSSE(ctx context.Context, o *Options, op linkSettings) (link, error) {
	l := &sseLink{opts: o, linkHeaders: linkHeaders{tokenNumber: op.tokenNumber}, streamEnded: make(chan struct{})}
	l.setHeader(baseHeader(o, op.credentials))
	l.pending.onAmbiguous = op.onAmbiguous
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := l.connectStream(ctx, op.capabilities); err != nil {
		_ = l.close()
		return nil, err
	}
	return l, nil
}

// connectStream opens the stream and does the handshake. ctx bounds both, but not the
// life of the stream. The caller closes the link on error.
func (l *sseLink) connectStream(ctx context.Context, declared []byte) error {
	// The stream lives as long as the link. Only opening it ends with ctx.
	stop := context.AfterFunc(ctx, l.cancel)
	defer stop()
	h := l.currentHeader().Clone()
	delete(h, "Content-Type")
	h["Accept"] = []string{"text/event-stream"}
	resp, err := sendHTTP(l.ctx, l.opts.StreamClient, http.MethodGet, l.opts.URL.String(), h, nil) //nolint:contextcheck // the stream outlives ctx
	if err != nil {
		close(l.streamEnded)
		return contextError(ctx, err)
	}
	if stream, _ := isStream(resp.Header); resp.StatusCode != http.StatusOK || !stream {
		defer discardBody(resp.Body)
		close(l.streamEnded)
		if resp.StatusCode == http.StatusOK {
			return junctor.Errorf(junctor.CodeUpstream, "server %s does not answer with an event stream at its URL", l.opts.ID)
		}
		return l.opts.statusError(newReply(resp), l.currentHeader(), false, false)
	}
	endpoint := make(chan string, 1)
	l.background.start(func() { l.readStream(resp.Body, endpoint) })
	select {
	case l.endpoint = <-endpoint:
	case <-l.streamEnded:
		return junctor.Errorf(junctor.CodeUpstream, "server %s ended its stream before it sent the endpoint event", l.opts.ID)
	case <-ctx.Done():
		return junctor.AsError(ctx.Err())
	}
	if l.endpoint == "" {
		return junctor.Errorf(junctor.CodeUpstream, "server %s names an endpoint at another origin, which Junctor does not allow", l.opts.ID)
	}
	result, err := l.roundTrip(ctx, wire.MethodInitialize, l.opts.initializeParams(declared), nil)
	if err != nil {
		return contextError(ctx, err)
	}
	if l.handshakeInfo, err = readInitialize(l.opts.ID, result); err != nil {
		return err
	}
	return l.notify(ctx, wire.NotificationInitialized, nil)
}

// contextError gives the error of ctx if it has ended, otherwise err.
func contextError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return junctor.AsError(ctx.Err())
	}
	return err
}

// readStream handles the events of the stream until it ends. The first endpoint event
// goes to endpoint. It skips what is no message: a broken message must not end all calls.
func (l *sseLink) readStream(body io.ReadCloser, endpoint chan<- string) {
	defer body.Close()
	r := wire.NewEventReader(body, int(l.opts.MaxBytes))
	memory := l.opts.memoryFor(l.ctx, l.opts.serverParty())
	r.GrowWith(memory.growBuffer)
	for {
		e, err := r.Next()
		memory.FinishMessage()
		if err != nil {
			l.failStream(err)
			return
		}
		switch {
		case e.Name == "endpoint" && endpoint != nil:
			endpoint <- l.resolveEndpoint(string(e.Data))
			endpoint = nil
		case len(e.Data) > 0 && (e.Name == "" || e.Name == "message"):
			if err := forEachMessage(&wire.Message{}, keepEventData(r, e.Data), l.dispatchMessage); err != nil {
				l.opts.limits.warnOnce(l.opts.Logger, "server sent a message that is not JSON-RPC", "server", l.opts.ID, "error", err)
			}
		}
	}
}

// failStream ends the calls of a stream that broke.
func (l *sseLink) failStream(err error) {
	l.pending.failAll(&junctor.Error{Code: junctor.CodeUpstream, Message: "server " + l.opts.ID + " ended its stream", Cause: errors.Join(errInterrupted, err)})
	close(l.streamEnded)
}

// resolveEndpoint gives the URL to post to; "" if it leads to another origin. A server
// could otherwise have our credentials sent elsewhere.
func (l *sseLink) resolveEndpoint(to string) string {
	u, err := url.Parse(to)
	if err != nil {
		return ""
	}
	u = l.opts.URL.ResolveReference(u)
	if u.Scheme != l.opts.URL.Scheme || u.Host != l.opts.URL.Host || u.User != nil {
		return ""
	}
	return u.String()
}

// dispatchMessage handles one message of the stream.
func (l *sseLink) dispatchMessage(m *wire.Message) {
	l.pending.dispatchMessage(l.ctx, m, &l.serverRequests, l.opts, l.postMessage)
}

// postMessage sends a message. Its answer, if any, comes on the stream.
func (l *sseLink) postMessage(ctx context.Context, message []byte) error {
	resp, err := sendHTTP(ctx, l.opts.Client, http.MethodPost, l.endpoint, l.currentHeader().Clone(), message) //nolint:bodyclose // discardBody closes it
	if err != nil {
		return err
	}
	defer discardBody(resp.Body)
	if resp.StatusCode >= 300 {
		return l.opts.statusError(newReply(resp), l.currentHeader(), true, false)
	}
	return nil
}

// roundTrip implements link.
func (l *sseLink) roundTrip(ctx context.Context, method string, params []byte, handler messageHandler) ([]byte, error) {
	call, err := l.pending.beginCall(params, handler)
	if err != nil {
		return nil, err
	}
	defer l.pending.endCall(call)
	var result []byte
	if err = l.postMessage(ctx, wire.AppendRequest(nil, call.id, method, params)); err == nil {
		result, err = call.awaitResponse(ctx)
	}
	if err != nil && ctx.Err() != nil && method != wire.MethodInitialize {
		l.background.start(func() { //nolint:contextcheck // the call's own context has ended
			ctx, cancel := context.WithTimeout(context.Background(), noticeTimeout)
			defer cancel()
			_ = l.notify(ctx, wire.NotificationCancelled, cancelParams(call.id)) // nobody waits for the outcome
		})
	}
	return result, err
}

// notify implements link.
func (l *sseLink) notify(ctx context.Context, method string, params []byte) error {
	return l.postMessage(ctx, wire.AppendNotification(nil, method, params))
}

// listen implements link: the stream is already open.
func (l *sseLink) listen(ctx context.Context, _ []byte, handler messageHandler) error {
	defer l.pending.addListener(handler)()
	select {
	case <-l.streamEnded:
		return &junctor.Error{Code: junctor.CodeUpstream, Message: "server " + l.opts.ID + " ended its stream", Cause: errNotBegun}
	case <-ctx.Done():
		return junctor.AsError(ctx.Err())
	}
}

// close implements link.
func (l *sseLink) close() error {
	l.pending.failAll(&junctor.Error{Code: junctor.CodeUnavailable, Message: "the session with the server was closed", Cause: errInterrupted})
	l.cancel()
	l.serverRequests.close()
	l.background.close()
	return nil
}
