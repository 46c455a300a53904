package config

// checkCombinations checks settings against each other. It runs only if each
// setting alone is valid, so that one mistake is not reported twice.
func (l *loader) checkCombinations() {
	c := l.config
	if c.DataDir == "" {
		l.addProblem("", "data-dir", "there is no home folder to keep data in: set --data-dir")
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		l.addProblem("", "tls-cert", "TLS needs both --tls-cert and --tls-key")
	}
	tls := c.TLSCert != ""
	if tls && c.PublicURL != nil && c.PublicURL.Scheme == "http" {
		l.addProblem("", "public-url", "--public-url begins with http://, but --tls-cert makes this instance speak https")
	}
	if !c.Loopback() {
		l.checkExposed(tls)
	}
	if u := c.PublicURL; u != nil && u.Scheme == "http" && !isLoopbackHost(u.Hostname()) {
		l.addWarning("keys travel in the clear to " + u.String() + ": give --tls-cert and --tls-key, or put a proxy with TLS in front, and a --public-url with https")
	}
	if c.Open {
		l.checkOpen()
	}
	l.checkOIDC()
	l.checkOAuth()
	if c.RateLimit > 0 && float64(c.RateBurst) < c.RateLimit/10 {
		l.addWarning("rate-burst is far below rate-limit: callers that bunch their calls will be refused below their rate")
	}
}

// addWarning notes a setting that is valid and probably not intended.
func (l *loader) addWarning(text string) { l.config.warnings = append(l.config.warnings, text) }

// checkExposed checks an instance that other machines can reach. It needs a
// public URL, because Host and Origin headers are checked against it. If that
// URL has https, somebody must terminate TLS.
func (l *loader) checkExposed(tls bool) {
	c := l.config
	if c.PublicURL == nil {
		l.addProblem("", "listen", "other machines can reach "+c.Listen+
			": say with --public-url how clients reach this instance (such as https://junctor.example.com), or listen on 127.0.0.1")
		return
	}
	if c.PublicURL.Scheme == "https" && !tls && len(c.TrustedProxy) == 0 {
		l.addProblem("", "public-url", "nothing here speaks the https of --public-url: give --tls-cert and --tls-key, "+
			"or name the proxy that does with --trusted-proxy")
	}
}

// checkOpen checks that callers without a key can only be on this machine.
// Behind a public URL or a proxy, a remote caller would look like a local one.
func (l *loader) checkOpen() {
	c := l.config
	switch {
	case !c.Loopback():
		l.addProblem("", "open", "--open is for loopback only, and other machines can reach "+c.Listen+
			": leave --open out and make a key with `junctor key create`")
	case c.PublicURL != nil && !isLoopbackHost(c.PublicURL.Hostname()):
		l.addProblem("", "open", "--open would let everybody at --public-url in without a key: leave one of the two out")
	case len(c.TrustedProxy) > 0:
		l.addProblem("", "open", "--open would let everybody behind --trusted-proxy in without a key: leave one of the two out")
	}
}
