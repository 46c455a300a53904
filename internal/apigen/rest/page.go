package rest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// readMarkdown is the Reader of Markdown and similar texts.
func readMarkdown(in *doc.Input) (*doc.Document, string) {
	return readProse(in, doc.Markdown, parseMarkdown(string(in.Text)))
}

// pageReader reads the blocks of a page from top to bottom. current is the
// request that following text, tables and examples belong to.
type pageReader struct {
	in *doc.Input
	// bases are the base URLs in the order of the page. The first one also
	// applies to everything before it.
	bases []*pageBase
	// baseLabel is set if the last block was a label such as "Base URL"; the
	// next block is its value.
	baseLabel string
	title     string
	// headings are the last headings of each level.
	headings [7]string
	// level is the level of the last heading.
	level int
	// lastText is the last text. It tells what a table or example is about.
	lastText string
	// current is the request that following blocks describe; nil if there is
	// none.
	current *request
	// currentLevel is the level of the heading above current.
	currentLevel int
	// section is the number of the open heading.
	section int
	// pending is a method that waits for its path, or the other way round.
	pending methodPathPair
	// resource is the last heading with a path in brackets, to whose path the
	// methods of the headings below belong.
	resource resourceHeading
	requests []*request
	// seenEndpoints are the methods and paths that are in requests.
	seenEndpoints map[string]bool
	problems      []doc.Problem
}

// readProse reads the blocks of a page and returns its document, or nil and the
// reason. Problems of lines that were not understood are part of the document.
func readProse(in *doc.Input, format doc.Format, blocks []pageBlock) (*doc.Document, string) {
	p := &pageReader{in: in, seenEndpoints: map[string]bool{}, bases: []*pageBase{{}}}
	for _, b := range blocks {
		in.Meter().Spend(20 + len(b.text)/16)
		p.readBlock(b)
	}
	p.endPair()
	p.endResource()
	if len(p.requests) == 0 && len(p.problems) == 0 {
		return nil, "no heading, code or table names a method and a path"
	}
	p.requests = joinMentions(p.requests, p.bases, in.Meter())
	p.reportUnread(blocks)
	if len(p.requests) == 0 {
		return nil, "no method and path can become a tool: " + p.problems[0].Message
	}
	return makeDocument(format, cmp.Or(p.title, "API"), p.requests, p.problems), ""
}

// readBlock reads one block.
func (p *pageReader) readBlock(b pageBlock) {
	if b.kind == blockHidden {
		return
	}
	p.readBase(b)
	switch b.kind {
	case blockHeading:
		p.readHeading(b)
	case blockCode:
		p.readCode(b)
	case blockTable:
		p.readTable(b)
	case blockProse:
		p.readProseBlock(b)
	case blockHidden:
	}
}

// readHeading reads a heading. It ends the current request if its level is the
// same or higher, and begins another one if it names an endpoint.
func (p *pageReader) readHeading(b pageBlock) {
	p.endPair()
	text := plainText(b.text)
	p.title = cmp.Or(p.title, text)
	if p.current != nil && b.level <= p.currentLevel {
		p.current = nil
	}
	p.section++
	p.level = b.level
	p.headings[b.level] = text
	for l := b.level + 1; l < len(p.headings); l++ {
		p.headings[l] = ""
	}
	p.lastText = text
	if p.readAction(b) {
		return
	}
	if b.level <= p.resource.level {
		p.endResource()
	}
	found := p.findMentions(b.text)
	for i, m := range found {
		name := strings.Trim(plainText(b.text[:min(m.start, len(b.text))])+" "+remarkText(m.textAfter), " :-–—()[]`")
		if len(found) > 1 {
			name = ""
		}
		p.addMention(m, p.lineAt(b, m.start), name, "", p.sectionTags(b.level), i == 0)
	}
	if len(found) > 0 {
		p.currentLevel = b.level
		// The heading names an endpoint, so it is no section.
		p.headings[b.level] = ""
		return
	}
	if m := patterns().resourceHeading.FindStringSubmatch(b.text); m != nil {
		p.endResource()
		p.resource = resourceHeading{path: m[2], level: b.level, line: b.line}
		p.headings[b.level] = plainText(m[1])
		return
	}
	// The heading is a method only; the path follows.
	if list := parseMethodsOnly(text); list != nil {
		p.pending = methodPathPair{methods: list, methodLine: b.line, alone: true}
		return
	}
	p.reportUnknownMethod(b, b.text)
}

// resourceHeading is a heading with a path in brackets. The methods follow in headings
// of their own, as in API Blueprints:
//
//	## One thing [/things/{id}]
//	### Read it [GET]
type resourceHeading struct {
	path  string
	level int // 0 if there is no such heading
	line  int
	// hasAction is set if a heading with a method followed.
	hasAction bool
}

// readAction reads a heading with methods in brackets below one with a path. It reports
// whether it was one.
func (p *pageReader) readAction(b pageBlock) bool {
	if p.resource.level == 0 || b.level < p.resource.level {
		return false
	}
	if other := patterns().blueprintOther.FindStringSubmatch(b.text); other != nil && slices.Contains(strings.Split(otherMethods, "|"), other[1]) {
		p.resource.hasAction = true
		return p.reportUnknownMethod(b, other[1]+" "+p.resource.path)
	}
	m := patterns().actionHeading.FindStringSubmatch(b.text)
	if m == nil {
		return false
	}
	p.resource.hasAction = true
	// The tag is the name of the resource, also if both headings have one level.
	p.headings[b.level] = ""
	name := plainText(m[1])
	mention := endpointMention{methods: splitMethods(strings.ToUpper(m[2])), paths: []string{strings.NewReplacer("{+", "{", "{#", "{").Replace(p.resource.path)}, isLeading: true}
	p.addMention(mention, b.line, name, "", p.sectionTags(b.level), true)
	p.currentLevel = b.level
	return true
}

// endResource ends the section of a heading with a path. It reports a path that no method
// followed.
func (p *pageReader) endResource() {
	one := p.resource
	p.resource = resourceHeading{}
	if one.level > 0 && !one.hasAction && !slices.ContainsFunc(p.requests, func(r *request) bool { return strings.HasSuffix(one.path, strings.TrimRight(r.pathTemplate(), "/")) }) {
		p.reportProblem(one.line, doc.Missing, "The path "+one.path+" has no method, so it becomes no tool.", "Write a heading with the method below it: ### [GET].")
	}
}

// findMentions returns the endpoints that a text names. It also accepts a text
// that is nothing but an endpoint in a notation that would mean something else
// within a sentence.
func (p *pageReader) findMentions(text string) []endpointMention {
	if found := findMentions(text); len(found) > 0 {
		return found
	}
	if m, ok := parseWholeMention(patterns().listItem.ReplaceAllString(text, "")); ok {
		return []endpointMention{m}
	}
	return nil
}

// lineAt returns the line of an offset in a block's text.
func (p *pageReader) lineAt(b pageBlock, at int) int {
	return b.line + strings.Count(b.text[:min(at, len(b.text))], "\n")
}

// addMention makes requests of a mention. If current is set, the first one
// becomes the current request. An endpoint that is already known is not added
// again.
func (p *pageReader) addMention(m endpointMention, line int, name, about string, tags []string, current bool) {
	if m.isWildcard {
		p.reportProblem(line, doc.UnreadEndpoint, "The path of "+strings.Join(m.methods, ", ")+" is a wildcard or is incomplete, so it becomes no tool.", "Write the whole path, with a parameter such as {path} for the part that varies.")
		return
	}
	var first *request
	for _, path := range m.paths {
		for _, method := range m.methods {
			r := &request{method: method, name: name, description: about, tags: tags, described: true, section: p.section, baseIndex: len(p.bases) - 1, at: p.positionOf(line)}
			r.setURL(path, false, r.at)
			first = cmp.Or(first, r)
			key := method + " " + r.base + pathShape(r)
			// A mention in passing adds nothing to an endpoint that is known.
			if p.seenEndpoints[key] && !current {
				continue
			}
			p.seenEndpoints[key] = true
			if p.current != nil && r.base == "" && sameEndpoint(p.current, r) {
				// The current endpoint is named again.
				first = p.current
				continue
			}
			p.requests = append(p.requests, r)
		}
	}
	if current && first != nil {
		p.current, p.currentLevel = first, max(p.level, 1)
	}
}

// sameEndpoint reports whether two requests have the same method and path, up
// to a trailing slash.
func sameEndpoint(a, b *request) bool {
	return a.method == b.method && strings.TrimSuffix(pathShape(a), "/") == strings.TrimSuffix(pathShape(b), "/")
}

// sectionTags returns the nearest heading above a level as a tag, except the
// title of the page.
func (p *pageReader) sectionTags(level int) []string {
	for l := level - 1; l >= 2; l-- {
		if h := p.headings[l]; h != "" {
			return []string{h}
		}
	}
	return nil
}

// positionOf returns the position of a line.
func (p *pageReader) positionOf(line int) doc.Position {
	return doc.Position{File: p.in.Name, Line: int32(line), Column: 1} //nolint:gosec // at most 32 MB
}

// reportProblem adds a warning.
func (p *pageReader) reportProblem(line int, code doc.Code, message, remedy string) {
	p.problems = append(p.problems, doc.Problem{At: p.positionOf(line), Severity: doc.Warning, Code: code, Message: message, Remedy: remedy})
}

// reportUnknownMethod reports a text that begins with a method that no tool is
// made of. It reports whether there was one.
func (p *pageReader) reportUnknownMethod(b pageBlock, text string) bool {
	method, found := findUnknownMethod(text)
	if found {
		p.reportProblem(b.line, doc.UnknownMethod, method+" is not a method that tools support.", "Write one of GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS or QUERY.")
	}
	return found
}

// readProseBlock reads a text: an endpoint, a parameter in a list, or a
// description of the current request.
func (p *pageReader) readProseBlock(b pageBlock) {
	text := plainText(b.text)
	if found := p.findMentions(b.text); len(found) > 0 {
		p.endPair()
		alone := len(found) == 1
		for _, m := range found {
			name, about := "", ""
			if m.isLeading && alone {
				name, about = p.headings[p.level], remarkText(m.textAfter)
			} else if len(text) <= 300 {
				// The sentence mentions the endpoint in passing; what follows
				// is about something else.
				about = text
			}
			p.addMention(m, p.lineAt(b, m.start), name, about, p.sectionTags(p.level), m.isLeading && alone || p.current == nil)
		}
		return
	}
	if p.reportUnknownMethod(b, b.text) || p.readPair(b) {
		return
	}
	// A list below an endpoint describes its parameters, if the items have a
	// type or a description.
	if m := patterns().listParam.FindStringSubmatch(b.text); m != nil && p.current != nil {
		if name := cmp.Or(m[1], m[2], m[3]); m[4] != "" || m[5] != "" {
			p.addDescribedParam(name, m[4], m[4], plainText(m[5]), "")
		}
		return
	}
	p.lastText = text
	if p.current != nil && p.current.description == "" && len(p.current.query) == 0 && !strings.HasSuffix(text, ":") && !strings.HasPrefix(text, "<") && !patterns().listItem.MatchString(b.text) {
		p.current.description = text
	}
}

// methodPathPair is a method and a path in separate places: "Method: GET",
// "Endpoint: /users".
type methodPathPair struct {
	methods              []string
	path                 string
	methodLine, pathLine int
	// alone is set if the method is a text of its own without a label.
	alone bool
	// label is "Method" or "Endpoint" if the next text is its value.
	label string
}

// readPair reads a text with a method or a path after a label. It reports
// whether it was one.
func (p *pageReader) readPair(b pageBlock) bool {
	text := b.text
	if p.pending.label != "" {
		// The label was a block of its own; this block is its value.
		text, p.pending.label = p.pending.label+": "+strings.Trim(text, " `"), ""
	}
	if m := patterns().pairLabel.FindStringSubmatch(text); m != nil {
		p.pending.label = m[1]
		return true
	}
	if list := parseMethodsOnly(text); list != nil {
		p.setMethods(list, b.line, true)
		return true
	}
	if m := patterns().pathOnly.FindStringSubmatch(text); m != nil && p.pending.alone && p.pending.path == "" {
		p.setPath(m[1], b.line)
		return true
	}
	method, path := patterns().methodLabel.FindStringSubmatch(text), patterns().pathLabel.FindStringSubmatch(text)
	// "Base path: /v1" is no endpoint.
	if path != nil && (patterns().basePath.MatchString(text) || patterns().baseWord.MatchString(text)) {
		path = nil
	}
	if method == nil && path == nil {
		return false
	}
	if method != nil {
		p.setMethods(splitMethods(strings.ToUpper(method[1])), b.line, false)
	}
	if path != nil {
		p.setPath(path[1], b.line)
	}
	return true
}

// setMethods sets the methods of the pending pair. A former method without a
// path is ended first.
func (p *pageReader) setMethods(list []string, line int, alone bool) {
	if p.pending.methods != nil {
		p.endPair()
	}
	p.pending.methods, p.pending.methodLine, p.pending.alone = list, line, alone
	p.completePair()
}

// setPath sets the path of the pending pair. A former path without a method is
// ended first.
func (p *pageReader) setPath(path string, line int) {
	if p.pending.path != "" {
		p.endPair()
	}
	p.pending.path, p.pending.pathLine = path, line
	p.completePair()
}

// completePair adds the endpoint of the pending pair if both parts are known.
func (p *pageReader) completePair() {
	if p.pending.methods == nil || p.pending.path == "" {
		return
	}
	one := p.pending
	p.pending = methodPathPair{}
	m := endpointMention{methods: one.methods, isLeading: true}
	m.paths, m.isWildcard = splitPaths(one.path)
	if last := p.bases[len(p.bases)-1]; last.url != "" && strings.TrimRight(one.path, "/") == last.url {
		// "API endpoint: URL" was taken as a base, but it is the URL of this
		// endpoint.
		last.url = ""
	}
	p.addMention(m, min(one.methodLine, one.pathLine), p.headings[p.level], "", p.sectionTags(p.level), true)
}

// endPair drops the pending pair. It reports a method without a path, or a path
// without a method, unless another endpoint of the section explains it.
func (p *pageReader) endPair() {
	one := p.pending
	p.pending = methodPathPair{}
	known := func(fits func(r *request) bool) bool {
		return slices.ContainsFunc(p.requests, func(r *request) bool { return r.section == p.section && fits(r) })
	}
	switch {
	case one.methods != nil && !one.alone && !known(func(r *request) bool { return slices.Contains(one.methods, r.method) }):
		p.reportProblem(one.methodLine, doc.Missing, "The method "+strings.Join(one.methods, ", ")+" has no path, so it becomes no tool.", "Write the path beside it: Endpoint: /things.")
	case strings.HasPrefix(one.path, "/") && !known(func(r *request) bool { return strings.HasSuffix(one.path, strings.TrimRight(r.pathTemplate(), "/")) }):
		p.reportProblem(one.pathLine, doc.Missing, "The path "+one.path+" has no method, so it becomes no tool.", "Write the method beside it: Method: GET.")
	}
}
