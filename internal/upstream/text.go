package upstream

import junctor "github.com/junctor-mcp/junctor"

// objectOrEmpty gives raw if it is a JSON object, otherwise an empty object.
func objectOrEmpty(raw []byte) []byte {
	if len(raw) == 0 || raw[0] != '{' {
		return []byte(`{}`)
	}
	return raw
}

// quoteText prepares text of a server for a message. It removes secrets first: a cut
// could halve one, which would then not be found.
func (o *Options) quoteText(text string) string { return clipText(o.Scrub(text)) }

// clipText cuts text of a server to what fits in a message.
func clipText(s string) string { return junctor.ShortenText(s, 300) }
