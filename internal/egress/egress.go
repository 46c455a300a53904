// Package egress is the only way out: it makes every HTTP client and every
// dial. It is ground: backends, intake and telemetry get their clients from
// here through app, and the cli its way to a running instance. What strangers
// may name goes through Client, which judges each address at the moment it is
// dialled; what the operator named goes through Remote and Local. Calls to plain
// http servers go over a Line: connections of our own, under a client's rules.
package egress

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

const (
	defaultTimeout  = 30 * time.Second
	defaultMaxBytes = 10 << 20

	dialTimeout  = 5 * time.Second
	tlsTimeout   = 10 * time.Second
	idleTimeout  = 90 * time.Second
	maxHeader    = 64 << 10
	maxRedirects = 3
)

// Options are what the operator allows.
type Options struct {
	Allow  []netip.Prefix // private ranges that may be dialled, also with plain http
	Proxy  *url.URL       // everything but Allow goes through it; nil is none. The environment's is never taken.
	Logger *slog.Logger   // told which addresses were refused, since callers are not
	// NoFastPath makes net/http carry all requests: FastClient gives no client then.
	NoFastPath bool
}

// Egress makes clients under one set of rules.
type Egress struct {
	opt      Options
	resolver *net.Resolver // nil is the system's
	dials    atomic.Uint64
}

// New checks the options.
func New(opt Options) (*Egress, error) {
	if opt.Logger == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "egress needs a logger")
	}
	for _, p := range opt.Allow {
		if !p.IsValid() || p.Addr().Is4In6() {
			return nil, junctor.Errorf(junctor.CodeInvalid, "egress-allow has the range %v: write it as 10.1.0.0/16 or fd00::/8", p)
		}
	}
	if p := opt.Proxy; p != nil && (p.Hostname() == "" || !slices.Contains([]string{"http", "https", "socks5"}, p.Scheme)) {
		return nil, junctor.Errorf(junctor.CodeInvalid, "egress-proxy must be the URL of an http, https or socks5 proxy")
	}
	opt.Allow = slices.Clone(opt.Allow)
	return &Egress{opt: opt}, nil
}

// ClientOptions are what one use needs beyond the rules.
type ClientOptions struct {
	Timeout  time.Duration  // of a whole exchange, body included; 0 is 30 s, less than 0 is none (streams)
	MaxBytes int64          // of an answer's body, after decompression; 0 is 10 MiB, less than 0 is no cap (streams)
	Allow    []netip.Prefix // ranges allowed beside the operator's, for a server that the operator put there
}

// Client makes a client for addresses that others name. It takes https, and
// http only to allowed ranges; it dials public addresses and allowed ranges; it
// follows three redirects, judging each, and leaves credentials behind when the
// origin changes. Its errors are *junctor.Error inside the *url.Error:
//
//   - CodeDenied: the address, scheme or redirect is not allowed; nothing was sent there
//   - CodeUnreachable: no connection; nothing was sent
//   - CodeTimeout, CodeCanceled: as the context or Timeout says
//   - CodeTooLarge: more than MaxBytes, or headers above 64 KiB
//   - CodeUpstream: the other side broke off or made no sense
//
// No message holds an address that a name was resolved to. Each client has
// connections of its own: keep it, and call CloseIdleConnections at its end.
func (e *Egress) Client(opt ClientOptions) *http.Client {
	if opt.Timeout == 0 {
		opt.Timeout = defaultTimeout
	}
	if opt.MaxBytes == 0 {
		opt.MaxBytes = defaultMaxBytes
	}
	allow := slices.Concat(e.opt.Allow, opt.Allow)
	j := &judge{allow: allow, guard: newGuard(allow)}
	// Two dialers, since one is not told for which scheme it dials.
	secure, open := e.dialer(j.controlHTTPS), e.dialer(j.controlHTTP)
	g := &guarded{
		judge:    j,
		proxied:  e.opt.Proxy != nil,
		maxBytes: opt.MaxBytes,
		log:      e.opt.Logger,
		https:    e.transport(j, secure),
		http:     e.transport(j, open),
	}
	if !e.opt.NoFastPath {
		g.fast = newFastTransport(g, open)
	}
	return &http.Client{Timeout: max(opt.Timeout, 0), CheckRedirect: checkRedirect, Transport: g}
}

// dialer dials what control allows, and counts it.
func (e *Egress) dialer(control controlFunc) dialFunc {
	d := &net.Dialer{Timeout: dialTimeout, Control: control, Resolver: e.resolver}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		e.dials.Add(1)
		return d.DialContext(ctx, network, address)
	}
}

// Dials is how often a connection was begun by any client.
func (e *Egress) Dials() uint64 { return e.dials.Load() }

func (e *Egress) transport(j *judge, direct dialFunc) *http.Transport {
	t := newTransport(direct)
	if p := e.opt.Proxy; p != nil {
		t.Proxy = func(r *http.Request) (*url.URL, error) {
			if j.direct(r.URL.Hostname()) {
				return nil, nil
			}
			return p, nil
		}
		t.OnProxyConnectResponse = proxyAnswer
		t.DialContext = dialProxyOr(p, e.dialer(nil), direct)
	}
	return t
}

// newTransport is a transport as all clients here have it, with nothing taken
// from the environment.
func newTransport(dial dialFunc) *http.Transport {
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            dial,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    tlsTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    64,
		MaxResponseHeaderBytes: maxHeader,
		ExpectContinueTimeout:  time.Second,
	}
}
