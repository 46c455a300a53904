package rest

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// setURL splits a URL or path into base, segments and query parameters.
// Placeholders become parameters; if shells is set, $ID is one too. The user
// and password of a URL are dropped.
func (r *request) setURL(raw string, shells bool, at doc.Position) {
	raw = patterns().namedGroup.ReplaceAllString(raw, "{$1}")
	// A URI template lists the query in braces: /a/{id}{?q,r}.
	raw, expansion, _ := strings.Cut(raw, "{?")
	for name := range strings.SplitSeq(strings.NewReplacer("}", "", "{&", ",").Replace(expansion), ",") {
		if name = strings.Trim(name, " *&"); name != "" {
			r.addParam(&r.query, doc.InQuery, name, "", at)
		}
	}
	raw, _, _ = strings.Cut(raw, "#")
	raw, query, _ := strings.Cut(raw, "?")
	if patterns().urlScheme.MatchString(raw) {
		scheme, rest, _ := strings.Cut(raw, "://")
		host, path, _ := strings.Cut(rest, "/")
		// The user and password of the URL are secrets.
		if _, after, found := strings.Cut(host, "@"); found {
			host = after
		}
		r.base, raw = strings.ToLower(scheme)+"://"+host, "/"+path
	}
	r.trailingSlash = len(raw) > 1 && strings.HasSuffix(raw, "/")
	for part := range strings.SplitSeq(strings.Trim(raw, "/"), "/") {
		if part != "" {
			r.path = append(r.path, parseSegment(part, shells, at))
		}
	}
	r.addQuery(query, at)
}

// addQuery adds the parameters of a query. Only the types of their values are
// kept.
func (r *request) addQuery(query string, at doc.Position) {
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if name, err := url.QueryUnescape(name); err == nil && name != "" && !patterns().bracedParam.MatchString(name) {
			value, _ = url.QueryUnescape(value)
			r.addParam(&r.query, doc.InQuery, name, value, at)
		}
	}
}

// parseSegment finds the parameters in a segment of a path, in the notations of
// many frameworks.
func parseSegment(part string, shells bool, at doc.Position) pathSegment {
	var s pathSegment
	name := func(n string) string {
		n = paramName(n)
		s.params = append(s.params, requestField{name: n, shape: shapeOfType("string"), required: true, at: at})
		return "{" + n + "}"
	}
	for _, re := range []*regexp.Regexp{patterns().colonParam, patterns().typedParam} {
		if m := re.FindStringSubmatch(part); m != nil {
			s.text = name(strings.Join(m[1:], ""))
			return s
		}
	}
	// Only commands write placeholders in capitals; a described path may
	// contain such a word.
	if m := patterns().capitalsParam.FindStringSubmatch(part); m != nil && shells {
		s.text = name(strings.ToLower(m[1] + m[2]))
		return s
	}
	s.text = patterns().bracedParam.ReplaceAllStringFunc(part, func(found string) string { return name(strings.Trim(found, "${} ")) })
	s.text = patterns().innerColonParam.ReplaceAllStringFunc(s.text, func(found string) string {
		sign, n, _ := strings.Cut(found, ":")
		return sign + name(n)
	})
	s.text = patterns().angledParam.ReplaceAllStringFunc(s.text, func(found string) string { return name(strings.Trim(found, "<>")) })
	if shells {
		s.text = patterns().shellParam.ReplaceAllStringFunc(s.text, func(found string) string { return name(strings.Trim(found, "${}")) })
	}
	// Decoding must not create characters that mean something in a template.
	if plain, err := url.PathUnescape(s.text); err == nil && len(s.params) == 0 && !strings.ContainsAny(plain, "/{}?#") {
		s.text = plain
	}
	return s
}

// paramName returns a name with the characters that a path template allows.
func paramName(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, strings.TrimSpace(s))
	return strings.Trim(s, "_")
}

// pathTemplate returns the path as operations have it.
func (r *request) pathTemplate() string {
	var b strings.Builder
	for _, s := range r.path {
		b.WriteString("/" + s.text)
	}
	if r.trailingSlash || b.Len() == 0 {
		b.WriteString("/")
	}
	return b.String()
}

// looksLikeID reports whether a segment identifies one object among many, as a
// number, UUID or hash does.
func looksLikeID(s string) bool {
	if patterns().plainWord.MatchString(s) || !patterns().anyDigit.MatchString(s) {
		return false
	}
	return patterns().numeric.MatchString(s) || patterns().uuid.MatchString(s) || patterns().hexHash.MatchString(s) || patterns().prefixedID.MatchString(s) || patterns().longToken.MatchString(s)
}

// idName returns the name for an id after a segment: after users it is user_id.
func idName(before string) string {
	before = paramName(before)
	switch {
	case before == "" || strings.Contains(before, "{"):
		return "id"
	case strings.HasSuffix(before, "ies") && len(before) > 4:
		before = strings.TrimSuffix(before, "ies") + "y"
	case strings.HasSuffix(before, "sses") || strings.HasSuffix(before, "xes"):
		before = strings.TrimSuffix(before, "es")
	case strings.HasSuffix(before, "s") && !strings.HasSuffix(before, "ss"):
		before = strings.TrimSuffix(before, "s")
	}
	return strings.ReplaceAll(before, "-", "_") + "_id"
}

// nameIDs turns the ids in a recorded path into parameters.
func (r *request) nameIDs() {
	for i, s := range r.path {
		before := ""
		if i > 0 {
			before = r.path[i-1].text
		}
		if len(s.params) > 0 || !looksLikeID(s.text) || isVersion(before, s.text) {
			continue
		}
		k := "string"
		if patterns().numeric.MatchString(s.text) {
			k = "integer"
		}
		r.setPathParam(i, idName(before), k)
	}
}

// isVersion reports whether a number in a path is the version of the API, as in
// /api/2/things.
func isVersion(before, s string) bool {
	switch strings.ToLower(before) {
	case "api", "rest", "version", "v":
		return len(s) <= 2 && patterns().numeric.MatchString(s)
	}
	return false
}

// setPathParam turns a segment into a parameter with a unique name. of is its
// type.
func (r *request) setPathParam(i int, name, of string) {
	for taken := true; taken; {
		taken = false
		for _, s := range r.path {
			for _, p := range s.params {
				taken = taken || p.name == name
			}
		}
		if taken {
			name += "_2"
		}
	}
	r.path[i] = pathSegment{text: "{" + name + "}", params: []requestField{{name: name, shape: shapeOfType(of), required: true, at: r.at}}}
}
