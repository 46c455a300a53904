package upstream

func objectOrEmpty(raw []byte) []byte {
	if len(raw) == 0 || raw[0] != '{' {
		return []byte(`{}`)
	}
	return raw
}

// quoteText is what a server said, for a message: without what is secret, which a cut
// must not halve before it is found, and not too long.
func (o *Options) quoteText(text string) string { return clipText(o.Scrub(text)) }

// clipText keeps what a server says from filling a message.
func clipText(s string) string {
	const most = 300
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
