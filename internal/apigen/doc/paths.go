package doc

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// pathsReader reads the operations below the paths of a document. It reads each
// one for itself: a fault in one operation costs no other.
type pathsReader struct {
	*bundle
	doc     *Document
	dialect dialect
	// keysByShape maps the method and the path without the names of its
	// variables to the Key of the first operation.
	keysByShape map[string]string
	// seenIDs are the operationIds so far.
	seenIDs map[string]bool
}

// dialect reads the parts that OpenAPI 3 and Swagger 2.0 write in different
// ways.
type dialect interface {
	// readParameter reads one parameter. It returns false if the parameter is
	// part of the body, which it then added to op.
	readParameter(n *Node, w *pointerPath, op *Operation) (Param, bool)
	// readBody sets op.Body. It is called after all parameters are read.
	readBody(n *Node, w *pointerPath, op *Operation)
	// readResponse returns the contents of one response; op is the node of the
	// operation.
	readResponse(n *Node, w *pointerPath, op *Node) []Content
	// operationServers returns the servers that the operation or its path item
	// declares.
	operationServers(item, op *Node, w *pointerPath) []Server
}

// markIncomplete records why an operation cannot be called.
func (op *Operation) markIncomplete(code Code) {
	if !slices.Contains(op.Incomplete, code) {
		op.Incomplete = append(op.Incomplete, code)
	}
}

// markPartial records what is unknown of an operation that can be called all
// the same.
func (op *Operation) markPartial(code Code) {
	if !slices.Contains(op.Partial, code) {
		op.Partial = append(op.Partial, code)
	}
}

// readPaths reads all path items. A document without paths gets a problem,
// unless it only describes webhooks.
func (r *pathsReader) readPaths() {
	r.keysByShape, r.seenIDs = map[string]string{}, map[string]bool{}
	all := r.mainFile.root.Get("paths")
	w := r.pathFromRoot("paths")
	if all == nil || all.Kind != Object {
		if r.mainFile.root.Get("webhooks") == nil || all != nil {
			r.reportProblem(r.mainFile.root.keyPosition("paths"), w, Error, Missing, "The document has no paths, so no tools can be made.", "Add paths with at least one operation.")
		}
		return
	}
	for _, m := range all.Members {
		if !strings.HasPrefix(m.Key, "x-") {
			r.readPathItem(m, w.childPath(m.Key))
		}
	}
}

// pathItemMethods are the methods that a path item can name.
func pathItemMethods() []string {
	return []string{"get", "put", "post", "delete", "options", "head", "patch", "trace", "query"}
}

// readPathItem reads the operations of one path. m is the member of paths; w is
// its path.
func (r *pathsReader) readPathItem(m Member, w *pointerPath) {
	r.operationKey = ""
	item := r.followRefs(m.Value, w)
	if item == nil {
		r.addUnreadable(m, "ANY", UnresolvedRef)
		return
	}
	if item.Kind != Object {
		r.reportProblem(m.Value.At, w, Error, WrongType, fmt.Sprintf("%s must contain operations; it is ignored.", m.Key), "Write an object with a member for each method.")
		r.addUnreadable(m, "ANY", WrongType)
		return
	}
	for _, o := range item.Members {
		lower := strings.ToLower(o.Key)
		switch {
		case slices.Contains(pathItemMethods(), lower):
			r.readOperation(m, item, o, strings.ToUpper(o.Key), w.childPath(o.Key))
		case o.Key == "additionalOperations" && o.Value.Kind == Object:
			for _, a := range o.Value.Members {
				r.readOperation(m, item, a, a.Key, w.childPath(o.Key).childPath(a.Key))
			}
		case strings.HasPrefix(o.Key, "x-") || slices.Contains([]string{"$ref", "summary", "description", "servers", "parameters"}, o.Key):
		default:
			r.reportProblem(o.At, w.childPath(o.Key), Error, UnknownMethod, fmt.Sprintf("%q is not a method; it is ignored.", junctor.ShortenText(o.Key, 40)), "Write one of "+strings.Join(pathItemMethods(), ", ")+", or use additionalOperations.")
		}
	}
}

// addUnreadable adds an operation that could not be read, so that users see it
// with the reason.
func (r *pathsReader) addUnreadable(m Member, method string, code Code) {
	op := &Operation{Key: method + " " + m.Key, Method: method, At: m.At}
	op.Path, op.Query = splitPath(m.Key)
	op.markIncomplete(code)
	r.doc.Operations = append(r.doc.Operations, op)
}

// splitPath splits a key of paths into path and query, and drops a fragment.
// Documents use fragments to tell operations of one path apart.
func splitPath(key string) (path, query string) {
	path, _, _ = strings.Cut(key, "#")
	path, query, _ = strings.Cut(path, "?")
	return path, query
}

// readOperation reads one operation and adds it to the document. m is the
// member of the path, o that of the method. An operation that cannot be read is
// added by addUnreadable instead.
func (r *pathsReader) readOperation(m Member, item *Node, o Member, method string, w *pointerPath) {
	n := o.Value
	r.operationKey = method + " " + m.Key
	r.meter.SetSubject(r.operationKey)
	r.meter.Spend(10)
	defer func() { r.operationKey = "" }()
	if n.Get("$ref") != nil {
		if n = r.followRefs(n, w); n == nil {
			r.addUnreadable(m, method, UnresolvedRef)
			return
		}
	}
	if n.Kind != Object {
		r.reportProblem(n.At, w, Error, WrongType, fmt.Sprintf("%s must be an operation; it is ignored.", r.operationKey), "Write an object with parameters and responses.")
		r.addUnreadable(m, method, WrongType)
		return
	}
	op := &Operation{Key: r.operationKey, Method: method, At: o.At}
	op.Path, op.Query = splitPath(m.Key)
	if n.broken {
		op.markIncomplete(Syntax)
	}
	if !strings.HasPrefix(op.Path, "/") {
		r.reportProblem(m.At, w.parent, Warning, Repaired, fmt.Sprintf("The path %q does not begin with a slash; one was added.", junctor.ShortenText(m.Key, 80)), "Begin it with a slash.")
		op.Path = "/" + op.Path
	}
	op.ID = strings.TrimSpace(n.Get("operationId").ScalarText())
	op.Summary = n.Get("summary").ScalarText()
	op.Description = n.Get("description").ScalarText()
	if op.Summary == "" && op.Description == "" {
		op.Summary, op.Description = item.Get("summary").ScalarText(), item.Get("description").ScalarText()
	}
	op.Deprecated = n.Get("deprecated").IsTrue()
	op.Tags = r.readStrings(n.Get("tags"), w.childPath("tags"))
	if id := op.ID; id != "" {
		if r.seenIDs[id] {
			r.reportProblem(n.Get("operationId").At, w.childPath("operationId"), Warning, DuplicateID, fmt.Sprintf("Another operation has the same operationId %q; they are distinguished by method and path.", junctor.ShortenText(id, 80)), "Give each operation an id of its own.")
		}
		r.seenIDs[id] = true
	}
	r.readParameters(op, item, n, w)
	r.dialect.readBody(n, w, op)
	if why := op.SizeProblem(); why != "" {
		r.reportProblem(o.At, w, Error, TooLarge, "The operation is ignored. "+why, "Remove parameters, or pass them in the body.")
		r.addUnreadable(Member{Key: junctor.ShortenText(m.Key, maxPathBytes), At: m.At, Value: m.Value}, method, TooLarge)
		return
	}
	r.matchPathParams(op, m, w)
	r.readResponses(op, n, w)
	r.readSecurity(op, n, w)
	op.Servers = r.dialect.operationServers(item, n, w)
	if len(op.Servers) == 0 {
		op.Servers = r.doc.Servers
	}
	if len(op.Servers) == 0 {
		op.markIncomplete(NoServer)
		r.reportNoServer()
	}
	shape := method + " " + templateVariable.ReplaceAllString(m.Key, "{}")
	if former, ok := r.keysByShape[shape]; ok {
		r.reportProblem(m.At, w.parent, Warning, DuplicatePath, fmt.Sprintf("%s and %s have the same address; both become tools.", former, r.operationKey), "Merge them if they are the same operation.")
	} else {
		r.keysByShape[shape] = r.operationKey
	}
	r.doc.Operations = append(r.doc.Operations, op)
}

// reportNoServer reports, once for the document, that no server is declared.
func (r *pathsReader) reportNoServer() {
	key := r.operationKey
	r.operationKey = ""
	at := r.mainFile.root.keyPosition("servers")
	r.reportProblem(at, r.pathFromRoot("servers"), Error, NoServer, "The document does not say where the API is.", "Give the base URL of the API.")
	r.operationKey = key
}

// readStrings reads a list of strings. It accepts a single string, with a
// warning.
func (b *bundle) readStrings(n *Node, w *pointerPath) []string {
	if n == nil || n.Kind == Null {
		return nil
	}
	if n.Kind != Array {
		b.reportProblem(n.At, w, Warning, WrongType, fmt.Sprintf("%s must be a list.", w.segment), "Write a list of texts.")
		if s := n.ScalarText(); s != "" {
			return []string{s}
		}
		return nil
	}
	var list []string
	for _, c := range n.Items {
		if s := c.ScalarText(); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// readParameters reads the parameters of the path item and those of the
// operation, which replace the former of the same name and place.
func (r *pathsReader) readParameters(op *Operation, item, n *Node, w *pointerPath) {
	for _, from := range []struct {
		list *Node
		w    *pointerPath
	}{{item.Get("parameters"), w.parent.childPath("parameters")}, {n.Get("parameters"), w.childPath("parameters")}} {
		if from.list == nil || from.list.Kind == Null {
			continue
		}
		if from.list.Kind != Array {
			r.reportProblem(from.list.At, from.w, Error, WrongType, "parameters must be a list; they are ignored.", "Write a list of parameters.")
			op.markPartial(WrongType)
			continue
		}
		for i, one := range from.list.Items {
			r.readParameter(op, one, from.w.childPath(fmt.Sprint(i)))
		}
	}
}

// readParameter reads one parameter and adds it to op. A parameter that cannot
// be read is left out, and op is marked as partial.
func (r *pathsReader) readParameter(op *Operation, one *Node, w *pointerPath) {
	n := r.followRefs(one, w)
	if n == nil {
		op.markPartial(UnresolvedRef)
		return
	}
	if n.Kind != Object || n.Get("name").ScalarText() == "" && n.Get("in").ScalarText() != "body" {
		r.reportProblem(one.At, w, Error, WrongType, "A parameter must be an object with a name; it is ignored.", "Write name, in and schema.")
		op.markPartial(WrongType)
		return
	}
	p, ok := r.dialect.readParameter(n, w, op)
	if !ok {
		return
	}
	p.Name = n.Get("name").ScalarText()
	p.Description = n.Get("description").ScalarText()
	p.Required = n.Get("required").IsTrue()
	p.Deprecated = n.Get("deprecated").IsTrue()
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
		r.reportProblem(at, w.childPath("in"), Error, UnknownValue, fmt.Sprintf("The parameter %q has the unknown place %q; it is ignored.", junctor.ShortenText(p.Name, 40), junctor.ShortenText(string(p.In), 40)), "Write path, query, header or cookie.")
		op.markPartial(UnknownValue)
		return
	}
	if p.In == InHeader && slices.ContainsFunc([]string{"Accept", "Content-Type", "Authorization"}, func(s string) bool { return strings.EqualFold(s, p.Name) }) {
		return // OpenAPI: such parameters are ignored
	}
	if r.meter.Spend(1 + len(op.Params)/32); len(op.Params) > maxParameters {
		return // readOperation reports it and drops the operation
	}
	i := slices.IndexFunc(op.Params, func(o Param) bool { return o.Name == p.Name && o.In == p.In })
	if i < 0 {
		op.Params = append(op.Params, p)
	} else {
		op.Params[i] = p
	}
}

// templateVariable matches a {variable} of a path or URL.
var templateVariable = regexp.MustCompile(`\{([^{}]*)\}`)

// templateNames returns the names of the variables in a path, each once.
func templateNames(path string) (names []string) {
	for _, m := range templateVariable.FindAllStringSubmatch(path, -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

// matchPathParams matches the parameters in the path with the variables of its
// template. Afterwards each variable has a parameter, and each path parameter
// has a variable; apigen/call relies on that.
func (r *pathsReader) matchPathParams(op *Operation, m Member, w *pointerPath) {
	names := templateNames(op.Path)
	r.moveQueryTemplates(op)
	for _, name := range names {
		if slices.ContainsFunc(op.Params, func(p Param) bool { return p.In == InPath && p.Name == name }) {
			continue
		}
		like := slices.IndexFunc(op.Params, func(p Param) bool {
			return p.In == InPath && !slices.Contains(names, p.Name) && sameWithoutPunctuation(p.Name, name)
		})
		if like >= 0 {
			r.reportProblem(op.Params[like].At, w.parent, Warning, PathParamUndeclared, fmt.Sprintf("The path has {%s}, and the parameter is called %q; they are treated as the same.", junctor.ShortenText(name, 40), junctor.ShortenText(op.Params[like].Name, 40)), "Write the name as the path does.")
			op.Params[like].Name = name
			continue
		}
		r.reportProblem(m.At, w.parent, Warning, PathParamUndeclared, fmt.Sprintf("{%s} of the path is not declared; it is treated as text.", junctor.ShortenText(name, 40)), "Declare it as a parameter in path.")
		schema := &Node{Kind: Object, translated: true, At: m.At, Members: []Member{{Key: "type", At: m.At, Value: NewString("string", m.At)}}}
		op.Params = append(op.Params, Param{Name: name, In: InPath, Required: true, Style: "simple", Schema: schema, At: m.At})
	}
	op.Params = slices.DeleteFunc(op.Params, func(p Param) bool {
		// A parameter that the template does not have could never be sent.
		lost := p.In == InPath && !slices.Contains(names, p.Name)
		if lost {
			r.reportProblem(p.At, w, Warning, UnknownValue, fmt.Sprintf("The parameter %q is declared in the path, which does not have it; it is ignored.", junctor.ShortenText(p.Name, 40)), "Put {"+junctor.ShortenText(p.Name, 40)+"} into the path, or remove the parameter.")
		}
		return lost
	})
}

// moveQueryTemplates turns {variables} of a query that is written in the path
// into parameters of the query.
func (r *pathsReader) moveQueryTemplates(op *Operation) {
	if !strings.Contains(op.Query, "{") {
		return
	}
	var fixed []string
	for pair := range strings.SplitSeq(op.Query, "&") {
		key, value, _ := strings.Cut(pair, "=")
		if names := templateNames(value); len(names) == 1 && value == "{"+names[0]+"}" {
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

// sameWithoutPunctuation reports whether two names differ in case and
// punctuation only, such as petId and pet_id.
func sameWithoutPunctuation(a, b string) bool {
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

// readResponses reads the responses of an operation. Responses that cannot be
// resolved are left out: a call works without them.
func (r *pathsReader) readResponses(op *Operation, n *Node, w *pointerPath) {
	list := n.Get("responses")
	if list == nil || list.Kind != Object {
		if list != nil {
			r.reportProblem(list.At, w.childPath("responses"), Warning, WrongType, "responses must be an object; they are ignored.", "Write an answer for each status.")
		}
		return
	}
	for _, m := range list.Members {
		if strings.HasPrefix(m.Key, "x-") {
			continue
		}
		at := w.childPath("responses").childPath(m.Key)
		one := r.followRefs(m.Value, at)
		if one == nil {
			continue
		}
		op.Responses = append(op.Responses, Response{Status: m.Key, Description: one.Get("description").ScalarText(), Contents: r.dialect.readResponse(one, at, n)})
	}
}
