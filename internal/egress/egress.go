// Package egress opens every outgoing connection: it makes all HTTP clients and dials
// (imports_test.go holds that). It is ground and imports only httpfast, to which it
// gives a dial function. Backends, intake and telemetry get their clients through app;
// the cli reaches a running instance with Local and Remote.
//
// Destinations that users or servers name go through Egress.Client, which judges each
// address at the moment it is dialled, because a name can resolve to another address
// each time. Destinations that the operator names go through Remote, Local, DialNamed,
// NewRedisClient and NewReplicaClient. FastClient gives the HTTP fast path for plain
// http servers, under the rules of a client.
//
// Reading order: egress.go, destination_policy.go, guarded_transport.go, redirect.go,
// errors.go, fast_client.go; then remote.go, replica.go and unix_socket.go. A client of
// Redis is apart: redis_client.go and redis_protocol.go.
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

	dialTimeout     = 5 * time.Second
	tlsTimeout      = 10 * time.Second
	idleTimeout     = 90 * time.Second
	maxResponseHead = 64 << 10
	maxRedirects    = 3
)

// Options is what the operator allows.
type Options struct {
	Allow  []netip.Prefix // private ranges that may be dialled, with plain http too
	Proxy  *url.URL       // for everything but Allow; nil: none. The environment's proxy is never used.
	Logger *slog.Logger   // gets the refused addresses, which callers must not see
	// NoFastPath makes net/http carry all requests: FastClient returns no client.
	NoFastPath bool
}

// Egress makes clients under one set of options. It is safe for use by many goroutines.
type Egress struct {
	options   Options
	resolver  *net.Resolver // nil: that of the system
	dialCount atomic.Uint64
}

// New checks the options. A range or proxy that is not valid is CodeInvalid.
func New(opt Options) (*Egress, error) {
	if opt.Logger == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "egress: Logger is missing")
	}
	for _, p := range opt.Allow {
		if !p.IsValid() || p.Addr().Is4In6() {
			return nil, junctor.Errorf(junctor.CodeInvalid, "--egress-allow: invalid range %v; write it as 10.1.0.0/16 or fd00::/8", p)
		}
	}
	if p := opt.Proxy; p != nil && (p.Hostname() == "" || !slices.Contains([]string{"http", "https", "socks5"}, p.Scheme)) {
		return nil, junctor.Errorf(junctor.CodeInvalid, "--egress-proxy must be the URL of an http, https or socks5 proxy")
	}
	opt.Allow = slices.Clone(opt.Allow)
	return &Egress{options: opt}, nil
}

// ClientOptions is what one use of a client needs beside the operator's options.
type ClientOptions struct {
	Timeout  time.Duration  // of a whole exchange with its body; 0: 30 s; negative: none (streams)
	MaxBytes int64          // of a decompressed response body; 0: 10 MiB; negative: no limit (streams)
	Allow    []netip.Prefix // beside the operator's, for a server that the operator put there
}

// Client makes a client for destinations that users or servers name. It accepts https,
// and plain http to allowed ranges only. It dials public addresses and allowed ranges.
// It follows up to three redirects, judges each, and drops credentials when the origin
// changes. Its errors are *junctor.Error inside the *url.Error:
//
//   - CodeDenied: the address, scheme or redirect is not allowed; nothing was sent there
//   - CodeUnreachable: no connection; nothing was sent
//   - CodeTimeout, CodeCanceled: as the context or Timeout says
//   - CodeTooLarge: more than MaxBytes, or headers above 64 KiB
//   - CodeUpstream: the server closed the connection early, or its response is not HTTP
//
// No error message contains the address that a name resolved to. Each client has its
// own connections: keep the client, and call CloseIdleConnections when it is not needed
// any more.
func (e *Egress) Client(opt ClientOptions) *http.Client {
	if opt.Timeout == 0 {
		opt.Timeout = defaultTimeout
	}
	if opt.MaxBytes == 0 {
		opt.MaxBytes = defaultMaxBytes
	}
	allow := slices.Concat(e.options.Allow, opt.Allow)
	policy := &destinationPolicy{allow: allow, guardian: newGuardian(allow)}
	// Two dial functions, because a dialer does not know the scheme it dials for.
	secure, open := e.newDialer(policy.checkHTTPSDial), e.newDialer(policy.checkHTTPDial)
	g := &guardedTransport{
		policy:         policy,
		usesProxy:      e.options.Proxy != nil,
		maxBytes:       opt.MaxBytes,
		log:            e.options.Logger,
		httpsTransport: e.newGuardedTransport(policy, secure),
		httpTransport:  e.newGuardedTransport(policy, open),
	}
	if !e.options.NoFastPath {
		g.fast = newFastTransport(g, open)
	}
	return &http.Client{Timeout: max(opt.Timeout, 0), CheckRedirect: checkRedirect, Transport: g}
}

// newDialer returns a dial function that asks control for each address, after the name
// was resolved, and counts the dials. A nil control allows everything.
func (e *Egress) newDialer(control controlFunc) dialFunc {
	d := &net.Dialer{Timeout: dialTimeout, Control: control, Resolver: e.resolver}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		e.dialCount.Add(1)
		return d.DialContext(ctx, network, address)
	}
}

// Dials returns how many connections all clients have begun to open.
func (e *Egress) Dials() uint64 { return e.dialCount.Load() }

// newGuardedTransport makes a transport that dials with direct, or through the
// operator's proxy for everything that the policy does not exempt from it.
func (e *Egress) newGuardedTransport(policy *destinationPolicy, direct dialFunc) *http.Transport {
	t := newBaseTransport(direct)
	if p := e.options.Proxy; p != nil {
		t.Proxy = func(r *http.Request) (*url.URL, error) {
			if policy.bypassesProxy(r.URL.Hostname()) {
				return nil, nil
			}
			return p, nil
		}
		t.OnProxyConnectResponse = checkProxyResponse
		t.DialContext = dialProxyOr(p, e.newDialer(nil), direct)
	}
	return t
}

// newBaseTransport makes a transport with the limits that all clients share. It takes
// no proxy from the environment.
func newBaseTransport(dial dialFunc) *http.Transport {
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            dial,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    tlsTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    64,
		MaxResponseHeaderBytes: maxResponseHead,
		ExpectContinueTimeout:  time.Second,
	}
}
