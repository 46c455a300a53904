package rest

import (
	"cmp"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// code reads examples: curl commands, requests as they are sent, lists of
// endpoints, or JSON.
func (p *page) code(b pageBlock) {
	trimmed := strings.TrimSpace(b.text)
	if strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		p.json(trimmed, b.line)
		return
	}
	lines := strings.Split(b.text, "\n")
	taken := make([]bool, len(lines)) // lines of commands
	if strings.Contains(trimmed, "curl") {
		for _, c := range commands(b.text) {
			if !isCurl(c) {
				continue
			}
			for i := c.line; i <= c.end && i < len(taken); i++ {
				taken[i] = true
			}
			for _, r := range parseCurl(c, p.at(b.line+c.line)) {
				p.example(r)
			}
		}
	}
	var now *mention
	from := 0
	for i, line := range lines {
		if taken[i] {
			if now != nil {
				p.sent(b, *now, lines[from:i], from)
				now = nil
			}
			continue
		}
		m, found := leadingMention(line)
		if !found {
			p.unknown(pageBlock{line: b.line + i}, line)
		}
		separator := strings.HasPrefix(strings.TrimSpace(line), "###")
		if now != nil && (found || separator) {
			p.sent(b, *now, lines[from:i], from)
			now = nil
		}
		if found {
			now, from = &m, i
		}
	}
	if now != nil {
		p.sent(b, *now, lines[from:], from)
	}
}

// leadingMention is the endpoint that a line of code begins with. One within a line
// may be of a log or a program, and is left to unread.
func leadingMention(line string) (mention, bool) {
	if found := mentionsIn(line); len(found) > 0 {
		return found[0], found[0].leads
	}
	return wholeMention(strings.TrimSpace(line))
}

// sent reads a request as it is sent: a line, headers, a body. A line alone is one
// of a list.
func (p *page) sent(b pageBlock, m mention, lines []string, from int) {
	name := p.headings[p.level]
	p.begin(m, b.line+from, name, remark(m.rest), p.tags(p.level), true)
	if p.now == nil || len(m.methods) != 1 || len(lines) < 2 {
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
				p.now.host = cmp.Or(p.now.host, "https://"+host)
			}
		case strings.EqualFold(strings.TrimSpace(name), "content-type"):
			media = strings.TrimSpace(value)
		default:
			p.now.addParam(&p.now.headers, doc.InHeader, strings.TrimSpace(name), strings.TrimSpace(value), p.now.at)
		}
	}
	if looks := strings.TrimSpace(body); p.now.body == nil && takesBody(p.now.method) && (media != "" || strings.HasPrefix(looks, "{") || strings.HasPrefix(looks, "[")) {
		p.now.body = newPayload(media, body, p.at(b.line+from))
	}
}

// example joins a request that is shown with the one that is described; others are
// held against the whole page when it was read.
func (p *page) example(r *request) {
	r.section, r.baseIndex = p.section, len(p.bases)-1
	if p.now == nil || !same(p.now, r) && fits(p.now, r) < 0 {
		r.name = cmp.Or(r.name, p.headings[p.level])
		r.tags = p.tags(p.level)
		p.now, p.depth = r, max(p.level, 1)
	}
	p.all = append(p.all, r)
}

// json reads an example of a body or of an answer, by what was said before it.
func (p *page) json(text string, line int) {
	s := shapeOf(text)
	if p.now == nil || s == nil {
		return
	}
	said := strings.ToLower(p.said)
	isAnswer := strings.Contains(said, "response") || strings.Contains(said, "return") || strings.Contains(said, "result") || strings.Contains(said, "output") || strings.Contains(said, "answer")
	if !isAnswer && p.now.body == nil && takesBody(p.now.method) {
		p.now.body = &requestBody{media: "application/json", shape: s, at: p.at(line)}
		return
	}
	p.now.answers = append(p.now.answers, responseExample{status: "200", media: "application/json", shape: s})
}

func takesBody(method string) bool { return method == "POST" || method == "PUT" || method == "PATCH" }
