package tool

import (
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// Kinds of bodies, the preferred ones first. chooseContent ranks by them.
const (
	kindJSON = iota
	kindJSONLike
	kindForm
	kindMultipart
	kindText
	kindBytes
)

// mediaType returns a media type in lower case, without parameters.
func mediaType(media string) string {
	base, _, _ := strings.Cut(media, ";")
	return strings.ToLower(strings.TrimSpace(base))
}

// bodyKind returns the kind of body that a media type stands for.
func bodyKind(media string) int {
	switch m := mediaType(media); {
	case m == "application/json", m == "*/*", m == "application/*", m == "text/json", m == "":
		return kindJSON
	case strings.HasSuffix(m, "+json"):
		return kindJSONLike
	case m == "application/x-www-form-urlencoded":
		return kindForm
	case strings.HasPrefix(m, "multipart/"):
		return kindMultipart
	case strings.HasPrefix(m, "text/"), strings.HasSuffix(m, "xml"), strings.HasSuffix(m, "yaml"), m == "application/graphql", m == "application/javascript",
		m == "application/jsonl", m == "application/x-ndjson", m == "application/json-lines", m == "application/ndjson", m == "application/sql":
		return kindText
	default:
		return kindBytes
	}
}

// isJSONLines reports whether a media type has one JSON value in each line.
func isJSONLines(media string) bool {
	return slices.Contains([]string{"application/jsonl", "application/x-ndjson", "application/json-lines", "application/ndjson"}, mediaType(media))
}

// chooseContent returns the media type that a body is sent as, or nil if there
// is none. It prefers the simplest kind that is described.
func (b *builder) chooseContent(contents []doc.Content) *doc.Content {
	best, rank := -1, 0
	for i, c := range contents {
		r := bodyKind(c.Media) * 10
		if c.Schema == nil && c.ItemSchema == nil {
			// A content with a schema is easier to fill in.
			r += 100
		}
		if mediaType(c.Media) == "application/json-patch+json" && !b.isArray(c.Schema) {
			// A JSON patch is a list of edits; the other kinds of patches are
			// sent as they read.
			r += 5
		}
		// A URL-encoded form cannot carry a file, so multipart comes first.
		if bodyKind(c.Media) == kindForm && b.hasFile(c.Schema) {
			r += 15
		}
		if best < 0 || r < rank {
			best, rank = i, r
		}
	}
	if best < 0 {
		return nil
	}
	return &contents[best]
}

// followRefs follows references to the schema that they name. It returns nil if
// they lead nowhere or in a circle.
func (b *builder) followRefs(n *doc.Node) *doc.Node {
	for range 32 {
		ref := n.Get("$ref")
		if ref == nil {
			return n
		}
		to, err := b.doc.Schemas.Resolve(ref.ScalarText(), n)
		if err != nil {
			return nil
		}
		n = to
	}
	return nil
}

// isArray reports whether a schema describes an array.
func (b *builder) isArray(n *doc.Node) bool {
	return b.followRefs(n).Get("type").ScalarText() == "array"
}

// isFile reports whether a schema stands for the bytes of a file.
func (b *builder) isFile(n *doc.Node) bool {
	n = b.followRefs(n)
	t := n.Get("type").ScalarText()
	if slices.Contains(stringItems(n.Get("type")), "string") {
		t = "string"
	}
	if t != "string" && t != "" || n == nil {
		return false
	}
	return n.Get("format").ScalarText() == "binary" || n.Get("contentMediaType") != nil && n.Get("contentEncoding") == nil
}

// hasFile reports whether an object has a property that is a file or a list of
// files.
func (b *builder) hasFile(n *doc.Node) bool {
	props := b.followRefs(n).Get("properties")
	if props == nil {
		return false
	}
	return slices.ContainsFunc(props.Members, func(m doc.Member) bool {
		return b.isFile(m.Value) || b.isFile(b.followRefs(m.Value).Get("items"))
	})
}

// acceptedMedia returns the Accept header of an operation. It prefers JSON,
// which a result can show best.
func acceptedMedia(op *doc.Operation) string {
	c := successContent(op, func(doc.Content) bool { return true })
	if c == nil || c.Media == "*/*" {
		return ""
	}
	if bodyKind(c.Media) > kindJSONLike {
		if j := successContent(op, isJSONContent); j != nil {
			return j.Media
		}
	}
	return c.Media
}

// isJSONContent reports whether a content is JSON.
func isJSONContent(c doc.Content) bool { return bodyKind(c.Media) <= kindJSONLike }

// successContent returns the best content among those that good accepts, of the
// lowest 2xx status that has one. It returns nil if there is none.
func successContent(op *doc.Operation, good func(doc.Content) bool) *doc.Content {
	var best *doc.Content
	first := ""
	for _, r := range op.Responses {
		if !strings.HasPrefix(r.Status, "2") || best != nil && r.Status >= first {
			continue
		}
		var here *doc.Content
		for i, c := range r.Contents {
			if good(c) && (here == nil || bodyKind(c.Media) < bodyKind(here.Media)) {
				here = &r.Contents[i]
			}
		}
		if here != nil {
			best, first = here, r.Status
		}
	}
	return best
}
