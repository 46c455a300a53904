package rest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// postmanReader reads a Postman collection.
type postmanReader struct {
	// variables are those of the collection by name. Variables that look secret
	// are left out.
	variables map[string]string
	requests  []*request
	problems  []doc.Problem
	meter     *doc.Meter
}

// maxHostBytes bounds a host after its variables are filled in: values may
// contain other variables and multiply.
const maxHostBytes = 2 << 10

// fillVariables replaces {{variables}} of a host by their values, also inside
// values, a few levels deep. Unknown ones stay.
func (p *postmanReader) fillVariables(host string) string {
	for range 4 {
		if !strings.Contains(host, "{{") || len(host) > maxHostBytes {
			break
		}
		var b strings.Builder
		for rest := host; rest != ""; {
			before, after, found := strings.Cut(rest, "{{")
			b.WriteString(before)
			if !found {
				break
			}
			name, behind, closed := strings.Cut(after, "}}")
			value, known := p.variables[name]
			switch {
			case !closed:
				b.WriteString("{{" + after)
				behind = ""
			case known && b.Len()+len(value) <= maxHostBytes:
				b.WriteString(value)
			default:
				b.WriteString("{{" + name + "}}")
			}
			rest = behind
		}
		if b.String() == host {
			break
		}
		host = b.String()
	}
	return host
}

// readPostman is the Reader of Postman collections v2.
func readPostman(_ context.Context, in *doc.Input) (*doc.Document, string) {
	root, problems := in.ParseTree()
	// Postman's own API wraps the collection.
	if c := root.Get("collection"); c != nil && root.Get("info") == nil {
		root = c
	}
	info := root.Get("info")
	if !strings.Contains(info.Get("schema").ScalarText(), "/collection/v2") && (info.Get("_postman_id") == nil || root.Get("item") == nil) {
		return nil, "it has no info.schema of a Postman collection v2"
	}
	p := &postmanReader{variables: map[string]string{}, problems: problems, meter: in.Meter()}
	for _, v := range root.List("variable") {
		// A secret could otherwise become part of the base URL.
		if key := v.Get("key").ScalarText(); key != "" && !patterns().secretName.MatchString(key) && v.Get("type").ScalarText() != "secret" {
			p.variables[key] = v.Get("value").ScalarText()
		}
	}
	p.readFolder(root, nil, root.Get("auth"), 0)
	if len(p.requests) == 0 {
		return nil, "the collection has no request"
	}
	nameExampleIDs(p.requests)
	d := makeDocument(doc.Postman, info.Get("name").ScalarText(), p.requests, p.problems)
	d.Version, d.Description = "2.1", descriptionText(info.Get("description"))
	return d, ""
}

// readFolder reads the requests of a folder and of the folders in it. auth is
// the authentication that items inherit.
func (p *postmanReader) readFolder(n *doc.Node, tags []string, auth *doc.Node, depth int) {
	const deepest = 30
	if depth > deepest {
		p.problems = append(p.problems, doc.Problem{
			At: n.At, Severity: doc.Error, Code: doc.TooLarge, Message: fmt.Sprintf("folders are nested more than %d deep; the content of this one is ignored", deepest), Remedy: "move it up",
		})
		return
	}
	for _, item := range n.List("item") {
		p.meter.Spend(50)
		within := auth
		// An item may replace the authentication of its folder.
		if own := item.Get("auth"); own != nil {
			within = own
		}
		if item.Get("item") != nil {
			p.readFolder(item, append(slices.Clip(tags), item.Get("name").ScalarText()), within, depth+1)
			continue
		}
		req := item.Get("request")
		if req == nil {
			p.problems = append(p.problems, doc.Problem{
				At: item.At, Severity: doc.Warning, Code: doc.Missing, Message: "this item is neither a folder nor a request", Remedy: "remove it, or give it a request",
			})
			continue
		}
		p.readRequest(item, req, tags, within)
	}
}

// nameExampleIDs makes parameters of ids that requests were saved with. If another
// request has a parameter there, it has the same name.
func nameExampleIDs(all []*request) {
	named := map[string]*request{} // by shape, of those that have parameters
	for _, r := range all {
		if slices.ContainsFunc(r.path, func(s pathSegment) bool { return len(s.params) > 0 }) {
			named[r.method+" "+r.base+pathShape(r)] = r
		}
	}
	for _, r := range all {
		r.nameIDs()
		if known := named[r.method+" "+r.base+pathShape(r)]; known != nil && known != r {
			r.path = slices.Clone(known.path)
		}
	}
}

// readRequest reads one request and its saved responses.
func (p *postmanReader) readRequest(item, req *doc.Node, tags []string, auth *doc.Node) {
	r := &request{name: item.Get("name").ScalarText(), tags: tags, at: item.At, method: normalizeMethod(req.Get("method").ScalarText())}
	r.description = descriptionText(req.Get("description"))
	// A request may be just a URL.
	if req.Kind == doc.String {
		p.readURL(r, req)
	} else {
		p.readURL(r, req.Get("url"))
	}
	if len(r.path) == 0 && r.base == "" {
		p.problems = append(p.problems, doc.Problem{
			At: item.At, Severity: doc.Warning, Code: doc.Missing, Message: "this request has no URL", Remedy: "write the URL of the request, or remove it",
		})
		return
	}
	if own := req.Get("auth"); own != nil {
		auth = own
	}
	p.readAuth(r, auth)
	media := ""
	for _, h := range req.List("header") {
		if key := h.Get("key").ScalarText(); strings.EqualFold(key, "content-type") {
			media = h.Get("value").ScalarText()
		} else if key != "" && !h.Get("disabled").IsTrue() {
			r.addParam(&r.headers, doc.InHeader, key, h.Get("value").ScalarText(), h.At)
			describeField(r.headers, key, descriptionText(h.Get("description")))
		}
	}
	r.body = readPostmanBody(req.Get("body"), media)
	for _, saved := range item.List("response") {
		code := ""
		if c := saved.Get("code"); c != nil {
			code = c.Text
		}
		if s := shapeOfJSON(saved.Get("body").ScalarText()); s != nil && code != "" {
			r.answers = append(r.answers, responseExample{status: code, description: saved.Get("name").ScalarText(), media: "application/json", shape: s})
		}
	}
	p.requests = append(p.requests, r)
}

// readURL reads the URL of a request. A variable in the host is replaced by its
// value; a variable in the path is a parameter.
func (p *postmanReader) readURL(r *request, n *doc.Node) {
	raw := ""
	if n != nil {
		raw = n.Text
		if n.Kind == doc.Object {
			raw = n.Get("raw").ScalarText()
		}
	}
	raw, query, _ := strings.Cut(strings.TrimSpace(raw), "?")
	scheme, rest, found := strings.Cut(raw, "://")
	if !found {
		scheme, rest = "", raw
	}
	host, path, _ := strings.Cut(rest, "/")
	host = p.fillVariables(host)
	switch {
	// The value of the host is unknown: the user enters the base URL.
	case strings.Contains(host, "{{") || host == "":
	case strings.Contains(host, "://"):
		r.base = strings.TrimRight(host, "/")
	case scheme != "" && !strings.Contains(scheme, "{{"):
		r.base = strings.ToLower(scheme) + "://" + host
	case strings.HasPrefix(host, "localhost") || strings.HasPrefix(host, "127."):
		r.base = "http://" + host
	case strings.Contains(host, "."):
		r.base = "https://" + strings.TrimRight(host, "/")
	default: // a path without a host
		path = host + "/" + path
	}
	base := r.base
	r.setURL("/"+path, false, r.at)
	r.base = base
	list := n.List("query")
	if len(list) == 0 {
		r.addQuery(query, r.at)
	}
	for _, q := range list {
		if key := q.Get("key").ScalarText(); key != "" {
			r.addParam(&r.query, doc.InQuery, key, q.Get("value").ScalarText(), q.At)
			describeField(r.query, key, descriptionText(q.Get("description")))
		}
	}
	for _, v := range n.List("variable") {
		for i := range r.path {
			describeField(r.path[i].params, v.Get("key").ScalarText(), descriptionText(v.Get("description")))
		}
	}
}

// readAuth adds the security scheme of an auth node.
func (p *postmanReader) readAuth(r *request, n *doc.Node) {
	switch how := n.Get("type").ScalarText(); how {
	case "basic", "bearer":
		r.addScheme(how, doc.Scheme{Type: how})
	case "oauth2":
		r.addScheme("bearer", doc.Scheme{Type: "bearer"})
	case "apikey":
		s := doc.Scheme{Type: "apiKey", In: doc.InHeader, Name: "X-API-Key"}
		for _, f := range n.List("apikey") {
			switch f.Get("key").ScalarText() {
			case "key":
				s.Name = f.Get("value").ScalarText()
			case "in":
				if f.Get("value").ScalarText() == "query" {
					s.In = doc.InQuery
				}
			}
		}
		r.addScheme("apiKey_"+paramName(s.Name), s)
	}
}

// readPostmanBody reads a body; nil if there is none.
func readPostmanBody(n *doc.Node, media string) *requestBody {
	if n == nil {
		return nil
	}
	p := &requestBody{media: media, at: n.At}
	switch n.Get("mode").ScalarText() {
	case "raw":
		raw := n.Get("raw").ScalarText()
		if strings.TrimSpace(raw) == "" {
			return nil
		}
		p.parseBody(raw, n.Get("options").Get("raw").Get("language").ScalarText() == "json")
	case "urlencoded":
		p.media, p.fields = "application/x-www-form-urlencoded", readFormFields(n.List("urlencoded"))
	case "formdata":
		p.media, p.fields = "multipart/form-data", readFormFields(n.List("formdata"))
	case "file":
		if p.media == "" {
			p.media = "application/octet-stream"
		}
	case "graphql":
		p.media, p.shape = "application/json", shapeOfJSON(`{"query":"","variables":{}}`)
		p.shape.required["query"] = true
	default:
		return nil
	}
	return p
}

// readFormFields reads the fields of a form.
func readFormFields(list []*doc.Node) []requestField {
	var all []requestField
	for _, f := range list {
		if key := f.Get("key").ScalarText(); key != "" {
			all = append(all, requestField{name: key, description: descriptionText(f.Get("description")), shape: shapeOfType("string"), file: f.Get("type").ScalarText() == "file", at: f.At})
		}
	}
	return all
}

// describeField sets the description of a field that has none.
func describeField(list []requestField, name, about string) {
	for i := range list {
		if list[i].name == name && list[i].description == "" {
			list[i].description = about
		}
	}
}

// descriptionText returns a description, which is a string or an object with
// content.
func descriptionText(n *doc.Node) string {
	if n == nil {
		return ""
	}
	if n.Kind == doc.Object {
		return n.Get("content").ScalarText()
	}
	if n.Kind == doc.String {
		return n.Text
	}
	return ""
}
