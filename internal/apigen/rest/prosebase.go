package rest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// pageBase is where a page says that the endpoints below it are.
type pageBase struct {
	url  string // "" where it names none
	path string // before the paths of endpoints; "" where there is none
	mark int    // how many requests there were when it was named
}

// readBase finds the base URL or path that a block names. It holds from there to
// the next that is named, and the first of a page for all before it, too.
func (p *page) readBase(b block) {
	texts := append(make([]string, 0, 1+len(b.rows)), b.text)
	for _, row := range b.rows {
		texts = append(texts, strings.Join(row, ": "))
	}
	labelled := p.label
	p.label = ""
	for _, text := range texts {
		if b.kind == code && (strings.Count(text, "\n") > 2 || strings.Contains(text, "curl")) {
			continue
		}
		if labelled != "" {
			text = labelled + ": " + text
		}
		if pattern().baseLabel.MatchString(text) {
			p.label = "Base URL"
			continue
		}
		if m := pattern().basePath.FindStringSubmatch(text); m != nil && len(mentionsIn(text)) == 0 {
			p.setBase("", strings.TrimRight(m[1], "/."))
		}
		if m := pattern().baseURL.FindStringSubmatch(text); m != nil {
			if found, _ := pathsOf(m[1]); len(found) > 0 {
				p.setBase(strings.TrimRight(found[0], "/"), "")
			}
		}
	}
}

func (p *page) setBase(url, path string) {
	last := p.bases[len(p.bases)-1]
	switch {
	case url != "" && last.url == "":
		last.url = url
	case path != "" && last.path == "":
		last.path = path
	case len(p.all) > last.mark && (url != "" && url != last.url || path != "" && path != last.path):
		p.bases = append(p.bases, &pageBase{url: cmp.Or(url, last.url), path: path, mark: len(p.all)})
		return
	default:
		return // another of several beside each other, such as that of a sandbox
	}
	last.mark = len(p.all)
}

// joinMentions brings what a page says of its endpoints in several places together:
// in a table, in a heading and by a command, with and without the base URL. The
// requests that it gives have their base and the path below it.
func joinMentions(all []*request, bases []*pageBase, meter *doc.Meter) []*request {
	for _, r := range all {
		b := bases[r.basis]
		r.relative = r.base == ""
		if r.relative {
			r.prefix(b)
			r.setBase(b.url)
		}
	}
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
			r.strip(bases)
		}
	}
	templates := map[string][]*request{} // by method
	for _, r := range all {
		if r.described {
			templates[r.method] = append(templates[r.method], r)
		}
	}
	for _, r := range all {
		if to := templateOf(r, templates[r.method], meter); to != nil {
			r.path, r.base, r.slash = slices.Clone(to.path), to.base, to.slash
			continue
		}
		r.nameIDs()
	}
	alignSlashes(all)
	clearSharedNames(all)
	return all
}

// prefix puts the base path before the path, unless it is there already.
func (r *request) prefix(b *pageBase) {
	if b.path == "" || strings.HasSuffix(b.url, b.path) {
		return
	}
	var front request
	front.setURL(b.path, false, r.at)
	if len(r.path) >= len(front.path) && slices.EqualFunc(front.path, r.path[:len(front.path)], func(a, b segment) bool { return a.text == b.text }) {
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
	if n == 0 || len(r.path) < n || !slices.EqualFunc(base.path, r.path[:n], func(a, b segment) bool { return a.text == b.text }) {
		return
	}
	if len(r.path) == n { // the base itself: without a slash behind it
		r.base = base.base
		return
	}
	r.path = r.path[n:]
}

// strip takes the base URL off a request that was written with it.
func (r *request) strip(bases []*pageBase) {
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
		if slices.EqualFunc(base.path, r.path[:n], func(a, b segment) bool { return a.text == b.text }) {
			best, to = n, request{base: b.url, path: r.path[n:]}
		}
	}
	if to.base != "" {
		r.base, r.path = to.base, to.path
	}
}

// learnBase is where the API is, where the page only shows it: by an example with
// a whole URL of an endpoint that is described without one. It is "" where no
// example says so.
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
			if extra := fits(d, r); d.relative && d.described && extra >= 0 {
				base := request{base: r.base, path: r.path[:extra]}
				votes[strings.TrimRight(base.base+base.template(), "/")]++
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

// fits says how many parts stand before a path that is one of a template's; -1 is
// that it is none.
func fits(template, r *request) int {
	extra := len(r.path) - len(template.path)
	if r.method != template.method || extra < 0 || len(template.path) == 0 {
		return -1
	}
	for i, s := range template.path {
		if len(s.params) == 0 && s.text != r.path[extra+i].text {
			return -1
		}
	}
	if extra > 0 && (len(template.path[0].params) > 0 || slices.ContainsFunc(r.path[:extra], func(s segment) bool { return len(s.params) > 0 })) {
		return -1
	}
	return extra
}

// templateOf is the described request that r is an example of, or is written like;
// nil where there is none but itself.
func templateOf(r *request, described []*request, meter *doc.Meter) *request {
	var best *request
	score := -1
	for _, d := range described {
		meter.Spend(1)
		if d == r || !d.described || d.base != r.base && !d.relative {
			continue
		}
		extra := fits(d, r)
		if extra < 0 || d.base != r.base && !otherHost(d, r, extra) || d.base == r.base && extra > 0 {
			continue
		}
		literal := 0
		for i, s := range d.path {
			if len(s.params) == 0 {
				literal++
			} else if named := r.path[extra+i]; len(named.params) == 0 && r.described && !looksLikeID(named.text) {
				literal = -1 // two that are described: /users/me is not /users/{id}
				break
			}
		}
		if literal < 0 || literal == 0 && extra > 0 {
			continue
		}
		if s := 4*literal - 2*extra; s > score {
			best, score = d, s
		}
	}
	if best != nil && r.described && same(best, r) { // one of them stays as it is
		return nil
	}
	return best
}

// otherHost says whether a request is sent to another host than its template, such
// as a sandbox, at the same place there. What stands elsewhere on the same host is
// another endpoint.
func otherHost(template, r *request, extra int) bool {
	if !template.relative {
		return false
	}
	var base request
	base.setURL(template.base, false, r.at)
	if base.base == r.base {
		return false
	}
	return extra == 0 || slices.EqualFunc(base.path, r.path[:extra], func(a, b segment) bool { return a.text == b.text })
}

// alignSlashes makes one of paths that differ in their last slash.
func alignSlashes(all []*request) {
	first := map[string]*request{}
	for _, r := range all {
		slash := r.slash
		r.slash = false
		key := r.method + " " + r.base + shapeOfPath(r)
		r.slash = slash
		if f := first[key]; f != nil {
			r.slash = f.slash
		} else {
			first[key] = r
		}
	}
}

// clearSharedNames takes the names away that a heading gave to several endpoints:
// it is about all of them, and describes none.
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
		named[at][r.method+shapeOfPath(r)] = true
	}
	for _, r := range all {
		if len(named[place{r.section, r.name}]) > 1 {
			r.name = ""
		}
	}
}
