package config

// together checks what no setting can know of itself.
func (l *loader) together() {
	c := l.config
	if c.DataDir == "" {
		l.problem("", "data-dir", "there is no home folder to keep data in: set --data-dir")
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		l.problem("", "tls-cert", "TLS needs both --tls-cert and --tls-key")
	}
	tls := c.TLSCert != ""
	if tls && c.PublicURL != nil && c.PublicURL.Scheme == "http" {
		l.problem("", "public-url", "--public-url begins with http://, but --tls-cert makes this instance speak https")
	}
	if !c.Loopback() {
		l.exposed(tls)
	}
	if u := c.PublicURL; u != nil && u.Scheme == "http" && !loopbackHost(u.Hostname()) {
		l.warn("keys travel in the clear to " + u.String() + ": give --tls-cert and --tls-key, or put a proxy with TLS in front, and a --public-url with https")
	}
	if c.Open {
		l.open()
	}
	l.oidc()
	l.oauth()
	if c.RateLimit > 0 && float64(c.RateBurst) < c.RateLimit/10 {
		l.warn("rate-burst is far below rate-limit: callers that bunch their calls will be refused below their rate")
	}
}

func (l *loader) warn(text string) { l.config.warned = append(l.config.warned, text) }

// exposed checks an instance that other machines can reach.
func (l *loader) exposed(tls bool) {
	c := l.config
	if c.PublicURL == nil {
		l.problem("", "listen", "other machines can reach "+c.Listen+
			": say with --public-url how clients reach this instance (such as https://junctor.example.com), or listen on 127.0.0.1")
		return
	}
	if c.PublicURL.Scheme == "https" && !tls && len(c.TrustedProxy) == 0 {
		l.problem("", "public-url", "nothing here speaks the https of --public-url: give --tls-cert and --tls-key, "+
			"or name the proxy that does with --trusted-proxy")
	}
}

// open checks that callers without a key can only be on this machine.
func (l *loader) open() {
	c := l.config
	switch {
	case !c.Loopback():
		l.problem("", "open", "--open is for loopback only, and other machines can reach "+c.Listen+
			": leave --open out and make a key with `junctor key create`")
	case c.PublicURL != nil && !loopbackHost(c.PublicURL.Hostname()):
		l.problem("", "open", "--open would let everybody at --public-url in without a key: leave one of the two out")
	case len(c.TrustedProxy) > 0:
		l.problem("", "open", "--open would let everybody behind --trusted-proxy in without a key: leave one of the two out")
	}
}
