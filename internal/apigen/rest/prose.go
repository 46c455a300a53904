package rest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

func readMarkdown(in *doc.Input) (*doc.Document, string) {
	return readProse(in, doc.Markdown, parseMarkdown(string(in.Text)))
}

// page reads the blocks of a page from top to bottom.
type page struct {
	in       *doc.Input
	bases    []*pageBase // as the page names them, the first holds for what stands before it too
	label    string      // a text such as "Base URL" whose value the next block is
	title    string
	headings [7]string // the last of each level
	level    int
	said     string // the last text: what a table or an example is of
	now      *request
	depth    int // level of the heading that the request stands under
	section  int // number of the heading that is open
	pair     pair
	all      []*request
	begun    map[string]bool // methods and paths that are in all
	problems []doc.Problem
}

func readProse(in *doc.Input, format doc.Format, blocks []pageBlock) (*doc.Document, string) {
	p := &page{in: in, begun: map[string]bool{}, bases: []*pageBase{{}}}
	for _, b := range blocks {
		in.Meter().Spend(20 + len(b.text)/16)
		p.read(b)
	}
	p.endPair()
	if len(p.all) == 0 && len(p.problems) == 0 {
		return nil, "no heading, code or table names a method and a path"
	}
	p.all = joinMentions(p.all, p.bases, in.Meter())
	p.unread(blocks)
	if len(p.all) == 0 {
		return nil, "no method and path can be made a tool of: " + p.problems[0].Message
	}
	return makeDocument(format, cmp.Or(p.title, "API"), p.all, p.problems), ""
}

func (p *page) read(b pageBlock) {
	if b.kind == blockHidden {
		return
	}
	p.readBase(b)
	switch b.kind {
	case blockHeading:
		p.heading(b)
	case blockCode:
		p.code(b)
	case blockTable:
		p.table(b)
	case blockProse:
		p.prose(b)
	case blockHidden:
	}
}

func (p *page) heading(b pageBlock) {
	p.endPair()
	text := plainText(b.text)
	p.title = cmp.Or(p.title, text)
	if p.now != nil && b.level <= p.depth {
		p.now = nil
	}
	p.section++
	p.level = b.level
	p.headings[b.level] = text
	for l := b.level + 1; l < len(p.headings); l++ {
		p.headings[l] = ""
	}
	p.said = text
	found := p.mentions(b.text)
	for i, m := range found {
		name := strings.Trim(plainText(b.text[:min(m.start, len(b.text))])+" "+remark(m.rest), " :-–—()[]`")
		if len(found) > 1 {
			name = ""
		}
		p.begin(m, p.line(b, m.start), name, "", p.tags(b.level), i == 0)
	}
	if len(found) > 0 {
		p.depth = b.level
		p.headings[b.level] = "" // it names an endpoint, and no section
		return
	}
	if list := onlyMethods(text); list != nil { // the path follows
		p.pair = pair{methods: list, methodLine: b.line, alone: true}
		return
	}
	p.unknown(b, b.text)
}

// mentions are the endpoints that a text names, also where it is one in a way that
// would mean something else within a sentence.
func (p *page) mentions(text string) []mention {
	if found := mentionsIn(text); len(found) > 0 {
		return found
	}
	if m, ok := wholeMention(pattern().item.ReplaceAllString(text, "")); ok {
		return []mention{m}
	}
	return nil
}

// line is where a place of a block's text stands.
func (p *page) line(b pageBlock, at int) int {
	return b.line + strings.Count(b.text[:min(at, len(b.text))], "\n")
}

// begin makes requests of a mention. The first becomes the one that what follows
// is about, where current says so.
func (p *page) begin(m mention, line int, name, about string, tags []string, current bool) {
	if m.loose {
		p.report(line, doc.UnreadEndpoint, "The path of "+strings.Join(m.methods, ", ")+" is a wildcard or breaks off, so no tool is made of it.", "Write the path whole, with a parameter such as {path} in the place of what varies.")
		return
	}
	var first *request
	for _, path := range m.paths {
		for _, method := range m.methods {
			r := &request{method: method, name: name, description: about, tags: tags, described: true, section: p.section, baseIndex: len(p.bases) - 1, at: p.at(line)}
			r.setURL(path, false, r.at)
			first = cmp.Or(first, r)
			key := method + " " + r.base + pathShape(r)
			if p.begun[key] && !current {
				continue
			}
			p.begun[key] = true
			if p.now != nil && r.base == "" && same(p.now, r) {
				first = p.now // named again
				continue
			}
			p.all = append(p.all, r)
		}
	}
	if current && first != nil {
		p.now, p.depth = first, max(p.level, 1)
	}
}

func same(a, b *request) bool {
	return a.method == b.method && strings.TrimSuffix(pathShape(a), "/") == strings.TrimSuffix(pathShape(b), "/")
}

// tags are the headings around a level, but the page's own.
func (p *page) tags(level int) []string {
	for l := level - 1; l >= 2; l-- {
		if h := p.headings[l]; h != "" {
			return []string{h}
		}
	}
	return nil
}

func (p *page) at(line int) doc.Position {
	return doc.Position{File: p.in.Name, Line: int32(line), Column: 1} //nolint:gosec // at most 32 MB
}

func (p *page) report(line int, code doc.Code, message, remedy string) {
	p.problems = append(p.problems, doc.Problem{At: p.at(line), Severity: doc.Warning, Code: code, Message: message, Remedy: remedy})
}

// unknown reports a text that begins with a method of which no tool is made.
func (p *page) unknown(b pageBlock, text string) bool {
	method, found := unknownMention(text)
	if found {
		p.report(b.line, doc.UnknownMethod, method+" is no method that a tool is made of.", "Write one of GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS or QUERY.")
	}
	return found
}

// prose reads what is said: an endpoint, a list of parameters, or what a request
// is about.
func (p *page) prose(b pageBlock) {
	text := plainText(b.text)
	if found := p.mentions(b.text); len(found) > 0 {
		p.endPair()
		alone := len(found) == 1
		for _, m := range found {
			name, about := "", ""
			if m.leads && alone {
				name, about = p.headings[p.level], remark(m.rest)
			} else if len(text) <= 300 {
				about = text // what follows is about something else
			}
			p.begin(m, p.line(b, m.start), name, about, p.tags(p.level), m.leads && alone || p.now == nil)
		}
		return
	}
	if p.unknown(b, b.text) || p.readPair(b) {
		return
	}
	if m := pattern().listParam.FindStringSubmatch(b.text); m != nil && p.now != nil {
		if name := cmp.Or(m[1], m[2], m[3]); m[4] != "" || m[5] != "" {
			p.param(name, m[4], m[4], plainText(m[5]), "")
		}
		return
	}
	p.said = text
	if p.now != nil && p.now.description == "" && len(p.now.query) == 0 && !strings.HasSuffix(text, ":") && !strings.HasPrefix(text, "<") && !pattern().item.MatchString(b.text) {
		p.now.description = text
	}
}

// pair is a method and a path that stand apart: "Method: GET", "Endpoint: /users".
type pair struct {
	methods              []string
	path                 string
	methodLine, pathLine int
	alone                bool   // the method is a text of its own, and no label says what it is
	label                string // "Method" or "Endpoint", whose value the next text is
}

// readPair takes a text that names a method or a path after a label, and says
// whether it was one.
func (p *page) readPair(b pageBlock) bool {
	text := b.text
	if p.pair.label != "" {
		text, p.pair.label = p.pair.label+": "+strings.Trim(text, " `"), ""
	}
	if m := pattern().label.FindStringSubmatch(text); m != nil {
		p.pair.label = m[1]
		return true
	}
	if list := onlyMethods(text); list != nil {
		p.setMethods(list, b.line, true)
		return true
	}
	if m := pattern().pathOnly.FindStringSubmatch(text); m != nil && p.pair.alone && p.pair.path == "" {
		p.setPath(m[1], b.line)
		return true
	}
	method, path := pattern().methodLabel.FindStringSubmatch(text), pattern().pathLabel.FindStringSubmatch(text)
	if path != nil && (pattern().basePath.MatchString(text) || pattern().baseWord.MatchString(text)) {
		path = nil
	}
	if method == nil && path == nil {
		return false
	}
	if method != nil {
		p.setMethods(methodList(strings.ToUpper(method[1])), b.line, false)
	}
	if path != nil {
		p.setPath(path[1], b.line)
	}
	return true
}

func (p *page) setMethods(list []string, line int, alone bool) {
	if p.pair.methods != nil {
		p.endPair()
	}
	p.pair.methods, p.pair.methodLine, p.pair.alone = list, line, alone
	p.completePair()
}

func (p *page) setPath(path string, line int) {
	if p.pair.path != "" {
		p.endPair()
	}
	p.pair.path, p.pair.pathLine = path, line
	p.completePair()
}

func (p *page) completePair() {
	if p.pair.methods == nil || p.pair.path == "" {
		return
	}
	one := p.pair
	p.pair = pair{}
	m := mention{methods: one.methods, leads: true}
	m.paths, m.loose = pathsOf(one.path)
	if last := p.bases[len(p.bases)-1]; last.url != "" && strings.TrimRight(one.path, "/") == last.url {
		last.url = "" // "API endpoint" was that of this endpoint alone
	}
	p.begin(m, min(one.methodLine, one.pathLine), p.headings[p.level], "", p.tags(p.level), true)
}

// endPair reports a method without a path, or a path without a method, that
// nothing in the section belongs to.
func (p *page) endPair() {
	one := p.pair
	p.pair = pair{}
	known := func(fits func(r *request) bool) bool {
		return slices.ContainsFunc(p.all, func(r *request) bool { return r.section == p.section && fits(r) })
	}
	switch {
	case one.methods != nil && !one.alone && !known(func(r *request) bool { return slices.Contains(one.methods, r.method) }):
		p.report(one.methodLine, doc.Missing, "The method "+strings.Join(one.methods, ", ")+" has no path, so no tool is made of it.", "Write the path beside it: Endpoint: /things.")
	case strings.HasPrefix(one.path, "/") && !known(func(r *request) bool { return strings.HasSuffix(one.path, strings.TrimRight(r.template(), "/")) }):
		p.report(one.pathLine, doc.Missing, "The path "+one.path+" has no method, so no tool is made of it.", "Write the method beside it: Method: GET.")
	}
}
