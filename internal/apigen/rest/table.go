package rest

import (
	"context"
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// readTable reads the table that a user filled in because no other reader took
// the document:
//
//	{"title": "…", "base_url": "https://…", "operations": [
//	  {"method": "GET", "path": "/users/{id}", "summary": "…",
//	   "parameters": [{"name": "id", "in": "path", "type": "integer", "required": true, "description": "…"}]}]}
//
// A parameter may be in path, query, header, body or form. docs/guides/apis.md
// describes the format for users.
func readTable(_ context.Context, in *doc.Input) (*doc.Document, string) {
	root, problems := in.ParseTree()
	list := root.List("operations")
	if list == nil || root.Get("openapi") != nil {
		return nil, "it has no list of operations"
	}
	var all []*request
	for _, n := range list {
		if n.Kind != doc.Object {
			problems = append(problems, doc.Problem{
				At: n.At, Severity: doc.Error, Code: doc.WrongType, Message: "an operation must be an object", Remedy: `write {"method": "GET", "path": "/things/{id}"}`,
			})
			continue
		}
		method, path := normalizeMethod(n.Get("method").ScalarText()), n.Get("path").ScalarText()
		if method == "" || path == "" {
			problems = append(problems, doc.Problem{
				At: n.At, Severity: doc.Error, Code: doc.Missing, Message: "this operation needs a method and a path", Remedy: `write {"method": "GET", "path": "/things/{id}"}`,
			})
			continue
		}
		if !patterns().sendableMethod.MatchString(method) {
			problems = append(problems, doc.Problem{
				At: n.Get("method").At, Severity: doc.Error, Code: doc.UnknownMethod, Message: method + " is not a method", Remedy: "write one of GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS or QUERY",
			})
			continue
		}
		r := &request{method: method, base: strings.TrimRight(root.Get("base_url").ScalarText(), "/"), name: n.Get("summary").ScalarText(), description: n.Get("description").ScalarText(), at: n.At}
		for _, tag := range n.List("tags") {
			r.tags = append(r.tags, tag.Text)
		}
		// setURL would replace the base if the path were a URL.
		base := r.base
		r.setURL(path, false, n.At)
		r.base = base
		if p := n.Get("parameters"); p != nil && p.Kind != doc.Array && p.Kind != doc.Null {
			problems = append(problems, doc.Problem{
				At: p.At, Severity: doc.Error, Code: doc.WrongType, Message: "parameters must be a list", Remedy: `write [{"name": "id", "in": "path", "type": "integer"}]`,
			})
		}
		for _, p := range n.List("parameters") {
			if problem := tableParam(r, p); problem != nil {
				problems = append(problems, *problem)
			}
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		return nil, "no operation has a method and a path"
	}
	d := makeDocument(doc.Table, root.Get("title").ScalarText(), all, problems)
	for _, op := range d.Operations {
		op.Inferred = false
	}
	return d, ""
}

// tableParam adds one parameter to r. It returns a problem if the parameter is
// invalid.
func tableParam(r *request, n *doc.Node) *doc.Problem {
	f := requestField{name: n.Get("name").ScalarText(), description: n.Get("description").ScalarText(), shape: shapeOfType(schemaType(n.Get("type").ScalarText())), required: n.Get("required").IsTrue(), at: n.At}
	where := n.Get("in").ScalarText()
	known := func(list []requestField) bool {
		return slices.ContainsFunc(list, func(h requestField) bool { return h.name == f.name })
	}
	switch {
	case f.name == "":
		return &doc.Problem{At: n.At, Severity: doc.Error, Code: doc.Missing, Message: "this parameter has no name", Remedy: "name it"}
	case where == "path":
		for i := range r.path {
			if known(r.path[i].params) {
				f.required = true
				r.path[i].params = replaceField(r.path[i].params, f)
				return nil
			}
		}
		return &doc.Problem{At: n.At, Severity: doc.Warning, Code: doc.UnknownValue, Message: "the path has no {" + f.name + "}: the parameter is left out", Remedy: "write it into the path"}
	case where == "query" || where == "":
		r.query = append(r.query, f)
	case where == "header":
		r.headers = append(r.headers, f)
	case where == "body":
		if r.body == nil || r.body.shape == nil {
			r.body = &requestBody{media: "application/json", shape: shapeOfType("object"), at: n.At}
		}
		r.body.shape.memberShape(f.name).mergeShape(f.shape)
		r.body.shape.descriptions[f.name], r.body.shape.required[f.name] = f.description, f.required
	case where == "form":
		if r.body == nil || r.body.shape != nil {
			r.body = &requestBody{media: "application/x-www-form-urlencoded", at: n.At}
		}
		r.body.fields = append(r.body.fields, f)
	default:
		return &doc.Problem{At: n.At, Severity: doc.Error, Code: doc.UnknownValue, Message: "a parameter cannot be in " + where, Remedy: "use path, query, header, body or form"}
	}
	return nil
}
