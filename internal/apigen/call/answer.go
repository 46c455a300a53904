package call

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// FieldsArg is the argument that selects fields of an answer by JSON pointers.
const FieldsArg = "_fields"

// Bounds of a result. Larger binary content becomes a resource to read; more of
// an error message is cut.
const (
	maxBlobBytes  = 1 << 20 // of binary content
	maxErrorBytes = 4 << 10 // of an error message
)

// ResultBuilder turns an answer into the result of a tool.
type ResultBuilder struct {
	Plan      *Plan
	Arguments []byte
	// Structured is set if the tool has an output schema. MCP then requires
	// structuredContent in every successful result.
	Structured bool

	// Keep stores content that does not fit into the result and returns the URI
	// of a resource to read it at. It may be nil.
	StoreWhole func(data []byte, media string) string
	// Scrub removes credentials from a text: some APIs repeat them. It may be
	// nil.
	Scrub func(text string) string
}

// BuildResult returns the MCP result of an answer, and whether it is an error. A
// refusal of the API is a result too, so that a model can read the reason and
// change its arguments.
func (s ResultBuilder) BuildResult(a *Answer) (body []byte, isError bool) {
	if s.Scrub != nil {
		if clean := s.Scrub(string(a.Body)); len(clean) != len(a.Body) || clean != string(a.Body) {
			a.Body = []byte(clean)
		}
	}
	if a.Status >= http.StatusBadRequest {
		return s.showRefusal(a), true
	}
	var r toolResult
	media := a.Header.Get("Content-Type")
	switch {
	case len(a.Body) == 0:
		r.addText(fmt.Sprintf("HTTP %d %s, with an empty body", a.Status, http.StatusText(a.Status)))
		if s.Structured || s.Plan.WrapsResult {
			r.structured = []byte("{}")
		}
	case isJSONAnswer(media, a.Body):
		if s.Plan.GraphQL != nil {
			if failed := s.showGraphQL(a, &r); failed {
				return r.encodeJSON(true), true
			}
			break
		}
		s.showJSON(a, a.Body, &r)
	case isTextAnswer(media, a.Body):
		s.showText(a, &r)
	default:
		s.showBlob(a, &r)
	}
	return r.encodeJSON(false), false
}

// toolResult is the result under construction.
type toolResult struct {
	content    []json.RawMessage
	structured []byte
	// nextPage is a JSON object with the arguments that change for the next
	// page; empty if there is none.
	nextPage string
}

// addText adds a text content.
func (r *toolResult) addText(text string) {
	r.content = append(r.content, wire.AppendObject(nil, []byte(`{"type":"text"}`), nil, wire.Member{Key: "text", Value: wire.AppendString(nil, text)}))
}

// encodeJSON returns the result as an MCP object.
func (r *toolResult) encodeJSON(isError bool) []byte {
	out := []byte(`{"content":[`)
	for i, c := range r.content {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, c...)
	}
	out = append(out, ']')
	if r.structured != nil {
		out = append(append(out, `,"structuredContent":`...), r.structured...)
	}
	if isError {
		out = append(out, `,"isError":true`...)
	}
	if r.nextPage != "" {
		out = append(append(out, `,"_meta":{"`+wire.MetaJunctorNextPage+`":`...), r.nextPage...)
		out = append(out, '}')
	}
	return append(out, '}')
}

// showJSON adds a JSON answer: all of it if it fits, or else a truncated form
// with a note and a link to the whole. body is the answer or a part of it.
func (s ResultBuilder) showJSON(a *Answer, body []byte, r *toolResult) {
	body = bytes.TrimSpace(body)
	full := body
	if fields := s.requestedFields(); len(fields) > 0 {
		body = parseSelection(fields).writeSelected(nil, body)
	}
	shown, cuts, ok := shrinkJSON(body, MaxText)
	if !ok {
		s.showTextStart(a, string(body), "application/json", r)
		return
	}
	notes, next := s.nextPage(a, full)
	r.nextPage = next
	var mark []byte
	if len(cuts) > 0 {
		mark = encodeTruncations(cuts, notes)
		notes = append([]string{describeTruncations(cuts, s.StoreWhole != nil)}, notes...)
	}
	r.addText(string(shown))
	if len(notes) > 0 {
		r.addText(strings.Join(notes, "\n"))
	}
	if len(cuts) > 0 {
		s.linkWhole(r, full, "application/json")
	}
	if s.Plan.WrapsResult || kindOf(shown) != kindObject {
		shown = append(append([]byte(`{"result":`), shown...), '}')
	}
	if mark != nil {
		key := "truncated"
		// A member of the API keeps its name.
		if wire.Get(shown, key) != nil {
			key = "_truncated"
		}
		shown = wire.AppendObject(nil, shown, nil, wire.Member{Key: key, Value: mark})
	}
	r.structured = shown
}

// encodeTruncations returns the member of structuredContent that lists what was
// left out.
func encodeTruncations(cuts []truncation, notes []string) []byte {
	out, err := json.Marshal(struct {
		Cut  []truncation `json:"cut"`
		More []string     `json:"more,omitempty"`
	}{cuts[:min(len(cuts), 10)], notes})
	if err != nil {
		return []byte("{}")
	}
	return out
}

// describeTruncations tells a model what was left out, the largest part first,
// and how to get less.
func describeTruncations(cuts []truncation, linked bool) string {
	largest := cuts[0]
	for _, c := range cuts {
		if c.Of-c.Shown > largest.Of-largest.Shown {
			largest = c
		}
	}
	where := largest.Pointer
	if where == "" {
		where = "the answer"
	}
	note := fmt.Sprintf("Truncated: %s shows %d of %d", where, largest.Shown, largest.Of)
	if len(cuts) > 1 {
		note += fmt.Sprintf(", and %d more places are cut", len(cuts)-1)
	}
	if note += "."; linked {
		note += " The whole answer is the resource that is linked here."
	}
	return note + " To get less, name what is wanted with " + FieldsArg + ", such as [\"/items/*/id\"], or use the arguments that filter or page."
}

// linkWhole stores the whole content and adds a link to it.
func (s ResultBuilder) linkWhole(r *toolResult, data []byte, media string) {
	if s.StoreWhole == nil {
		return
	}
	r.content = append(r.content, wire.AppendObject(nil, fmt.Appendf(nil, `{"type":"resource_link","name":"the whole answer","size":%d}`, len(data)), nil,
		stringMember("uri", s.StoreWhole(data, media)), stringMember("mimeType", baseMedia(media))))
}

// stringMember returns a JSON member with a string value.
func stringMember(key, value string) wire.Member {
	return wire.Member{Key: key, Value: wire.AppendString(nil, value)}
}

// requestedFields returns the pointers that the caller asked for in _fields.
func (s ResultBuilder) requestedFields() (out []string) {
	for item := range wire.Elements(wire.Get(s.Arguments, FieldsArg)) {
		if f, ok := wire.String(item); ok {
			out = append(out, f)
		}
	}
	return out
}

// showText adds a text answer.
func (s ResultBuilder) showText(a *Answer, r *toolResult) {
	text := decodeText(a)
	s.showTextStart(a, text, a.Header.Get("Content-Type"), r)
}

// showTextStart adds the beginning of a text, and a link to the whole if it is
// longer.
func (s ResultBuilder) showTextStart(a *Answer, text, media string, r *toolResult) {
	shown := truncateText(text, MaxText)
	r.addText(shown)
	if len(shown) < len(text) {
		r.addText(fmt.Sprintf("Truncated: %d of %d bytes are shown.", len(shown), len(text)))
		s.linkWhole(r, a.Body, media)
	}
	if s.Structured || s.Plan.WrapsResult {
		r.structured = wire.AppendObject(nil, []byte("{}"), nil, wire.Member{Key: "result", Value: wire.AppendString(nil, shown)})
	}
}

// showBlob adds binary content: images and sounds as such, other content as a
// resource.
func (s ResultBuilder) showBlob(a *Answer, r *toolResult) {
	media := baseMedia(a.Header.Get("Content-Type"))
	if media == "" {
		media = baseMedia(http.DetectContentType(a.Body))
	}
	kind, _, _ := strings.Cut(media, "/")
	small := len(a.Body) <= maxBlobBytes
	switch {
	case small && (kind == "image" || kind == "audio"):
		r.content = append(r.content, wire.AppendObject(nil, []byte("{}"), nil, stringMember("type", kind), stringMember("data", base64.StdEncoding.EncodeToString(a.Body)), stringMember("mimeType", media)))
	case small && s.StoreWhole != nil:
		res := wire.AppendObject(nil, []byte("{}"), nil, stringMember("uri", s.StoreWhole(a.Body, media)), stringMember("mimeType", media), stringMember("blob", base64.StdEncoding.EncodeToString(a.Body)))
		r.content = append(r.content, wire.AppendObject(nil, []byte(`{"type":"resource"}`), nil, wire.Member{Key: "resource", Value: res}))
	default:
		r.addText(fmt.Sprintf("The answer is %d bytes of %s.", len(a.Body), media))
		s.linkWhole(r, a.Body, media)
	}
	if s.Structured || s.Plan.WrapsResult {
		r.structured = []byte("{}")
	}
}

// isJSONAnswer reports whether an answer is JSON that can be passed on
// unchanged. It also recognizes JSON without a proper Content-Type.
func isJSONAnswer(media string, body []byte) bool {
	base := baseMedia(media)
	likely := base != "" && base != "*/*" && isJSON(media)
	if base == "" || base == "text/plain" || base == "application/octet-stream" {
		k := kindOf(body)
		likely = k == kindObject || k == kindArray
	}
	return likely && wire.CheckJSON(body) == nil
}

// isTextAnswer reports whether an answer can be shown as text.
func isTextAnswer(media string, body []byte) bool {
	base := baseMedia(media)
	texts := strings.HasPrefix(base, "text/") || strings.HasSuffix(base, "+xml") || strings.HasSuffix(base, "+json") || strings.HasSuffix(base, "+yaml")
	switch base {
	case "", "application/json", "application/xml", "application/yaml", "application/x-yaml", "application/javascript", "application/x-www-form-urlencoded", "application/x-ndjson", "application/jsonl", "application/graphql":
		texts = true
	}
	return texts && (utf8.Valid(body) || isLatin1(media))
}

// isLatin1 reports whether a media type names a one-byte Western charset.
func isLatin1(media string) bool {
	lower := strings.ToLower(media)
	return strings.Contains(lower, "iso-8859-1") || strings.Contains(lower, "windows-1252")
}

// decodeText returns the body as UTF-8. Invalid bytes become U+FFFD.
func decodeText(a *Answer) string {
	if utf8.Valid(a.Body) || !isLatin1(a.Header.Get("Content-Type")) {
		return strings.ToValidUTF8(string(a.Body), "\uFFFD")
	}
	out := make([]rune, len(a.Body))
	for i, c := range a.Body {
		out[i] = rune(c)
	}
	return string(out)
}
