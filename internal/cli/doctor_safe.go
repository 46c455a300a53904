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
)

// expiresSoon is how long before its end a certificate is spoken of.
const expiresSoon = 14 * 24 * time.Hour

// exposure is what decides how safe an instance is: the settings in force, as
// text, and the keys of the instance where one runs.
type exposure struct {
	set  map[string]string
	keys []junctor.Key
	now  time.Time
}

// judge makes every check of what may be unsafe.
func (e *exposure) judge(dataDir string) []finding {
	return []finding{
		e.open(), e.url(), e.certificate(), e.proxy(), e.secretFiles(dataDir), e.egress(), e.commands(), e.profiles(), e.adminKeys(),
	}
}

// public is the public URL; nil where there is none.
func (e *exposure) public() *url.URL {
	u, err := url.Parse(e.set["public-url"])
	if err != nil || u.Host == "" {
		return nil
	}
	return u
}

// beyond says whether others than this machine are meant to reach the instance.
func (e *exposure) beyond() bool {
	if u := e.public(); u != nil {
		return !onlyHere(u.Hostname())
	}
	host, _, err := net.SplitHostPort(e.set["listen"])
	return err == nil && !onlyHere(host)
}

func onlyHere(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	host = strings.ToLower(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

func (e *exposure) open() finding {
	const name = "open"
	if e.set["open"] == "true" {
		return finding{name, warning, "every program on this machine lists and calls tools without a key", "leave --open out, and make a key with junctor key create"}
	}
	return finding{name, good, "every door wants a key", ""}
}

func (e *exposure) url() finding {
	const name = "url"
	switch u := e.public(); {
	case u == nil:
		return finding{name, good, "there is no public one", ""}
	case u.Scheme == "http" && !onlyHere(u.Hostname()):
		return finding{
			name, bad, "keys and what tools answer travel to " + u.String() + " in the clear",
			"give --tls-cert and --tls-key, or put a proxy with TLS in front and name it with --trusted-proxy; then a --public-url with https",
		}
	default:
		return finding{name, good, u.String() + " is safe on the way", ""}
	}
}

func (e *exposure) certificate() finding {
	const name = "certificate"
	file := e.set["tls-cert"]
	if file == "" {
		return finding{name, good, "TLS is not spoken here", ""}
	}
	pair, err := tls.LoadX509KeyPair(file, e.set["tls-key"])
	if err != nil {
		return finding{name, bad, err.Error(), "--tls-cert names a chain and --tls-key its private key, both PEM"}
	}
	ends := pair.Leaf.NotAfter
	switch u := e.public(); {
	case !e.now.Before(ends):
		return finding{name, bad, file + " has ended at " + moment(ends), "renew it; the instance reads it anew by itself"}
	case u != nil && pair.Leaf.VerifyHostname(u.Hostname()) != nil:
		return finding{name, bad, file + " is not for " + u.Hostname(), "get one for the name in --public-url"}
	case ends.Sub(e.now) < expiresSoon:
		return finding{name, warning, file + " ends at " + moment(ends), "renew it; the instance reads it anew by itself"}
	}
	return finding{name, good, file + " is good until " + moment(ends), ""}
}

// proxy must be named where one stands before the instance, and nobody else.
func (e *exposure) proxy() finding {
	const name = "proxy"
	named := e.set["trusted-proxy"]
	for _, p := range prefixes(named) {
		if wide(p, 8, 16) {
			return finding{name, bad, "everybody in " + p.String() + " may say who they are", "name the addresses of your proxies alone with --trusted-proxy"}
		}
	}
	u := e.public()
	if named == "" && u != nil && u.Scheme == "https" && e.set["tls-cert"] == "" {
		return finding{
			name, warning, "something else speaks the https of " + u.String() + ", and is not named: all people seem to come from its address, and share their tries to sign in",
			"name its address with --trusted-proxy, such as 127.0.0.1",
		}
	}
	if named == "" {
		return finding{name, good, "none is trusted", ""}
	}
	return finding{name, good, named + " may say for whom it asks", ""}
}

// secretFiles that do not lie directly in the data directory are for this user
// alone too, and nobody else writes there.
func (e *exposure) secretFiles(dataDir string) finding {
	const name = "secrets"
	if runtime.GOOS == "windows" {
		return finding{name, good, "not checked on this system", ""}
	}
	if info, err := os.Stat(dataDir); err == nil && info.Mode().Perm()&0o022 != 0 {
		return finding{name, bad, fmt.Sprintf("%s has mode %04o: others can put files there", dataDir, info.Mode().Perm()), "chmod 700 '" + dataDir + "'"}
	}
	files := []string{e.set["tls-key"], e.set["seal-key-file"], filepath.Join(dataDir, "heads", "signing.key")}
	if file, ok := strings.CutPrefix(e.set["oidc-client-secret"], "file:"); ok {
		files = append(files, file)
	}
	checked := 0
	for _, file := range files {
		info, err := os.Stat(file)
		if file == "" || err != nil {
			continue // not there yet; what cannot be read elsewhere is said elsewhere
		}
		checked++
		if info.Mode().Perm()&0o077 != 0 {
			return finding{name, bad, fmt.Sprintf("%s has mode %04o: others can read it", file, info.Mode().Perm()), "chmod 600 '" + file + "'"}
		}
	}
	return finding{name, good, fmt.Sprintf("%d key files are this user's alone", checked), ""}
}

func (e *exposure) egress() finding {
	const name = "egress"
	for _, p := range prefixes(e.set["egress-allow"]) {
		switch loopback := p.Addr().IsLoopback(); {
		case loopback && e.beyond():
			return finding{name, warning, "whoever may add servers reaches what listens on this machine alone (" + p.String() + ")", "leave it out of --egress-allow"}
		case !loopback && wide(p, 16, 48):
			return finding{name, warning, "whoever may add servers reaches all of " + p.String(), "name smaller ranges with --egress-allow, or single addresses"}
		}
	}
	return finding{name, good, "private addresses are not dialled but for those that you named", ""}
}

func (e *exposure) commands() finding {
	const name = "commands"
	if e.set["allow-commands"] == "true" && e.beyond() {
		return finding{name, warning, "an admin key from anywhere may run commands on this machine", "leave --allow-commands out: the command line here and the settings file may add commands anyway"}
	}
	return finding{name, good, "are added on this machine alone", ""}
}

func (e *exposure) profiles() finding {
	const name = "pprof"
	if e.set["pprof"] == "true" && e.beyond() {
		return finding{name, warning, "admin keys read the memory of the process from anywhere", "leave --pprof out when you have what you need"}
	}
	return finding{name, good, "is off, or for this machine", ""}
}

// adminKeys without an end are a risk where they can be used from anywhere.
func (e *exposure) adminKeys() finding {
	const name = "keys"
	var lasting []string
	for i := range e.keys {
		k := &e.keys[i]
		if k.Live(e.now) && k.ExpiresAt.IsZero() && slices.Contains(k.Scopes, junctor.ScopeAdmin) {
			lasting = append(lasting, k.Name+" ("+k.ID+")")
		}
	}
	switch {
	case !e.beyond():
		return finding{name, good, "are used on this machine", ""}
	case len(lasting) > 0:
		return finding{
			name, warning, "admin keys that never expire: " + strings.Join(lasting, ", "),
			"make ones that do with junctor key create NAME --scope admin --expires 90d, then junctor key revoke ID; the command line here needs none",
		}
	}
	return finding{name, good, "those of admins expire, as far as an instance runs to be asked", ""}
}

// prefixes reads a list of ranges as settings are shown.
func prefixes(list string) []netip.Prefix {
	var out []netip.Prefix
	for text := range strings.SplitSeq(list, ",") {
		if p, err := netip.ParsePrefix(text); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// wide says whether a range leaves more to chance than so many fixed bits.
func wide(p netip.Prefix, four, six int) bool {
	if p.Addr().Is4() {
		return p.Bits() < four
	}
	return p.Bits() < six
}
