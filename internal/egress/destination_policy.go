package egress

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"

	junctor "github.com/junctor-mcp/junctor"
)

// dialFunc dials an address; controlFunc judges a resolved one before its dial.
type (
	dialFunc    func(ctx context.Context, network, address string) (net.Conn, error)
	controlFunc func(network, address string, c syscall.RawConn) error
)

// destinationPolicy decides where a client may connect: checkURL before anything is
// done, and the dial checks for each resolved address. Only the dial checks protect the
// internal network, because a name can resolve to another address each time (DNS
// rebinding); checkURL gives early and clear errors.
type destinationPolicy struct {
	allow    []netip.Prefix
	guardian *ssrf.Guardian
}

// newGuardian makes the check for special-purpose addresses, with exceptions.
func newGuardian(allow []netip.Prefix) *ssrf.Guardian {
	var v4, v6 []netip.Prefix
	for _, p := range allow {
		if p.Addr().Is4() {
			v4 = append(v4, p)
		} else {
			v6 = append(v6, p)
		}
	}
	return ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))
}

func newDeniedError(cause error) error {
	return &junctor.Error{
		Code:    junctor.CodeDenied,
		Message: "this destination is not allowed: it is not a public address; allow its range with --egress-allow",
		Cause:   cause,
	}
}

// checkHTTPSDial judges an address that is about to be dialled for https. It has the
// signature of net.Dialer.Control.
func (p *destinationPolicy) checkHTTPSDial(network, address string, c syscall.RawConn) error {
	if ap, err := netip.ParseAddrPort(address); err == nil {
		if err := p.checkAddress(ap.Addr()); err != nil {
			return err
		}
	}
	if err := p.guardian.Safe(network, address, c); err != nil {
		return newDeniedError(err)
	}
	return nil
}

// checkHTTPDial is checkHTTPSDial for plain http, which is for allowed ranges only.
func (p *destinationPolicy) checkHTTPDial(network, address string, c syscall.RawConn) error {
	if err := p.checkHTTPSDial(network, address, c); err != nil {
		return err
	}
	if ap, err := netip.ParseAddrPort(address); err != nil || !p.isAllowed(ap.Addr()) {
		return newPlainHTTPError()
	}
	return nil
}

func newPlainHTTPError() error {
	return junctor.Errorf(junctor.CodeDenied, "plain http is allowed only for addresses in --egress-allow: use https")
}

// checkAddress judges one address. Clouds serve their credentials at link-local
// addresses, so no allowed range, however wide, opens them.
func (p *destinationPolicy) checkAddress(ip netip.Addr) error {
	if bare := ip.Unmap(); bare.IsLinkLocalUnicast() || bare.IsMulticast() || bare.IsUnspecified() || ip.Zone() != "" {
		return newDeniedError(&net.AddrError{Err: "never allowed", Addr: ip.String()})
	}
	if err := p.guardian.SafeAddr(ip); err != nil {
		return newDeniedError(err)
	}
	return nil
}

func (p *destinationPolicy) isAllowed(ip netip.Addr) bool {
	for _, prefix := range p.allow {
		if prefix.Contains(ip) {
			return true
		}
	}
	return false
}

// bypassesProxy reports whether a host is dialled without the proxy: an address in an
// allowed range belongs to the operator.
func (p *destinationPolicy) bypassesProxy(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && p.isAllowed(ip)
}

// checkURL judges what a URL alone shows. Behind a proxy it is the only check: the proxy
// resolves the names, so the proxy decides which addresses are allowed.
func (p *destinationPolicy) checkURL(u *url.URL, proxied bool) error {
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return junctor.Errorf(junctor.CodeDenied, "only https is allowed, not %q", u.Scheme)
	case u.User != nil:
		return junctor.Errorf(junctor.CodeDenied, "a URL must not contain a user or password: set credentials in auth")
	}
	host := u.Hostname()
	ip, err := netip.ParseAddr(host)
	if err == nil {
		if err := p.checkAddress(ip); err != nil {
			return err
		}
		if u.Scheme == "http" && !p.isAllowed(ip) {
			return newPlainHTTPError()
		}
		return nil
	}
	switch {
	case host == "" || isNumericHost(host):
		return junctor.Errorf(junctor.CodeInvalid, "the URL has no valid host: use a host name, or a complete IP address")
	case proxied && isLocalName(host):
		return newDeniedError(&net.AddrError{Err: "local name through the egress proxy", Addr: host})
	case proxied && u.Scheme == "http":
		return newPlainHTTPError()
	}
	return nil
}

// isNumericHost reports whether other resolvers could read a host as an IP address that
// netip does not accept: 127.1, 2130706433, 0x7f000001. Such a name is not looked up.
func isNumericHost(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

func isLocalName(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// dialProxyOr dials the proxy, which the operator named, without judging it, and
// everything else with direct. Only the transport itself asks for the proxy's address:
// a URL with that address goes through the proxy as well, or was refused before.
func dialProxyOr(proxy *url.URL, free, direct dialFunc) dialFunc {
	port := proxy.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080"}[proxy.Scheme]
	}
	address := net.JoinHostPort(proxy.Hostname(), port)
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr == address {
			return free(ctx, network, addr)
		}
		return direct(ctx, network, addr)
	}
}

// checkProxyResponse gives the refusal of a proxy its code: no request was sent.
func checkProxyResponse(_ context.Context, _ *url.URL, r *http.Request, answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	return junctor.Errorf(junctor.CodeUnreachable, "the egress proxy does not connect to %s: it answered HTTP %d", r.Host, answer.StatusCode)
}
