package gateway

import (
	"net/http"
	"net/netip"
	"strings"
)

// TrustedProxies are the address ranges of trusted reverse proxies. Their X-Forwarded-For, -Host
// and -Proto headers, or their Forwarded header (RFC 7239), are believed; those of other
// peers are not. If the two kinds of headers disagree, a client has sent one of them
// itself, and neither is believed.
type TrustedProxies []netip.Prefix

// Client returns the address that a request comes from: the nearest address on its path
// that is no trusted proxy.
func (p TrustedProxies) Client(r *http.Request) netip.Addr {
	peer := peerAddr(r)
	if !p.isTrusted(peer) {
		return peer
	}
	a, hasA := p.nearestClient(peer, parseXForwardedFor(r.Header["X-Forwarded-For"]))
	b, hasB := p.nearestClient(peer, parseForwardedFor(r.Header["Forwarded"]))
	switch {
	// Two answers, or none: believe only the connection.
	case hasA && hasB && a != b, !hasA && !hasB:
		return peer
	case hasA:
		return a
	}
	return b
}

// clientAddress returns the address of the client of a request; invalid if it is not known.
func (g *Gateway) clientAddress(r *http.Request) netip.Addr {
	if g.options.ClientAddress == nil {
		return netip.Addr{}
	}
	return g.options.ClientAddress(r)
}

// forwardedHost returns the host and the scheme that the client used, as a trusted proxy
// reports them. Each is "" if it is not reported.
func (p TrustedProxies) forwardedHost(r *http.Request) (host, proto string) {
	if len(p) == 0 || !p.isTrusted(peerAddr(r)) {
		return "", ""
	}
	standard := lastElement(r.Header["Forwarded"])
	host = agreedValue(lastValue(r.Header["X-Forwarded-Host"]), standard["host"])
	proto = agreedValue(lastValue(r.Header["X-Forwarded-Proto"]), standard["proto"])
	return strings.ToLower(host), strings.ToLower(proto)
}

// agreedValue returns the value that both headers give, or the one that is present. It
// returns "" if they differ.
func agreedValue(a, b string) string {
	switch {
	case b == "" || strings.EqualFold(a, b):
		return a
	case a == "":
		return b
	}
	return ""
}

// isTrusted reports whether an address belongs to a trusted proxy.
func (p TrustedProxies) isTrusted(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	for _, prefix := range p {
		if prefix.Contains(a) {
			return true
		}
	}
	return false
}

// nearestClient walks from the peer towards the client and stops at the first address
// that is not trusted. found is false if there are no hops.
func (p TrustedProxies) nearestClient(peer netip.Addr, hops []netip.Addr) (client netip.Addr, found bool) {
	client = peer
	for i := len(hops) - 1; i >= 0 && hops[i].IsValid() && p.isTrusted(client); i-- {
		client = hops[i]
	}
	return client, len(hops) > 0
}

// peerAddr returns the address at the other end of the connection.
func peerAddr(r *http.Request) netip.Addr {
	at, _ := netip.ParseAddrPort(r.RemoteAddr)
	return at.Addr().Unmap()
}

// parseXForwardedFor reads X-Forwarded-For. A hop that is no address becomes the zero
// address.
func parseXForwardedFor(lines []string) []netip.Addr {
	var hops []netip.Addr
	for _, line := range lines {
		for hop := range strings.SplitSeq(line, ",") {
			hops = append(hops, parseHop(hop))
		}
	}
	return hops
}

// parseForwardedFor reads the for parameters of Forwarded, likewise.
func parseForwardedFor(lines []string) []netip.Addr {
	var hops []netip.Addr
	for _, line := range lines {
		for _, element := range splitUnquoted(line, ',') {
			hops = append(hops, parseHop(parseElement(element)["for"]))
		}
	}
	return hops
}

// parseHop reads an address with an optional port.
func parseHop(text string) netip.Addr {
	text = strings.TrimSpace(text)
	if at, err := netip.ParseAddrPort(text); err == nil {
		return at.Addr().Unmap()
	}
	a, _ := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	return a.Unmap()
}

// lastValue returns the value that the nearest proxy has written.
func lastValue(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	last := lines[len(lines)-1]
	return strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
}

// lastElement returns the element of Forwarded that the nearest proxy has written.
func lastElement(lines []string) map[string]string {
	if len(lines) == 0 {
		return nil
	}
	elements := splitUnquoted(lines[len(lines)-1], ',')
	return parseElement(elements[len(elements)-1])
}

// parseElement reads name=value;name="value". Names are in lower case.
func parseElement(text string) map[string]string {
	out := map[string]string{}
	for _, pair := range splitUnquoted(text, ';') {
		name, value, ok := strings.Cut(pair, "=")
		if name = strings.ToLower(strings.TrimSpace(name)); !ok || name == "" {
			continue
		}
		value = strings.TrimSpace(value)
		if n := len(value); n >= 2 && value[0] == '"' && value[n-1] == '"' {
			value = unescapeQuoted(value[1 : n-1])
		}
		if _, twice := out[name]; twice {
			value = "" // ambiguous, so believe neither
		}
		out[name] = value
	}
	return out
}

// splitUnquoted splits text at separators outside quotes. It returns at least one part.
func splitUnquoted(text string, sep byte) []string {
	var parts []string
	quoted, from := false, 0
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case text[i] == sep && !quoted:
			parts = append(parts, text[from:i])
			from = i + 1
		}
	}
	return append(parts, text[from:])
}

// unescapeQuoted removes the backslashes of a quoted string.
func unescapeQuoted(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
