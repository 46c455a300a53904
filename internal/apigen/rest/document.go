package rest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"

	junctor "github.com/junctor-mcp/junctor"
)

// maxSegments bounds the segments of a request's path.
const maxSegments = 100

// makeDocument joins requests of one method and path into operations and
// returns their document. problems are those that the reader found.
func makeDocument(format doc.Format, title string, requests []*request, problems []doc.Problem) *doc.Document {
	d := &documentBuilder{&doc.Document{Format: format, Title: title, Schemas: noSchemas{}, Schemes: map[string]doc.Scheme{}, Problems: problems}}
	groups := map[string][]*request{}
	var order []string
	requests = slices.DeleteFunc(requests, func(r *request) bool {
		if len(r.path) <= maxSegments {
			return false
		}
		d.Problems = append(d.Problems, doc.Problem{
			At: r.at, Severity: doc.Error, Code: doc.TooLarge,
			Message: fmt.Sprintf("The path of this request has %d parts, and at most %d are allowed; it is ignored.", len(r.path), maxSegments), Remedy: "Remove it, or shorten its path.",
		})
		return true
	})
	requests = d.keepSendable(requests)
	for _, r := range requests {
		// The base is part of the key: one path on two hosts is two operations.
		key := r.method + " " + pathShape(r) + " " + r.base
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], r)
	}
	bases := map[string]int{}
	for _, r := range requests {
		if r.base != "" {
			bases[r.base]++
		}
	}
	d.Servers = listServers(bases)
	taken := map[string]bool{}
	for _, key := range order {
		op := joinRequests(groups[key], d)
		// The same path exists on another host.
		if taken[op.Key] {
			op.Key += " at " + groups[key][0].base
		}
		taken[op.Key] = true
		d.Operations = append(d.Operations, op)
		if len(op.Servers) == 0 {
			d.Problems = append(d.Problems, doc.Problem{
				At: op.At, Severity: doc.Error, Code: doc.NoServer, OperationKey: op.Key,
				Message: "the document does not say where " + op.Key + " is", Remedy: "give the address of the API (base_url)",
			})
		}
	}
	return d.Document
}

// documentBuilder is a document that operations are added to.
type documentBuilder struct{ *doc.Document }

// keepSendable returns the requests that can be sent, with methods in upper case.
// Collections and recordings can have any method, such as TRACE, which repeats the
// credentials of its request, or PROPFIND of WebDAV, and the addresses of sockets. Each
// other request is reported once.
func (d *documentBuilder) keepSendable(requests []*request) []*request {
	reported := map[string]bool{}
	return slices.DeleteFunc(requests, func(r *request) bool {
		r.method = strings.ToUpper(cmp.Or(r.method, "GET"))
		code, reason, remedy := doc.UnknownMethod, "its method is not supported", "Use one of "+strings.ReplaceAll(methodNames, "|", ", ")+", or remove it."
		if slices.Contains(strings.Split(methodNames, "|"), r.method) {
			scheme, _, found := strings.Cut(r.base, "://")
			if !found || scheme == "http" || scheme == "https" || strings.Contains(scheme, "{") {
				return false
			}
			code, reason, remedy = doc.UnreadEndpoint, scheme+" addresses cannot be called", "Use an http or https address, or remove it."
		}
		what := junctor.ShortenText(r.method, 40) + " " + junctor.ShortenText(r.base+r.pathTemplate(), 200)
		if r.name != "" {
			what += " (" + junctor.ShortenText(r.name, 80) + ")"
		}
		if !reported[what] {
			reported[what] = true
			d.Problems = append(d.Problems, doc.Problem{
				At: r.at, Severity: doc.Warning, Code: code, Message: "No tool is made of " + what + ": " + reason + ".", Remedy: remedy,
			})
		}
		return true
	})
}

// acceptAnyBody lets an operation that a page only names accept any JSON: it
// probably takes a body, and nothing says of what form.
func (d *documentBuilder) acceptAnyBody(op *doc.Operation) {
	op.Body = &doc.Body{DeclaresRequired: true, At: op.At, Contents: []doc.Content{{Media: "application/json"}}}
	op.Partial = append(op.Partial, doc.BodyUnknown)
	d.Problems = append(d.Problems, doc.Problem{
		At: op.At, Severity: doc.Hint, Code: doc.BodyUnknown, OperationKey: op.Key,
		Message: "The content of the body of " + op.Key + " is unknown, so any JSON is accepted.", Remedy: "Show an example of it, or list its fields.",
	})
}

// noSchemas is the doc.Schemas of documents without references.
type noSchemas struct{}

// Resolve always fails.
func (noSchemas) Resolve(string, *doc.Node) (*doc.Node, error) {
	return nil, errors.New("this document cannot have references")
}

// pathShape returns the path without the names of its parameters: /a/{id} and
// /a/{other} are the same.
func pathShape(r *request) string {
	return patterns().bracedParam.ReplaceAllString(r.pathTemplate(), "{}")
}

// listServers returns the servers of the API, the most used first.
func listServers(bases map[string]int) []doc.Server {
	names := slices.Collect(maps.Keys(bases))
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(bases[b], bases[a]), cmp.Compare(a, b))
	})
	all := make([]doc.Server, 0, len(names))
	for _, n := range names {
		all = append(all, doc.Server{URL: n})
	}
	return all
}

// joinRequests makes one operation of requests that differ in their values
// only. group is not empty; the first request decides path and base.
func joinRequests(group []*request, d *documentBuilder) *doc.Operation {
	first := group[0]
	op := &doc.Operation{
		Key: first.method + " " + first.pathTemplate(), Method: first.method, Path: first.pathTemplate(),
		Inferred: true, At: first.at, Servers: d.Servers,
	}
	if first.base != "" {
		op.Servers = []doc.Server{{URL: first.base}}
	}
	if len(op.Servers) == 0 {
		op.Incomplete = append(op.Incomplete, doc.NoServer)
	}
	var query, headers []requestField
	answers := map[string]*responseExample{}
	for _, r := range group {
		op.Summary = cmp.Or(op.Summary, r.name)
		op.Description = cmp.Or(op.Description, r.description)
		for _, tag := range r.tags {
			if !slices.Contains(op.Tags, tag) {
				op.Tags = append(op.Tags, tag)
			}
		}
		query, headers = joinFields(query, r.query), joinFields(headers, r.headers)
		for i := range r.answers {
			a := &r.answers[i]
			if known := answers[a.status]; known == nil {
				answers[a.status] = a
			} else if known.shape != nil {
				known.shape.mergeShape(a.shape)
			}
		}
		addSecurity(op, r, d.Document)
	}
	for i, s := range first.path {
		for j, p := range s.params {
			// Another place may describe the parameter better.
			for _, r := range group[1:] {
				if i < len(r.path) && j < len(r.path[i].params) && p.description == "" && r.path[i].params[j].description != "" {
					p.description, p.shape = r.path[i].params[j].description, r.path[i].params[j].shape
				}
			}
			op.Params = append(op.Params, makeParam(p, doc.InPath))
		}
	}
	for _, f := range query {
		op.Params = append(op.Params, makeParam(f, doc.InQuery))
	}
	for _, f := range headers {
		op.Params = append(op.Params, makeParam(f, doc.InHeader))
	}
	// Only if every request is merely described: an example without a body
	// shows that there is none.
	if op.Body = joinBodies(group); op.Body == nil && takesBody(op.Method) && !slices.ContainsFunc(group, func(r *request) bool { return !r.described }) {
		d.acceptAnyBody(op)
	}
	for status, a := range answers {
		resp := doc.Response{Status: status, Description: a.description}
		if a.media != "" {
			resp.Contents = []doc.Content{{Media: a.media}}
			if a.shape != nil {
				resp.Contents[0].Schema = a.shape.toSchema(first.at)
			}
		}
		op.Responses = append(op.Responses, resp)
	}
	slices.SortFunc(op.Responses, func(a, b doc.Response) int { return cmp.Compare(a.Status, b.Status) })
	return op
}

// addSecurity adds the schemes of a request to the document, and to the
// operation as alternatives.
func addSecurity(op *doc.Operation, r *request, d *doc.Document) {
	for name, s := range r.schemes {
		d.Schemes[name] = s
		if !slices.ContainsFunc(op.Security, func(alternative []doc.Requirement) bool { return alternative[0].Scheme == name }) {
			op.Security = append(op.Security, []doc.Requirement{{Scheme: name}})
			op.DeclaresSecurity = true
		}
	}
	slices.SortFunc(op.Security, func(a, b []doc.Requirement) int { return cmp.Compare(a[0].Scheme, b[0].Scheme) })
}

// joinFields merges the fields in more into have, by name. Values of different
// types become strings.
func joinFields(have, more []requestField) []requestField {
	for _, f := range more {
		i := slices.IndexFunc(have, func(h requestField) bool { return h.name == f.name })
		if i < 0 {
			have = append(have, f)
			continue
		}
		h := &have[i]
		h.description = cmp.Or(h.description, f.description)
		h.required, h.optional, h.file = h.required || f.required, h.optional || f.optional, h.file || f.file
		if h.shape == nil {
			h.shape = f.shape
		} else if f.shape != nil && !slices.Equal(h.shape.types, f.shape.types) {
			// The value is 1 here and abc there.
			h.shape = shapeOfType("string")
		}
	}
	return have
}

// makeParam returns the parameter of a field.
func makeParam(f requestField, in doc.Place) doc.Param {
	p := doc.Param{
		Name: f.name, In: in, Description: f.description, Required: in == doc.InPath || f.required && !f.optional,
		Style: "simple", Schema: f.shape.toSchema(f.at), At: f.at,
	}
	if in == doc.InQuery {
		p.Style, p.Explode = "form", true
	}
	return p
}

// joinBodies joins the bodies of requests by media type. The body is required
// if every request that is shown has one. It returns nil if none has.
func joinBodies(group []*request) *doc.Body {
	var order []string
	joined := map[string]*requestBody{}
	always := true
	for _, r := range group {
		if r.body == nil {
			// A page that only names the endpoint says nothing of its body.
			always = always && r.described
			continue
		}
		known := joined[r.body.media]
		if known == nil {
			known = &requestBody{media: r.body.media, at: r.body.at}
			joined[known.media] = known
			order = append(order, known.media)
		}
		known.fields = joinFields(known.fields, r.body.fields)
		if r.body.shape != nil {
			if known.shape == nil {
				known.shape = &valueShape{}
			}
			known.shape.mergeShape(r.body.shape)
		}
	}
	if len(order) == 0 {
		return nil
	}
	b := &doc.Body{Required: always, DeclaresRequired: true, At: joined[order[0]].at}
	for _, media := range order {
		b.Contents = append(b.Contents, joined[media].makeContent())
	}
	return b
}

// makeContent returns the media type of a body with its inferred schema.
func (p *requestBody) makeContent() doc.Content {
	c := doc.Content{Media: p.media}
	switch {
	case p.shape != nil:
		c.Schema = p.shape.toSchema(p.at)
	case len(p.fields) > 0:
		s := shapeOfType("object")
		for _, f := range p.fields {
			one := s.memberShape(f.name)
			one.mergeShape(f.shape)
			s.descriptions[f.name], s.required[f.name] = f.description, f.required && !f.optional
		}
		c.Schema = s.toSchema(p.at)
		for _, f := range p.fields {
			if f.file {
				n := c.Schema.Get("properties").Get(f.name)
				n.Members = append(n.Members, doc.NewMember("format", doc.NewString("binary", p.at)))
			}
		}
	case strings.HasPrefix(p.media, "text/"):
		c.Schema = shapeOfType("string").toSchema(p.at)
	}
	return c
}
