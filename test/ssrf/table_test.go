// Package ssrf offers every address that must not be reached at every endpoint that
// takes one, in a network where each of them answers, and counts who is dialled.
package ssrf

import (
	"fmt"
	"net/netip"
	"strings"
)

// Names that mean more than one address.
const (
	rebinding = "rebinding.test" // public when first asked for, this machine then, and so on
	mixed     = "mixed.test"     // public, where nobody listens, and this machine
)

// blocked are addresses that nobody but the operator may lead the instance to.
func blocked() []string {
	return []string{
		// this machine
		"127.0.0.1", "127.8.9.10", "0.0.0.0", "0.1.2.3", "::1", "::", "::ffff:127.0.0.1", "::ffff:0:7f00:1", "::127.0.0.1",
		// private
		"10.0.0.1", "172.16.0.1", "172.31.255.254", "192.168.0.1", "100.64.0.1", "fc00::1", "fd00::1", "fec0::1", "::ffff:10.0.0.1",
		// link-local, where clouds keep their credentials
		"169.254.169.254", "169.254.170.2", "fe80::1", "::ffff:169.254.169.254", "::ffff:a9fe:a9fe",
		// an IPv4 address inside an IPv6 one: NAT64, 6to4, Teredo
		"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2002:a00:1::1", "2001::1",
		// reserved, for tests, for documents, for many
		"192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.99", "203.0.113.1", "240.0.0.1", "255.255.255.255", "224.0.0.1",
		"2001:db8::1", "100::1", "5f00::1", "ff02::1", "3fff::1",
	}
}

// spelled are other ways to write such an address. Some readers take them for
// it.
func spelled() []string {
	return []string{
		"127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "017700000001", "0", "127.0.0.1.", "127.0.0.0x1",
		"2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.43518", "10.1", "localhost", "LOCALHOST", "localhost.", "a.localhost",
		"[fe80::1%25lo]", "[::1%25lo]", "ip6-localhost", "127。0。0。1", "①②⑦.⓪.⓪.①", "127.0.0.1%2f@example.com",
	}
}

// named gives a name that means an address, for each that is blocked.
func named() map[string]netip.Addr {
	names := map[string]netip.Addr{}
	for i, text := range blocked() {
		if ip := netip.MustParseAddr(text); !ip.Is4In6() { // no record says those
			names[fmt.Sprintf("blocked%d.test.", i)] = ip
		}
	}
	return names
}

// hosts are all of them, as they stand in a URL.
func hosts() []string {
	var all []string
	for _, ip := range blocked() {
		if strings.Contains(ip, ":") {
			ip = "[" + ip + "]"
		}
		all = append(all, ip)
	}
	all = append(all, spelled()...)
	for name := range named() {
		all = append(all, strings.TrimSuffix(name, "."))
	}
	return append(all, rebinding, mixed)
}

// odd are URLs that are none for a server, whatever their host.
func odd(port string) []string {
	return []string{
		"http://user:pass@127.0.0.1:" + port + "/", "http://127.0.0.1:" + port + "@example.com/", "http://example.com@127.0.0.1:" + port + "/",
		"file:///etc/passwd", "gopher://127.0.0.1:" + port + "/_x", "ftp://127.0.0.1:" + port + "/", "unix:///run/x.sock", "ws://127.0.0.1:" + port + "/",
		"//127.0.0.1:" + port + "/", "http:/127.0.0.1:" + port + "/", "http:127.0.0.1:" + port, `http:\\\\127.0.0.1:` + port + `\\`, "javascript:alert(1)",
		"http://127.0.0.1:" + port + "#@example.com/", "http://example.com\\\\@127.0.0.1:" + port + "/", "http://[::ffff:7f00:1]:" + port + "/", "data:text/plain,x",
	}
}
