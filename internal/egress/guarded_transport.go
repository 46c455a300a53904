package egress

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/httpfast"
)

// guardedTransport is the transport of Egress.Client. The http.Client calls it for the
// first request and for each redirect, so every hop is judged in one place.
type guardedTransport struct {
	policy         *destinationPolicy
	usesProxy      bool
	maxBytes       int64 // of a response body; negative: no limit
	log            *slog.Logger
	httpsTransport *http.Transport
	httpTransport  *http.Transport
	fast           *httpfast.Transport // nil: there is no fast path
}

// RoundTrip implements http.RoundTripper.
func (g *guardedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := g.policy.checkURL(r.URL, g.usesProxy); err != nil {
		closeRequestBody(r)
		return nil, g.logRefusal(r.Context(), r.URL.Host, err)
	}
	if r.Header.Get("Accept-Encoding") != "" {
		// Without it the transport requests gzip itself and decompresses the body, so
		// that cappedBody counts the decompressed bytes.
		r = r.Clone(r.Context())
		r.Header.Del("Accept-Encoding")
	}
	t := g.httpsTransport
	if r.URL.Scheme == "http" {
		t = g.httpTransport
	}
	resp, err := t.RoundTrip(r)
	if err != nil {
		return nil, g.logRefusal(r.Context(), r.URL.Host, classifyError(r.Context(), r.URL.Host, err))
	}
	if g.maxBytes >= 0 && resp.ContentLength > g.maxBytes && r.Method != http.MethodHead {
		resp.Body.Close()
		return nil, newTooLargeError(r.URL.Host, g.maxBytes)
	}
	// The body of a response that switches protocols is written to as well.
	if _, ok := resp.Body.(io.Writer); !ok {
		resp.Body = &cappedBody{body: resp.Body, ctx: r.Context(), host: r.URL.Host, remaining: g.maxBytes, limit: g.maxBytes}
	}
	return resp, nil
}

// logRefusal logs a CodeDenied error with the address that a name resolved to, and
// returns it without: callers must not learn addresses of the internal network.
func (g *guardedTransport) logRefusal(ctx context.Context, host string, err error) error {
	e := junctor.AsError(err)
	if e.Code != junctor.CodeDenied {
		return e
	}
	attrs := []slog.Attr{slog.String("host", host), slog.String("reason", e.Message)}
	if e.Cause != nil {
		attrs = append(attrs, slog.String("cause", e.Cause.Error()))
	}
	g.log.LogAttrs(ctx, slog.LevelWarn, "outgoing request refused", attrs...)
	return &junctor.Error{Code: e.Code, Message: e.Message}
}

// CloseIdleConnections is called by http.Client.CloseIdleConnections.
func (g *guardedTransport) CloseIdleConnections() {
	g.httpsTransport.CloseIdleConnections()
	g.httpTransport.CloseIdleConnections()
	if g.fast != nil {
		g.fast.CloseIdleConnections()
	}
}

// closeRequestBody closes the body of a request that is not sent, as the contract of
// http.RoundTripper demands.
func closeRequestBody(r *http.Request) {
	if r.Body != nil {
		r.Body.Close()
	}
}

// cappedBody is a response body with a size limit and coded errors.
type cappedBody struct {
	body      io.ReadCloser
	ctx       context.Context
	host      string
	limit     int64
	remaining int64
}

// Read reads one byte more than the limit allows, to distinguish a body of
// exactly the limit from a longer one, but never returns that byte.
func (b *cappedBody) Read(p []byte) (int, error) {
	if b.limit >= 0 && int64(len(p))-1 > b.remaining {
		p = p[:b.remaining+1] // one byte above the limit shows that there is more
	}
	n, err := b.body.Read(p)
	if b.limit >= 0 {
		if int64(n) > b.remaining {
			n, b.remaining = int(b.remaining), 0
			return n, newTooLargeError(b.host, b.limit)
		}
		b.remaining -= int64(n)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = classifyError(b.ctx, b.host, err)
	}
	return n, err
}

func (b *cappedBody) Close() error { return b.body.Close() }

func newTooLargeError(host string, limit int64) error {
	return junctor.Errorf(junctor.CodeTooLarge, "the response of %s is larger than the limit of %d bytes", host, limit)
}
