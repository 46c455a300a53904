package egress

import (
	"net/netip"
	"net/url"
	"strings"
)

// NamesLoopback reports whether an address names this machine by a loopback address or
// as localhost. It does not resolve names.
func NamesLoopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback()
	}
	return strings.EqualFold(host, "localhost")
}

// LoopbackPrefixes are the addresses of this machine, for [ClientOptions].Allow.
func LoopbackPrefixes() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}
