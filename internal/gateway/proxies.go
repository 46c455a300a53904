package gateway

import (
	"net/http"
	"net/netip"
	"strings"
)

// Proxies are the reverse proxies that stand before us. What they say of a
// request, in X-Forwarded-For, -Host and -Proto or in Forwarded (RFC 7239),
// counts; what anybody else says does not. Where the two kinds of headers
// disagree a client has sent one of them itself, and neither counts.
type Proxies []netip.Prefix

// Client is where a request comes from: of the addresses that it passed, the
// nearest that is none of the proxies.
func (p Proxies) Client(r *http.Request) netip.Addr {
	peer := peerAddr(r)
	if !p.isTrusted(peer) {
		return peer
	}
	a, hasA := p.nearestClient(peer, parseXForwardedFor(r.Header["X-Forwarded-For"]))
	b, hasB := p.nearestClient(peer, parseForwardedFor(r.Header["Forwarded"]))
	switch {
	case hasA && hasB && a != b, !hasA && !hasB:
		return peer
	case hasA:
		return a
	}
	return b
}

// forwardedHost is what the proxy that sent a request says the client asked for; "" for
// what it does not say.
func (p Proxies) forwardedHost(r *http.Request) (host, proto string) {
	if len(p) == 0 || !p.isTrusted(peerAddr(r)) {
		return "", ""
	}
	standard := lastElement(r.Header["Forwarded"])
	host = agreedValue(lastValue(r.Header["X-Forwarded-Host"]), standard["host"])
	proto = agreedValue(lastValue(r.Header["X-Forwarded-Proto"]), standard["proto"])
	return strings.ToLower(host), strings.ToLower(proto)
}

func agreedValue(a, b string) string {
	switch {
	case b == "" || strings.EqualFold(a, b):
		return a
	case a == "":
		return b
	}
	return ""
}

func (p Proxies) isTrusted(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	for _, prefix := range p {
		if prefix.Contains(a) {
			return true
		}
	}
	return false
}

// nearestClient walks from the peer towards the client, as far as the word of each
// counts.
func (p Proxies) nearestClient(peer netip.Addr, hops []netip.Addr) (client netip.Addr, said bool) {
	client = peer
	for i := len(hops) - 1; i >= 0 && hops[i].IsValid() && p.isTrusted(client); i-- {
		client = hops[i]
	}
	return client, len(hops) > 0
}

func peerAddr(r *http.Request) netip.Addr {
	at, _ := netip.ParseAddrPort(r.RemoteAddr)
	return at.Addr().Unmap()
}

// parseXForwardedFor reads X-Forwarded-For. A hop that is no address is the zero one.
func parseXForwardedFor(lines []string) []netip.Addr {
	var hops []netip.Addr
	for _, line := range lines {
		for hop := range strings.SplitSeq(line, ",") {
			hops = append(hops, parseHop(hop))
		}
	}
	return hops
}

// parseForwardedFor reads the for of Forwarded, likewise.
func parseForwardedFor(lines []string) []netip.Addr {
	var hops []netip.Addr
	for _, line := range lines {
		for _, element := range splitUnquoted(line, ',') {
			hops = append(hops, parseHop(parseElement(element)["for"]))
		}
	}
	return hops
}

// parseHop reads an address, perhaps with a port.
func parseHop(text string) netip.Addr {
	text = strings.TrimSpace(text)
	if at, err := netip.ParseAddrPort(text); err == nil {
		return at.Addr().Unmap()
	}
	a, _ := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	return a.Unmap()
}

// lastValue is what the nearest of several proxies wrote.
func lastValue(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	last := lines[len(lines)-1]
	return strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
}

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
			value = "" // which of them is meant, nobody knows
		}
		out[name] = value
	}
	return out
}

// splitUnquoted splits at a separator that stands in no quotes. It gives one
// part at least.
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
