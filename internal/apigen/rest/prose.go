package rest

import (
	"cmp"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

func readMarkdown(in *doc.Input) (*doc.Document, string) {
	return readProse(in, doc.Markdown, markdown(string(in.Text)))
}

// page reads the blocks of a page from top to bottom.
type page struct {
	in       *doc.Input
	base     string
	title    string
	headings [7]string // the last of each level
	level    int
	said     string // the last that was said: what a table or an example is of
	now      *request
	depth    int // level of the heading that the request stands under
	all      []*request
}

func readProse(in *doc.Input, format doc.Format, blocks []block) (*doc.Document, string) {
	p := &page{in: in}
	for _, b := range blocks {
		if m := pattern().baseURL.FindStringSubmatch(b.text); m != nil && p.base == "" {
			p.base = strings.TrimRight(pattern().bounds.ReplaceAllString(m[1], ""), "/")
		}
	}
	for _, b := range blocks {
		in.Meter().Spend(20 + len(b.text)/16)
		p.read(b)
	}
	if len(p.all) == 0 {
		return nil, "no heading, code or table names a method and a path"
	}
	for _, r := range p.all {
		r.base = cmp.Or(r.base, p.base)
	}
	return document(format, cmp.Or(p.title, "API"), p.all, nil), ""
}

func (p *page) read(b block) {
	switch b.kind {
	case heading:
		p.heading(b)
	case code:
		p.code(b)
	case span:
		p.endpoint(b, b.text, false)
	case table:
		p.table(b)
	case prose:
		p.prose(b)
	}
}

func (p *page) heading(b block) {
	p.title = cmp.Or(p.title, b.text)
	if p.now != nil && b.level <= p.depth {
		p.now = nil
	}
	p.level = b.level
	p.headings[b.level] = b.text
	for l := b.level + 1; l < len(p.headings); l++ {
		p.headings[l] = ""
	}
	p.said = b.text
	if p.endpoint(b, b.text, true) {
		p.depth = b.level
	}
}

// endpoint begins a request where a text names its method and path.
func (p *page) endpoint(b block, text string, inHeading bool) bool {
	m := pattern().endpoint.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	r := &request{method: m[1], at: p.at(b.line)}
	r.setURL(pattern().bounds.ReplaceAllString(m[2], ""), false, r.at)
	if inHeading {
		r.name = strings.Trim(strings.Replace(text, m[0], "", 1), " :-–—()[]`")
		r.tags = p.tags(b.level)
	} else {
		r.name = p.headings[p.level]
		if pattern().endpoint.MatchString(r.name) {
			r.name = ""
		}
		r.tags = p.tags(p.level)
	}
	if p.now != nil && same(p.now, r) {
		return false // said again
	}
	p.begin(r)
	return true
}

func (p *page) begin(r *request) {
	p.now, p.depth = r, max(p.level, 1)
	p.all = append(p.all, r)
}

func same(a, b *request) bool {
	return a.method == b.method && shapeOfPath(a) == shapeOfPath(b)
}

// tags are the headings around a level, but the page's own.
func (p *page) tags(level int) []string {
	for l := level - 1; l >= 2; l-- {
		if h := p.headings[l]; h != "" && !pattern().endpoint.MatchString(h) {
			return []string{h}
		}
	}
	return nil
}

func (p *page) at(line int) doc.Position {
	return doc.Position{File: p.in.Name, Line: int32(line), Column: 1} //nolint:gosec // at most 32 MB
}

// code reads an example: a curl command, a request as it is sent, or JSON.
func (p *page) code(b block) {
	trimmed := strings.TrimSpace(b.text)
	first, rest, _ := strings.Cut(trimmed, "\n")
	switch {
	case strings.Contains(trimmed, "curl "):
		for _, c := range commands(b.text) {
			if r := curl(c, p.at(b.line+c.line)); r != nil {
				p.example(r)
			}
		}
	case pattern().endpoint.MatchString(first) && pattern().endpoint.FindStringIndex(first)[0] == 0:
		p.raw(b, first, rest)
	case strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "["):
		p.json(trimmed, b.line)
	}
}

// example joins a request that is shown with the one that is described.
func (p *page) example(r *request) {
	if p.now == nil || !same(p.now, r) && !p.fits(r) {
		r.name = cmp.Or(r.name, p.headings[p.level])
		r.tags = p.tags(p.level)
		r.nameIDs()
		p.begin(r)
		return
	}
	p.now.base = cmp.Or(p.now.base, r.base)
	p.now.query, p.now.headers = joinFields(p.now.query, r.query), joinFields(p.now.headers, r.headers)
	for name, s := range r.schemes {
		p.now.scheme(name, s)
	}
	if p.now.body == nil {
		p.now.body = r.body
	}
}

// fits says whether a request is one of the template that is described: its
// path may stand behind a prefix that the base has.
func (p *page) fits(r *request) bool {
	if r.method != p.now.method || len(r.path) < len(p.now.path) {
		return false
	}
	extra := len(r.path) - len(p.now.path)
	for i, s := range p.now.path {
		if len(s.params) == 0 && s.text != r.path[extra+i].text {
			return false
		}
	}
	if extra > 0 && r.base != "" {
		for _, s := range r.path[:extra] {
			r.base += "/" + s.text
		}
	}
	return true
}

// raw reads a request as it is sent: a line, headers, a body.
func (p *page) raw(b block, first, rest string) {
	p.endpoint(b, first, false)
	if p.now == nil {
		return
	}
	head, body, _ := strings.Cut("\n"+rest, "\n\n")
	media := ""
	for line := range strings.SplitSeq(head, "\n") {
		name, value, found := strings.Cut(line, ":")
		switch {
		case !found || strings.ContainsAny(name, " {\""):
		case strings.EqualFold(name, "host"):
			p.now.base = cmp.Or(p.now.base, "https://"+strings.TrimSpace(value))
		case strings.EqualFold(name, "content-type"):
			media = strings.TrimSpace(value)
		default:
			p.now.addParam(&p.now.headers, doc.InHeader, strings.TrimSpace(name), strings.TrimSpace(value), p.now.at)
		}
	}
	if p.now.body == nil {
		p.now.body = newPayload(media, body, p.at(b.line))
	}
}

// json reads an example of a body or of an answer, by what was said before it.
func (p *page) json(text string, line int) {
	s := shapeOf(text)
	if p.now == nil || s == nil {
		return
	}
	said := strings.ToLower(p.said)
	isAnswer := strings.Contains(said, "response") || strings.Contains(said, "return") || strings.Contains(said, "result") || strings.Contains(said, "output")
	if !isAnswer && p.now.body == nil && takesBody(p.now.method) {
		p.now.body = &payload{media: "application/json", shape: s, at: p.at(line)}
		return
	}
	p.now.answers = append(p.now.answers, answer{status: "200", media: "application/json", shape: s})
}

func takesBody(method string) bool { return method == "POST" || method == "PUT" || method == "PATCH" }

// prose reads what is said: a list of parameters, or what a request is about.
func (p *page) prose(b block) {
	if m := pattern().listParam.FindStringSubmatch(b.text); m != nil && p.now != nil {
		if name := cmp.Or(m[1], m[2], m[3]); !pattern().endpoint.MatchString(b.text) && (m[4] != "" || m[5] != "") {
			p.param(name, m[4], m[4], bare(m[5]), "")
		}
		return
	}
	if p.endpoint(b, bare(b.text), false) {
		return
	}
	p.said = b.text
	if p.now != nil && p.now.about == "" && len(p.now.query) == 0 && !strings.HasSuffix(b.text, ":") && !strings.HasPrefix(b.text, "<") {
		p.now.about = bare(b.text)
	}
}
