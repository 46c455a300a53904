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

// guarded is the transport of Client. The http.Client comes here for the first
// request and for each redirect, so every hop is judged in one place.
type guarded struct {
	judge    *judge
	proxied  bool
	maxBytes int64 // less than 0: no cap
	log      *slog.Logger
	https    *http.Transport
	http     *http.Transport
	fast     *httpfast.Transport // nil: plain HTTP goes through http too
}

// RoundTrip implements http.RoundTripper.
func (g *guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := g.judge.url(r.URL, g.proxied); err != nil {
		closeBody(r)
		return nil, g.refused(r.Context(), r.URL.Host, err)
	}
	if r.Header.Get("Accept-Encoding") != "" {
		// The transport asks for gzip itself, and then what it hands on is
		// decompressed and counted as such.
		r = r.Clone(r.Context())
		r.Header.Del("Accept-Encoding")
	}
	t := g.https
	if r.URL.Scheme == "http" {
		t = g.http
	}
	resp, err := t.RoundTrip(r)
	if err != nil {
		return nil, g.refused(r.Context(), r.URL.Host, classify(r.Context(), r.URL.Host, err))
	}
	if g.maxBytes >= 0 && resp.ContentLength > g.maxBytes && r.Method != http.MethodHead {
		resp.Body.Close()
		return nil, tooLarge(r.URL.Host, g.maxBytes)
	}
	// An answer that switches protocols has a body that is written to as well.
	if _, ok := resp.Body.(io.Writer); !ok {
		resp.Body = &cappedBody{body: resp.Body, ctx: r.Context(), host: r.URL.Host, left: g.maxBytes, limit: g.maxBytes}
	}
	return resp, nil
}

// refused tells the log what the caller is not told: which address a name
// turned out to mean.
func (g *guarded) refused(ctx context.Context, host string, err error) error {
	e := junctor.AsError(err)
	if e.Code != junctor.CodeDenied {
		return e
	}
	attrs := []slog.Attr{slog.String("host", host), slog.String("reason", e.Message)}
	if e.Cause != nil {
		attrs = append(attrs, slog.String("cause", e.Cause.Error()))
	}
	g.log.LogAttrs(ctx, slog.LevelWarn, "egress refused", attrs...)
	return &junctor.Error{Code: e.Code, Message: e.Message}
}

// CloseIdleConnections is what http.Client.CloseIdleConnections calls.
func (g *guarded) CloseIdleConnections() {
	g.https.CloseIdleConnections()
	g.http.CloseIdleConnections()
	if g.fast != nil {
		g.fast.CloseIdleConnections()
	}
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		r.Body.Close()
	}
}

// cappedBody counts what is read and gives errors their codes.
type cappedBody struct {
	body  io.ReadCloser
	ctx   context.Context
	host  string
	limit int64
	left  int64
}

func (b *cappedBody) Read(p []byte) (int, error) {
	if b.limit >= 0 && int64(len(p))-1 > b.left {
		p = p[:b.left+1] // one more than allowed shows that there is more
	}
	n, err := b.body.Read(p)
	if b.limit >= 0 {
		if int64(n) > b.left {
			n, b.left = int(b.left), 0
			return n, tooLarge(b.host, b.limit)
		}
		b.left -= int64(n)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = classify(b.ctx, b.host, err)
	}
	return n, err
}

func (b *cappedBody) Close() error { return b.body.Close() }

func tooLarge(host string, limit int64) error {
	return junctor.Errorf(junctor.CodeTooLarge, "the answer of %s is larger than the %d bytes that are taken", host, limit)
}
