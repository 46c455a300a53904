package call

import (
	"mime"
	"strconv"
	"strings"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// The styles of parameters. OpenAPI defines them by RFC 6570: each value is
// encoded, then joined.
const (
	styleSimple = "simple"
	styleLabel  = "label"
	styleMatrix = "matrix"
	styleForm   = "form"
	styleSpace  = "spaceDelimited"
	stylePipe   = "pipeDelimited"
	styleTab    = "tabDelimited" // Swagger 2.0's tsv
	styleDeep   = "deepObject"
	styleCookie = "cookie" // OpenAPI 3.2
)

// inPath expands a value where one text stands: simple, label and matrix. ok is
// false where there is nothing to send.
func (a *Arg) inPath(raw []byte, e escape) (out string, ok bool) {
	if a.Media != "" {
		return e(content(a.Media, raw)), kindOf(raw) != absent
	}
	key := e(a.Key)
	switch kindOf(raw) {
	case primitive:
		v := e(text(raw))
		switch {
		case a.Style == styleLabel:
			return "." + v, true
		case a.Style == styleMatrix && v == "":
			return ";" + key, true
		case a.Style == styleMatrix:
			return ";" + key + "=" + v, true
		}
		return v, true
	case array:
		items := e.items(raw)
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
	case object:
		members := e.members(raw)
		switch {
		case len(members) == 0:
			return "", false
		case a.Style == styleLabel && a.Explode:
			return "." + exploded(members, "."), true
		case a.Style == styleLabel:
			return "." + flat(members, ","), true
		case a.Style == styleMatrix && a.Explode:
			return ";" + exploded(members, ";"), true
		case a.Style == styleMatrix:
			return ";" + key + "=" + flat(members, ","), true
		case a.Explode:
			return exploded(members, ","), true
		}
		return flat(members, ","), true
	case absent:
	}
	return "", false
}

// pairs expands a value where names and values stand: a query, a form, cookies.
func (a *Arg) pairs(raw []byte, e escape) []pair {
	key := e(a.Key)
	if a.Media != "" && kindOf(raw) != absent {
		return []pair{{key, e(content(a.Media, raw))}}
	}
	switch kindOf(raw) {
	case primitive:
		return []pair{{key, e(text(raw))}}
	case array:
		if a.Style == styleDeep {
			return e.deep(key, raw, nil)
		}
		items := e.items(raw)
		switch {
		case len(items) == 0:
			return nil
		case !a.Explode:
			return []pair{{key, strings.Join(items, a.delimiter())}}
		}
		out := make([]pair, len(items))
		for i, item := range items {
			out[i] = pair{key, item}
		}
		return out
	case object:
		if a.Style == styleDeep {
			return e.deep(key, raw, nil)
		}
		members := e.members(raw)
		switch {
		case len(members) == 0:
			return nil
		case !a.Explode:
			return []pair{{key, flat(members, a.delimiter())}}
		}
		return members
	case absent:
	}
	return nil
}

// delimiter stands between the parts of a value that is not exploded. It is
// encoded where it is no comma.
func (a *Arg) delimiter() string {
	switch a.Style {
	case styleSpace:
		return strict(" ")
	case stylePipe:
		return strict("|")
	case styleTab:
		return strict("\t")
	}
	return ","
}

// deep writes a[b][0]=c for every leaf of a value.
func (e escape) deep(key string, raw []byte, out []pair) []pair {
	below := func(name string) string { return key + "%5B" + strict(name) + "%5D" }
	switch kindOf(raw) {
	case object:
		for name, value := range wire.Members(raw) {
			out = e.deep(below(wire.Unescape(name)), value, out)
		}
	case array:
		i := 0
		for item := range wire.Elements(raw) {
			out = e.deep(below(strconv.Itoa(i)), item, out)
			i++
		}
	case primitive:
		out = append(out, pair{key, e(text(raw))})
	case absent:
	}
	return out
}

// content is a value as one text of a media type.
func content(media string, raw []byte) string {
	if isJSON(media) {
		return strings.TrimSpace(string(raw))
	}
	return text(raw)
}

// isJSON says whether a media type is written as JSON.
func isJSON(media string) bool {
	base := baseMedia(media)
	return base == "application/json" || base == "text/json" || base == "application/*" || base == "*/*" || strings.HasSuffix(base, "+json")
}

// baseMedia is a media type without its parameters, in lower case.
func baseMedia(media string) string {
	base, _, err := mime.ParseMediaType(media)
	if err != nil {
		base, _, _ = strings.Cut(media, ";")
	}
	return strings.ToLower(strings.TrimSpace(base))
}
