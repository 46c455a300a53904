package rest

import (
	"cmp"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// blueprintReader reads an API Blueprint line by line.
type blueprintReader struct {
	in      *doc.Input
	baseURL string
	title   string
	// group is the heading of the group; it becomes a tag.
	group string
	// resourcePath is the path of the resource, for actions that name none.
	resourcePath string
	// resourceName is the name of the resource, for actions that have none.
	resourceName string
	// commonParams are the parameters that the resource declares for its
	// actions.
	commonParams []requestField
	// current is the action that sections belong to; nil outside of one.
	current *request
	// section is the open section: parameter, request, response or attribute,
	// with a suffix for its subsections.
	section string
	// media and status are those of the open request or response.
	media  string
	status string
	// body are the lines of the body so far.
	body     []string
	requests []*request
	problems []doc.Problem
}

// readBlueprint is the Reader of API Blueprints.
func readBlueprint(in *doc.Input) (*doc.Document, string) {
	text := strings.TrimPrefix(string(in.Text), "\ufeff")
	if !strings.HasPrefix(strings.TrimSpace(text), "FORMAT:") {
		return nil, "it does not begin with FORMAT:"
	}
	b := &blueprintReader{in: in}
	lines := splitLines(text)
	for n, line := range lines {
		in.Meter().Spend(5 + len(line)/32)
		b.readLine(line, n+1)
	}
	b.endSection()
	if len(b.requests) == 0 {
		return nil, "no heading names a method and a path"
	}
	for _, r := range b.requests {
		r.base = cmp.Or(r.base, b.baseURL)
	}
	u := newUnreadLines(in, b.requests, b.problems)
	for n, line := range lines {
		u.checkLine(line, n+1)
	}
	return makeDocument(doc.Blueprint, cmp.Or(b.title, "API"), b.requests, u.problems), ""
}

// readLine reads one line, whose number is n.
func (b *blueprintReader) readLine(line string, n int) {
	at := doc.Position{File: b.in.Name, Line: int32(n), Column: 1} //nolint:gosec // at most 32 MB
	if host, ok := strings.CutPrefix(line, "HOST:"); ok {
		b.baseURL = strings.TrimRight(strings.TrimSpace(host), "/")
		return
	}
	if strings.HasPrefix(line, "#") {
		b.endSection()
		b.readHeading(line, at)
		return
	}
	if m := patterns().blueprintItem.FindStringSubmatch(line); m != nil && b.readListItem(len(m[1]), m[2], at) {
		return
	}
	switch {
	case b.section == "request" || b.section == "response":
		b.body = append(b.body, line)
	case b.current != nil && b.current.description == "" && b.section == "":
		b.current.description = strings.TrimSpace(line)
	}
}

// readHeading reads a heading: a title, a group, a resource with its path, or
// an action with its method.
func (b *blueprintReader) readHeading(line string, at doc.Position) {
	m := patterns().blueprintHead.FindStringSubmatch(line)
	name, method, path := m[2], m[3], m[4]
	// A heading may be an action without brackets: # GET /path.
	if a := patterns().blueprintAction.FindStringSubmatch(strings.TrimSpace(name)); a != nil && method == "" && path == "" {
		name, method, path = "", normalizeMethod(a[1]), a[2]
	}
	if other := patterns().blueprintOther.FindStringSubmatch(line); other != nil && method == "" && path == "" {
		b.current = nil
		b.problems = append(b.problems, doc.Problem{
			At: at, Severity: doc.Warning, Code: doc.UnknownMethod, Message: other[1] + " is not a method that tools support", Remedy: "write one of GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS or QUERY",
		})
		return
	}
	group, isGroup := strings.CutPrefix(name, "Group ")
	switch {
	case method != "":
		b.current = &request{method: method, name: cmp.Or(name, b.resourceName), at: at}
		if b.group != "" {
			b.current.tags = []string{b.group}
		}
		b.setPath(b.current, cmp.Or(path, b.resourcePath))
		// Parameters of the resource apply to the actions that use them.
		for _, f := range b.commonParams {
			if strings.Contains(cmp.Or(path, b.resourcePath), f.name) {
				b.describeParam(f)
			}
		}
		b.requests = append(b.requests, b.current)
	// A resource: the following actions belong to it.
	case path != "":
		b.current, b.resourcePath, b.resourceName, b.commonParams = nil, path, name, nil
	// A group ends the resource before it.
	case isGroup:
		b.current, b.group, b.resourcePath = nil, strings.TrimSpace(group), ""
	default:
		b.current = nil
		b.title = cmp.Or(b.title, name)
	}
}

// setPath sets the path of a request from a URI template such as /a/{id}{?q,r}.
func (b *blueprintReader) setPath(r *request, path string) {
	r.setURL(strings.NewReplacer("{+", "{", "{#", "{").Replace(path), false, r.at)
}

// readListItem reads an item of a list. It reports whether the item belongs to
// the format; otherwise it is part of a body.
func (b *blueprintReader) readListItem(indent int, text string, at doc.Position) bool {
	first, _, _ := strings.Cut(text, " ")
	if indent == 0 {
		b.endSection()
		switch section := strings.ToLower(first); section {
		case "parameters", "parameter", "attributes", "attribute":
			b.section = strings.TrimSuffix(section, "s")
			return true
		case "request", "response", "model":
			b.section, b.media, b.status = section, "", ""
			if m := patterns().blueprintMedia.FindStringSubmatch(text); m != nil {
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
		if m := patterns().blueprintParam.FindStringSubmatch(text); m != nil && indent <= 4 {
			f := requestField{name: m[1], description: m[4], shape: shapeOfType(schemaType(m[3])), required: strings.Contains(m[3], "required"), optional: strings.Contains(m[3], "optional"), at: at}
			if b.current == nil {
				b.commonParams = append(b.commonParams, f)
			} else {
				b.describeParam(f)
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

// describeParam sets the description of a parameter in the path, or adds it to
// the query.
func (b *blueprintReader) describeParam(f requestField) {
	for i := range b.current.path {
		for j := range b.current.path[i].params {
			if b.current.path[i].params[j].name == f.name {
				f.required = true
				b.current.path[i].params[j] = f
				return
			}
		}
	}
	b.current.addParam(&b.current.query, doc.InQuery, f.name, "", f.at)
	b.current.query = replaceField(b.current.query, f)
}

// endSection ends the open section and adds its body to the request.
func (b *blueprintReader) endSection() {
	text := strings.TrimSpace(strings.Join(b.body, "\n"))
	if b.current != nil {
		switch {
		case strings.HasPrefix(b.section, "request") && b.current.body == nil:
			b.current.body = newRequestBody(b.media, text, b.current.at)
		case strings.HasPrefix(b.section, "response") && b.status != "":
			b.current.answers = append(b.current.answers, responseExample{status: b.status, media: b.media, shape: shapeOfJSON(text)})
		}
	}
	b.section, b.body = "", nil
}
