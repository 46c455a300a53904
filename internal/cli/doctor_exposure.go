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
		return finding{name, stateWarn, "every program on this machine lists and calls tools without a key", "leave --open out, and make a key with junctor key create"}
	}
	return finding{name, stateOK, "every endpoint requires a key", ""}
}

// checkPublicURL fails if keys travel to the public URL without TLS.
func (e *exposure) checkPublicURL() finding {
	const name = "url"
	switch u := e.publicURL(); {
	case u == nil:
		return finding{name, stateOK, "there is no public one", ""}
	case u.Scheme == "http" && !isLoopbackHost(u.Hostname()):
		return finding{
			name, stateFail, "keys and what tools answer travel to " + u.String() + " in the clear",
			"give --tls-cert and --tls-key, or put a proxy with TLS in front and name it with --trusted-proxy; then a --public-url with https",
		}
	default:
		return finding{name, stateOK, u.String() + " is safe on the way", ""}
	}
}

// checkCertificate checks that the certificate belongs to its key and to the
// public URL, and when it ends.
func (e *exposure) checkCertificate() finding {
	const name = "certificate"
	file := e.settings["tls-cert"]
	if file == "" {
		return finding{name, stateOK, "TLS is not spoken here", ""}
	}
	pair, err := tls.LoadX509KeyPair(file, e.settings["tls-key"])
	if err != nil {
		return finding{name, stateFail, err.Error(), "--tls-cert names a chain and --tls-key its private key, both PEM"}
	}
	ends := pair.Leaf.NotAfter
	switch u := e.publicURL(); {
	// The order matters: a certificate that has ended needs no further check.
	case !e.now.Before(ends):
		return finding{name, stateFail, file + " has ended at " + formatTime(ends), "renew it; the instance reads it anew by itself"}
	case u != nil && pair.Leaf.VerifyHostname(u.Hostname()) != nil:
		return finding{name, stateFail, file + " is not for " + u.Hostname(), "get one for the name in --public-url"}
	case ends.Sub(e.now) < certificateWarning:
		return finding{name, stateWarn, file + " ends at " + formatTime(ends), "renew it; the instance reads it anew by itself"}
	}
	return finding{name, stateOK, file + " is good until " + formatTime(ends), ""}
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
			return finding{name, stateFail, "everybody in " + p.String() + " may say who they are", "name the addresses of your proxies alone with --trusted-proxy"}
		}
	}
	u := e.publicURL()
	if named == "" && u != nil && u.Scheme == "https" && e.settings["tls-cert"] == "" {
		return finding{
			name, stateWarn, "something else speaks the https of " + u.String() + ", and is not named: all people seem to come from its address, and share their tries to sign in",
			"name its address with --trusted-proxy, such as 127.0.0.1",
		}
	}
	if named == "" {
		return finding{name, stateOK, "none is trusted", ""}
	}
	return finding{name, stateOK, named + " may say for whom it asks", ""}
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
	return finding{name, stateOK, fmt.Sprintf("%d key files are this user's alone", checked), ""}
}

// checkReferences fails if a secret that the instance refers to cannot be read. The
// instance reads it when it is needed, so users would be the first to notice.
func (e *exposure) checkReferences() finding {
	const name = "references"
	if len(e.unreadable) == 0 {
		return finding{name, stateOK, "every secret that settings, the settings file and delivery endpoints refer to can be read", ""}
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
			return finding{name, stateWarn, "users who may add servers can reach services that listen only on this machine (" + p.String() + ")", "leave it out of --egress-allow"}
		case !loopback && isWiderThan(p, 16, 48):
			return finding{name, stateWarn, "users who may add servers can reach all of " + p.String(), "name smaller ranges with --egress-allow, or single addresses"}
		}
	}
	return finding{name, stateOK, "private addresses are not dialled but for those that you named", ""}
}

// checkCommands warns if an admin key from another machine can run commands
// here.
func (e *exposure) checkCommands() finding {
	const name = "commands"
	if e.settings["allow-commands"] == "true" && e.isReachableRemotely() {
		return finding{name, stateWarn, "an admin key from anywhere may run commands on this machine", "leave --allow-commands out: the command line here and the settings file may add commands anyway"}
	}
	return finding{name, stateOK, "are added on this machine alone", ""}
}

// checkProfiles warns if profiles, which show parts of the memory, are served
// to other machines.
func (e *exposure) checkProfiles() finding {
	const name = "pprof"
	if e.settings["pprof"] == "true" && e.isReachableRemotely() {
		return finding{name, stateWarn, "admin keys read the memory of the process from anywhere", "leave --pprof out when you have what you need"}
	}
	return finding{name, stateOK, "is off, or for this machine", ""}
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
		return finding{name, stateOK, "are used on this machine", ""}
	case len(lasting) > 0:
		return finding{
			name, stateWarn, "admin keys that never expire: " + strings.Join(lasting, ", "),
			"make ones that do with junctor key create NAME --scope admin --expires 90d, then junctor key revoke ID; the command line here needs none",
		}
	}
	return finding{name, stateOK, "those of admins expire, as far as an instance runs to be asked", ""}
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
