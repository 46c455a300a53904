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

// table reads a list of endpoints, the method and path of one, or the parameters
// of the last one.
func (p *page) table(b block) {
	head := b.rows[0]
	about := column(head, "description", "summary", "purpose", "notes", "meaning", "details", "action")
	t := endpointTable{page: p, head: head, about: about}
	t.path = column(head, "path", "endpoint", "url", "route", "uri", "resource")
	t.method = column(head, "method", "verb", "http method")
	if isVertical(b) && p.verticalTable(b) {
		return
	}
	if t.read(b) {
		p.now = nil
		return
	}
	if p.verticalTable(b) {
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

// isVertical says whether the first row of a table, its head, is a label and a value
// like the rows below it.
func isVertical(b block) bool {
	labels := 0
	for _, row := range b.rows {
		if len(row) == 2 && pattern().label.MatchString(row[0]) && !pattern().label.MatchString(row[1]) {
			labels++
		}
	}
	return labels > 1 && len(b.rows[0]) == 2 && pattern().label.MatchString(b.rows[0][0])
}

// verticalTable reads a table with a row for the method and one for the path of an
// endpoint, and says whether it is one.
func (p *page) verticalTable(b block) bool {
	found := false
	for i, row := range b.rows {
		if len(row) < 2 || !pattern().label.MatchString(row[0]) {
			continue
		}
		label := pattern().label.FindStringSubmatch(row[0])[1]
		found = p.readPair(block{kind: prose, text: label + ": " + row[1], line: b.lines[i]}) || found
	}
	return found
}

// endpointTable is a table whose rows name endpoints.
type endpointTable struct {
	*page
	head                []string
	method, path, about int
	last                string // path of the row before
}

// read makes requests of the rows, and says whether any names an endpoint.
func (t *endpointTable) read(b block) bool {
	if t.readMatrix(b) {
		return true
	}
	found := false
	for i, row := range b.rows {
		found = t.row(row, b.lines[i], i == 0) || found
	}
	return found
}

// row reads one row and says whether it names an endpoint, or ought to.
func (t *endpointTable) row(row []string, line int, first bool) bool {
	for i, c := range row { // "GET /path" in one cell
		if found := t.mentions(c); len(found) > 0 && found[0].leads {
			about := cell(row, t.about)
			if about == "" && i+1 < len(row) {
				about = row[i+1]
			}
			for _, m := range found {
				t.add(m, about, line)
			}
			return true
		}
	}
	methods, at := []string(nil), -1
	for i, c := range row {
		if methods = onlyMethods(c); methods != nil {
			at = i
			break
		}
	}
	paths, where := t.paths(row, at)
	switch {
	case methods != nil && len(paths) > 0:
		t.last = paths[0]
		t.add(mention{methods: methods, paths: paths}, t.remarkOf(row, at, where), line)
	case methods != nil && t.last != "" && t.path >= 0 && t.path < at && cell(row, t.path) == "": // the path of the row above
		t.add(mention{methods: methods, paths: []string{t.last}}, t.remarkOf(row, at, -1), line)
	case first:
		return false
	case methods != nil && t.path >= 0:
		t.report(line, doc.Missing, "This row names "+strings.Join(methods, ", ")+" and no path, so no tool is made of it.", "Write the path, such as /things/{id}.")
	case t.method >= 0 && len(paths) > 0 && cell(row, t.method) != "":
		t.report(line, doc.UnknownMethod, "The method of this row is "+cell(row, t.method)+", of which no tool is made.", "Write one of GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS or QUERY.")
	default:
		return false
	}
	return true
}

// paths finds the paths of a row: those of the column that is named so, or of any
// cell that is a path and nothing else.
func (t *endpointTable) paths(row []string, method int) (paths []string, where int) {
	for i, c := range row {
		if m := pattern().pathOnly.FindStringSubmatch(c); m != nil && i != method {
			if paths, _ = pathsOf(m[1]); len(paths) > 0 {
				return paths, i
			}
		}
	}
	for word := range strings.FieldsSeq(strings.NewReplacer(",", " ", ";", " ").Replace(cell(row, t.path))) {
		if strings.HasPrefix(word, "/") || pattern().opening.MatchString(word) {
			more, _ := pathsOf(word)
			paths = append(paths, more...)
		}
	}
	if c := cell(row, t.path); len(paths) == 0 && c != "" && !strings.Contains(c, " ") && strings.ContainsAny(c, "abcdefghijklmnopqrstuvwxyz") && method >= 0 {
		paths, _ = pathsOf("/" + c) // without its first slash
	}
	return paths, t.path
}

// remarkOf is what a row says of its endpoint.
func (t *endpointTable) remarkOf(row []string, method, path int) string {
	if s := cell(row, t.about); s != "" {
		return s
	}
	for i, c := range row {
		if i != method && i != path && strings.Contains(c, " ") {
			return c
		}
	}
	return ""
}

func (t *endpointTable) add(m mention, about string, line int) {
	t.begin(m, line, "", about, t.tags(t.level+1), false)
}

// readMatrix reads a table with a column for each method, and says whether it is
// one.
func (t *endpointTable) readMatrix(b block) bool {
	columns := map[int]string{}
	for i, h := range t.head {
		if list := onlyMethods(h); len(list) == 1 {
			columns[i] = list[0]
		}
	}
	if len(columns) < 2 {
		return false
	}
	found := false
	for i, row := range b.rows[1:] {
		paths, _ := t.paths(row, -1)
		for c, text := range row {
			if method := columns[c]; method != "" && len(paths) > 0 && !isNothing(text) {
				t.add(mention{methods: []string{method}, paths: paths}, text, b.lines[i+1])
				found = true
			}
		}
	}
	return found
}

// isNothing says whether the cell of a matrix says that there is nothing.
func isNothing(text string) bool {
	return slices.Contains([]string{"", "-", "–", "—", "no", "none", "n/a", "x", "✗", "✘", "❌", "error", "not allowed", "405", "not supported", "not available"}, strings.ToLower(strings.TrimSpace(text)))
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
