package rest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// postman reads a collection.
type postman struct {
	vars     map[string]string // of the collection, by name; those that look secret are left out
	requests []*request
	problems []doc.Problem
	meter    *doc.Meter
}

// maxHost bounds what a host with variables becomes: their values name others.
const maxHost = 2 << 10

// fill puts the values of variables in their places, and of those that the
// values name, a few levels deep.
func (p *postman) fill(host string) string {
	for range 4 {
		if !strings.Contains(host, "{{") || len(host) > maxHost {
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
			value, known := p.vars[name]
			switch {
			case !closed:
				b.WriteString("{{" + after)
				behind = ""
			case known && b.Len()+len(value) <= maxHost:
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

func readPostman(_ context.Context, in *doc.Input) (*doc.Document, string) {
	root, problems := in.Tree()
	if c := root.Get("collection"); c != nil && root.Get("info") == nil { // as Postman's API answers it
		root = c
	}
	info := root.Get("info")
	if !strings.Contains(info.Get("schema").Str(), "/collection/v2") && (info.Get("_postman_id") == nil || root.Get("item") == nil) {
		return nil, "it has no info.schema of a Postman collection v2"
	}
	p := &postman{vars: map[string]string{}, problems: problems, meter: in.Meter()}
	for _, v := range root.List("variable") {
		if key := v.Get("key").Str(); key != "" && !pattern().sensitive.MatchString(key) && v.Get("type").Str() != "secret" {
			p.vars[key] = v.Get("value").Str()
		}
	}
	p.folder(root, nil, root.Get("auth"), 0)
	if len(p.requests) == 0 {
		return nil, "the collection has no request"
	}
	nameExampleIDs(p.requests)
	d := document(doc.Postman, info.Get("name").Str(), p.requests, p.problems)
	d.Version, d.Description = "2.1", words(info.Get("description"))
	return d, ""
}

// folder reads the requests of a folder and those below it.
func (p *postman) folder(n *doc.Node, tags []string, auth *doc.Node, depth int) {
	const deepest = 30
	if depth > deepest {
		p.problems = append(p.problems, doc.Problem{
			At: n.At, Severity: doc.Error, Code: doc.TooLarge, Message: fmt.Sprintf("folders are nested more than %d deep; what is in this one is passed over", deepest), Remedy: "move it up",
		})
		return
	}
	for _, item := range n.List("item") {
		p.meter.Spend(50)
		within := auth
		if own := item.Get("auth"); own != nil {
			within = own
		}
		if item.Get("item") != nil {
			p.folder(item, append(slices.Clip(tags), item.Get("name").Str()), within, depth+1)
			continue
		}
		req := item.Get("request")
		if req == nil {
			p.problems = append(p.problems, doc.Problem{
				At: item.At, Severity: doc.Warning, Code: doc.Missing, Message: "this item is neither a folder nor a request", Remedy: "take it out, or give it a request",
			})
			continue
		}
		p.request(item, req, tags, within)
	}
}

// nameExampleIDs makes parameters of ids that requests were saved with. If another
// request has a parameter there, it has the same name.
func nameExampleIDs(all []*request) {
	named := map[string]*request{} // by shape, of those that have parameters
	for _, r := range all {
		if slices.ContainsFunc(r.path, func(s segment) bool { return len(s.params) > 0 }) {
			named[r.method+" "+r.base+shapeOfPath(r)] = r
		}
	}
	for _, r := range all {
		r.nameIDs()
		if known := named[r.method+" "+r.base+shapeOfPath(r)]; known != nil && known != r {
			r.path = slices.Clone(known.path)
		}
	}
}

func (p *postman) request(item, req *doc.Node, tags []string, auth *doc.Node) {
	r := &request{name: item.Get("name").Str(), tags: tags, at: item.At, method: methodName(req.Get("method").Str())}
	r.about = words(req.Get("description"))
	if req.Kind == doc.String { // a URL alone
		p.url(r, req)
	} else {
		p.url(r, req.Get("url"))
	}
	if len(r.path) == 0 && r.base == "" {
		p.problems = append(p.problems, doc.Problem{
			At: item.At, Severity: doc.Warning, Code: doc.Missing, Message: "this request has no URL", Remedy: "write the URL that it asks, or take it out",
		})
		return
	}
	if own := req.Get("auth"); own != nil {
		auth = own
	}
	p.auth(r, auth)
	media := ""
	for _, h := range req.List("header") {
		if key := h.Get("key").Str(); strings.EqualFold(key, "content-type") {
			media = h.Get("value").Str()
		} else if key != "" && !h.Get("disabled").True() {
			r.addParam(&r.headers, doc.InHeader, key, h.Get("value").Str(), h.At)
			describe(r.headers, key, words(h.Get("description")))
		}
	}
	r.body = postmanBody(req.Get("body"), media)
	for _, saved := range item.List("response") {
		code := ""
		if c := saved.Get("code"); c != nil {
			code = c.Text
		}
		if s := shapeOf(saved.Get("body").Str()); s != nil && code != "" {
			r.answers = append(r.answers, answer{status: code, about: saved.Get("name").Str(), media: "application/json", shape: s})
		}
	}
	p.requests = append(p.requests, r)
}

// url reads a request's URL. Its host may be a variable, whose value says where
// the API is; in its path a variable is a parameter.
func (p *postman) url(r *request, n *doc.Node) {
	raw := ""
	if n != nil {
		raw = n.Text
		if n.Kind == doc.Object {
			raw = n.Get("raw").Str()
		}
	}
	raw, query, _ := strings.Cut(strings.TrimSpace(raw), "?")
	scheme, rest, found := strings.Cut(raw, "://")
	if !found {
		scheme, rest = "", raw
	}
	host, path, _ := strings.Cut(rest, "/")
	host = p.fill(host)
	switch {
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
		if key := q.Get("key").Str(); key != "" {
			r.addParam(&r.query, doc.InQuery, key, q.Get("value").Str(), q.At)
			describe(r.query, key, words(q.Get("description")))
		}
	}
	for _, v := range n.List("variable") {
		for i := range r.path {
			describe(r.path[i].params, v.Get("key").Str(), words(v.Get("description")))
		}
	}
}

// auth reads how requests show who they are from.
func (p *postman) auth(r *request, n *doc.Node) {
	switch how := n.Get("type").Str(); how {
	case "basic", "bearer":
		r.scheme(how, doc.Scheme{Type: how})
	case "oauth2":
		r.scheme("bearer", doc.Scheme{Type: "bearer"})
	case "apikey":
		s := doc.Scheme{Type: "apiKey", In: doc.InHeader, Name: "X-API-Key"}
		for _, f := range n.List("apikey") {
			switch f.Get("key").Str() {
			case "key":
				s.Name = f.Get("value").Str()
			case "in":
				if f.Get("value").Str() == "query" {
					s.In = doc.InQuery
				}
			}
		}
		r.scheme("apiKey_"+paramName(s.Name), s)
	}
}

func postmanBody(n *doc.Node, media string) *payload {
	if n == nil {
		return nil
	}
	p := &payload{media: media, at: n.At}
	switch n.Get("mode").Str() {
	case "raw":
		raw := n.Get("raw").Str()
		if strings.TrimSpace(raw) == "" {
			return nil
		}
		p.fill(raw, n.Get("options").Get("raw").Get("language").Str() == "json")
	case "urlencoded":
		p.media, p.fields = "application/x-www-form-urlencoded", formFields(n.List("urlencoded"))
	case "formdata":
		p.media, p.fields = "multipart/form-data", formFields(n.List("formdata"))
	case "file":
		if p.media == "" {
			p.media = "application/octet-stream"
		}
	case "graphql":
		p.media, p.shape = "application/json", shapeOf(`{"query":"","variables":{}}`)
		p.shape.needed["query"] = true
	default:
		return nil
	}
	return p
}

func formFields(list []*doc.Node) []field {
	var all []field
	for _, f := range list {
		if key := f.Get("key").Str(); key != "" {
			all = append(all, field{name: key, about: words(f.Get("description")), kind: kind("string"), file: f.Get("type").Str() == "file", at: f.At})
		}
	}
	return all
}

// describe adds to a field what is said about it.
func describe(list []field, name, about string) {
	for i := range list {
		if list[i].name == name && list[i].about == "" {
			list[i].about = about
		}
	}
}

// words is a description, which may be a text or hold one.
func words(n *doc.Node) string {
	if n == nil {
		return ""
	}
	if n.Kind == doc.Object {
		return n.Get("content").Str()
	}
	if n.Kind == doc.String {
		return n.Text
	}
	return ""
}
