package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// parseListen parses the address of a listener. Port 0 means any free port.
func parseListen(s string) (string, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return "", fmt.Errorf("must be host:port, such as 127.0.0.1:8717, not %q", shortenText(s))
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return "", fmt.Errorf("has the port %q: it must be a number from 0 to 65535", shortenText(port))
	}
	if _, err := netip.ParseAddr(host); err != nil && host != "" && !isHostName(host) {
		return "", fmt.Errorf("has the host %q: it must be an IP address or a name", shortenText(host))
	}
	return s, nil
}

// isHostName reports whether s has the form of a host name. A name whose last
// label is a number is refused: some programs read it as an IPv4 address.
func isHostName(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	labels := strings.Split(s, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		if strings.ContainsFunc(label, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
		}) {
			return false
		}
	}
	return strings.Trim(labels[len(labels)-1], "0123456789") != ""
}

// isLoopbackAddress reports whether only this machine can reach host:port.
func isLoopbackAddress(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	return err == nil && isLoopbackHost(host)
}

// isLoopbackHost reports whether a host is a loopback address, localhost, or a
// name below localhost.
func isLoopbackHost(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	host = strings.ToLower(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// parseHost parses host or host:port as it is in a Host header. The result has
// lower case.
func parseHost(s string) (string, error) {
	u := &url.URL{Host: s}
	host, port := u.Hostname(), u.Port()
	bracketed := strings.HasPrefix(s, "[") // all IPv6 addresses are in brackets, and nothing else
	if !isHost(host) || bracketed != strings.Contains(host, ":") || strings.HasSuffix(s, ":") || !isOptionalPort(port) {
		return "", fmt.Errorf("has %q: write a host as example.com or example.com:8443", shortenText(s))
	}
	return strings.ToLower(s), nil
}

// isHost reports whether a host is an IP address without a zone, or a host
// name.
func isHost(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Zone() == ""
	}
	return isHostName(host)
}

// isOptionalPort reports whether a port is empty or a number from 1 to 65535.
func isOptionalPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || (err == nil && n > 0)
}

// parseOrigin parses scheme://host[:port], with nothing but a slash after it.
func parseOrigin(s string) (*url.URL, error) {
	bad := errors.New("must be an http:// or https:// URL without path and query, such as https://junctor.example.com")
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil || u.RawQuery != "" || u.ForceQuery ||
		u.Fragment != "" || (u.Path != "" && u.Path != "/") {
		return nil, bad
	}
	host, err := parseHost(u.Host)
	if err != nil {
		return nil, bad
	}
	return &url.URL{Scheme: u.Scheme, Host: host}, nil
}

// parseSandbox parses an origin whose host may begin with "*.".
func parseSandbox(s string) (*url.URL, error) {
	plain := strings.Replace(s, "://*.", "://", 1)
	u, err := parseOrigin(plain)
	if err != nil {
		return nil, errors.New("must be an http:// or https:// URL without path and query, such as https://*.views.example.com")
	}
	if plain == s {
		return u, nil
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		return nil, fmt.Errorf("has a wildcard before the IP address %s: a wildcard requires a host name", ip)
	}
	u.Host = "*." + u.Host
	return u, nil
}

// parseOriginText is parseOrigin for an item of a list.
func parseOriginText(s string) (string, error) {
	u, err := parseOrigin(s)
	if err != nil {
		return "", fmt.Errorf("has an invalid origin: each %w", err)
	}
	return u.String(), nil
}

// parseTiles parses the URL template of map tiles, and after a space their
// attribution. The placeholders must not be in the host: the console's content
// security policy allows this host and no other.
func parseTiles(s string) (string, error) {
	address, credit, _ := strings.Cut(strings.TrimSpace(s), " ")
	u, err := url.Parse(address)
	places := strings.Contains(address, "{z}") && strings.Contains(address, "{x}") && strings.Contains(address, "{y}")
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || !isHost(u.Hostname()) || !isOptionalPort(u.Port()) || u.User != nil || u.Fragment != "" || !places {
		return "", errors.New("must be an http:// or https:// URL with {z}, {x} and {y} after its host, such as https://tiles.example.com/{z}/{x}/{y}.png")
	}
	if credit = strings.TrimSpace(credit); credit == "" {
		return address, nil
	}
	return address + " " + credit, nil
}

// parseEndpoint parses an http or https URL that may have a path, and no
// credentials.
func parseEndpoint(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || !isHost(u.Hostname()) || !isOptionalPort(u.Port()) ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("must be an http:// or https:// URL without user, query or fragment, such as http://127.0.0.1:4318")
	}
	return s, nil
}

// parseProxy parses the URL of a proxy, which may contain a user and a
// password. So the error does not repeat it.
func parseProxy(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5") || !isHost(u.Hostname()) ||
		!isOptionalPort(u.Port()) || (u.Path != "" && u.Path != "/") || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("must be the URL of an http, https or socks5 proxy, such as http://proxy.example.com:3128")
	}
	return u, nil
}

// parsePrefix parses an IP address or a range of addresses.
func parsePrefix(s string) (netip.Prefix, error) {
	bad := fmt.Errorf("has %q: write an address or a range, such as 10.1.2.3 or 10.1.0.0/16", shortenText(s))
	p, err := netip.ParsePrefix(s)
	if err != nil {
		ip, err := netip.ParseAddr(s)
		if err != nil || ip.Zone() != "" {
			return netip.Prefix{}, bad
		}
		p = netip.PrefixFrom(ip, ip.BitLen())
	}
	if p.Addr().Is4In6() {
		return netip.Prefix{}, fmt.Errorf("has %q: write an IPv4 range in IPv4 form, such as 10.1.0.0/16", shortenText(s))
	}
	return p.Masked(), nil
}

// parseEgress is parsePrefix without the ranges that are never dialled.
func parseEgress(s string) (netip.Prefix, error) {
	p, err := parsePrefix(s)
	if err == nil && (p.Addr().IsLinkLocalUnicast() || p.Addr().IsMulticast()) {
		return netip.Prefix{}, fmt.Errorf("has %q: Junctor never connects to link-local and multicast addresses", shortenText(s))
	}
	return p, err
}

// showPrefixes returns ranges as a list that parsePrefix accepts.
func showPrefixes(list []netip.Prefix) string {
	texts := make([]string, len(list))
	for i, p := range list {
		texts[i] = p.String()
	}
	return strings.Join(texts, ",")
}

// showURL returns a URL without user and password, each of which can be a
// credential.
func showURL(u *url.URL) string {
	if u == nil {
		return ""
	}
	if u.User == nil {
		return u.String()
	}
	open := *u
	open.User = nil
	return strings.Replace(open.String(), "://", "://***@", 1)
}
