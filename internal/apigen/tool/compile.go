package tool

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// schema is a JSON Schema as it is made here. It is written with sorted keys, so
// that the same document gives the same bytes.
type schema = map[string]any

// compiler makes canonical schemas: acyclic references are put in place, those
// of cycles lead to $defs, allOf is merged, and what no model reads is left out.
type compiler struct {
	meter     *doc.Meter
	schemas   doc.Schemas
	cycles    *cycleFinder
	textCache textCache
	forAnswer bool // for what an API answers: nothing is demanded of it
	schemaLimits

	defs          map[string]any
	defNames      map[*doc.Node]string
	takenNames    map[string]bool // names of definitions
	suffixes      map[string]int  // by name, how many were tried beside it
	pendingDefs   []*doc.Node
	openRefs      []*doc.Node // references that are being followed
	nodeCount     int
	maxNodes      int // nodes: more cannot fit the budget, whatever they are
	truncated     bool
	unresolvedRef bool // a reference leads nowhere
}

// schemaLimits are what a budget leaves of a schema.
type schemaLimits struct {
	maxDepth        int  // below it, objects have only what they require
	maxText         int  // of a description, in characters
	maxValues       int  // of an enum
	inlineCycles    bool // references of cycles are put in place, and cut where they repeat
	joinObjects     bool // objects of which one has to be given become one with the parts of all
	omitScalarTypes bool // of scalars, in answers
}

var (
	nonDefNameChars   = regexp.MustCompile(`[^A-Za-z0-9_]+`)
	repetitionPattern = regexp.MustCompile(`^\{\d+(,\d*)?\}`)
)

// isOverLimit says that the schema is too large whatever its bytes are.
func (c *compiler) isOverLimit() bool { return c.nodeCount > c.maxNodes }

// compileNode compiles a schema.
func (c *compiler) compileNode(n *doc.Node, depth int) schema {
	if n == nil || c.isOverLimit() {
		return schema{}
	}
	c.nodeCount++
	c.meter.Spend(4)
	c.unresolvedRef = c.unresolvedRef || n.Lost()
	if n.Kind != doc.Object {
		if n.Kind == doc.Bool && n.Text == "false" {
			return schema{"not": schema{}}
		}
		return schema{}
	}
	if n.Get("$ref") != nil {
		return c.compileRef(n, depth)
	}
	if c.isTooDeep(n, depth) {
		return c.compileTruncated(n)
	}
	out := c.compileKeywords(n, depth)
	for _, part := range arrayItems(n.Get("allOf")) {
		out = c.mergeSchemas(out, c.compileNode(part, depth))
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list := n.Get(key); list != nil {
			out = c.addChoice(out, list, depth)
		}
	}
	return out
}

func arrayItems(n *doc.Node) []*doc.Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// compileRef follows a reference; what stands beside it counts too.
func (c *compiler) compileRef(n *doc.Node, depth int) schema {
	to, err := c.schemas.Resolve(n.Get("$ref").Str(), n)
	if err != nil {
		return schema{}
	}
	beside := &doc.Node{Kind: doc.Object, At: n.At, Members: slices.DeleteFunc(slices.Clone(n.Members), func(m doc.Member) bool { return m.Key == "$ref" })}
	var out schema
	switch {
	case c.cycles.isCyclic(to) && !c.inlineCycles:
		out = schema{"$ref": "#/$defs/" + c.nameDef(to, n.Get("$ref").Str())}
		if d := beside.Get("description"); d != nil {
			if s := c.textCache.cleanText(d.Str(), c.maxText); s != "" {
				out["description"] = s
			}
		}
		return out
	case slices.Contains(c.openRefs, to) || len(c.openRefs) > 100:
		out = c.compileTruncated(to)
	default:
		c.openRefs = append(c.openRefs, to)
		out = c.compileNode(to, depth)
		c.openRefs = c.openRefs[:len(c.openRefs)-1]
	}
	if len(beside.Members) > 0 {
		// Shallow: the description of a place is worth more than that of a type.
		out = c.mergeSchemas(c.compileNode(beside, depth), out)
	}
	return out
}

// nameDef names the definition of a schema that contains itself.
func (c *compiler) nameDef(to *doc.Node, ref string) string {
	if name, ok := c.defNames[to]; ok {
		return name
	}
	name := nonDefNameChars.ReplaceAllString(ref[strings.LastIndexAny(ref, "/#")+1:], "_")
	if name = strings.Trim(name, "_"); name == "" {
		name = "value"
	}
	if c.defNames == nil {
		c.defNames, c.defs, c.takenNames, c.suffixes = map[*doc.Node]string{}, map[string]any{}, map[string]bool{}, map[string]int{}
	}
	unique := name
	for c.takenNames[unique] {
		c.suffixes[name]++ // the first is 2
		unique = name + "_" + strconv.Itoa(c.suffixes[name]+1)
	}
	c.defNames[to], c.takenNames[unique] = unique, true
	c.pendingDefs = append(c.pendingDefs, to)
	return unique
}

// compileDefs compiles the definitions that were named, and those they name.
func (c *compiler) compileDefs() {
	for len(c.pendingDefs) > 0 && !c.isOverLimit() {
		n := c.pendingDefs[0]
		c.pendingDefs = c.pendingDefs[1:]
		def := c.compileNode(n, 1)
		if def["$ref"] != nil && len(def) == 1 {
			def = schema{} // references that lead round and say nothing
		}
		c.defs[c.defNames[n]] = completeRequired(def)
	}
	state := map[string]visitState{}
	for _, name := range sortedKeys(c.defs) {
		c.dropEndlessRequiredInDef(name, state)
	}
}

// visitState is how far satisfiable has come with a definition.
type visitState int

const (
	notVisited visitState = iota
	visiting              // it is being looked at: whoever requires it leads back
	visited
)

// dropEndlessRequiredInDef is satisfiable for a definition, each of which is looked at
// once.
func (c *compiler) dropEndlessRequiredInDef(name string, state map[string]visitState) {
	def, ok := c.defs[name].(schema)
	if !ok || state[name] != notVisited {
		return
	}
	state[name] = visiting
	c.dropEndlessRequired(def, state)
	state[name] = visited
}

// dropEndlessRequired makes optional what is required without end: an object that
// requires itself, through whatever others, cannot be written.
func (c *compiler) dropEndlessRequired(s schema, state map[string]visitState) {
	c.meter.Spend(1)
	props, _ := s["properties"].(schema)
	kept := slices.DeleteFunc(slices.Clone(requiredNames(s)), func(name string) bool {
		p, _ := props[name].(schema)
		ref, isRef := p["$ref"].(string)
		if !isRef {
			c.dropEndlessRequired(p, state)
			return false
		}
		def := strings.TrimPrefix(ref, "#/$defs/")
		if state[def] == visiting {
			return true
		}
		c.dropEndlessRequiredInDef(def, state)
		return false
	})
	if len(kept) == len(requiredNames(s)) {
		return
	}
	if s["required"] = kept; len(kept) == 0 {
		delete(s, "required")
	}
}

// isTooDeep says whether a part of an answer stands below what the budget allows.
func (c *compiler) isTooDeep(n *doc.Node, depth int) bool {
	return depth > c.maxDepth && c.forAnswer && (n.Get("properties") != nil || n.Get("allOf") != nil || n.Get("anyOf") != nil || n.Get("oneOf") != nil || n.Get("items") != nil || n.Get("additionalProperties") != nil)
}

// compileTruncated stands for a schema that is not described further.
func (c *compiler) compileTruncated(n *doc.Node) schema {
	c.truncated = true
	t := n.Get("type").Str()
	switch {
	case t == "array" || t == "" && n.Get("items") != nil:
		return schema{"type": "array"}
	case t == "object" || t == "" && n.Get("properties") != nil:
		return schema{"type": "object"}
	case t != "":
		return schema{"type": t}
	}
	return schema{}
}

// compileKeywords takes what stands in the schema itself.
func (c *compiler) compileKeywords(n *doc.Node, depth int) schema {
	out := schema{}
	for _, m := range n.Members {
		if c.forAnswer {
			c.compileCommonKeyword(out, m, n, depth)
			continue
		}
		switch m.Key {
		case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
			if v := m.Value; isUsableNumber(v.Text) {
				out[m.Key] = json.Number(v.Text)
			}
		case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
			if i, err := strconv.ParseInt(m.Value.Text, 10, 53); err == nil && i >= 0 {
				out[m.Key] = json.Number(m.Value.Text)
			}
		case "uniqueItems":
			if m.Value.True() {
				out[m.Key] = true
			}
		case "required":
			if list := stringItems(m.Value); len(list) > 0 {
				out[m.Key] = list
			}
		case "pattern":
			c.compilePattern(out, m.Value.Str())
		case "format", "contentEncoding", "contentMediaType":
			if s := m.Value.Str(); s != "" && len(s) <= 64 {
				out[m.Key] = s
			}
		case "default":
			if v, ok := compileDefault(n, m.Value); ok {
				out[m.Key] = v
			}
		case "not", "propertyNames", "contains":
			out[m.Key] = c.compileNode(m.Value, depth+1)
		case "patternProperties":
			c.compilePatternProperties(out, m.Value, depth)
		default:
			c.compileCommonKeyword(out, m, n, depth)
		}
	}
	if !c.forAnswer { // behind the type, wherever they stand
		if list := n.Get("enum"); list != nil {
			c.compileEnum(out, n, list.Items)
		} else if v := n.Get("const"); v != nil {
			c.compileEnum(out, n, []*doc.Node{v})
		}
	}
	c.compileProperties(out, n, depth)
	return out
}

// compileCommonKeyword takes the keywords that answers have too.
func (c *compiler) compileCommonKeyword(out schema, m doc.Member, n *doc.Node, depth int) {
	switch m.Key {
	case "type":
		c.compileTypes(out, m.Value, n)
	case "items":
		out["items"] = c.compileNode(m.Value, depth+1)
	case "prefixItems":
		if c.forAnswer {
			return
		}
		list := make([]any, len(m.Value.Items))
		for i, one := range m.Value.Items {
			list[i] = c.compileNode(one, depth+1)
		}
		out["prefixItems"] = list
	case "additionalProperties":
		switch {
		case m.Value.Kind == doc.Bool && m.Value.Text == "false":
			if !c.forAnswer {
				out[m.Key] = false
			}
		case m.Value.Kind == doc.Object && len(m.Value.Members) > 0:
			if s := c.compileNode(m.Value, depth+1); len(s) > 0 {
				out[m.Key] = s
			}
		}
	case "description":
		c.setDescription(out, c.textCache.cleanText(m.Value.Str(), c.maxTextAt(depth)))
	case "title":
		if s := c.textCache.cleanText(m.Value.Str(), c.maxTextAt(depth)); s != "" && n.Get("description") == nil && strings.Contains(s, " ") {
			out["description"] = s
		}
	}
}

// maxTextAt is how long a description may be: less further down.
func (c *compiler) maxTextAt(depth int) int {
	if depth > 1 {
		return c.maxText * 3 / 5
	}
	return c.maxText
}

func (c *compiler) setDescription(out schema, s string) {
	if had, _ := out["description"].(string); had != "" { // a note that came first
		s = strings.TrimSpace(s + " " + had)
	}
	if s != "" && c.maxText > 0 {
		out["description"] = s
	}
}

func (c *compiler) compileTypes(out schema, t, n *doc.Node) {
	list := stringItems(t)
	if t.Kind == doc.String {
		list = []string{t.Text}
	}
	slices.Sort(list)
	if list = slices.Compact(list); len(list) == 0 {
		return
	}
	if c.forAnswer {
		scalar := !slices.Contains(list, "object") && !slices.Contains(list, "array")
		if scalar && c.omitScalarTypes {
			return
		}
		if n.Get("nullable") == nil && !slices.Contains(list, "null") {
			list = append(list, "null") // APIs answer null for what they have not
		}
	}
	if len(list) == 1 {
		out["type"] = list[0]
		return
	}
	out["type"] = toAnySlice(list)
}

func (c *compiler) compileProperties(out schema, n *doc.Node, depth int) {
	props := n.Get("properties")
	if props == nil || len(props.Members) == 0 {
		return
	}
	hidden := "readOnly"
	if c.forAnswer {
		hidden = "writeOnly"
	}
	required := stringItems(n.Get("required"))
	all := schema{}
	for _, m := range sortedMembers(props) {
		if depth > c.maxDepth && !slices.Contains(required, m.Key) {
			c.truncated = true // whoever leaves it out sends nothing wrong
			continue
		}
		if c.isFlagged(m.Value, hidden, 0) {
			required = slices.DeleteFunc(required, func(s string) bool { return s == m.Key })
			continue
		}
		all[m.Key] = c.compileNode(m.Value, depth+1)
	}
	if len(all) > 0 {
		out["properties"] = all
	}
	delete(out, "required")
	if len(required) > 0 && !c.forAnswer {
		slices.Sort(required)
		out["required"] = slices.Compact(required)
	}
}

func sortedMembers(n *doc.Node) []doc.Member {
	list := slices.Clone(n.Members)
	slices.SortStableFunc(list, func(a, b doc.Member) int { return strings.Compare(a.Key, b.Key) })
	return list
}

// isFlagged says whether a schema is marked, itself or where its references lead.
func (c *compiler) isFlagged(n *doc.Node, mark string, hops int) bool {
	if n == nil || hops > 8 {
		return false
	}
	if f := n.Get(mark); f != nil {
		return f.True()
	}
	if ref := n.Get("$ref"); ref != nil {
		if to, err := c.schemas.Resolve(ref.Str(), n); err == nil {
			return c.isFlagged(to, mark, hops+1)
		}
	}
	return false
}

func (c *compiler) compilePatternProperties(out schema, n *doc.Node, depth int) {
	all := schema{}
	for _, m := range sortedMembers(n) {
		if isPortablePattern(m.Key) {
			all[m.Key] = c.compileNode(m.Value, depth+1)
		}
	}
	if len(all) > 0 && len(all) == len(n.Members) {
		out["patternProperties"] = all
	}
}

// compilePattern keeps one that all validators read alike; another becomes text.
func (c *compiler) compilePattern(out schema, pattern string) {
	if isPortablePattern(pattern) {
		out["pattern"] = pattern
	} else if len(pattern) <= 80 && c.maxText > 0 {
		c.addNote(out, "Pattern: "+pattern)
	}
}

// addNote says in the description what keywords cannot.
func (c *compiler) addNote(out schema, note string) {
	had, _ := out["description"].(string)
	out["description"] = strings.TrimSpace(had + " " + cleanText(note, 120))
}

// isPortablePattern says whether a pattern means the same in Go and in ECMAScript with
// the u flag, which refuses escapes that need none.
func isPortablePattern(pattern string) bool {
	if len(pattern) > 500 || strings.Contains(strings.ReplaceAll(pattern, "(?:", ""), "(?") {
		return false
	}
	class := false
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '[':
			if class {
				return false
			}
			class = true
		case ']':
			class = false
		case '\\':
			if i++; i >= len(pattern) {
				return false
			}
			if !strings.ContainsRune(`dDwWsStnrfv^$\.*+?()[]{}|/`, rune(pattern[i])) && (pattern[i] != '-' || !class) && (pattern[i] != 'b' || class) {
				return false
			}
		case '{', '}':
			if class {
				continue
			}
			if pattern[i] == '{' && !repetitionPattern.MatchString(pattern[i:]) {
				return false
			}
		}
	}
	_, err := regexp.Compile(pattern)
	return err == nil
}

// compileEnum takes values, each once, as the schema's type writes them.
func (c *compiler) compileEnum(out schema, n *doc.Node, values []*doc.Node) {
	isText := n.Get("type").Str() == "string" || slices.Contains(stringItems(n.Get("type")), "string")
	var list []any
	seen := map[string]bool{}
	for _, v := range values {
		one := nodeValue(v)
		if isText && (v.Kind == doc.Number || v.Kind == doc.Bool) {
			one = v.Text
		}
		raw, _ := json.Marshal(one)
		if !seen[string(raw)] {
			seen[string(raw)] = true
			list = append(list, one)
		}
	}
	if len(list) == 0 {
		return
	}
	if list = c.filterByType(out, list); len(list) <= min(c.maxValues, 100) {
		out["enum"] = list
		return
	}
	// Some are shown, all are taken.
	c.truncated = true
	some := schema{"enum": slices.Clone(list[:min(8, len(list))])}
	others := schema{}
	if t, ok := out["type"]; ok {
		others["type"] = t
		delete(out, "type")
	}
	out["anyOf"] = []any{some, others}
	if c.maxText > 0 {
		c.addNote(out, "One of "+strconv.Itoa(len(list))+" values.")
	}
}

// filterByType leaves out values that the type does not take; where it takes none of
// them, the values are believed and the type is not.
func (c *compiler) filterByType(out schema, list []any) []any {
	types := typesOf(out["type"])
	if len(types) == 0 {
		return list
	}
	fits := slices.DeleteFunc(slices.Clone(list), func(v any) bool { return !slices.Contains(types, typeOfValue(v, types)) })
	if len(fits) == 0 {
		delete(out, "type")
		return list
	}
	return fits
}

// typeOfValue is the type of a value, among those that are asked for.
func typeOfValue(v any, types []string) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case json.Number:
		if slices.Contains(types, "integer") && !strings.ContainsAny(string(v), ".eE") {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

// nodeValue is a node as encoding/json writes it.
func nodeValue(n *doc.Node) any {
	switch n.Kind {
	case doc.Bool:
		return n.Text == "true"
	case doc.Number:
		if !isUsableNumber(n.Text) {
			return n.Text
		}
		return json.Number(n.Text)
	case doc.String:
		return n.Text
	case doc.Array:
		list := make([]any, len(n.Items))
		for i, one := range n.Items {
			list[i] = nodeValue(one)
		}
		return list
	case doc.Object:
		m := make(schema, len(n.Members))
		for _, one := range n.Members {
			m[one.Key] = nodeValue(one.Value)
		}
		return m
	default:
		return nil
	}
}

// isUsableNumber says whether a text is a number that is of use in a schema.
func isUsableNumber(s string) bool {
	f, err := strconv.ParseFloat(s, 64)
	return err == nil && len(s) <= 40 && f > -1e300 && f < 1e300 && json.Valid([]byte(s))
}

// compileDefault is a default that fits its type and is short.
func compileDefault(n, v *doc.Node) (any, bool) {
	t := n.Get("type").Str()
	fits := map[doc.Kind][]string{
		doc.String: {"string"}, doc.Number: {"number", "integer"}, doc.Bool: {"boolean"}, doc.Array: {"array"}, doc.Object: {"object"},
	}[v.Kind]
	switch {
	case v.Kind == doc.Null, t != "" && !slices.Contains(fits, t):
		return nil, false
	}
	out := nodeValue(v)
	raw, _ := json.Marshal(out)
	return out, len(raw) <= 100
}

// stringItems are the items of a list that are texts.
func stringItems(n *doc.Node) (list []string) {
	for _, one := range arrayItems(n) {
		if s := one.Str(); s != "" {
			list = append(list, s)
		}
	}
	return list
}

func toAnySlice[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}
