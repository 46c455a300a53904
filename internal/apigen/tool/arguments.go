package tool

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/call"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// argumentSet holds the arguments of a tool: where each comes from in the
// document, and where it goes in the request.
type argumentSet struct {
	arguments []argument
	body      *call.Body
	// bodySchema is the schema of the body. Arguments may be fields of it.
	bodySchema *doc.Node
	// bodyText is the description of the body.
	bodyText string
	// unresolvedRef is set if a reference in the schema of an argument leads
	// nowhere.
	unresolvedRef bool
}

// argument is a parameter, a field of the body, or the whole body.
type argument struct {
	plan     call.Arg
	required bool
	// param is nil for arguments of the body.
	param  *doc.Param
	isFile bool
}

// callArgs returns the arguments as the plan stores them.
func (a *argumentSet) callArgs() []call.Arg {
	list := make([]call.Arg, len(a.arguments))
	for i, one := range a.arguments {
		list[i] = one.plan
	}
	return list
}

// collectArguments decides which arguments a tool takes. Each parameter is one.
// Each field of the body is one too if the body is a plain object and no field
// has the name of a parameter; otherwise the body is a single argument.
func (b *builder) collectArguments(op *doc.Operation) *argumentSet {
	a := &argumentSet{}
	for i := range op.Params {
		p := &op.Params[i]
		one := argument{param: p, required: p.Required, plan: call.Arg{
			Key: p.Name, Place: call.Place(p.In), Style: p.Style, Explode: p.Explode, AllowReserved: p.AllowReserved, Media: p.Media,
		}}
		if p.In == doc.InVariable {
			one.plan.Style, one.plan.Explode = "", false
		}
		one.plan.Scheme = b.tokenScheme(op, p.In, p.Name)
		a.arguments = append(a.arguments, one)
	}
	if op.Body != nil && op.GraphQL == nil {
		b.addBodyArguments(op, a)
	}
	a.assignNames()
	return a
}

// addBodyArguments adds the arguments that the body consists of. The body is
// flattened to its fields only if leaving all of them out means the same as
// sending none.
func (b *builder) addBodyArguments(op *doc.Operation, a *argumentSet) {
	content := b.chooseContent(op.Body.Contents)
	if content == nil {
		return
	}
	kind := bodyKind(content.Media)
	a.bodySchema, a.bodyText = b.followRefs(content.Schema), op.Body.Description
	if a.bodySchema == nil && content.ItemSchema != nil {
		a.bodySchema = &doc.Node{Kind: doc.Object, At: content.ItemSchema.At, Members: []doc.Member{
			{Key: "type", Value: &doc.Node{Kind: doc.String, Text: "array"}}, {Key: "items", Value: content.ItemSchema},
		}}
	}
	media := content.Media
	// A wildcard such as */* cannot be sent as the Content-Type.
	if kind == kindJSON && mediaType(media) != "application/json" && mediaType(media) != "text/json" {
		media = "application/json"
	}
	c := b.newCompiler(fullLimits())
	s := completeRequired(c.compileNode(a.bodySchema, 0))
	required, _ := s["required"].([]string)
	// If the document does not say whether the body is required, required
	// fields decide.
	must := op.Body.Required || !op.Body.DeclaresRequired && len(required) > 0
	a.body = &call.Body{Media: media, Required: must && op.Method != http.MethodGet && op.Method != http.MethodHead}
	isForm := kind == kindForm || kind == kindMultipart
	if isForm && (s["anyOf"] != nil || s["properties"] == nil) {
		s = c.flattenForm(s)
		required, _ = s["required"].([]string)
	}
	fields, _ := s["properties"].(schema)
	// An optional body with required fields cannot be flattened: its fields
	// would become required arguments, and the body could no longer be left
	// out.
	flat := kind <= kindMultipart && len(fields) > 0 && (isForm || isPlainObject(s)) && (must || len(required) == 0)
	if flat && !isForm && b.hasNameClash(op, fields) {
		flat = false
	}
	if !flat {
		file := kind == kindBytes || b.isFile(a.bodySchema) && kind > kindJSONLike
		a.arguments = append(a.arguments, argument{required: must, isFile: file, plan: call.Arg{Key: "body", Place: call.WholeBody, File: file}})
		return
	}
	for _, name := range sortedKeys(fields) {
		one := argument{required: slices.Contains(required, name), plan: call.Arg{Key: name, Place: call.Field}}
		if isForm {
			b.planFormField(&one, content, name, kind)
			one.plan.Scheme = b.tokenScheme(op, "", name)
		}
		a.arguments = append(a.arguments, one)
	}
}

// isPlainObject reports whether a body is an object whose members can be
// arguments: it has no choices and no members of arbitrary names.
func isPlainObject(s schema) bool {
	for _, key := range []string{"anyOf", "oneOf", "not", "patternProperties", "$ref", "minProperties", "propertyNames"} {
		if s[key] != nil {
			return false
		}
	}
	if _, typed := s["additionalProperties"].(schema); typed {
		return false
	}
	t := typesOf(s["type"])
	return len(t) == 0 || slices.Equal(t, []string{"object"})
}

// flattenForm joins the branches of a form's schema, because a form has fields
// only. It changes s.
func (c *compiler) flattenForm(s schema) schema {
	branches, _ := s["anyOf"].([]any)
	if len(branches) == 0 {
		return s
	}
	delete(s, "anyOf")
	return completeRequired(c.mergeSchemas(s, c.joinBranches(branches)))
}

// hasNameClash reports whether a field has the name of a parameter.
func (b *builder) hasNameClash(op *doc.Operation, fields schema) bool {
	return slices.ContainsFunc(op.Params, func(p doc.Param) bool {
		if _, ok := fields[p.Name]; ok {
			return true
		}
		return false
	})
}

// planFormField sets how a field of a form is sent: as a file, by a style, or
// as a part of its own media type.
func (b *builder) planFormField(one *argument, content *doc.Content, name string, kind int) {
	e := content.Encoding[name]
	field := b.findProperty(content.Schema, name)
	one.isFile = kind == kindMultipart && (b.isFile(field) || b.isFile(b.followRefs(field).Get("items")))
	one.plan.File = one.isFile
	one.plan.AllowReserved = e.AllowReserved
	if e.Style != "" || e.Explode != nil {
		if kind == kindForm || e.Style != "" {
			one.plan.Style = e.Style
			if one.plan.Style == "" {
				one.plan.Style = "form"
			}
			one.plan.Explode = one.plan.Style == "form" || one.plan.Style == "deepObject"
			if e.Explode != nil && one.plan.Style != "deepObject" {
				one.plan.Explode = *e.Explode
			}
			return
		}
	}
	if first, _, _ := strings.Cut(e.Media, ","); first != "" && (kind == kindMultipart || mediaType(first) == "application/json") {
		one.plan.Media = strings.TrimSpace(first)
		if kind == kindMultipart && bodyKind(one.plan.Media) == kindBytes && !strings.Contains(one.plan.Media, "*") {
			one.isFile, one.plan.File = true, true
		}
	}
}

// findProperty finds the schema of a field, also below combinators.
func (b *builder) findProperty(n *doc.Node, name string) *doc.Node {
	n = b.followRefs(n)
	if p := n.Get("properties").Get(name); p != nil {
		return p
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		for _, part := range arrayItems(n.Get(key)) {
			if part != n {
				if p := b.followRefs(part).Get("properties").Get(name); p != nil {
					return p
				}
			}
		}
	}
	return nil
}

// tokenScheme returns the security scheme whose token a parameter carries, or
// "". Such an argument is hidden while a credential is bound to it.
func (b *builder) tokenScheme(op *doc.Operation, in doc.Place, name string) string {
	b.meter.Spend(1 + len(b.doc.Schemes)/2)
	for _, id := range sortedKeys(b.doc.Schemes) {
		if s := b.doc.Schemes[id]; s.Type == "apiKey" && s.In == in && strings.EqualFold(s.Name, name) {
			return id
		}
	}
	// Some documents declare the token as an ordinary parameter beside a
	// security scheme. The usual names are taken as the token of the first
	// scheme.
	if in == doc.InPath || in == doc.InVariable || !slices.Contains([]string{"token", "access_token", "api_key", "apikey", "x-api-key", "auth_token", "x-auth-token"}, strings.ToLower(name)) {
		return ""
	}
	for _, alternative := range op.Security {
		for _, need := range alternative {
			return need.Scheme
		}
	}
	return ""
}

// assignNames gives each argument a unique name that clients accept. Arguments
// of one name in different places get their place as a suffix.
func (a *argumentSet) assignNames() {
	count := map[string]int{}
	for i := range a.arguments {
		a.arguments[i].plan.Name = argumentName(a.arguments[i].plan.Key)
		count[a.arguments[i].plan.Name]++
	}
	taken, next := map[string]bool{}, map[string]int{}
	for i := range a.arguments {
		p := &a.arguments[i].plan
		if count[p.Name] > 1 && p.Place != call.WholeBody {
			place := string(p.Place)
			if p.Place == call.Field {
				place = "body"
			}
			p.Name = truncateBytes(p.Name, 64-2-len(place)) + "__" + place
		}
		base := p.Name
		for taken[p.Name] {
			next[base]++ // the first is 2
			p.Name = truncateBytes(base, 60) + "_" + strconv.Itoa(next[base]+1)
		}
		taken[p.Name] = true
	}
}

// truncateBytes returns the first bytes of a name.
func truncateBytes(s string, most int) string { return s[:min(len(s), most)] }

// nonNameChars are characters that clients do not accept in the name of an
// argument.
var nonNameChars = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// argumentName returns a key in the characters that clients accept: letters,
// digits, "_", "." and "-".
func argumentName(key string) string {
	name := nonNameChars.ReplaceAllString(key, "_")
	if name != key {
		name = strings.Trim(name, "_")
	}
	if name == "" {
		name = "value"
	}
	return truncateBytes(name, 64)
}
