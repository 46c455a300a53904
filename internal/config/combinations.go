package config

// checkCombinations checks settings against each other. It runs only if each
// setting alone is valid, so that one mistake is not reported twice.
func (l *loader) checkCombinations() {
	c := l.config
	if c.DataDir == "" {
		l.addProblem("", "data-dir", "no data folder: the environment names no home folder; set --data-dir")
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		l.addProblem("", "tls-cert", "--tls-cert and --tls-key go together: set both or neither")
	}
	tls := c.TLSCert != ""
	if tls && c.PublicURL != nil && c.PublicURL.Scheme == "http" {
		l.addProblem("", "public-url", "--public-url begins with http://, but with --tls-cert this instance serves https: change --public-url to https://")
	}
	if !c.Loopback() {
		l.checkExposed(tls)
	}
	if u := c.PublicURL; u != nil && u.Scheme == "http" && !isLoopbackHost(u.Hostname()) {
		l.addWarning("keys are sent unencrypted to " + u.String() + ": set --tls-cert and --tls-key, or use a proxy with TLS, and change --public-url to https")
	}
	if c.Open {
		l.checkOpen()
	}
	l.checkOIDC()
	l.checkOAuth()
	if c.RateLimit > 0 && float64(c.RateBurst) < c.RateLimit/10 {
		l.addWarning("--rate-burst is far below --rate-limit: callers that send calls in bursts are refused before they reach the limit; raise --rate-burst")
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
			": set --public-url to the URL that clients use, such as https://junctor.example.com, or listen on 127.0.0.1")
		return
	}
	if c.PublicURL.Scheme == "https" && !tls && len(c.TrustedProxy) == 0 {
		l.addProblem("", "public-url", "--public-url is https, but this instance serves http: set --tls-cert and --tls-key, "+
			"or set --trusted-proxy to the address of the proxy that terminates TLS")
	}
}

// checkOpen checks that callers without a key can only be on this machine.
// Behind a public URL or a proxy, a remote caller would look like a local one.
func (l *loader) checkOpen() {
	c := l.config
	switch {
	case !c.Loopback():
		l.addProblem("", "open", "--open works on loopback addresses only, and other machines can reach "+c.Listen+
			": remove --open and create a key with `junctor key create`")
	case c.PublicURL != nil && !isLoopbackHost(c.PublicURL.Hostname()):
		l.addProblem("", "open", "--open would accept callers without a key from --public-url: remove one of the two")
	case len(c.TrustedProxy) > 0:
		l.addProblem("", "open", "--open would accept callers without a key from behind --trusted-proxy: remove one of the two")
	}
}
