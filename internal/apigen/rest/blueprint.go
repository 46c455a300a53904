package rest

import (
	"cmp"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// blueprint reads an API Blueprint, line by line.
type blueprint struct {
	in       *doc.Input
	base     string
	title    string
	group    string
	resource string // path of the resource, for actions that name none
	called   string // name of the resource
	common   []field
	now      *request
	section  string // parameters, request, response, attributes
	media    string
	status   string
	body     []string
	all      []*request
	problems []doc.Problem
}

func readBlueprint(in *doc.Input) (*doc.Document, string) {
	text := strings.TrimPrefix(string(in.Text), "\ufeff")
	if !strings.HasPrefix(strings.TrimSpace(text), "FORMAT:") {
		return nil, "it does not begin with FORMAT:"
	}
	b := &blueprint{in: in}
	lines := plainLines(text)
	for n, line := range lines {
		in.Meter().Spend(5 + len(line)/32)
		b.line(line, n+1)
	}
	b.flush()
	if len(b.all) == 0 {
		return nil, "no heading names a method and a path"
	}
	for _, r := range b.all {
		r.base = cmp.Or(r.base, b.base)
	}
	u := newUnreadLines(in, b.all, b.problems)
	for n, line := range lines {
		u.look(line, n+1)
	}
	return document(doc.Blueprint, cmp.Or(b.title, "API"), b.all, u.problems), ""
}

func (b *blueprint) line(line string, n int) {
	at := doc.Position{File: b.in.Name, Line: int32(n), Column: 1} //nolint:gosec // at most 32 MB
	if host, ok := strings.CutPrefix(line, "HOST:"); ok {
		b.base = strings.TrimRight(strings.TrimSpace(host), "/")
		return
	}
	if strings.HasPrefix(line, "#") {
		b.flush()
		b.heading(line, at)
		return
	}
	if m := pattern().blueprintItem.FindStringSubmatch(line); m != nil && b.item(len(m[1]), m[2], at) {
		return
	}
	switch {
	case b.section == "request" || b.section == "response":
		b.body = append(b.body, line)
	case b.now != nil && b.now.about == "" && b.section == "":
		b.now.about = strings.TrimSpace(line)
	}
}

func (b *blueprint) heading(line string, at doc.Position) {
	m := pattern().blueprintHead.FindStringSubmatch(line)
	name, method, path := m[2], m[3], m[4]
	if a := pattern().blueprintAction.FindStringSubmatch(strings.TrimSpace(name)); a != nil && method == "" && path == "" { // # GET /path
		name, method, path = "", methodName(a[1]), a[2]
	}
	if other := pattern().blueprintOther.FindStringSubmatch(line); other != nil && method == "" && path == "" {
		b.now = nil
		b.problems = append(b.problems, doc.Problem{
			At: at, Severity: doc.Warning, Code: doc.UnknownMethod, Message: other[1] + " is no method that a tool is made of", Remedy: "write one of GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS or QUERY",
		})
		return
	}
	group, isGroup := strings.CutPrefix(name, "Group ")
	switch {
	case method != "":
		b.now = &request{method: method, name: cmp.Or(name, b.called), at: at}
		if b.group != "" {
			b.now.tags = []string{b.group}
		}
		b.setPath(b.now, cmp.Or(path, b.resource))
		for _, f := range b.common {
			if strings.Contains(cmp.Or(path, b.resource), f.name) {
				b.describe(f)
			}
		}
		b.all = append(b.all, b.now)
	case path != "":
		b.now, b.resource, b.called, b.common = nil, path, name, nil
	case isGroup:
		b.now, b.group, b.resource = nil, strings.TrimSpace(group), ""
	default:
		b.now = nil
		b.title = cmp.Or(b.title, name)
	}
}

// setPath reads a URI template: /a/{id}{?q,r}.
func (b *blueprint) setPath(r *request, path string) {
	r.setURL(strings.NewReplacer("{+", "{", "{#", "{").Replace(path), false, r.at)
}

// item reads an entry of a list, and says whether it was one of the format.
func (b *blueprint) item(indent int, text string, at doc.Position) bool {
	first, _, _ := strings.Cut(text, " ")
	if indent == 0 {
		b.flush()
		switch section := strings.ToLower(first); section {
		case "parameters", "parameter", "attributes", "attribute":
			b.section = strings.TrimSuffix(section, "s")
			return true
		case "request", "response", "model":
			b.section, b.media, b.status = section, "", ""
			if m := pattern().blueprintMedia.FindStringSubmatch(text); m != nil {
				b.media = m[1]
			}
			if fields := strings.Fields(text); section == "response" && len(fields) > 1 {
				b.status = fields[1]
			}
			return true
		}
		b.section = ""
		return false
	}
	switch b.section {
	case "parameter":
		if m := pattern().blueprintParam.FindStringSubmatch(text); m != nil && indent <= 4 {
			f := field{name: m[1], about: m[4], kind: kind(typeNamed(m[3])), required: strings.Contains(m[3], "required"), optional: strings.Contains(m[3], "optional"), at: at}
			if b.now == nil {
				b.common = append(b.common, f)
			} else {
				b.describe(f)
			}
		}
		return true
	case "request", "response":
		if l := strings.ToLower(first); l == "body" || l == "headers" || l == "schema" || l == "attributes" {
			b.body = nil
			if l != "body" {
				b.section += " " + l
			}
			return true
		}
	case "request headers", "response headers", "request schema", "response schema", "request attributes", "response attributes":
		if strings.ToLower(first) == "body" {
			b.section, _, _ = strings.Cut(b.section, " ")
			b.body = nil
			return true
		}
	}
	return false
}

// describe adds what is said of a parameter to the one in the path or query.
func (b *blueprint) describe(f field) {
	for i := range b.now.path {
		for j := range b.now.path[i].params {
			if b.now.path[i].params[j].name == f.name {
				f.required = true
				b.now.path[i].params[j] = f
				return
			}
		}
	}
	b.now.addParam(&b.now.query, doc.InQuery, f.name, "", f.at)
	b.now.query = fix(b.now.query, f)
}

// flush ends the body of a request or an answer.
func (b *blueprint) flush() {
	text := strings.TrimSpace(strings.Join(b.body, "\n"))
	if b.now != nil {
		switch {
		case strings.HasPrefix(b.section, "request") && b.now.body == nil:
			b.now.body = newPayload(b.media, text, b.now.at)
		case strings.HasPrefix(b.section, "response") && b.status != "":
			b.now.answers = append(b.now.answers, answer{status: b.status, media: b.media, shape: shapeOf(text)})
		}
	}
	b.section, b.body = "", nil
}
