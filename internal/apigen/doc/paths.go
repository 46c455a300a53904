package doc

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// paths reads the operations below a document's paths. Each is read for itself:
// what is wrong in one costs no other.
type paths struct {
	*bundle
	doc     *Document
	dialect dialect
	byShape map[string]string // METHOD and path without names -> Key
	byID    map[string]bool
}

// dialect is what the versions say in ways of their own.
type dialect interface {
	// parameter reads one; false is one that was taken for a body's part.
	parameter(n *Node, w *where, op *Operation) (Param, bool)
	body(n *Node, w *where, op *Operation)
	response(n *Node, w *where, op *Node) []Content
	servers(item, op *Node, w *where) []Server
}

// fail marks what an operation cannot be called for.
func (op *Operation) fail(code Code) {
	if !slices.Contains(op.Incomplete, code) {
		op.Incomplete = append(op.Incomplete, code)
	}
}

// lack marks what is not known of an operation that can be called all the same.
func (op *Operation) lack(code Code) {
	if !slices.Contains(op.Partial, code) {
		op.Partial = append(op.Partial, code)
	}
}

func (r *paths) read() {
	r.byShape, r.byID = map[string]string{}, map[string]bool{}
	all := r.main.root.Get("paths")
	w := r.way("paths")
	if all == nil || all.Kind != Object {
		if r.main.root.Get("webhooks") == nil || all != nil {
			r.report(r.main.root.keyPosition("paths"), w, Error, Missing, "The document has no paths, so there is nothing to make tools of.", "Add paths with at least one operation.")
		}
		return
	}
	for _, m := range all.Members {
		if !strings.HasPrefix(m.Key, "x-") {
			r.item(m, w.to(m.Key))
		}
	}
}

// methods are those that a path item names, in the order tools are made.
func methods() []string {
	return []string{"get", "put", "post", "delete", "options", "head", "patch", "trace", "query"}
}

func (r *paths) item(m Member, w *where) {
	r.key = ""
	item := r.deref(m.Value, w)
	if item == nil {
		r.leave(m, "ANY", UnresolvedRef)
		return
	}
	if item.Kind != Object {
		r.report(m.Value.At, w, Error, WrongType, fmt.Sprintf("%s must hold operations; it is passed over.", m.Key), "Write an object with a member for each method.")
		r.leave(m, "ANY", WrongType)
		return
	}
	for _, o := range item.Members {
		lower := strings.ToLower(o.Key)
		switch {
		case slices.Contains(methods(), lower):
			r.operation(m, item, o, strings.ToUpper(o.Key), w.to(o.Key))
		case o.Key == "additionalOperations" && o.Value.Kind == Object:
			for _, a := range o.Value.Members {
				r.operation(m, item, a, a.Key, w.to(o.Key).to(a.Key))
			}
		case strings.HasPrefix(o.Key, "x-") || slices.Contains([]string{"$ref", "summary", "description", "servers", "parameters"}, o.Key):
		default:
			r.report(o.At, w.to(o.Key), Error, UnknownMethod, fmt.Sprintf("%q is no method; no operation is made of it.", truncateText(o.Key, 40)), "Write one of "+strings.Join(methods(), ", ")+", or use additionalOperations.")
		}
	}
}

// leave keeps an operation that could not be read, so that it is seen.
func (r *paths) leave(m Member, method string, code Code) {
	op := &Operation{Key: method + " " + m.Key, Method: method, At: m.At}
	op.Path, op.Query = splitPath(m.Key)
	op.fail(code)
	r.doc.Operations = append(r.doc.Operations, op)
}

func splitPath(key string) (path, query string) {
	path, _, _ = strings.Cut(key, "#")
	path, query, _ = strings.Cut(path, "?")
	return path, query
}

func (r *paths) operation(m Member, item *Node, o Member, method string, w *where) {
	n := o.Value
	r.key = method + " " + m.Key
	r.meter.At(r.key)
	r.meter.Spend(10)
	defer func() { r.key = "" }()
	if n.Get("$ref") != nil {
		if n = r.deref(n, w); n == nil {
			r.leave(m, method, UnresolvedRef)
			return
		}
	}
	if n.Kind != Object {
		r.report(n.At, w, Error, WrongType, fmt.Sprintf("%s must be an operation; it is passed over.", r.key), "Write an object with parameters and responses.")
		r.leave(m, method, WrongType)
		return
	}
	op := &Operation{Key: r.key, Method: method, At: o.At}
	op.Path, op.Query = splitPath(m.Key)
	if n.broken {
		op.fail(Syntax)
	}
	if !strings.HasPrefix(op.Path, "/") {
		r.report(m.At, w.up, Warning, Repaired, fmt.Sprintf("The path %q does not begin with a slash; one was put before it.", truncateText(m.Key, 80)), "Begin it with a slash.")
		op.Path = "/" + op.Path
	}
	op.ID = strings.TrimSpace(n.Get("operationId").Str())
	op.Summary = n.Get("summary").Str()
	op.Description = n.Get("description").Str()
	if op.Summary == "" && op.Description == "" {
		op.Summary, op.Description = item.Get("summary").Str(), item.Get("description").Str()
	}
	op.Deprecated = n.Get("deprecated").True()
	op.Tags = r.strings(n.Get("tags"), w.to("tags"))
	if id := op.ID; id != "" {
		if r.byID[id] {
			r.report(n.Get("operationId").At, w.to("operationId"), Warning, DuplicateID, fmt.Sprintf("Another operation has the operationId %q too; both are told apart by method and path.", truncateText(id, 80)), "Give each operation an id of its own.")
		}
		r.byID[id] = true
	}
	r.parameters(op, item, n, w)
	r.dialect.body(n, w, op)
	if why := op.TooLarge(); why != "" {
		r.report(o.At, w, Error, TooLarge, "The operation is passed over. "+why, "Take parameters out, or pass them in the body.")
		r.leave(Member{Key: truncateText(m.Key, maxPathBytes), At: m.At, Value: m.Value}, method, TooLarge)
		return
	}
	r.pathParams(op, m, w)
	r.responses(op, n, w)
	r.security(op, n, w)
	op.Servers = r.dialect.servers(item, n, w)
	if len(op.Servers) == 0 {
		op.Servers = r.doc.Servers
	}
	if len(op.Servers) == 0 {
		op.fail(NoServer)
		r.noServer()
	}
	shape := method + " " + variable.ReplaceAllString(m.Key, "{}")
	if former, ok := r.byShape[shape]; ok {
		r.report(m.At, w.up, Warning, DuplicatePath, fmt.Sprintf("%s and %s are one address; both are made.", former, r.key), "Join them, if they mean one thing.")
	} else {
		r.byShape[shape] = r.key
	}
	r.doc.Operations = append(r.doc.Operations, op)
}

// noServer is reported once for the document.
func (r *paths) noServer() {
	key := r.key
	r.key = ""
	at := r.main.root.keyPosition("servers")
	r.report(at, r.way("servers"), Error, NoServer, "The document does not say where the API is.", "Give the base URL of the API.")
	r.key = key
}

// strings reads a list of texts.
func (b *bundle) strings(n *Node, w *where) []string {
	if n == nil || n.Kind == Null {
		return nil
	}
	if n.Kind != Array {
		b.report(n.At, w, Warning, WrongType, fmt.Sprintf("%s must be a list.", w.segment), "Write a list of texts.")
		if s := n.Str(); s != "" {
			return []string{s}
		}
		return nil
	}
	var list []string
	for _, c := range n.Items {
		if s := c.Str(); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// parameters reads those of the path and those of the operation, which win.
func (r *paths) parameters(op *Operation, item, n *Node, w *where) {
	for _, from := range []struct {
		list *Node
		w    *where
	}{{item.Get("parameters"), w.up.to("parameters")}, {n.Get("parameters"), w.to("parameters")}} {
		if from.list == nil || from.list.Kind == Null {
			continue
		}
		if from.list.Kind != Array {
			r.report(from.list.At, from.w, Error, WrongType, "parameters must be a list; they are passed over.", "Write a list of parameters.")
			op.lack(WrongType)
			continue
		}
		for i, one := range from.list.Items {
			r.parameter(op, one, from.w.to(fmt.Sprint(i)))
		}
	}
}

func (r *paths) parameter(op *Operation, one *Node, w *where) {
	n := r.deref(one, w)
	if n == nil {
		op.lack(UnresolvedRef)
		return
	}
	if n.Kind != Object || n.Get("name").Str() == "" && n.Get("in").Str() != "body" {
		r.report(one.At, w, Error, WrongType, "A parameter must be an object with a name; it is passed over.", "Write name, in and schema.")
		op.lack(WrongType)
		return
	}
	p, ok := r.dialect.parameter(n, w, op)
	if !ok {
		return
	}
	p.Name = n.Get("name").Str()
	p.Description = n.Get("description").Str()
	p.Required = n.Get("required").True()
	p.Deprecated = n.Get("deprecated").True()
	p.At = one.At
	switch p.In {
	case InPath:
		p.Required = true
	case InQuery, InHeader, InCookie, InQueryString:
	default:
		at := n.At
		if in := n.Get("in"); in != nil {
			at = in.At
		}
		r.report(at, w.to("in"), Error, UnknownValue, fmt.Sprintf("The parameter %q is in %q, which is no place; it is passed over.", truncateText(p.Name, 40), truncateText(string(p.In), 40)), "Write path, query, header or cookie.")
		op.lack(UnknownValue)
		return
	}
	if p.In == InHeader && slices.ContainsFunc([]string{"Accept", "Content-Type", "Authorization"}, func(s string) bool { return strings.EqualFold(s, p.Name) }) {
		return // OpenAPI: such parameters are ignored
	}
	if r.meter.Spend(1 + len(op.Params)/32); len(op.Params) > maxParameters {
		return // the operation is passed over
	}
	i := slices.IndexFunc(op.Params, func(o Param) bool { return o.Name == p.Name && o.In == p.In })
	if i < 0 {
		op.Params = append(op.Params, p)
	} else {
		op.Params[i] = p
	}
}

var variable = regexp.MustCompile(`\{([^{}]*)\}`)

// templates finds the names in a path.
func templates(path string) (names []string) {
	for _, m := range variable.FindAllStringSubmatch(path, -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

// pathParams brings the parameters in the path and the names in its template
// together: each name has a parameter, each parameter a name.
func (r *paths) pathParams(op *Operation, m Member, w *where) {
	names := templates(op.Path)
	r.queryTemplates(op)
	for _, name := range names {
		if slices.ContainsFunc(op.Params, func(p Param) bool { return p.In == InPath && p.Name == name }) {
			continue
		}
		like := slices.IndexFunc(op.Params, func(p Param) bool {
			return p.In == InPath && !slices.Contains(names, p.Name) && alike(p.Name, name)
		})
		if like >= 0 {
			r.report(op.Params[like].At, w.up, Warning, PathParamUndeclared, fmt.Sprintf("The path has {%s}, and the parameter is called %q; they are taken for one.", truncateText(name, 40), truncateText(op.Params[like].Name, 40)), "Write the name as the path does.")
			op.Params[like].Name = name
			continue
		}
		r.report(m.At, w.up, Warning, PathParamUndeclared, fmt.Sprintf("{%s} of the path is not declared; it is taken as a text.", truncateText(name, 40)), "Declare it as a parameter in path.")
		schema := &Node{Kind: Object, translated: true, At: m.At, Members: []Member{{Key: "type", At: m.At, Value: NewString("string", m.At)}}}
		op.Params = append(op.Params, Param{Name: name, In: InPath, Required: true, Style: "simple", Schema: schema, At: m.At})
	}
	op.Params = slices.DeleteFunc(op.Params, func(p Param) bool {
		lost := p.In == InPath && !slices.Contains(names, p.Name)
		if lost {
			r.report(p.At, w, Warning, UnknownValue, fmt.Sprintf("The parameter %q is said to be in the path, which does not have it; it is passed over.", truncateText(p.Name, 40)), "Put {"+truncateText(p.Name, 40)+"} into the path, or take the parameter out.")
		}
		return lost
	})
}

// queryTemplates takes {names} of a query that stands in the path as parameters
// of the query.
func (r *paths) queryTemplates(op *Operation) {
	if !strings.Contains(op.Query, "{") {
		return
	}
	var fixed []string
	for pair := range strings.SplitSeq(op.Query, "&") {
		key, value, _ := strings.Cut(pair, "=")
		if names := templates(value); len(names) == 1 && value == "{"+names[0]+"}" {
			for i := range op.Params {
				if op.Params[i].In == InPath && op.Params[i].Name == names[0] {
					op.Params[i].In, op.Params[i].Name, op.Params[i].Style, op.Params[i].Explode = InQuery, key, "form", true
				}
			}
			continue
		}
		if !strings.Contains(pair, "{") {
			fixed = append(fixed, pair)
		}
	}
	op.Query = strings.Join(fixed, "&")
}

// alike says whether two names are one but for case and punctuation.
func alike(a, b string) bool {
	letters := func(s string) string {
		return strings.Map(func(c rune) rune {
			if c == '_' || c == '-' || c == '.' || c == ' ' {
				return -1
			}
			return c
		}, strings.ToLower(s))
	}
	return letters(a) == letters(b)
}

func (r *paths) responses(op *Operation, n *Node, w *where) {
	list := n.Get("responses")
	if list == nil || list.Kind != Object {
		if list != nil {
			r.report(list.At, w.to("responses"), Warning, WrongType, "responses must be an object; they are passed over.", "Write an answer for each status.")
		}
		return
	}
	for _, m := range list.Members {
		if strings.HasPrefix(m.Key, "x-") {
			continue
		}
		at := w.to("responses").to(m.Key)
		one := r.deref(m.Value, at)
		if one == nil {
			continue
		}
		op.Responses = append(op.Responses, Response{Status: m.Key, Description: one.Get("description").Str(), Contents: r.dialect.response(one, at, n)})
	}
}
