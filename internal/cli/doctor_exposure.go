package cli

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/instance"
)

// certificateWarning is how long before its end a certificate leads to a
// warning.
const certificateWarning = 14 * 24 * time.Hour

// exposure is what decides how safe an instance is: its settings as text, by
// name, and its keys if it runs.
type exposure struct {
	settings map[string]string
	keys     []junctor.Key
	now      time.Time
	// unreadable are the secrets that the settings refer to and that the instance
	// cannot read. Without a running instance, this process has tried.
	unreadable []instance.UnreadableSecret
}

// runChecks makes every check of what may be unsafe.
func (e *exposure) runChecks(dataDir string) []finding {
	return []finding{
		e.checkOpen(), e.checkPublicURL(), e.checkCertificate(), e.checkProxy(), e.checkSecretFiles(dataDir), e.checkReferences(), e.checkEgress(), e.checkCommands(), e.checkProfiles(), e.checkAdminKeys(),
	}
}

// publicURL returns the public URL; nil if there is none.
func (e *exposure) publicURL() *url.URL {
	u, err := url.Parse(e.settings["public-url"])
	if err != nil || u.Host == "" {
		return nil
	}
	return u
}

// isReachableRemotely reports whether other machines are meant to reach the
// instance.
func (e *exposure) isReachableRemotely() bool {
	if u := e.publicURL(); u != nil {
		return !isLoopbackHost(u.Hostname())
	}
	host, _, err := net.SplitHostPort(e.settings["listen"])
	return err == nil && !isLoopbackHost(host)
}

// isLoopbackHost reports whether a host is this machine: a loopback address,
// localhost, or a name below it.
func isLoopbackHost(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	host = strings.ToLower(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// checkOpen warns if callers need no key.
func (e *exposure) checkOpen() finding {
	const name = "open"
	if e.settings["open"] == "true" {
		return finding{name, stateWarn, "every program on this machine can list and call tools without a key", "remove --open, and create keys with junctor key create"}
	}
	return finding{name, stateOK, "every endpoint requires a key", ""}
}

// checkPublicURL fails if keys travel to the public URL without TLS.
func (e *exposure) checkPublicURL() finding {
	const name = "url"
	switch u := e.publicURL(); {
	case u == nil:
		return finding{name, stateOK, "no public URL is set", ""}
	case u.Scheme == "http" && !isLoopbackHost(u.Hostname()):
		return finding{
			name, stateFail, "keys and results of tools are sent unencrypted at " + u.String(),
			"set --tls-cert and --tls-key, or run a proxy with TLS and name it with --trusted-proxy; then set a --public-url with https",
		}
	default:
		return finding{name, stateOK, "requests to " + u.String() + " are encrypted, or stay on this machine", ""}
	}
}

// checkCertificate checks that the certificate belongs to its key and to the
// public URL, and when it ends.
func (e *exposure) checkCertificate() finding {
	const name = "certificate"
	file := e.settings["tls-cert"]
	if file == "" {
		return finding{name, stateOK, "no certificate is set: this instance serves no TLS itself", ""}
	}
	pair, err := tls.LoadX509KeyPair(file, e.settings["tls-key"])
	if err != nil {
		return finding{name, stateFail, err.Error(), "set --tls-cert to a certificate chain and --tls-key to its private key, both in PEM"}
	}
	ends := pair.Leaf.NotAfter
	switch u := e.publicURL(); {
	// The order matters: a certificate that has ended needs no further check.
	case !e.now.Before(ends):
		return finding{name, stateFail, file + " expired at " + formatTime(ends), "renew it; the instance reloads it when the file changes"}
	case u != nil && pair.Leaf.VerifyHostname(u.Hostname()) != nil:
		return finding{name, stateFail, file + " is not valid for " + u.Hostname(), "use a certificate for the name in --public-url"}
	case ends.Sub(e.now) < certificateWarning:
		return finding{name, stateWarn, file + " expires at " + formatTime(ends), "renew it; the instance reloads it when the file changes"}
	}
	return finding{name, stateOK, file + " is valid until " + formatTime(ends), ""}
}

// checkProxy fails if whole networks are trusted as proxies, since anybody
// there could claim another address. It warns if TLS ends at a proxy that is
// not named: then all users share one address and its limit of sign-in
// attempts.
func (e *exposure) checkProxy() finding {
	const name = "proxy"
	named := e.settings["trusted-proxy"]
	for _, p := range parsePrefixes(named) {
		// No operator owns such a range alone.
		if isWiderThan(p, 8, 16) {
			return finding{name, stateFail, "every client in " + p.String() + " can claim any address", "name only the addresses of your proxies with --trusted-proxy"}
		}
	}
	u := e.publicURL()
	if named == "" && u != nil && u.Scheme == "https" && e.settings["tls-cert"] == "" {
		return finding{
			name, stateWarn, "a proxy serves " + u.String() + ", and is not in --trusted-proxy: all users seem to have its address, and share one limit of sign-in attempts",
			"set --trusted-proxy to the address of the proxy, such as 127.0.0.1",
		}
	}
	if named == "" {
		return finding{name, stateOK, "no proxy is trusted", ""}
	}
	return finding{name, stateOK, "the forwarding headers of " + named + " are trusted", ""}
}

// checkSecretFiles checks the permissions of key files outside of the data
// directory, and that nobody else can write to that directory. checkFiles
// covers the files directly in it.
func (e *exposure) checkSecretFiles(dataDir string) finding {
	const name = "secrets"
	if runtime.GOOS == "windows" {
		return finding{name, stateOK, "not checked on this system", ""}
	}
	if info, err := os.Stat(dataDir); err == nil && info.Mode().Perm()&0o022 != 0 {
		return finding{name, stateFail, fmt.Sprintf("%s has mode %04o: others can put files there", dataDir, info.Mode().Perm()), "chmod 700 '" + dataDir + "'"}
	}
	files := []string{e.settings["tls-key"], e.settings["seal-key-file"], filepath.Join(dataDir, "heads", "signing.key")}
	if file, ok := strings.CutPrefix(e.settings["oidc-client-secret"], "file:"); ok {
		files = append(files, file)
	}
	checked := 0
	for _, file := range files {
		info, err := os.Stat(file)
		if file == "" || err != nil {
			continue // missing files are the subject of other checks
		}
		checked++
		if info.Mode().Perm()&0o077 != 0 {
			return finding{name, stateFail, fmt.Sprintf("%s has mode %04o: others can read it", file, info.Mode().Perm()), "chmod 600 '" + file + "'"}
		}
	}
	return finding{name, stateOK, fmt.Sprintf("only this user can read the key files (%d)", checked), ""}
}

// checkReferences fails if a secret that the instance refers to cannot be read. The
// instance reads it when it is needed, so users would be the first to notice.
func (e *exposure) checkReferences() finding {
	const name = "references"
	if len(e.unreadable) == 0 {
		return finding{name, stateOK, "every secret to which settings, the settings file and delivery endpoints refer can be read", ""}
	}
	details := make([]string, len(e.unreadable))
	for i, u := range e.unreadable {
		details[i] = u.Setting + ": " + u.Problem
	}
	return finding{
		name, stateFail, strings.Join(details, "; "),
		"set each variable in the environment of the instance and restart it, provide each file there, or change the reference",
	}
}

// checkEgress warns about private ranges that users who may add servers can
// reach.
func (e *exposure) checkEgress() finding {
	const name = "egress"
	for _, p := range parsePrefixes(e.settings["egress-allow"]) {
		switch loopback := p.Addr().IsLoopback(); {
		// On a machine that only its user reaches, loopback is reachable for
		// that user anyway.
		case loopback && e.isReachableRemotely():
			return finding{name, stateWarn, "users who may add servers can reach services that listen only on this machine (" + p.String() + ")", "remove this range from --egress-allow"}
		case !loopback && isWiderThan(p, 16, 48):
			return finding{name, stateWarn, "users who may add servers can reach all of " + p.String(), "name smaller ranges with --egress-allow, or single addresses"}
		}
	}
	return finding{name, stateOK, "private addresses are blocked, except those in --egress-allow and servers that you added", ""}
}

// checkCommands warns if an admin key from another machine can run commands
// here.
func (e *exposure) checkCommands() finding {
	const name = "commands"
	if e.settings["allow-commands"] == "true" && e.isReachableRemotely() {
		return finding{name, stateWarn, "an admin key can run commands on this machine from any other machine", "remove --allow-commands: the command line on this machine and the settings file can add commands without it"}
	}
	return finding{name, stateOK, "servers that are commands can be added on this machine only", ""}
}

// checkProfiles warns if profiles, which show parts of the memory, are served
// to other machines.
func (e *exposure) checkProfiles() finding {
	const name = "pprof"
	if e.settings["pprof"] == "true" && e.isReachableRemotely() {
		return finding{name, stateWarn, "admin keys can read memory of the process from any other machine", "remove --pprof when you have your profiles"}
	}
	return finding{name, stateOK, "profiles are off, or served to this machine only", ""}
}

// checkAdminKeys warns about admin keys without an expiry that can be used from
// other machines.
func (e *exposure) checkAdminKeys() finding {
	const name = "keys"
	var lasting []string
	for i := range e.keys {
		k := &e.keys[i]
		// Revoked keys stay in the list; they are no risk.
		if k.Live(e.now) && k.ExpiresAt.IsZero() && slices.Contains(k.Scopes, junctor.ScopeAdmin) {
			lasting = append(lasting, k.Name+" ("+k.ID+")")
		}
	}
	switch {
	case !e.isReachableRemotely():
		return finding{name, stateOK, "keys work on this machine only", ""}
	case len(lasting) > 0:
		return finding{
			name, stateWarn, "these admin keys never expire: " + strings.Join(lasting, ", "),
			"replace each: junctor key create NAME --scope admin --expires 90d, then junctor key revoke ID; commands on this machine need no key",
		}
	}
	return finding{name, stateOK, "no admin key without an expiry is known", ""}
}

// parsePrefixes parses a list of ranges as settings show them. Items that are
// none are skipped.
func parsePrefixes(list string) []netip.Prefix {
	var out []netip.Prefix
	for text := range strings.SplitSeq(list, ",") {
		if p, err := netip.ParsePrefix(text); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// isWiderThan reports whether a range has fewer fixed bits than four for IPv4,
// or six for IPv6.
func isWiderThan(p netip.Prefix, four, six int) bool {
	if p.Addr().Is4() {
		return p.Bits() < four
	}
	return p.Bits() < six
}
