package tool

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// schema is a JSON Schema under construction. encoding/json writes maps with
// sorted keys, so that the same document gives the same bytes.
type schema = map[string]any

// compiler turns schemas of a document into one canonical schema within limits.
// It inlines references, except those of cycles, which become $defs. It merges
// allOf, and leaves out keywords that no model uses. A compiler is for one
// schema; if the result is too large, the caller starts again with stricter
// limits.
type compiler struct {
	meter     *doc.Meter
	schemas   doc.Schemas
	cycles    *cycleFinder
	textCache textCache
	// forAnswer is set for output schemas, in which nothing is required.
	forAnswer bool
	schemaLimits

	defs map[string]any
	// defNames are the names of definitions by their schema.
	defNames map[*doc.Node]string
	// takenNames are the names of definitions that are in use.
	takenNames map[string]bool
	// suffixes counts, by name, how many suffixes were tried to make it unique.
	// Without it, many definitions of one name would take time with their
	// square.
	suffixes map[string]int
	// pendingDefs are definitions that are named but not compiled yet.
	pendingDefs []*doc.Node
	// openRefs are the references that are being followed.
	openRefs  []*doc.Node
	nodeCount int
	// maxNodes bounds the nodes of the result: more cannot fit the budget,
	// whatever they are.
	maxNodes  int
	truncated bool
	// unresolvedRef is set if a reference leads nowhere.
	unresolvedRef bool
}

// schemaLimits say how much of a schema is kept. limitLevels lists them from
// generous to strict.
type schemaLimits struct {
	// maxDepth is the depth below which objects keep only their required
	// properties.
	maxDepth int
	// maxText is the length of a description, in characters.
	maxText int
	// maxValues is the number of values of an enum.
	maxValues int
	// inlineCycles inlines the references of cycles too, and cuts them where
	// they repeat.
	inlineCycles bool
	// joinObjects replaces a choice between objects by one object with the
	// properties of all.
	joinObjects bool
	// omitScalarTypes leaves the types of scalars out of output schemas.
	omitScalarTypes bool
}

// The characters that a name of $defs cannot have, and a repetition of a
// regular expression such as {2,3}.
var (
	nonDefNameChars   = regexp.MustCompile(`[^A-Za-z0-9_]+`)
	repetitionPattern = regexp.MustCompile(`^\{\d+(,\d*)?\}`)
)

// isOverLimit reports whether the schema has too many nodes to fit its budget.
// Compiling then stops early, and the result is of no use.
func (c *compiler) isOverLimit() bool { return c.nodeCount > c.maxNodes }

// compileNode compiles one schema. depth counts the objects and arrays around
// it.
func (c *compiler) compileNode(n *doc.Node, depth int) schema {
	if n == nil || c.isOverLimit() {
		return schema{}
	}
	c.nodeCount++
	c.meter.Spend(4)
	c.unresolvedRef = c.unresolvedRef || n.IsUnresolved()
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

// arrayItems returns the elements of a node that may be nil.
func arrayItems(n *doc.Node) []*doc.Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// compileRef compiles a reference. Keywords beside $ref count too, as JSON
// Schema 2020-12 says.
func (c *compiler) compileRef(n *doc.Node, depth int) schema {
	to, err := c.schemas.Resolve(n.Get("$ref").ScalarText(), n)
	if err != nil {
		return schema{}
	}
	beside := &doc.Node{Kind: doc.Object, At: n.At, Members: slices.DeleteFunc(slices.Clone(n.Members), func(m doc.Member) bool { return m.Key == "$ref" })}
	var out schema
	switch {
	// A cycle becomes a definition. Keywords beside the reference are dropped,
	// except the description of the place.
	case c.cycles.isCyclic(to) && !c.inlineCycles:
		out = schema{"$ref": "#/$defs/" + c.nameDef(to, n.Get("$ref").ScalarText())}
		if d := beside.Get("description"); d != nil {
			if s := c.textCache.cleanText(d.ScalarText(), c.maxText); s != "" {
				out["description"] = s
			}
		}
		return out
	// The reference leads back to a schema around it, or the chain is
	// suspiciously long.
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

// nameDef returns the name under which $defs hold a schema that contains
// itself. A new name is derived from the reference, made unique, and queued for
// compileDefs.
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
	// Two schemas may end in the same name, such as those of two files.
	unique := name
	for c.takenNames[unique] {
		c.suffixes[name]++ // the first is 2
		unique = name + "_" + strconv.Itoa(c.suffixes[name]+1)
	}
	c.defNames[to], c.takenNames[unique] = unique, true
	// The definition is compiled later: compiling it here would recurse without
	// end.
	c.pendingDefs = append(c.pendingDefs, to)
	return unique
}

// compileDefs compiles the definitions that were named, and those that they
// name. It then removes requirements that no value can satisfy.
func (c *compiler) compileDefs() {
	for len(c.pendingDefs) > 0 && !c.isOverLimit() {
		n := c.pendingDefs[0]
		c.pendingDefs = c.pendingDefs[1:]
		def := c.compileNode(n, 1)
		if def["$ref"] != nil && len(def) == 1 {
			// The definition only refers to another one, perhaps in a circle,
			// and says nothing.
			def = schema{}
		}
		c.defs[c.defNames[n]] = completeRequired(def)
	}
	state := map[string]visitState{}
	for _, name := range sortedKeys(c.defs) {
		c.dropEndlessRequiredInDef(name, state)
	}
}

// visitState is the progress of dropEndlessRequired with one definition.
type visitState int

const (
	notVisited visitState = iota
	// visiting marks a definition that is being looked at: a requirement that
	// leads to it is endless.
	visiting
	visited
)

// dropEndlessRequiredInDef is dropEndlessRequired for a definition. It looks at
// each one once.
func (c *compiler) dropEndlessRequiredInDef(name string, state map[string]visitState) {
	def, ok := c.defs[name].(schema)
	if !ok || state[name] != notVisited {
		return
	}
	state[name] = visiting
	c.dropEndlessRequired(def, state)
	state[name] = visited
}

// dropEndlessRequired makes optional what is required without end. No value can
// satisfy an object that requires itself, directly or through others, so no
// call could pass the check of arguments.
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

// isTooDeep reports whether a part of an answer is below the depth of the
// limits. Inputs are cut in compileProperties instead, where required
// properties stay.
func (c *compiler) isTooDeep(n *doc.Node, depth int) bool {
	return depth > c.maxDepth && c.forAnswer && (n.Get("properties") != nil || n.Get("allOf") != nil || n.Get("anyOf") != nil || n.Get("oneOf") != nil || n.Get("items") != nil || n.Get("additionalProperties") != nil)
}

// compileTruncated returns the type of a schema alone.
func (c *compiler) compileTruncated(n *doc.Node) schema {
	c.truncated = true
	t := n.Get("type").ScalarText()
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

// compileKeywords compiles the keywords of the schema itself, without
// combinators and references. Values that are invalid for their keyword are
// dropped.
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
			if m.Value.IsTrue() {
				out[m.Key] = true
			}
		case "required":
			if list := stringItems(m.Value); len(list) > 0 {
				out[m.Key] = list
			}
		case "pattern":
			c.compilePattern(out, m.Value.ScalarText())
		case "format", "contentEncoding", "contentMediaType":
			if s := m.Value.ScalarText(); s != "" && len(s) <= 64 {
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
	// The enum comes after the type, whatever their order in the document:
	// filterByType compares the values with it.
	if !c.forAnswer {
		if list := n.Get("enum"); list != nil {
			c.compileEnum(out, n, list.Items)
		} else if v := n.Get("const"); v != nil {
			c.compileEnum(out, n, []*doc.Node{v})
		}
	}
	c.compileProperties(out, n, depth)
	return out
}

// compileCommonKeyword compiles a keyword that input and output schemas share.
// n is the schema that holds the member m.
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
		c.setDescription(out, c.textCache.cleanText(m.Value.ScalarText(), c.maxTextAt(depth)))
	case "title":
		if s := c.textCache.cleanText(m.Value.ScalarText(), c.maxTextAt(depth)); s != "" && n.Get("description") == nil && strings.Contains(s, " ") {
			out["description"] = s
		}
	}
}

// maxTextAt returns the length of a description at a depth. Nested ones get
// less.
func (c *compiler) maxTextAt(depth int) int {
	if depth > 1 {
		return c.maxText * 3 / 5
	}
	return c.maxText
}

// setDescription sets the description and keeps a note that addNote wrote
// before.
func (c *compiler) setDescription(out schema, s string) {
	// A note came first, since the pattern or enum stands before the
	// description.
	if had, _ := out["description"].(string); had != "" {
		s = strings.TrimSpace(s + " " + had)
	}
	if s != "" && c.maxText > 0 {
		out["description"] = s
	}
}

// compileTypes sets the type. Output schemas also allow null, since APIs answer
// null for missing values.
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
			// APIs answer null for missing values.
			list = append(list, "null")
		}
	}
	if len(list) == 1 {
		out["type"] = list[0]
		return
	}
	out["type"] = toAnySlice(list)
}

// compileProperties compiles the properties of an object. It hides readOnly
// properties in inputs and writeOnly ones in outputs. Below maxDepth it keeps
// only required ones.
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
			// An optional property may be left out, so hiding it makes no call
			// invalid.
			c.truncated = true
			continue
		}
		// A hidden property cannot be required: callers do not see it.
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

// sortedMembers returns the members sorted by key. The order of compiling
// decides the names of definitions; sorted, it does not depend on the order of
// the document.
func sortedMembers(n *doc.Node) []doc.Member {
	list := slices.Clone(n.Members)
	slices.SortStableFunc(list, func(a, b doc.Member) int { return strings.Compare(a.Key, b.Key) })
	return list
}

// isFlagged reports whether a schema has a mark such as readOnly, itself or
// through its references.
func (c *compiler) isFlagged(n *doc.Node, mark string, hops int) bool {
	if n == nil || hops > 8 {
		return false
	}
	if f := n.Get(mark); f != nil {
		return f.IsTrue()
	}
	if ref := n.Get("$ref"); ref != nil {
		if to, err := c.schemas.Resolve(ref.ScalarText(), n); err == nil {
			return c.isFlagged(to, mark, hops+1)
		}
	}
	return false
}

// compilePatternProperties keeps patternProperties only if all their patterns
// are portable: without one of them, additionalProperties would refuse valid
// names.
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

// compilePattern keeps a pattern that all validators read alike. Another one
// becomes a note in the description.
func (c *compiler) compilePattern(out schema, pattern string) {
	if isPortablePattern(pattern) {
		out["pattern"] = pattern
	} else if len(pattern) <= 80 && c.maxText > 0 {
		c.addNote(out, "Pattern: "+pattern)
	}
}

// addNote appends to the description what keywords cannot express.
func (c *compiler) addNote(out schema, note string) {
	had, _ := out["description"].(string)
	out["description"] = strings.TrimSpace(had + " " + cleanText(note, 120))
}

// isPortablePattern reports whether a pattern means the same in Go and in
// ECMAScript with the u flag, which rejects unnecessary escapes.
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

// compileEnum sets the enum: each value once, in the type of the schema. Of a
// list that is too long it shows some values and accepts all.
func (c *compiler) compileEnum(out schema, n *doc.Node, values []*doc.Node) {
	isText := n.Get("type").ScalarText() == "string" || slices.Contains(stringItems(n.Get("type")), "string")
	var list []any
	seen := map[string]bool{}
	for _, v := range values {
		one := nodeValue(v)
		if isText && (v.Kind == doc.Number || v.Kind == doc.Bool) {
			one = v.Text
		}
		// Values are compared as JSON, since lists and objects are not
		// comparable in Go.
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

// filterByType removes values that the type does not allow. If that removes
// all, the values are trusted and the type is dropped.
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

// typeOfValue returns the JSON Schema type of a value. A whole number is an
// integer if types asks for one.
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

// nodeValue returns a node as the value that encoding/json writes.
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

// isUsableNumber reports whether a text is a number that a schema can contain.
// Some validators fail on extreme ones.
func isUsableNumber(s string) bool {
	f, err := strconv.ParseFloat(s, 64)
	return err == nil && len(s) <= 40 && f > -1e300 && f < 1e300 && json.Valid([]byte(s))
}

// compileDefault returns a default if it fits its type and is short.
func compileDefault(n, v *doc.Node) (any, bool) {
	t := n.Get("type").ScalarText()
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

// stringItems returns the elements of a list that are not empty strings.
func stringItems(n *doc.Node) (list []string) {
	for _, one := range arrayItems(n) {
		if s := one.ScalarText(); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// toAnySlice converts a list for schemas, whose lists are all []any as after
// decoding.
func toAnySlice[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}
