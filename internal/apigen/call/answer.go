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

// FieldsArg is the argument that says which fields of an answer are wanted.
const FieldsArg = "_fields"

const (
	maxBlob  = 1 << 20 // of what a result holds as bytes; more is a resource to read
	maxError = 4 << 10 // of what an API says with an error
)

// Shape is how an answer is shown.
type Shape struct {
	Plan       *Plan
	Arguments  []byte
	Structured bool // the tool has an output schema: every success has structuredContent

	// Keep takes what does not fit, and gives the URI of a resource to read it at.
	// Scrub takes credentials away from a text. Both may be nil.
	Keep  func(data []byte, media string) string
	Scrub func(text string) string
}

// Result makes the result of a tool out of an answer: the MCP object, and
// whether it is an error. What the API refused is a result too, so that a model
// can read why.
func (s Shape) Result(a *Answer) (body []byte, isError bool) {
	if s.Scrub != nil {
		if clean := s.Scrub(string(a.Body)); len(clean) != len(a.Body) || clean != string(a.Body) {
			a.Body = []byte(clean)
		}
	}
	if a.Status >= http.StatusBadRequest {
		return s.refusal(a), true
	}
	var r result
	media := a.Header.Get("Content-Type")
	switch {
	case len(a.Body) == 0:
		r.say(fmt.Sprintf("HTTP %d %s, with nothing in it", a.Status, http.StatusText(a.Status)))
		if s.Structured || s.Plan.Wrapped {
			r.structured = []byte("{}")
		}
	case looksJSON(media, a.Body):
		if s.Plan.GraphQL != nil {
			if failed := s.graphQL(a, &r); failed {
				return r.json(true), true
			}
			break
		}
		s.json(a, a.Body, &r)
	case isText(media, a.Body):
		s.text(a, &r)
	default:
		s.blob(a, &r)
	}
	return r.json(false), false
}

// result is a tool's result as it grows.
type result struct {
	content    []json.RawMessage
	structured []byte
	next       string // what changes in the arguments for the next page, a JSON object; "" where there is none
}

func (r *result) say(text string) {
	r.content = append(r.content, wire.AppendObject(nil, []byte(`{"type":"text"}`), nil, wire.Member{Key: "text", Value: wire.AppendString(nil, text)}))
}

func (r *result) json(isError bool) []byte {
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
	if r.next != "" {
		out = append(append(out, `,"_meta":{"`+wire.MetaJunctorNextPage+`":`...), r.next...)
		out = append(out, '}')
	}
	return append(out, '}')
}

// json shows a JSON answer: all of it where it fits, else cut, with where the
// rest is.
func (s Shape) json(a *Answer, body []byte, r *result) {
	body = bytes.TrimSpace(body)
	full := body
	if fields := s.fields(); len(fields) > 0 {
		body = newSelection(fields).write(nil, body)
	}
	shown, cuts, ok := shrink(body, MaxText)
	if !ok {
		s.cutText(a, string(body), "application/json", r)
		return
	}
	notes, next := s.next(a, full)
	r.next = next
	var mark []byte
	if len(cuts) > 0 {
		mark = truncation(cuts, notes)
		notes = append([]string{cutNote(cuts, s.Keep != nil)}, notes...)
	}
	r.say(string(shown))
	if len(notes) > 0 {
		r.say(strings.Join(notes, "\n"))
	}
	if len(cuts) > 0 {
		s.link(r, full, "application/json")
	}
	if s.Plan.Wrapped || kindOf(shown) != object {
		shown = append(append([]byte(`{"result":`), shown...), '}')
	}
	if mark != nil {
		key := "truncated"
		if wire.Get(shown, key) != nil {
			key = "_truncated"
		}
		shown = wire.AppendObject(nil, shown, nil, wire.Member{Key: key, Value: mark})
	}
	r.structured = shown
}

// truncation is what structuredContent says of what was left out.
func truncation(cuts []cut, notes []string) []byte {
	out, err := json.Marshal(struct {
		Cut  []cut    `json:"cut"`
		More []string `json:"more,omitempty"`
	}{cuts[:min(len(cuts), 10)], notes})
	if err != nil {
		return []byte("{}")
	}
	return out
}

// cutNote says what was left out, the largest first.
func cutNote(cuts []cut, linked bool) string {
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

// link keeps what does not fit, and links it.
func (s Shape) link(r *result, data []byte, media string) {
	if s.Keep == nil {
		return
	}
	r.content = append(r.content, wire.AppendObject(nil, fmt.Appendf(nil, `{"type":"resource_link","name":"the whole answer","size":%d}`, len(data)), nil,
		str("uri", s.Keep(data, media)), str("mimeType", baseMedia(media))))
}

func str(key, value string) wire.Member {
	return wire.Member{Key: key, Value: wire.AppendString(nil, value)}
}

// fields are the pointers that the caller named.
func (s Shape) fields() (out []string) {
	for item := range wire.Elements(wire.Get(s.Arguments, FieldsArg)) {
		if f, ok := wire.String(item); ok {
			out = append(out, f)
		}
	}
	return out
}

func (s Shape) text(a *Answer, r *result) {
	text := decodeText(a)
	s.cutText(a, text, a.Header.Get("Content-Type"), r)
}

// cutText shows the beginning of a text.
func (s Shape) cutText(a *Answer, text, media string, r *result) {
	shown := clip(text, MaxText)
	r.say(shown)
	if len(shown) < len(text) {
		r.say(fmt.Sprintf("Truncated: %d of %d bytes are shown.", len(shown), len(text)))
		s.link(r, a.Body, media)
	}
	if s.Structured || s.Plan.Wrapped {
		r.structured = wire.AppendObject(nil, []byte("{}"), nil, wire.Member{Key: "result", Value: wire.AppendString(nil, shown)})
	}
}

// blob shows bytes: images and sounds as such, others as a resource.
func (s Shape) blob(a *Answer, r *result) {
	media := baseMedia(a.Header.Get("Content-Type"))
	if media == "" {
		media = baseMedia(http.DetectContentType(a.Body))
	}
	kind, _, _ := strings.Cut(media, "/")
	small := len(a.Body) <= maxBlob
	switch {
	case small && (kind == "image" || kind == "audio"):
		r.content = append(r.content, wire.AppendObject(nil, []byte("{}"), nil, str("type", kind), str("data", base64.StdEncoding.EncodeToString(a.Body)), str("mimeType", media)))
	case small && s.Keep != nil:
		res := wire.AppendObject(nil, []byte("{}"), nil, str("uri", s.Keep(a.Body, media)), str("mimeType", media), str("blob", base64.StdEncoding.EncodeToString(a.Body)))
		r.content = append(r.content, wire.AppendObject(nil, []byte(`{"type":"resource"}`), nil, wire.Member{Key: "resource", Value: res}))
	default:
		r.say(fmt.Sprintf("The answer is %d bytes of %s.", len(a.Body), media))
		s.link(r, a.Body, media)
	}
	if s.Structured || s.Plan.Wrapped {
		r.structured = []byte("{}")
	}
}

// looksJSON says whether an answer is JSON that can be carried on as it is.
func looksJSON(media string, body []byte) bool {
	base := baseMedia(media)
	likely := base != "" && base != "*/*" && isJSON(media)
	if base == "" || base == "text/plain" || base == "application/octet-stream" {
		k := kindOf(body)
		likely = k == object || k == array
	}
	return likely && wire.Check(body) == nil
}

func isText(media string, body []byte) bool {
	base := baseMedia(media)
	texts := strings.HasPrefix(base, "text/") || strings.HasSuffix(base, "+xml") || strings.HasSuffix(base, "+json") || strings.HasSuffix(base, "+yaml")
	switch base {
	case "", "application/json", "application/xml", "application/yaml", "application/x-yaml", "application/javascript", "application/x-www-form-urlencoded", "application/x-ndjson", "application/jsonl", "application/graphql":
		texts = true
	}
	return texts && (utf8.Valid(body) || latin1(media))
}

func latin1(media string) bool {
	lower := strings.ToLower(media)
	return strings.Contains(lower, "iso-8859-1") || strings.Contains(lower, "windows-1252")
}

func decodeText(a *Answer) string {
	if utf8.Valid(a.Body) || !latin1(a.Header.Get("Content-Type")) {
		return strings.ToValidUTF8(string(a.Body), "\uFFFD")
	}
	out := make([]rune, len(a.Body))
	for i, c := range a.Body {
		out[i] = rune(c)
	}
	return string(out)
}
