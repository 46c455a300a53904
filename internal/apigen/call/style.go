package call

import (
	"mime"
	"strconv"
	"strings"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// The styles of parameters. OpenAPI defines them by RFC 6570: each value is
// encoded first and then joined, so that a delimiter inside a value stays part
// of it.
const (
	styleSimple     = "simple"
	styleLabel      = "label"
	styleMatrix     = "matrix"
	styleForm       = "form"
	styleSpace      = "spaceDelimited"
	stylePipe       = "pipeDelimited"
	styleTab        = "tabDelimited" // Swagger 2.0's tsv
	styleDeepObject = "deepObject"
	styleCookie     = "cookie" // OpenAPI 3.2
)

// expandText expands a value to one text, as paths and headers need it: the
// styles simple, label and matrix. ok is false if there is nothing to send.
func (a *Arg) expandText(raw []byte, e escapeFunc) (out string, ok bool) {
	if a.Media != "" {
		return e(contentText(a.Media, raw)), kindOf(raw) != kindAbsent
	}
	key := e(a.Key)
	switch kindOf(raw) {
	case kindPrimitive:
		v := e(plainText(raw))
		switch {
		case a.Style == styleLabel:
			return "." + v, true
		case a.Style == styleMatrix && v == "":
			return ";" + key, true
		case a.Style == styleMatrix:
			return ";" + key + "=" + v, true
		}
		return v, true
	case kindArray:
		items := e.escapeItems(raw)
		switch {
		case len(items) == 0:
			return "", false
		case a.Style == styleLabel && a.Explode:
			return "." + strings.Join(items, "."), true
		case a.Style == styleLabel:
			return "." + strings.Join(items, ","), true
		case a.Style == styleMatrix && a.Explode:
			return ";" + key + "=" + strings.Join(items, ";"+key+"="), true
		case a.Style == styleMatrix:
			return ";" + key + "=" + strings.Join(items, ","), true
		}
		return strings.Join(items, ","), true
	case kindObject:
		members := e.escapeMembers(raw)
		switch {
		case len(members) == 0:
			return "", false
		case a.Style == styleLabel && a.Explode:
			return "." + joinExploded(members, "."), true
		case a.Style == styleLabel:
			return "." + joinFlat(members, ","), true
		case a.Style == styleMatrix && a.Explode:
			return ";" + joinExploded(members, ";"), true
		case a.Style == styleMatrix:
			return ";" + key + "=" + joinFlat(members, ","), true
		case a.Explode:
			return joinExploded(members, ","), true
		}
		return joinFlat(members, ","), true
	case kindAbsent:
	}
	return "", false
}

// expandPairs expands a value to names and values, as queries, forms and
// cookies need it.
func (a *Arg) expandPairs(raw []byte, e escapeFunc) []encodedPair {
	key := e(a.Key)
	if a.Media != "" && kindOf(raw) != kindAbsent {
		return []encodedPair{{key, e(contentText(a.Media, raw))}}
	}
	switch kindOf(raw) {
	case kindPrimitive:
		return []encodedPair{{key, e(plainText(raw))}}
	case kindArray:
		if a.Style == styleDeepObject {
			return e.expandDeep(key, raw, nil)
		}
		items := e.escapeItems(raw)
		switch {
		case len(items) == 0:
			return nil
		case !a.Explode:
			return []encodedPair{{key, strings.Join(items, a.valueDelimiter())}}
		}
		out := make([]encodedPair, len(items))
		for i, item := range items {
			out[i] = encodedPair{key, item}
		}
		return out
	case kindObject:
		if a.Style == styleDeepObject {
			return e.expandDeep(key, raw, nil)
		}
		members := e.escapeMembers(raw)
		switch {
		case len(members) == 0:
			return nil
		case !a.Explode:
			return []encodedPair{{key, joinFlat(members, a.valueDelimiter())}}
		}
		return members
	case kindAbsent:
	}
	return nil
}

// valueDelimiter returns the delimiter between the parts of a value that is not
// exploded. All but the comma are percent-encoded.
func (a *Arg) valueDelimiter() string {
	switch a.Style {
	case styleSpace:
		return escapeAll(" ")
	case stylePipe:
		return escapeAll("|")
	case styleTab:
		return escapeAll("\t")
	}
	return ","
}

// expandDeep appends a[b][0]=c for every leaf of a value to out. key is already
// encoded.
func (e escapeFunc) expandDeep(key string, raw []byte, out []encodedPair) []encodedPair {
	below := func(name string) string { return key + "%5B" + escapeAll(name) + "%5D" }
	switch kindOf(raw) {
	case kindObject:
		for name, value := range wire.Members(raw) {
			out = e.expandDeep(below(wire.Unescape(name)), value, out)
		}
	case kindArray:
		i := 0
		for item := range wire.Elements(raw) {
			out = e.expandDeep(below(strconv.Itoa(i)), item, out)
			i++
		}
	case kindPrimitive:
		out = append(out, encodedPair{key, e(plainText(raw))})
	case kindAbsent:
	}
	return out
}

// contentText returns a value as one text of a media type.
func contentText(media string, raw []byte) string {
	if isJSON(media) {
		return strings.TrimSpace(string(raw))
	}
	return plainText(raw)
}

// isJSON reports whether a media type is encoded as JSON. Wildcards are.
func isJSON(media string) bool {
	base := baseMedia(media)
	return base == "application/json" || base == "text/json" || base == "application/*" || base == "*/*" || strings.HasSuffix(base, "+json")
}

// baseMedia returns a media type in lower case, without its parameters.
func baseMedia(media string) string {
	base, _, err := mime.ParseMediaType(media)
	if err != nil {
		base, _, _ = strings.Cut(media, ";")
	}
	return strings.ToLower(strings.TrimSpace(base))
}
