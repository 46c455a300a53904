package rest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// pageBase is a base URL or path that a page names for the endpoints below it.
type pageBase struct {
	// url is empty if the page names a path only.
	url string
	// path is the prefix of the paths of endpoints; empty if there is none.
	path string
	// requestCount is the number of requests before it.
	requestCount int
}

// readBase finds the base URL or path that a block names. It applies up to the
// next one; the first of a page applies to everything before it too.
func (p *pageReader) readBase(b pageBlock) {
	texts := append(make([]string, 0, 1+len(b.rows)), b.text)
	for _, row := range b.rows {
		texts = append(texts, strings.Join(row, ": "))
	}
	labelled := p.baseLabel
	p.baseLabel = ""
	for _, text := range texts {
		// A long example or a command contains URLs, but does not name the
		// base.
		if b.kind == blockCode && (strings.Count(text, "\n") > 2 || strings.Contains(text, "curl")) {
			continue
		}
		if labelled != "" {
			text = labelled + ": " + text
		}
		if patterns().baseLabel.MatchString(text) {
			p.baseLabel = "Base URL"
			continue
		}
		if m := patterns().basePath.FindStringSubmatch(text); m != nil && len(findMentions(text)) == 0 {
			p.setBase("", strings.TrimRight(m[1], "/."))
		}
		if m := patterns().baseURL.FindStringSubmatch(text); m != nil {
			if found, _ := splitPaths(m[1]); len(found) > 0 {
				p.setBase(strings.TrimRight(found[0], "/"), "")
			}
		}
	}
}

// setBase adds a base URL or path. Several in a row, such as those of
// production and sandbox, are alternatives, of which the first one counts.
func (p *pageReader) setBase(url, path string) {
	last := p.bases[len(p.bases)-1]
	switch {
	case url != "" && last.url == "":
		last.url = url
	case path != "" && last.path == "":
		last.path = path
	// Requests came since the last base, so this is another part of the page.
	case len(p.requests) > last.requestCount && (url != "" && url != last.url || path != "" && path != last.path):
		p.bases = append(p.bases, &pageBase{url: cmp.Or(url, last.url), path: path, requestCount: len(p.requests)})
		return
	default:
		// It is one of several alternatives, such as that of a sandbox.
		return
	}
	last.requestCount = len(p.requests)
}

// joinMentions brings together what a page says of an endpoint in several
// places: in a table, in a heading and in a command, with and without the base
// URL. Afterwards every request has its base and the path below it.
func joinMentions(all []*request, bases []*pageBase, meter *doc.Meter) []*request {
	for _, r := range all {
		b := bases[r.baseIndex]
		r.relative = r.base == ""
		if r.relative {
			r.addBasePath(b)
			r.setBase(b.url)
		}
	}
	// The page names no base URL. Its examples may show one.
	if !slices.ContainsFunc(bases, func(b *pageBase) bool { return b.url != "" }) {
		base := learnBase(all, meter)
		for _, r := range all {
			if r.relative {
				r.setBase(base)
			}
		}
		bases = []*pageBase{{url: base}}
	}
	for _, r := range all {
		if !r.relative {
			r.stripBase(bases)
		}
	}
	// templates are the described requests by method.
	templates := map[string][]*request{}
	for _, r := range all {
		if r.described {
			templates[r.method] = append(templates[r.method], r)
		}
	}
	for _, r := range all {
		// An example takes the path of its template, so that both become one
		// operation.
		if to := findTemplate(r, templates[r.method], meter); to != nil {
			r.path, r.base, r.trailingSlash = slices.Clone(to.path), to.base, to.trailingSlash
			continue
		}
		r.nameIDs()
	}
	alignSlashes(all)
	clearSharedNames(all)
	return all
}

// addBasePath puts the base path before the path, unless it is already there.
func (r *request) addBasePath(b *pageBase) {
	if b.path == "" || strings.HasSuffix(b.url, b.path) {
		return
	}
	var front request
	front.setURL(b.path, false, r.at)
	if len(r.path) >= len(front.path) && slices.EqualFunc(front.path, r.path[:len(front.path)], func(a, b pathSegment) bool { return a.text == b.text }) {
		return
	}
	r.path = slices.Concat(front.path, r.path)
}

// setBase puts a path below the base URL of its page. A path that is written from
// the root of the host, as in "GET /api/v1/users HTTP/1.1", has the base's own path
// already, and loses it.
func (r *request) setBase(url string) {
	r.base = url
	if url == "" {
		return
	}
	var base request
	base.setURL(url, false, r.at)
	n := len(base.path)
	if n == 0 || len(r.path) < n || !slices.EqualFunc(base.path, r.path[:n], func(a, b pathSegment) bool { return a.text == b.text }) {
		return
	}
	if len(r.path) == n { // the base itself: without a slash behind it
		r.base = base.base
		return
	}
	r.path = r.path[n:]
}

// stripBase removes the base URL from a request that was written with it. The
// longest base that fits wins.
func (r *request) stripBase(bases []*pageBase) {
	best := 0
	var to request
	for _, b := range bases {
		if b.url == "" {
			continue
		}
		var base request
		base.setURL(b.url, false, r.at)
		n := len(base.path)
		if base.base != r.base || n > len(r.path) || n < best || to.base != "" && n == best {
			continue
		}
		if slices.EqualFunc(base.path, r.path[:n], func(a, b pathSegment) bool { return a.text == b.text }) {
			best, to = n, request{base: b.url, path: r.path[n:]}
		}
	}
	if to.base != "" {
		r.base, r.path = to.base, to.path
	}
}

// learnBase finds the base URL of a page that only shows it: in an example with
// a whole URL of an endpoint that is described without one. The base with the
// most votes wins. It returns "" if no example has one.
func learnBase(all []*request, meter *doc.Meter) string {
	votes := map[string]int{}
	host := ""
	for _, r := range all {
		host = cmp.Or(host, r.host)
		if r.relative {
			continue
		}
		for _, d := range all {
			meter.Spend(1)
			if extra := matchTemplate(d, r); d.relative && d.described && extra >= 0 {
				base := request{base: r.base, path: r.path[:extra]}
				// The segments before the template's path belong to the base.
				votes[strings.TrimRight(base.base+base.pathTemplate(), "/")]++
			}
		}
	}
	best := ""
	for base, n := range votes {
		if best == "" || n > votes[best] || n == votes[best] && (len(base) < len(best) || len(base) == len(best) && base < best) {
			best = base
		}
	}
	return cmp.Or(best, host)
}

// matchTemplate returns how many segments precede the part of r's path that
// matches the template, or -1 if none matches.
func matchTemplate(template, r *request) int {
	extra := len(r.path) - len(template.path)
	if r.method != template.method || extra < 0 || len(template.path) == 0 {
		return -1
	}
	for i, s := range template.path {
		if len(s.params) == 0 && s.text != r.path[extra+i].text {
			return -1
		}
	}
	// A template that begins with a parameter would match anywhere, and a base
	// has no parameters.
	if extra > 0 && (len(template.path[0].params) > 0 || slices.ContainsFunc(r.path[:extra], func(s pathSegment) bool { return len(s.params) > 0 })) {
		return -1
	}
	return extra
}

// findTemplate returns the described request that r is an example of, or is
// written like. It returns nil if there is none but r itself. The template with
// the most literal segments wins.
func findTemplate(r *request, described []*request, meter *doc.Meter) *request {
	var best *request
	score := -1
	for _, d := range described {
		meter.Spend(1)
		if d == r || !d.described || d.base != r.base && !d.relative {
			continue
		}
		extra := matchTemplate(d, r)
		if extra < 0 || d.base != r.base && !isOtherHost(d, r, extra) || d.base == r.base && extra > 0 {
			continue
		}
		literal := 0
		for i, s := range d.path {
			if len(s.params) == 0 {
				literal++
			} else if named := r.path[extra+i]; len(named.params) == 0 && r.described && !looksLikeID(named.text) {
				// Both are described: /users/me is not /users/{id}.
				literal = -1
				break
			}
		}
		if literal < 0 || literal == 0 && extra > 0 {
			continue
		}
		// Literal segments weigh more than a longer path.
		if s := 4*literal - 2*extra; s > score {
			best, score = d, s
		}
	}
	// Both are described alike. One of them must stay as it is.
	if best != nil && r.described && sameEndpoint(best, r) {
		return nil
	}
	return best
}

// isOtherHost reports whether a request goes to another host than its template,
// such as a sandbox, at the same place there. Another place on the same host is
// another endpoint.
func isOtherHost(template, r *request, extra int) bool {
	if !template.relative {
		return false
	}
	var base request
	base.setURL(template.base, false, r.at)
	if base.base == r.base {
		return false
	}
	return extra == 0 || slices.EqualFunc(base.path, r.path[:extra], func(a, b pathSegment) bool { return a.text == b.text })
}

// alignSlashes gives paths that differ in the trailing slash the form of the
// first.
func alignSlashes(all []*request) {
	first := map[string]*request{}
	for _, r := range all {
		slash := r.trailingSlash
		r.trailingSlash = false
		key := r.method + " " + r.base + pathShape(r)
		r.trailingSlash = slash
		if f := first[key]; f != nil {
			r.trailingSlash = f.trailingSlash
		} else {
			first[key] = r
		}
	}
}

// clearSharedNames removes names that a heading gave to several endpoints: it
// is about all of them and describes none.
func clearSharedNames(all []*request) {
	type place struct {
		section int
		name    string
	}
	named := map[place]map[string]bool{}
	for _, r := range all {
		at := place{r.section, r.name}
		if named[at] == nil {
			named[at] = map[string]bool{}
		}
		named[at][r.method+pathShape(r)] = true
	}
	for _, r := range all {
		if len(named[place{r.section, r.name}]) > 1 {
			r.name = ""
		}
	}
}
