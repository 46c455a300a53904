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

type (
	dialFunc    func(ctx context.Context, network, address string) (net.Conn, error)
	controlFunc func(network, address string, c syscall.RawConn) error
)

// judge decides where a client may go: URLs before anything is done, addresses
// when they are dialled. Only the second is what keeps the inside safe, since a
// name may mean another address each time it is asked for.
type judge struct {
	allow []netip.Prefix
	guard *ssrf.Guardian
}

func newGuard(allow []netip.Prefix) *ssrf.Guardian {
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

func denied(cause error) error {
	return &junctor.Error{
		Code:    junctor.CodeDenied,
		Message: "this destination is not allowed: it is not a public address, and its range is not in egress-allow",
		Cause:   cause,
	}
}

// controlHTTPS judges an address that is about to be dialled for https.
func (j *judge) controlHTTPS(network, address string, c syscall.RawConn) error {
	if ap, err := netip.ParseAddrPort(address); err == nil {
		if err := j.address(ap.Addr()); err != nil {
			return err
		}
	}
	if err := j.guard.Safe(network, address, c); err != nil {
		return denied(err)
	}
	return nil
}

// controlHTTP is controlHTTPS for plain http, which is for allowed ranges only.
func (j *judge) controlHTTP(network, address string, c syscall.RawConn) error {
	if err := j.controlHTTPS(network, address, c); err != nil {
		return err
	}
	if ap, err := netip.ParseAddrPort(address); err != nil || !j.allowed(ap.Addr()) {
		return plainHTTP()
	}
	return nil
}

func plainHTTP() error {
	return junctor.Errorf(junctor.CodeDenied, "plain http is for addresses in egress-allow only: use https")
}

// address judges one address. Link-local addresses are where clouds keep their
// credentials: no allowed range, however wide, opens them.
func (j *judge) address(ip netip.Addr) error {
	if bare := ip.Unmap(); bare.IsLinkLocalUnicast() || bare.IsMulticast() || bare.IsUnspecified() || ip.Zone() != "" {
		return denied(&net.AddrError{Err: "never dialled", Addr: ip.String()})
	}
	if err := j.guard.SafeAddr(ip); err != nil {
		return denied(err)
	}
	return nil
}

func (j *judge) allowed(ip netip.Addr) bool {
	for _, p := range j.allow {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// direct says whether a host is dialled without the proxy: an address in an
// allowed range is the operator's own.
func (j *judge) direct(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && j.allowed(ip)
}

// url judges what can be judged before a dial. With a proxy it is all there is:
// the proxy resolves the names, so which addresses they may mean is its rule.
func (j *judge) url(u *url.URL, proxied bool) error {
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return junctor.Errorf(junctor.CodeDenied, "only https is allowed, not %q", u.Scheme)
	case u.User != nil:
		return junctor.Errorf(junctor.CodeDenied, "an address must not hold a user or password: enter credentials apart from it")
	}
	host := u.Hostname()
	ip, err := netip.ParseAddr(host)
	if err == nil {
		if err := j.address(ip); err != nil {
			return err
		}
		if u.Scheme == "http" && !j.allowed(ip) {
			return plainHTTP()
		}
		return nil
	}
	switch {
	case host == "" || numeric(host):
		return junctor.Errorf(junctor.CodeInvalid, "the address has no valid host: write a name, or an IP address in full")
	case proxied && localName(host):
		return denied(&net.AddrError{Err: "a name of this machine, through the proxy", Addr: host})
	case proxied && u.Scheme == "http":
		return plainHTTP()
	}
	return nil
}

// numeric says whether a host that is no IP address may be read as one
// elsewhere: 127.1, 2130706433, 0x7f000001. Such a name is not even looked up.
func numeric(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

func localName(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// dialProxyOr dials the proxy, which the operator named, without judging it,
// and everything else through direct. Nothing but the transport's own way to
// the proxy asks for the proxy's address: a URL that names it is sent through
// the proxy as well, or is judged and refused before.
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

// proxyAnswer gives a proxy's refusal a code: nothing has been sent then.
func proxyAnswer(_ context.Context, _ *url.URL, r *http.Request, answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	return junctor.Errorf(junctor.CodeUnreachable, "the egress proxy does not connect to %s: it answered %d", r.Host, answer.StatusCode)
}
