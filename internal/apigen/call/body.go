package call

import (
	"bytes"
	"encoding/base64"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// buildBody sets the body and Content-Type of r, in the media type of the plan.
// Without arguments for the body there is none, unless the plan requires one.
func (p *Plan) buildBody(given map[string][]byte, r *Request) error {
	if p.GraphQL != nil {
		var err error
		r.Header.Set("Content-Type", "application/json")
		r.Body, err = p.encodeGraphQL(given)
		return err
	}
	if p.Body == nil {
		return nil
	}
	fields, whole := p.bodyParts(given)
	if len(fields) == 0 && whole == nil && !p.Body.Required {
		return nil
	}
	media := p.Body.Media
	var err error
	switch base := baseMedia(media); {
	case base == "application/x-www-form-urlencoded":
		r.Body = encodeForm(fields, whole)
	case strings.HasPrefix(base, "multipart/"):
		r.Body, media, err = encodeMultipart(base, fields, whole)
	case isJSONLines(base):
		r.Body = encodeJSONLines(whole)
	case isJSON(media):
		// A wildcard cannot be sent as the Content-Type.
		media = strings.Replace(strings.Replace(media, "*/*", "application/json", 1), "application/*", "application/json", 1)
		r.Body = encodeJSONBody(fields, whole)
	default:
		r.Body, media, err = encodePlainBody(media, fields, whole)
	}
	r.Header.Set("Content-Type", media)
	return err
}

// bodyPart is an argument that goes into the body, with its value.
type bodyPart struct {
	*Arg
	value []byte
}

// bodyParts returns the arguments that make the body: members of it, or the
// whole.
func (p *Plan) bodyParts(given map[string][]byte) (fields []bodyPart, whole *bodyPart) {
	for i := range p.Args {
		a := &p.Args[i]
		value, ok := given[a.Name]
		switch {
		case !ok:
		case a.Place == Field:
			fields = append(fields, bodyPart{a, value})
		case a.Place == WholeBody:
			whole = &bodyPart{a, value}
		}
	}
	return fields, whole
}

// encodeJSONBody returns the whole body, or an object of its fields. Values are
// copied as the caller wrote them, so that large numbers keep their digits.
func encodeJSONBody(fields []bodyPart, whole *bodyPart) []byte {
	if whole != nil {
		return bytes.TrimSpace(whole.value)
	}
	out := []byte{'{'}
	for i, f := range fields {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(wire.AppendString(out, f.Key), ':')
		out = append(out, f.value...)
	}
	return append(out, '}')
}

// splitMembers returns the members of a body that is one argument as fields.
func (w *bodyPart) splitMembers() (fields []bodyPart) {
	for key, value := range wire.Members(w.value) {
		name := wire.Unescape(key)
		fields = append(fields, bodyPart{&Arg{Name: w.Name, Key: name, Explode: true, File: w.File}, value})
	}
	return fields
}

// encodeForm returns an application/x-www-form-urlencoded body.
func encodeForm(fields []bodyPart, whole *bodyPart) []byte {
	if whole != nil {
		if kindOf(whole.value) != kindObject {
			return []byte(plainText(whole.value))
		}
		fields = whole.splitMembers()
	}
	var all []encodedPair
	for _, f := range fields {
		a := *f.Arg
		if a.Style == "" && a.Media == "" {
			// The defaults of OpenAPI: a text for a value, one field for each element,
			// JSON for what has members.
			a.Explode = true
			if kindOf(f.value) == kindObject {
				a.Media = "application/json"
			}
		}
		escape := escapeAll
		if a.AllowReserved {
			escape = escapeQuery
		}
		all = append(all, a.expandPairs(f.value, escape)...)
	}
	return []byte(joinExploded(all, "&"))
}

// encodeMultipart returns a multipart body and its Content-Type with the
// boundary. The elements of an array become parts of one name.
func encodeMultipart(media string, fields []bodyPart, whole *bodyPart) (body []byte, contentType string, err error) {
	if whole != nil {
		fields = whole.splitMembers()
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, f := range expandStyledFields(fields) {
		values := [][]byte{f.value}
		if kindOf(f.value) == kindArray && !isJSON(f.Media) {
			values = nil
			for item := range wire.Elements(f.value) {
				values = append(values, item)
			}
		}
		for _, value := range values {
			if kindOf(value) == kindAbsent {
				continue
			}
			header, data, err := f.encodePart(value)
			if err != nil {
				return nil, "", err
			}
			out, err := w.CreatePart(header)
			if err == nil {
				_, err = out.Write(data)
			}
			if err != nil {
				return nil, "", junctor.Errorf(junctor.CodeInternal, "the parts of the body could not be written: %w", err)
			}
		}
	}
	if err := w.Close(); err != nil {
		return nil, "", junctor.Errorf(junctor.CodeInternal, "the parts of the body could not be written: %w", err)
	}
	return b.Bytes(), mime.FormatMediaType(media, map[string]string{"boundary": w.Boundary()}), nil
}

// expandStyledFields replaces fields that have a style by the parts that they
// expand to. OpenAPI 3.1 and Swagger 2.0 allow styles in multipart bodies.
func expandStyledFields(fields []bodyPart) (out []bodyPart) {
	for _, f := range fields {
		if f.Style == "" || f.File || f.Media != "" || kindOf(f.value) == kindPrimitive {
			out = append(out, f)
			continue
		}
		for _, p := range f.expandPairs(f.value, escapeAll) {
			key, _ := url.PathUnescape(p.key)
			value, _ := url.PathUnescape(p.value)
			out = append(out, bodyPart{&Arg{Name: f.Name, Key: key}, wire.AppendString(nil, value)})
		}
	}
	return out
}

// encodePart returns the header and content of one part of a multipart body.
func (a *Arg) encodePart(value []byte) (textproto.MIMEHeader, []byte, error) {
	header := textproto.MIMEHeader{}
	disposition := `form-data; name="` + quoteDisposition(a.Key) + `"`
	data, media := []byte(plainText(value)), a.Media
	if a.File {
		file, err := a.decodeFile(value)
		if err != nil {
			return nil, nil, err
		}
		disposition += `; filename="` + quoteDisposition(file.name) + `"`
		data = file.data
		if file.media != "" {
			media = file.media
		}
	} else if kindOf(value) != kindPrimitive && media == "" {
		media = "application/json"
	}
	header.Set("Content-Disposition", disposition)
	if media != "" {
		header.Set("Content-Type", firstMedia(media))
	}
	return header, data, nil
}

// firstMedia returns the first of several media types.
func firstMedia(media string) string {
	first, _, _ := strings.Cut(media, ",")
	return strings.TrimSpace(first)
}

// quoteDisposition quotes a text for a Content-Disposition as browsers do:
// characters that would end it are percent-encoded. Without that a file name
// could add headers.
func quoteDisposition(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '"':
			b.WriteString("%22")
		case isControlCharacter(r) || r == '\t':
			b.WriteString(escapeAll(string(r)))
		case r == '\\':
			b.WriteString(`\\`)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// fileValue is the content of a file argument.
type fileValue struct {
	name, media string
	data        []byte
}

// decodeFile decodes {filename, mimeType, data_base64}, or takes a text as the
// content. It accepts standard and URL-safe base64, since models write both.
func (a *Arg) decodeFile(value []byte) (fileValue, error) {
	f := fileValue{name: a.Key, media: "application/octet-stream"}
	if kindOf(value) != kindObject {
		f.data = []byte(plainText(value))
		if a.Media == "" {
			f.media = "text/plain; charset=utf-8"
		} else {
			f.media = ""
		}
		return f, nil
	}
	if name, ok := wire.String(wire.Get(value, "filename")); ok && name != "" {
		f.name = name
	}
	if media, ok := wire.String(wire.Get(value, "mimeType")); ok && media != "" {
		if base, _, err := mime.ParseMediaType(media); err != nil || strings.ContainsFunc(media, isControlCharacter) || !strings.Contains(base, "/") {
			return f, a.invalidError("has an invalid mimeType: write it like image/png")
		}
		f.media = media
	}
	encoded, ok := wire.String(wire.Get(value, "data_base64"))
	if !ok {
		return f, a.invalidError("is a file: give {filename, mimeType, data_base64}, {resource}, or its text")
	}
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		if data, err = base64.RawURLEncoding.DecodeString(strings.TrimRight(encoded, "=")); err != nil {
			return f, a.invalidError("has a data_base64 that is not base64")
		}
	}
	f.data = data
	return f, nil
}

// encodePlainBody returns a body that is one text, or the bytes of a file, and
// its Content-Type.
func encodePlainBody(media string, fields []bodyPart, whole *bodyPart) (body []byte, contentType string, err error) {
	if whole == nil {
		if len(fields) == 0 {
			return []byte{}, media, nil
		}
		return encodeJSONBody(fields, nil), media, nil
	}
	if !whole.File {
		return []byte(plainText(whole.value)), concreteMedia(media, "text/plain; charset=utf-8"), nil
	}
	f, err := whole.decodeFile(whole.value)
	if err != nil {
		return nil, "", err
	}
	if kindOf(whole.value) == kindObject && wire.Get(whole.value, "mimeType") != nil && (strings.Contains(media, "*") || baseMedia(media) == "application/octet-stream") {
		return f.data, f.media, nil
	}
	return f.data, concreteMedia(media, http.DetectContentType(f.data)), nil
}

// concreteMedia returns a media type that can be sent: instead of one with a
// wildcard it returns instead.
func concreteMedia(media, instead string) string {
	if strings.Contains(media, "*") {
		return instead
	}
	return media
}

// isJSONLines reports whether a media type has one JSON value in each line.
func isJSONLines(base string) bool {
	return base == "application/jsonl" || base == "application/x-ndjson" || base == "application/json-lines"
}

// encodeJSONLines returns an array with one element in each line.
func encodeJSONLines(whole *bodyPart) (out []byte) {
	if whole == nil {
		return []byte{}
	}
	if kindOf(whole.value) != kindArray {
		return append(bytes.TrimSpace(whole.value), '\n')
	}
	for item := range wire.Elements(whole.value) {
		var one bytes.Buffer
		if compactJSON(&one, item) {
			out = append(append(out, one.Bytes()...), '\n')
		}
	}
	return out
}
