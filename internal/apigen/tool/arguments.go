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

// arguments are those of a tool: where each comes from and where it goes.
type arguments struct {
	list  []argument
	body  *call.Body
	whole *doc.Node // schema of the body, of which arguments may be fields
	text  string    // description of the body
	lost  bool      // a reference of an argument's schema leads nowhere
}

// argument is a parameter, a field of the body, or all of it.
type argument struct {
	plan     call.Arg
	required bool
	param    *doc.Param // nil of the body
	file     bool
}

func (a *arguments) plan() []call.Arg {
	list := make([]call.Arg, len(a.list))
	for i, one := range a.list {
		list[i] = one.plan
	}
	return list
}

// arguments decides what a tool takes. Parameters are arguments of their own;
// fields of the body too, if it is a plain object and no name is there twice.
func (b *builder) arguments(op *doc.Operation) *arguments {
	a := &arguments{}
	for i := range op.Params {
		p := &op.Params[i]
		one := argument{param: p, required: p.Required, plan: call.Arg{
			Key: p.Name, Place: call.Place(p.In), Style: p.Style, Explode: p.Explode, Reserved: p.Reserved, Media: p.Media,
		}}
		if p.In == doc.InVariable {
			one.plan.Style, one.plan.Explode = "", false
		}
		one.plan.Scheme = b.tokenOf(op, p.In, p.Name)
		a.list = append(a.list, one)
	}
	if op.Body != nil && op.Field == nil {
		b.body(op, a)
	}
	a.name()
	return a
}

// body adds the arguments that make the body.
func (b *builder) body(op *doc.Operation, a *arguments) {
	content := b.choose(op.Body.Contents)
	if content == nil {
		return
	}
	kind := kindOf(content.Media)
	a.whole, a.text = b.follow(content.Schema), op.Body.Description
	if a.whole == nil && content.Item != nil {
		a.whole = &doc.Node{Kind: doc.Object, At: content.Item.At, Members: []doc.Member{
			{Key: "type", Value: &doc.Node{Kind: doc.String, Text: "array"}}, {Key: "items", Value: content.Item},
		}}
	}
	media := content.Media
	if kind == kindJSON && mediaType(media) != "application/json" && mediaType(media) != "text/json" {
		media = "application/json"
	}
	c := b.compiler(full())
	s := completeRequired(c.compileNode(a.whole, 0))
	required, _ := s["required"].([]string)
	must := op.Body.Required || !op.Body.Declared && len(required) > 0
	a.body = &call.Body{Media: media, Required: must && op.Method != http.MethodGet && op.Method != http.MethodHead}
	isForm := kind == kindForm || kind == kindMultipart
	if isForm && (s["anyOf"] != nil || s["properties"] == nil) {
		s = c.flatForm(s)
		required, _ = s["required"].([]string)
	}
	fields, _ := s["properties"].(schema)
	flat := kind <= kindMultipart && len(fields) > 0 && (isForm || isPlain(s)) && (must || len(required) == 0)
	if flat && !isForm && b.clash(op, fields) {
		flat = false
	}
	if !flat {
		file := kind == kindBytes || b.isFile(a.whole) && kind > kindJSONLike
		a.list = append(a.list, argument{required: must, file: file, plan: call.Arg{Key: "body", Place: call.Whole, File: file}})
		return
	}
	for _, name := range sortedKeys(fields) {
		one := argument{required: slices.Contains(required, name), plan: call.Arg{Key: name, Place: call.Field}}
		if isForm {
			b.formField(&one, content, name, kind)
			one.plan.Scheme = b.tokenOf(op, "", name)
		}
		a.list = append(a.list, one)
	}
}

// isPlain says whether a body is an object whose members can be arguments.
func isPlain(s schema) bool {
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

// flatForm is what the branches of a form come to, since a form has fields only.
func (c *compiler) flatForm(s schema) schema {
	branches, _ := s["anyOf"].([]any)
	if len(branches) == 0 {
		return s
	}
	delete(s, "anyOf")
	return completeRequired(c.mergeSchemas(s, c.joinBranches(branches)))
}

// clash says whether a field has the name of a parameter.
func (b *builder) clash(op *doc.Operation, fields schema) bool {
	return slices.ContainsFunc(op.Params, func(p doc.Param) bool {
		if _, ok := fields[p.Name]; ok {
			return true
		}
		return false
	})
}

// formField says how a field of a form is sent.
func (b *builder) formField(one *argument, content *doc.Content, name string, kind int) {
	e := content.Encoding[name]
	field := b.property(content.Schema, name)
	one.file = kind == kindMultipart && (b.isFile(field) || b.isFile(b.follow(field).Get("items")))
	one.plan.File = one.file
	one.plan.Reserved = e.Reserved
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
		if kind == kindMultipart && kindOf(one.plan.Media) == kindBytes && !strings.Contains(one.plan.Media, "*") {
			one.file, one.plan.File = true, true
		}
	}
}

// property finds a field's own schema, also below allOf.
func (b *builder) property(n *doc.Node, name string) *doc.Node {
	n = b.follow(n)
	if p := n.Get("properties").Get(name); p != nil {
		return p
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		for _, part := range arrayItems(n.Get(key)) {
			if part != n {
				if p := b.follow(part).Get("properties").Get(name); p != nil {
					return p
				}
			}
		}
	}
	return nil
}

// tokenOf names the scheme that a parameter is the token of, "" where it is none.
func (b *builder) tokenOf(op *doc.Operation, in doc.Place, name string) string {
	b.meter.Spend(1 + len(b.doc.Schemes)/2)
	for _, id := range sortedKeys(b.doc.Schemes) {
		if s := b.doc.Schemes[id]; s.Type == "apiKey" && s.In == in && strings.EqualFold(s.Name, name) {
			return id
		}
	}
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

// name gives each argument a name that clients take, and that is nobody else's.
// Two of one name in different places say where they go.
func (a *arguments) name() {
	count := map[string]int{}
	for i := range a.list {
		a.list[i].plan.Name = argumentName(a.list[i].plan.Key)
		count[a.list[i].plan.Name]++
	}
	taken, next := map[string]bool{}, map[string]int{}
	for i := range a.list {
		p := &a.list[i].plan
		if count[p.Name] > 1 && p.Place != call.Whole {
			place := string(p.Place)
			if p.Place == call.Field {
				place = "body"
			}
			p.Name = shortened(p.Name, 64-2-len(place)) + "__" + place
		}
		base := p.Name
		for taken[p.Name] {
			next[base]++ // the first is 2
			p.Name = shortened(base, 60) + "_" + strconv.Itoa(next[base]+1)
		}
		taken[p.Name] = true
	}
}

func shortened(s string, most int) string { return s[:min(len(s), most)] }

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// argumentName is a key as clients take it: letters, digits, _ . and -.
func argumentName(key string) string {
	name := notInNames.ReplaceAllString(key, "_")
	if name != key {
		name = strings.Trim(name, "_")
	}
	if name == "" {
		name = "value"
	}
	return shortened(name, 64)
}
