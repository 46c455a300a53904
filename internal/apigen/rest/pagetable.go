package rest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// findColumn returns the first column with one of the headings, in the order of
// names, or -1.
func findColumn(head []string, names ...string) int {
	for _, name := range names {
		for i, h := range head {
			if h = strings.ToLower(h); h == name || strings.HasPrefix(h, name+" ") || strings.HasPrefix(h, name+"s") {
				return i
			}
		}
	}
	return -1
}

// cellAt returns a cell, or "" if the row has none there.
func cellAt(row []string, i int) string {
	if i < 0 || i >= len(row) {
		return ""
	}
	return row[i]
}

// readTable reads a list of endpoints, the method and path of one endpoint, or
// the parameters of the current request.
func (p *pageReader) readTable(b pageBlock) {
	head := b.rows[0]
	about := findColumn(head, "description", "summary", "purpose", "notes", "meaning", "details", "action")
	t := endpointTable{pageReader: p, head: head, descriptionColumn: about}
	t.pathColumn = findColumn(head, "path", "endpoint", "url", "route", "uri", "resource")
	t.methodColumn = findColumn(head, "method", "verb", "http method")
	if isVertical(b) && p.verticalTable(b) {
		return
	}
	if t.readRows(b) {
		p.current = nil
		return
	}
	if p.verticalTable(b) {
		return
	}
	name := findColumn(head, "name", "parameter", "param", "field", "key", "property", "argument", "attribute", "header", "query", "variable")
	if name < 0 || p.current == nil {
		return
	}
	kind, required, where := findColumn(head, "type", "data type", "format"), findColumn(head, "required", "mandatory", "optional", "requirement"), findColumn(head, "in", "location", "where", "position", "located")
	for _, row := range b.rows[1:] {
		need := cellAt(row, required)
		if required >= 0 && strings.HasPrefix(strings.ToLower(head[required]), "optional") && !strings.HasPrefix(strings.ToLower(need), "optional") {
			// The column says "optional: yes" instead of "required: no".
			need = map[bool]string{true: "optional", false: "required"}[isYes(need)]
		}
		p.addDescribedParam(cellAt(row, name), cellAt(row, kind), need, cellAt(row, about), cmp.Or(cellAt(row, where), strings.ToLower(head[name])))
	}
}

// isVertical reports whether the first row of a table, its head, is a label and a value
// like the rows below it.
func isVertical(b pageBlock) bool {
	labels := 0
	for _, row := range b.rows {
		if len(row) == 2 && patterns().pairLabel.MatchString(row[0]) && !patterns().pairLabel.MatchString(row[1]) {
			labels++
		}
	}
	return labels > 1 && len(b.rows[0]) == 2 && patterns().pairLabel.MatchString(b.rows[0][0])
}

// verticalTable reads a table with one row for the method and one for the path
// of an endpoint. It reports whether it is one.
func (p *pageReader) verticalTable(b pageBlock) bool {
	found := false
	for i, row := range b.rows {
		if len(row) < 2 || !patterns().pairLabel.MatchString(row[0]) {
			continue
		}
		label := patterns().pairLabel.FindStringSubmatch(row[0])[1]
		found = p.readPair(pageBlock{kind: blockProse, text: label + ": " + row[1], line: b.lines[i]}) || found
	}
	return found
}

// endpointTable is a table whose rows name endpoints. The columns are -1 if the
// head does not name them.
type endpointTable struct {
	*pageReader
	// head is the first row.
	head                                        []string
	methodColumn, pathColumn, descriptionColumn int
	// lastPath is the path of the row above, for rows that leave it out.
	lastPath string
}

// readRows makes requests of the rows. It reports whether any row names an
// endpoint.
func (t *endpointTable) readRows(b pageBlock) bool {
	if t.readMatrix(b) {
		return true
	}
	found := false
	for i, row := range b.rows {
		found = t.readRow(row, b.lines[i], i == 0) || found
	}
	return found
}

// readRow reads one row. It reports whether the row names an endpoint or
// should; in the second case it reports a problem. first is set for the head,
// which may be a row like others.
func (t *endpointTable) readRow(row []string, line int, first bool) bool {
	// One cell may have both: "GET /path".
	for i, c := range row {
		if found := t.findMentions(c); len(found) > 0 && found[0].isLeading {
			about := cellAt(row, t.descriptionColumn)
			if about == "" && i+1 < len(row) {
				about = row[i+1]
			}
			for _, m := range found {
				t.addEndpoint(m, about, line)
			}
			return true
		}
	}
	methods, at := []string(nil), -1
	for i, c := range row {
		if methods = parseMethodsOnly(c); methods != nil {
			at = i
			break
		}
	}
	paths, where := t.rowPaths(row, at)
	switch {
	case methods != nil && len(paths) > 0:
		t.lastPath = paths[0]
		t.addEndpoint(endpointMention{methods: methods, paths: paths}, t.rowRemark(row, at, where), line)
	// The row continues the path of the row above.
	case methods != nil && t.lastPath != "" && t.pathColumn >= 0 && t.pathColumn < at && cellAt(row, t.pathColumn) == "":
		t.addEndpoint(endpointMention{methods: methods, paths: []string{t.lastPath}}, t.rowRemark(row, at, -1), line)
	// The head of a table names no endpoint and is no fault.
	case first:
		return false
	case methods != nil && t.pathColumn >= 0:
		t.reportProblem(line, doc.Missing, "This row names "+strings.Join(methods, ", ")+" and no path, so it becomes no tool.", "Write the path, such as /things/{id}.")
	case t.methodColumn >= 0 && len(paths) > 0 && cellAt(row, t.methodColumn) != "":
		t.reportProblem(line, doc.UnknownMethod, "The method of this row is "+cellAt(row, t.methodColumn)+" and is not supported, so it becomes no tool.", "Write one of GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS or QUERY.")
	default:
		return false
	}
	return true
}

// rowPaths returns the paths of a row and their column: a cell that is nothing
// but a path, or else the column that is headed so. method is the column of the
// method.
func (t *endpointTable) rowPaths(row []string, method int) (paths []string, where int) {
	for i, c := range row {
		if m := patterns().pathOnly.FindStringSubmatch(c); m != nil && i != method {
			if paths, _ = splitPaths(m[1]); len(paths) > 0 {
				return paths, i
			}
		}
	}
	// The cell may contain several paths, or words around one.
	for word := range strings.FieldsSeq(strings.NewReplacer(",", " ", ";", " ").Replace(cellAt(row, t.pathColumn))) {
		if strings.HasPrefix(word, "/") || patterns().urlScheme.MatchString(word) {
			more, _ := splitPaths(word)
			paths = append(paths, more...)
		}
	}
	if c := cellAt(row, t.pathColumn); len(paths) == 0 && c != "" && !strings.Contains(c, " ") && strings.ContainsAny(c, "abcdefghijklmnopqrstuvwxyz") && method >= 0 {
		// The path lacks its first slash.
		paths, _ = splitPaths("/" + c)
	}
	return paths, t.pathColumn
}

// rowRemark returns the description of a row's endpoint.
func (t *endpointTable) rowRemark(row []string, method, path int) string {
	if s := cellAt(row, t.descriptionColumn); s != "" {
		return s
	}
	for i, c := range row {
		if i != method && i != path && strings.Contains(c, " ") {
			return c
		}
	}
	return ""
}

// addEndpoint adds the requests of a row.
func (t *endpointTable) addEndpoint(m endpointMention, about string, line int) {
	t.addMention(m, line, "", about, t.sectionTags(t.level+1), false)
}

// readMatrix reads a table with a column for each method. It reports whether it
// is one.
func (t *endpointTable) readMatrix(b pageBlock) bool {
	columns := map[int]string{}
	for i, h := range t.head {
		if list := parseMethodsOnly(h); len(list) == 1 {
			columns[i] = list[0]
		}
	}
	if len(columns) < 2 {
		return false
	}
	found := false
	for i, row := range b.rows[1:] {
		paths, _ := t.rowPaths(row, -1)
		for c, text := range row {
			if method := columns[c]; method != "" && len(paths) > 0 && !isNothing(text) {
				t.addEndpoint(endpointMention{methods: []string{method}, paths: paths}, text, b.lines[i+1])
				found = true
			}
		}
	}
	return found
}

// isNothing reports whether the cell of a matrix means that the method does not
// exist.
func isNothing(text string) bool {
	return slices.Contains([]string{"", "-", "–", "—", "no", "none", "n/a", "x", "✗", "✘", "❌", "error", "not allowed", "405", "not supported", "not available"}, strings.ToLower(strings.TrimSpace(text)))
}

// isYes reports whether a cell affirms its column.
func isYes(s string) bool {
	s = strings.ToLower(strings.TrimSpace(s))
	return strings.HasPrefix(s, "yes") || strings.HasPrefix(s, "true") || strings.HasPrefix(s, "required") || s == "y" || s == "x" || s == "✓" || s == "✅" || s == "✔" || s == "*"
}

// addDescribedParam adds a parameter that a page describes. Its place is given
// by where, by the text above it, or else by the method. Fields of responses
// are ignored.
func (p *pageReader) addDescribedParam(name, of, need, about, where string) {
	required := isYes(need) || strings.Contains(strings.ToLower(need), "required") && !strings.Contains(strings.ToLower(need), "not required")
	optional := strings.Contains(strings.ToLower(need), "optional")
	// The name may say more: "id (required)" or "id*".
	if fields := strings.Fields(name); len(fields) > 1 {
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
	f := requestField{name: name, description: about, shape: shapeOfType(schemaType(of)), required: required, optional: optional, at: p.current.at}
	for i := range p.current.path {
		for j := range p.current.path[i].params {
			if q := &p.current.path[i].params[j]; strings.EqualFold(q.name, name) {
				q.description, q.shape = about, f.shape
				return
			}
		}
	}
	context := strings.ToLower(where + " " + p.lastText + " " + p.headings[p.level])
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(context, w) })
	}
	switch {
	// The table describes the answer.
	case has("response", "returns", "returned", "error code", "status code"):
	case has("header"):
		p.current.addParam(&p.current.headers, doc.InHeader, name, "", f.at)
		p.current.headers = joinFields(p.current.headers, fieldIfListed(p.current.headers, f))
	case has("query", "url param", "filter") || !takesBody(p.current.method):
		p.current.addParam(&p.current.query, doc.InQuery, name, "", f.at)
		p.current.query = replaceField(p.current.query, f)
	default:
		p.addBodyField(f, has("form", "multipart"))
	}
}

// fieldIfListed returns f as a list if the list has its name, and nil
// otherwise: a header that became a security scheme is no parameter.
func fieldIfListed(list []requestField, f requestField) []requestField {
	if slices.ContainsFunc(list, func(h requestField) bool { return h.name == f.name }) {
		return []requestField{f}
	}
	return nil
}

// replaceField replaces a guessed field by the described one of the same name.
func replaceField(list []requestField, f requestField) []requestField {
	for i := range list {
		if list[i].name == f.name {
			list[i] = f
		}
	}
	return list
}

// addBodyField adds a member of the body, which an example may have shown
// before.
func (p *pageReader) addBodyField(f requestField, form bool) {
	if p.current.body == nil {
		p.current.body = &requestBody{media: "application/json", shape: shapeOfType("object"), at: f.at}
		if form {
			p.current.body.media, p.current.body.shape = "application/x-www-form-urlencoded", nil
		}
	}
	b := p.current.body
	if b.shape == nil {
		b.fields = append(b.fields, f)
		return
	}
	name, _, nested := strings.Cut(f.name, ".")
	// The example shows the members inside.
	if nested || strings.Contains(f.name, "[") {
		b.shape.memberShape(name)
		return
	}
	one := b.shape.memberShape(name)
	if len(one.types) == 0 {
		one.mergeShape(f.shape)
	}
	b.shape.descriptions[name], b.shape.required[name] = f.description, f.required && !f.optional
}

// schemaType returns the JSON Schema type that a word means, string by default.
func schemaType(s string) string {
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
