package rest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// column finds a column by its heading; -1 where there is none.
func column(head []string, names ...string) int {
	for _, name := range names {
		for i, h := range head {
			if h = strings.ToLower(h); h == name || strings.HasPrefix(h, name+" ") || strings.HasPrefix(h, name+"s") {
				return i
			}
		}
	}
	return -1
}

func cell(row []string, i int) string {
	if i < 0 || i >= len(row) {
		return ""
	}
	return row[i]
}

// table reads a list of endpoints, or of the parameters of the last one.
func (p *page) table(b block) {
	head := b.rows[0]
	about := column(head, "description", "summary", "purpose", "notes", "meaning", "details", "action")
	path := column(head, "path", "endpoint", "url", "route", "uri", "resource")
	if method := column(head, "method", "verb", "http method"); method >= 0 && path >= 0 {
		for n, row := range b.rows[1:] {
			if pattern().verb.MatchString(strings.ToUpper(cell(row, method))) && cell(row, path) != "" {
				r := &request{method: cell(row, method), about: cell(row, about), tags: p.tags(p.level + 1), at: p.at(b.line + n + 2)}
				r.setURL(cell(row, path), false, r.at)
				p.all = append(p.all, r)
			}
		}
		p.now = nil
		return
	}
	if path >= 0 { // "GET /path" in one cell
		for n, row := range b.rows[1:] {
			if m := pattern().endpoint.FindStringSubmatch(cell(row, path)); m != nil {
				r := &request{method: m[1], about: cell(row, about), tags: p.tags(p.level + 1), at: p.at(b.line + n + 2)}
				r.setURL(m[2], false, r.at)
				p.all = append(p.all, r)
			}
		}
		return
	}
	name := column(head, "name", "parameter", "param", "field", "key", "property", "argument", "attribute", "header", "query", "variable")
	if name < 0 || p.now == nil {
		return
	}
	kind, required, where := column(head, "type", "data type", "format"), column(head, "required", "mandatory", "optional", "requirement"), column(head, "in", "location", "where", "position", "located")
	for _, row := range b.rows[1:] {
		need := cell(row, required)
		if required >= 0 && strings.HasPrefix(strings.ToLower(head[required]), "optional") && !strings.HasPrefix(strings.ToLower(need), "optional") {
			need = map[bool]string{true: "optional", false: "required"}[yes(need)]
		}
		p.param(cell(row, name), cell(row, kind), need, cell(row, about), cmp.Or(cell(row, where), strings.ToLower(head[name])))
	}
}

func yes(s string) bool {
	s = strings.ToLower(strings.TrimSpace(s))
	return strings.HasPrefix(s, "yes") || strings.HasPrefix(s, "true") || strings.HasPrefix(s, "required") || s == "y" || s == "x" || s == "✓" || s == "✅" || s == "✔" || s == "*"
}

// param notes a parameter that is described. Where it goes is said with it, or
// by what stands above it, or follows from the method.
func (p *page) param(name, of, need, about, where string) {
	required := yes(need) || strings.Contains(strings.ToLower(need), "required") && !strings.Contains(strings.ToLower(need), "not required")
	optional := strings.Contains(strings.ToLower(need), "optional")
	if fields := strings.Fields(name); len(fields) > 1 { // "id (required)", "id*"
		required = required || strings.Contains(strings.ToLower(name), "required")
		name = fields[0]
	}
	if starless, ok := strings.CutSuffix(name, "*"); ok {
		name, required = starless, true
	}
	name = strings.Trim(name, ":{}<>\"' ")
	if name == "" || len(name) > 80 || strings.ContainsAny(name, " /?&=") {
		return
	}
	f := field{name: name, about: about, kind: kind(typeNamed(of)), required: required, optional: optional, at: p.now.at}
	for i := range p.now.path {
		for j := range p.now.path[i].params {
			if q := &p.now.path[i].params[j]; strings.EqualFold(q.name, name) {
				q.about, q.kind = about, f.kind
				return
			}
		}
	}
	said := strings.ToLower(where + " " + p.said + " " + p.headings[p.level])
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(said, w) })
	}
	switch {
	case has("response", "returns", "returned", "error code", "status code"):
	case has("header"):
		p.now.addParam(&p.now.headers, doc.InHeader, name, "", f.at)
		p.now.headers = joinFields(p.now.headers, only(p.now.headers, f))
	case has("query", "url param", "filter") || !takesBody(p.now.method):
		p.now.addParam(&p.now.query, doc.InQuery, name, "", f.at)
		p.now.query = fix(p.now.query, f)
	default:
		p.bodyField(f, has("form", "multipart"))
	}
}

// only is the field as a list, where the list has it: one that became a way to
// authenticate is no parameter.
func only(list []field, f field) []field {
	if slices.ContainsFunc(list, func(h field) bool { return h.name == f.name }) {
		return []field{f}
	}
	return nil
}

// fix puts what is said of a field over what was guessed.
func fix(list []field, f field) []field {
	for i := range list {
		if list[i].name == f.name {
			list[i] = f
		}
	}
	return list
}

// bodyField notes a member of the body, which may have been shown before.
func (p *page) bodyField(f field, form bool) {
	if p.now.body == nil {
		p.now.body = &payload{media: "application/json", shape: kind("object"), at: f.at}
		if form {
			p.now.body.media, p.now.body.shape = "application/x-www-form-urlencoded", nil
		}
	}
	b := p.now.body
	if b.shape == nil {
		b.fields = append(b.fields, f)
		return
	}
	name, _, nested := strings.Cut(f.name, ".")
	if nested || strings.Contains(f.name, "[") { // the example shows what is inside
		b.shape.field(name)
		return
	}
	one := b.shape.field(name)
	if len(one.kinds) == 0 {
		one.join(f.kind)
	}
	b.shape.about[name], b.shape.needed[name] = f.about, f.required && !f.optional
}

// typeNamed is the JSON Schema type that people mean.
func typeNamed(s string) string {
	s = strings.ToLower(s)
	switch {
	case strings.Contains(s, "array") || strings.Contains(s, "list") || strings.Contains(s, "[]"):
		return "array"
	case strings.Contains(s, "int") || strings.Contains(s, "long"):
		return "integer"
	case strings.Contains(s, "bool"):
		return "boolean"
	case strings.Contains(s, "number") || strings.Contains(s, "float") || strings.Contains(s, "double") || strings.Contains(s, "decimal"):
		return "number"
	case strings.Contains(s, "object") || strings.Contains(s, "json") || strings.Contains(s, "map") || strings.Contains(s, "dict"):
		return "object"
	}
	return "string"
}
