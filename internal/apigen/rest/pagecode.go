package rest

import (
	"cmp"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// readCode reads examples: curl commands, raw HTTP requests, lists of
// endpoints, or JSON.
func (p *pageReader) readCode(b pageBlock) {
	trimmed := strings.TrimSpace(b.text)
	if strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		p.readJSON(trimmed, b.line)
		return
	}
	lines := strings.Split(b.text, "\n")
	// taken marks the lines of curl commands.
	taken := make([]bool, len(lines))
	if strings.Contains(trimmed, "curl") {
		for _, c := range splitCommands(b.text) {
			if !isCurl(c) {
				continue
			}
			for i := c.line; i <= c.lastLine && i < len(taken); i++ {
				taken[i] = true
			}
			for _, r := range parseCurl(c, p.positionOf(b.line+c.line)) {
				p.addExample(r)
			}
		}
	}
	var now *endpointMention
	from := 0
	for i, line := range lines {
		if taken[i] {
			if now != nil {
				p.readRawRequest(b, *now, lines[from:i], from)
				now = nil
			}
			continue
		}
		m, found := leadingMention(line)
		if !found {
			p.reportUnknownMethod(pageBlock{line: b.line + i}, line)
		}
		// Files of HTTP clients separate requests by "###".
		separator := strings.HasPrefix(strings.TrimSpace(line), "###")
		if now != nil && (found || separator) {
			p.readRawRequest(b, *now, lines[from:i], from)
			now = nil
		}
		if found {
			now, from = &m, i
		}
	}
	if now != nil {
		p.readRawRequest(b, *now, lines[from:], from)
	}
}

// leadingMention returns the endpoint at the beginning of a line of code. One
// inside a line may be part of a log or a program; reportUnread reports it.
func leadingMention(line string) (endpointMention, bool) {
	if found := findMentions(line); len(found) > 0 {
		return found[0], found[0].isLeading
	}
	return parseWholeMention(strings.TrimSpace(line))
}

// readRawRequest reads a raw HTTP request: a request line, headers and a body.
// A line alone is an item of a list. from is the index of its first line in the
// block.
func (p *pageReader) readRawRequest(b pageBlock, m endpointMention, lines []string, from int) {
	name := p.headings[p.level]
	p.addMention(m, b.line+from, name, remarkText(m.textAfter), p.sectionTags(p.level), true)
	// Only one request with further lines has headers and a body.
	if p.current == nil || len(m.methods) != 1 || len(lines) < 2 {
		return
	}
	head, body, _ := strings.Cut("\n"+strings.Join(lines[1:], "\n"), "\n\n")
	media := ""
	for line := range strings.SplitSeq(head, "\n") {
		name, value, found := strings.Cut(line, ":")
		switch {
		case !found || strings.ContainsAny(strings.TrimSpace(name), " {\"|"):
		case strings.EqualFold(strings.TrimSpace(name), "host"):
			if host := strings.TrimSpace(value); host != "" && !strings.ContainsAny(host, "/{ ") {
				p.current.host = cmp.Or(p.current.host, "https://"+host)
			}
		case strings.EqualFold(strings.TrimSpace(name), "content-type"):
			media = strings.TrimSpace(value)
		default:
			p.current.addParam(&p.current.headers, doc.InHeader, strings.TrimSpace(name), strings.TrimSpace(value), p.current.at)
		}
	}
	if looks := strings.TrimSpace(body); p.current.body == nil && takesBody(p.current.method) && (media != "" || strings.HasPrefix(looks, "{") || strings.HasPrefix(looks, "[")) {
		p.current.body = newRequestBody(media, body, p.positionOf(b.line+from))
	}
}

// addExample adds a request that is shown. If it is not an example of the
// current request, it becomes the current one; joinMentions compares it with
// the whole page later.
func (p *pageReader) addExample(r *request) {
	r.section, r.baseIndex = p.section, len(p.bases)-1
	if p.current == nil || !sameEndpoint(p.current, r) && matchTemplate(p.current, r) < 0 {
		r.name = cmp.Or(r.name, p.headings[p.level])
		r.tags = p.sectionTags(p.level)
		p.current, p.currentLevel = r, max(p.level, 1)
	}
	p.requests = append(p.requests, r)
}

// readJSON reads an example of a body or of an answer. The text before it
// decides which.
func (p *pageReader) readJSON(text string, line int) {
	s := shapeOfJSON(text)
	if p.current == nil || s == nil {
		return
	}
	context := strings.ToLower(p.lastText)
	isAnswer := strings.Contains(context, "response") || strings.Contains(context, "return") || strings.Contains(context, "result") || strings.Contains(context, "output") || strings.Contains(context, "answer")
	if !isAnswer && p.current.body == nil && takesBody(p.current.method) {
		p.current.body = &requestBody{media: "application/json", shape: s, at: p.positionOf(line)}
		return
	}
	p.current.answers = append(p.current.answers, responseExample{status: "200", media: "application/json", shape: s})
}

// takesBody reports whether requests of a method usually have a body.
func takesBody(method string) bool { return method == "POST" || method == "PUT" || method == "PATCH" }
