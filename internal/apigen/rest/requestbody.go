package rest

import (
	"net/url"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// parseBody parses an example body and sets the media type if it is unknown.
// Placeholders inside JSON are values of unknown type.
func (p *requestBody) parseBody(body string, isJSON bool) {
	trimmed := strings.TrimSpace(body)
	looks := strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[")
	switch {
	case isJSON || strings.Contains(p.media, "json") || p.media == "" && looks:
		if p.media == "" {
			p.media = "application/json"
		}
		// JSON with placeholders is invalid. With strings and nulls in their
		// place it can be parsed.
		if p.shape = shapeOfJSON(trimmed); p.shape == nil {
			p.shape = shapeOfJSON(patterns().placeholder.ReplaceAllStringFunc(trimmed, func(found string) string {
				if strings.HasPrefix(found, `"`) {
					return `""`
				}
				return "null"
			}))
		}
	case strings.HasPrefix(p.media, "application/x-www-form-urlencoded") || p.media == "" && strings.Contains(trimmed, "="):
		p.media = "application/x-www-form-urlencoded"
		for pair := range strings.SplitSeq(trimmed, "&") {
			name, value, _ := strings.Cut(pair, "=")
			if name, err := url.QueryUnescape(name); err == nil && name != "" {
				value, _ = url.QueryUnescape(value)
				p.fields = append(p.fields, requestField{name: name, shape: shapeOfValue(value), at: p.at})
			}
		}
	case p.media == "":
		p.media = "text/plain"
	}
	p.media, _, _ = strings.Cut(p.media, ";")
	p.media = strings.TrimSpace(p.media)
}

// newRequestBody parses a body of a media type. It returns nil if the body is
// empty.
func newRequestBody(media, body string, at doc.Position) *requestBody {
	if strings.TrimSpace(body) == "" {
		return nil
	}
	p := &requestBody{media: media, at: at}
	p.parseBody(body, false)
	return p
}
