package tool

import (
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// Kinds of bodies, the better first.
const (
	kindJSON = iota
	kindJSONLike
	kindForm
	kindMultipart
	kindText
	kindBytes
)

// mediaType is a media type without parameters.
func mediaType(media string) string {
	base, _, _ := strings.Cut(media, ";")
	return strings.ToLower(strings.TrimSpace(base))
}

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

// isJSONLines says whether a media type holds a JSON value in each line.
func isJSONLines(media string) bool {
	return slices.Contains([]string{"application/jsonl", "application/x-ndjson", "application/json-lines", "application/ndjson"}, mediaType(media))
}

// chooseContent takes the content that a body is sent as.
func (b *builder) chooseContent(contents []doc.Content) *doc.Content {
	best, rank := -1, 0
	for i, c := range contents {
		r := bodyKind(c.Media) * 10
		if c.Schema == nil && c.Item == nil {
			r += 100 // one that is described is easier to fill
		}
		if mediaType(c.Media) == "application/json-patch+json" && !b.isArray(c.Schema) {
			r += 5 // the others of its kind are sent as they read
		}
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

// followRefs goes along references to what they name.
func (b *builder) followRefs(n *doc.Node) *doc.Node {
	for range 32 {
		ref := n.Get("$ref")
		if ref == nil {
			return n
		}
		to, err := b.doc.Schemas.Resolve(ref.Str(), n)
		if err != nil {
			return nil
		}
		n = to
	}
	return nil
}

func (b *builder) isArray(n *doc.Node) bool { return b.followRefs(n).Get("type").Str() == "array" }

// isFile says whether a schema stands for the bytes of a file.
func (b *builder) isFile(n *doc.Node) bool {
	n = b.followRefs(n)
	t := n.Get("type").Str()
	if slices.Contains(stringItems(n.Get("type")), "string") {
		t = "string"
	}
	if t != "string" && t != "" || n == nil {
		return false
	}
	return n.Get("format").Str() == "binary" || n.Get("contentMediaType") != nil && n.Get("contentEncoding") == nil
}

func (b *builder) hasFile(n *doc.Node) bool {
	props := b.followRefs(n).Get("properties")
	if props == nil {
		return false
	}
	return slices.ContainsFunc(props.Members, func(m doc.Member) bool {
		return b.isFile(m.Value) || b.isFile(b.followRefs(m.Value).Get("items"))
	})
}

// acceptedMedia is what an operation asks to be answered in.
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

func isJSONContent(c doc.Content) bool { return bodyKind(c.Media) <= kindJSONLike }

// successContent is the best content of the first good answer that has any.
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
