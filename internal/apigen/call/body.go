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

// body writes the body of a request, as the plan's media type wants it.
func (p *Plan) body(given map[string][]byte, r *Request) error {
	if p.GraphQL != nil {
		var err error
		r.Header.Set("Content-Type", "application/json")
		r.Body, err = p.graphQL(given)
		return err
	}
	if p.Body == nil {
		return nil
	}
	fields, whole := p.parts(given)
	if len(fields) == 0 && whole == nil && !p.Body.Required {
		return nil
	}
	media := p.Body.Media
	var err error
	switch base := baseMedia(media); {
	case base == "application/x-www-form-urlencoded":
		r.Body = form(fields, whole)
	case strings.HasPrefix(base, "multipart/"):
		r.Body, media, err = parts(base, fields, whole)
	case isLines(base):
		r.Body = lines(whole)
	case isJSON(media):
		media = strings.Replace(strings.Replace(media, "*/*", "application/json", 1), "application/*", "application/json", 1)
		r.Body = jsonBody(fields, whole)
	default:
		r.Body, media, err = plain(media, fields, whole)
	}
	r.Header.Set("Content-Type", media)
	return err
}

// part is an argument that goes into the body, and its value.
type part struct {
	*Arg
	value []byte
}

// parts are the arguments that make the body: members of it, or the whole.
func (p *Plan) parts(given map[string][]byte) (fields []part, whole *part) {
	for i := range p.Args {
		a := &p.Args[i]
		value, ok := given[a.Name]
		switch {
		case !ok:
		case a.Place == Field:
			fields = append(fields, part{a, value})
		case a.Place == Whole:
			whole = &part{a, value}
		}
	}
	return fields, whole
}

func jsonBody(fields []part, whole *part) []byte {
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

// split gives the members of a body that is one argument as fields.
func (w *part) split() (fields []part) {
	for key, value := range wire.Members(w.value) {
		name := wire.Unescape(key)
		fields = append(fields, part{&Arg{Name: w.Name, Key: name, Explode: true, File: w.File}, value})
	}
	return fields
}

func form(fields []part, whole *part) []byte {
	if whole != nil {
		if kindOf(whole.value) != object {
			return []byte(text(whole.value))
		}
		fields = whole.split()
	}
	var all []pair
	for _, f := range fields {
		a := *f.Arg
		if a.Style == "" && a.Media == "" {
			// The defaults of OpenAPI: a text for a value, one field for each element,
			// JSON for what has members.
			a.Explode = true
			if kindOf(f.value) == object {
				a.Media = "application/json"
			}
		}
		escape := strict
		if a.Reserved {
			escape = reservedQuery
		}
		all = append(all, a.pairs(f.value, escape)...)
	}
	return []byte(exploded(all, "&"))
}

func parts(media string, fields []part, whole *part) (body []byte, contentType string, err error) {
	if whole != nil {
		fields = whole.split()
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, f := range styled(fields) {
		values := [][]byte{f.value}
		if kindOf(f.value) == array && !isJSON(f.Media) {
			values = nil
			for item := range wire.Elements(f.value) {
				values = append(values, item)
			}
		}
		for _, value := range values {
			if kindOf(value) == absent {
				continue
			}
			header, data, err := f.part(value)
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

// styled parts fields that have a style, as OpenAPI 3.1 and Swagger 2.0 allow it
// for multipart bodies, into those that are written.
func styled(fields []part) (out []part) {
	for _, f := range fields {
		if f.Style == "" || f.File || f.Media != "" || kindOf(f.value) == primitive {
			out = append(out, f)
			continue
		}
		for _, p := range f.pairs(f.value, strict) {
			key, _ := url.PathUnescape(p.key)
			value, _ := url.PathUnescape(p.value)
			out = append(out, part{&Arg{Name: f.Name, Key: key}, wire.AppendString(nil, value)})
		}
	}
	return out
}

// part is one part of a multipart body.
func (a *Arg) part(value []byte) (textproto.MIMEHeader, []byte, error) {
	header := textproto.MIMEHeader{}
	disposition := `form-data; name="` + quoted(a.Key) + `"`
	data, media := []byte(text(value)), a.Media
	if a.File {
		file, err := a.file(value)
		if err != nil {
			return nil, nil, err
		}
		disposition += `; filename="` + quoted(file.name) + `"`
		data = file.data
		if file.media != "" {
			media = file.media
		}
	} else if kindOf(value) != primitive && media == "" {
		media = "application/json"
	}
	header.Set("Content-Disposition", disposition)
	if media != "" {
		header.Set("Content-Type", firstOf(media))
	}
	return header, data, nil
}

// firstOf is the first of several media types.
func firstOf(media string) string {
	first, _, _ := strings.Cut(media, ",")
	return strings.TrimSpace(first)
}

// quoted is a text inside the quotes of a Content-Disposition, as browsers write
// it: what would end it is percent-encoded.
func quoted(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '"':
			b.WriteString("%22")
		case unprintable(r) || r == '\t':
			b.WriteString(strict(string(r)))
		case r == '\\':
			b.WriteString(`\\`)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

type file struct {
	name, media string
	data        []byte
}

// file reads {filename, mimeType, data_base64}, or takes a text as the content.
func (a *Arg) file(value []byte) (file, error) {
	f := file{name: a.Key, media: "application/octet-stream"}
	if kindOf(value) != object {
		f.data = []byte(text(value))
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
		if base, _, err := mime.ParseMediaType(media); err != nil || strings.ContainsFunc(media, unprintable) || !strings.Contains(base, "/") {
			return f, a.refused("has a mimeType that is none: write it like image/png")
		}
		f.media = media
	}
	encoded, ok := wire.String(wire.Get(value, "data_base64"))
	if !ok {
		return f, a.refused("is a file: give {filename, mimeType, data_base64}, {resource}, or its text")
	}
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		if data, err = base64.RawURLEncoding.DecodeString(strings.TrimRight(encoded, "=")); err != nil {
			return f, a.refused("has a data_base64 that is not base64")
		}
	}
	f.data = data
	return f, nil
}

// plain is a body that is one text, or the bytes of a file.
func plain(media string, fields []part, whole *part) (body []byte, contentType string, err error) {
	if whole == nil {
		if len(fields) == 0 {
			return []byte{}, media, nil
		}
		return jsonBody(fields, nil), media, nil
	}
	if !whole.File {
		return []byte(text(whole.value)), concrete(media, "text/plain; charset=utf-8"), nil
	}
	f, err := whole.file(whole.value)
	if err != nil {
		return nil, "", err
	}
	if kindOf(whole.value) == object && wire.Get(whole.value, "mimeType") != nil && (strings.Contains(media, "*") || baseMedia(media) == "application/octet-stream") {
		return f.data, f.media, nil
	}
	return f.data, concrete(media, http.DetectContentType(f.data)), nil
}

// concrete is a media type that can be sent: one with a star stands for many.
func concrete(media, instead string) string {
	if strings.Contains(media, "*") {
		return instead
	}
	return media
}

func isLines(base string) bool {
	return base == "application/jsonl" || base == "application/x-ndjson" || base == "application/json-lines"
}

// lines is an array with an element in each line.
func lines(whole *part) (out []byte) {
	if whole == nil {
		return []byte{}
	}
	if kindOf(whole.value) != array {
		return append(bytes.TrimSpace(whole.value), '\n')
	}
	for item := range wire.Elements(whole.value) {
		var one bytes.Buffer
		if compact(&one, item) {
			out = append(append(out, one.Bytes()...), '\n')
		}
	}
	return out
}
