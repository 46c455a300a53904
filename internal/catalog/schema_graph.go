package catalog

import (
	"fmt"
	"net/url"
	"reflect"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Limits of a schema that comes from a server. They are checked when the server's
// tools are listed: a tool whose schema exceeds one is left out of the catalog.
// Compiling cannot be interrupted, so its cost must be known beforehand. Checking
// one value takes as many steps as combinators and references multiply to, and a
// hostile schema can double that number at every level.
const (
	maxCompileBytes    = 32 << 20 // allocations of compiling, estimated
	maxStepsPerValue   = 10_000   // evaluations of one value at one location
	maxReferenceDepth  = 200      // longest chain of references and combinators for one value
	maxSchemaResources = 64       // subschemas with an $id of their own
	maxForeignTargets  = 64       // $ref targets that are not at the place of a subschema
	smallSchema        = 4 << 10  // longest schema that isCheapSchema judges
)

// What the library allocates while it compiles a schema, in bytes, measured and
// rounded up. Most of it is garbage at once. The limit on memory also limits the
// time: for each subschema the library searches the list of all of them, and a list
// as long as the limit allows takes about a hundred milliseconds.
const (
	subschemaBytes    = 8 << 10
	keywordBytes      = 1 << 10 // per keyword of a subschema
	levelBytes        = 1 << 10 // per level that a subschema stands below the root
	pointerFactor     = 10      // per byte of the JSON pointer to a subschema
	valueBytes        = 600     // per value that is no subschema, such as one of an enum
	referenceFactor   = 4       // per byte of a reference and of the URL that it is relative to
	patternBytes      = 10 << 10
	instructionBytes  = 500 // per instruction of a pattern
	classRangeBytes   = 100 // per bound of a range in a class of characters
	foreignTableBytes = 100 // per subschema, for every target outside of them
	dialectBytes      = 4 << 20
)

// CheckSchemaCost returns an error if a JSON Schema would cost too much to
// compile or to check values against, and says why. It looks at the text alone,
// in time that grows with its length. A schema that is malformed in another way
// passes, and fails when it is compiled.
func CheckSchemaCost(raw []byte) error {
	if isCheapSchema(raw) {
		return nil
	}
	doc, err := wire.DecodeValue(raw)
	if err != nil {
		return nil //nolint:nilerr // the compiler reports it
	}
	_, err = newSchemaGraph(doc)
	return err
}

// isCheapSchema recognises most schemas without parsing them: a short one
// without references and patterns is a tree, and each part is visited once.
func isCheapSchema(raw []byte) bool {
	if len(raw) > smallSchema {
		return false
	}
	text := string(raw)
	for _, mark := range []string{`\u`, `Ref"`, `$ref"`, `"pattern`, `"$id"`, `"id"`} {
		if strings.Contains(text, mark) {
			return false
		}
	}
	// Every part follows a colon, a comma or a bracket, so this overestimates them.
	parts, depth, deepest := 1, 0, 0
	for _, c := range raw {
		switch c {
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
			parts++
		case '}', ']':
			depth--
		case ':', ',':
			parts++
		}
	}
	return parts*(subschemaBytes+keywordBytes+deepest*levelBytes+pointerFactor*len(raw)/2) <= maxCompileBytes
}

// checkToolCost is CheckSchemaCost for both schemas of a tool.
func checkToolCost(tool, input []byte) error {
	if err := CheckSchemaCost(input); err != nil {
		return fmt.Errorf("inputSchema: %w", err)
	}
	if output := wire.Get(tool, "outputSchema"); output != nil {
		if err := CheckSchemaCost(output); err != nil {
			return fmt.Errorf("outputSchema: %w", err)
		}
	}
	return nil
}

// schemaGraph is a schema as a graph: the nodes are subschemas, the edges lead
// to the subschemas that the validator visits next. It serves to estimate
// costs; the library does the checking.
type schemaGraph struct {
	nodes              []schemaNode
	byMap              map[uintptr]int // a node by the address of its object
	resources          map[string]int  // by absolute URL
	anchors            map[string]int  // by absolute URL, "#" and name
	dynamicAnchorCount map[string]int  // how many $dynamicAnchor have a name
	recursiveAnchors   []int           // nodes with $recursiveAnchor
	dynamicAnchors     map[string]int  // the node of a $dynamicAnchor, by name
	compileBytes       int             // estimated bytes that compiling allocates so far
	patternSizes       int             // instructions of all patterns
	foreignTargets     int
	usesDialect        bool  // it refers to a dialect of JSON Schema itself
	hasUnevaluated     bool  // it has unevaluatedItems or unevaluatedProperties
	isDraft4           bool  // the dialect is draft 4, where id has the role of $id
	cost               []int // steps for one value, per node; 0 before it is known
	height             []int // the longest chain of subschemas for the same value, per node
}

// schemaNode is one subschema.
type schemaNode struct {
	object      map[string]any
	base        string // the URL that its references are relative to
	path        string // the first keyword path to it, for messages
	sameValue   []int  // subschemas for the same value
	innerValues []int  // subschemas for its members or items
	refs        []schemaRef
}

// schemaRef is $ref, $dynamicRef or $recursiveRef with its text.
type schemaRef struct{ keyword, text string }

// schemaBase is the URL under which the library knows the document. A relative
// $ref needs a path to be relative to.
const schemaBase = "junctor://tool/schema"

// newSchemaGraph reads a decoded schema. It returns an error as soon as a limit
// is exceeded.
func newSchemaGraph(doc any) (*schemaGraph, error) {
	g := &schemaGraph{byMap: map[uintptr]int{}, resources: map[string]int{}, anchors: map[string]int{}, dynamicAnchorCount: map[string]int{}, dynamicAnchors: map[string]int{}}
	if object, ok := doc.(map[string]any); ok {
		dialect, _ := object["$schema"].(string)
		g.isDraft4 = strings.Contains(dialect, "draft-04")
	}
	root, err := g.addSchema(doc, schemaBase, "#", pointerSize{})
	if err != nil {
		return nil, err
	}
	if root < 0 {
		return g, nil
	}
	g.resources[schemaBase] = root
	for i := 0; i < len(g.nodes); i++ { //nolint:intrange // resolving may add nodes
		if err := g.resolveReferences(i); err != nil {
			return nil, err
		}
	}
	return g, g.measureReachable(root)
}

// pointerSize is the length of the JSON pointer to a subschema.
type pointerSize struct{ bytes, levels int }

// withToken is the size with one more token.
func (p pointerSize) withToken(token string) pointerSize {
	return pointerSize{p.bytes + len(token) + 1, p.levels + 1}
}

// spendBytes counts what compiling allocates, and returns an error beyond the
// limit.
func (g *schemaGraph) spendBytes(bytes int, at string) error {
	if g.compileBytes += bytes; g.compileBytes <= maxCompileBytes {
		return nil
	}
	return costErrorf("compiling it takes more than %d MiB, reached at %s, its subschema %d; use fewer subschemas and values, shorter names, or less nesting",
		maxCompileBytes>>20, clipText(at), len(g.nodes))
}

// addSchema adds a subschema and all below it, and returns its node; -1 for a
// boolean. An object that is known already is not added again, so cycles end.
func (g *schemaGraph) addSchema(v any, base, at string, pointer pointerSize) (int, error) {
	object, ok := v.(map[string]any)
	if !ok {
		return -1, g.spendBytes(subschemaBytes+levelBytes*pointer.levels+pointerFactor*pointer.bytes+valueBytes*countValues(v), at)
	}
	// The decoded document shares no objects, so an address identifies a
	// subschema.
	identity := reflect.ValueOf(object).Pointer()
	if i, known := g.byMap[identity]; known {
		return i, nil
	}
	i := len(g.nodes)
	g.byMap[identity] = i
	if err := g.spendBytes(subschemaBytes+keywordBytes*len(object)+levelBytes*pointer.levels+pointerFactor*pointer.bytes, at); err != nil {
		return 0, err
	}
	base, err := g.addIdentifiers(object, base, i)
	if err != nil {
		return 0, err
	}
	g.nodes = append(g.nodes, schemaNode{object: object, base: base, path: at})
	for _, keyword := range sortedKeys(object) {
		if err := g.addKeyword(i, keyword, object[keyword], pointer.withToken(keyword)); err != nil {
			return 0, err
		}
	}
	return i, nil
}

// addIdentifiers registers the $id and anchors of a subschema, and returns the
// URL that its references are relative to.
func (g *schemaGraph) addIdentifiers(object map[string]any, base string, i int) (string, error) {
	for _, key := range []string{"$id", "id"} {
		id, ok := object[key].(string)
		if !ok || strings.HasPrefix(id, "#") || g.isDraft4 != (key == "id") {
			continue
		}
		if joined, _, ok := joinReference(base, id); ok {
			base = joined
			g.resources[base] = i
			if len(g.resources) > maxSchemaResources {
				return "", costErrorf("more than %d of its subschemas have an $id", maxSchemaResources)
			}
		}
	}
	for _, key := range []string{"$anchor", "$dynamicAnchor"} {
		if name, ok := object[key].(string); ok {
			g.anchors[base+"#"+name] = i
			if key == "$dynamicAnchor" {
				g.dynamicAnchors[name] = i
				if g.dynamicAnchorCount[name]++; g.dynamicAnchorCount[name] > 1 {
					return "", costErrorf("it has several $dynamicAnchor %q, so the target of a $dynamicRef cannot be determined in advance", clipText(name))
				}
			}
		}
	}
	if object["$recursiveAnchor"] == true {
		if g.recursiveAnchors = append(g.recursiveAnchors, i); i != 0 {
			return "", costErrorf("it has $recursiveAnchor below its root, so the target of a $recursiveRef cannot be determined in advance")
		}
	}
	return base, nil
}

// addKeyword adds the subschemas, references and patterns of one keyword to
// node i.
func (g *schemaGraph) addKeyword(i int, keyword string, value any, pointer pointerSize) error {
	switch keyword {
	case "allOf", "anyOf", "oneOf":
		return g.addList(i, keyword, value, true, pointer)
	case "prefixItems":
		return g.addList(i, keyword, value, false, pointer)
	case "not", "if", "then", "else":
		return g.addOne(i, keyword, value, true, pointer)
	case "items":
		if _, list := value.([]any); list {
			return g.addList(i, keyword, value, false, pointer)
		}
		return g.addOne(i, keyword, value, false, pointer)
	case "additionalItems", "additionalProperties", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "contentSchema":
		g.hasUnevaluated = g.hasUnevaluated || strings.HasPrefix(keyword, "unevaluated")
		return g.addOne(i, keyword, value, false, pointer)
	case "dependentSchemas", "dependencies":
		found, err := g.addMap(i, keyword, value, pointer)
		g.nodes[i].sameValue = append(g.nodes[i].sameValue, found...)
		return err
	case "properties", "patternProperties":
		found, err := g.addMap(i, keyword, value, pointer)
		g.nodes[i].innerValues = append(g.nodes[i].innerValues, found...)
		return err
	case "$defs", "definitions": // only references lead there
		_, err := g.addMap(i, keyword, value, pointer)
		return err
	case "$ref", "$dynamicRef", "$recursiveRef":
		if text, ok := value.(string); ok {
			g.nodes[i].refs = append(g.nodes[i].refs, schemaRef{keyword, text})
			return g.spendBytes(referenceFactor*(len(g.nodes[i].base)+len(text)), g.nodes[i].path)
		}
	case "pattern":
		if text, ok := value.(string); ok {
			return g.addPattern(text, g.nodes[i].path)
		}
	default:
		return g.spendBytes(valueBytes*countValues(value), g.nodes[i].path)
	}
	return nil
}

// addPattern counts the cost of a pattern.
func (g *schemaGraph) addPattern(text, at string) error {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil //nolint:nilerr // the compiler reports it
	}
	size := countInstructions(tree)
	if g.patternSizes += max(size, minPatternSize); size > maxPatternSize || g.patternSizes > 8*maxPatternSize {
		return costErrorf("the pattern %s at %s is too large to be matched: at most %d instructions, and %d in all patterns; use fewer or smaller repetitions", strconv.Quote(clipText(text)), clipText(at), maxPatternSize, 8*maxPatternSize)
	}
	return g.spendBytes(patternBytes+instructionBytes*size+classRangeBytes*countClassRanges(tree), at)
}

// countValues counts the values inside of a value, at any depth.
func countValues(v any) (n int) {
	switch v := v.(type) {
	case map[string]any:
		for _, one := range v {
			n += 1 + countValues(one)
		}
	case []any:
		for _, one := range v {
			n += 1 + countValues(one)
		}
	}
	return n
}

// addOne adds one subschema of a keyword. same means that it applies to the same
// value as node i, not to a member or an item.
func (g *schemaGraph) addOne(i int, keyword string, value any, same bool, pointer pointerSize) error {
	j, err := g.addSchema(value, g.nodes[i].base, extendPath(g.nodes[i].path, keyword), pointer)
	if err != nil || j < 0 {
		return err
	}
	if same {
		g.nodes[i].sameValue = append(g.nodes[i].sameValue, j)
	} else {
		g.nodes[i].innerValues = append(g.nodes[i].innerValues, j)
	}
	return nil
}

// addList adds a list of subschemas of a keyword.
func (g *schemaGraph) addList(i int, keyword string, value any, same bool, pointer pointerSize) error {
	list, _ := value.([]any)
	for _, one := range list {
		if err := g.addOne(i, keyword, one, same, pointer.withToken("00000")); err != nil {
			return err
		}
	}
	return nil
}

// addMap adds the subschemas of a keyword such as properties, whose members
// have arbitrary names.
func (g *schemaGraph) addMap(i int, keyword string, value any, pointer pointerSize) (found []int, err error) {
	object, _ := value.(map[string]any)
	for _, name := range sortedKeys(object) {
		at := extendPath(g.nodes[i].path, keyword+"/"+clipText(name))
		if keyword == "patternProperties" {
			if err := g.addPattern(name, at); err != nil {
				return nil, err
			}
		}
		j, err := g.addSchema(object[name], g.nodes[i].base, at, pointer.withToken(name))
		if err != nil {
			return nil, err
		}
		if j >= 0 {
			found = append(found, j)
		}
	}
	return found, nil
}

// extendPath adds a keyword to a path, unless the path is long enough for a
// message.
func extendPath(at, by string) string {
	if len(at) > 200 {
		return at
	}
	return at + "/" + by
}

// resolveReferences turns the references of a node into edges.
func (g *schemaGraph) resolveReferences(i int) error {
	for _, ref := range g.nodes[i].refs {
		j, err := g.findTarget(i, ref)
		if err != nil {
			return err
		}
		if j >= 0 {
			g.nodes[i].sameValue = append(g.nodes[i].sameValue, j)
		}
	}
	return nil
}

// findTarget returns the node that a reference names. It returns -1 for a
// target that cannot be found, which makes the schema fail when it is compiled.
func (g *schemaGraph) findTarget(i int, ref schemaRef) (int, error) {
	if ref.keyword == "$recursiveRef" && len(g.recursiveAnchors) > 0 {
		return g.recursiveAnchors[0], nil
	}
	base, fragment, ok := joinReference(g.nodes[i].base, ref.text)
	if !ok {
		return -1, nil
	}
	// With exactly one anchor of the name, the dynamic reference is a static
	// one.
	if ref.keyword == "$dynamicRef" && g.dynamicAnchorCount[fragment] == 1 {
		return g.dynamicAnchors[fragment], nil
	}
	resource, ok := g.resources[base]
	if !ok {
		if !g.usesDialect && strings.Contains(base, "//json-schema.org/draft") {
			g.usesDialect = true
			if err := g.spendBytes(dialectBytes, g.nodes[i].path); err != nil {
				return 0, err
			}
		}
		if g.usesDialect {
			if strings.Contains(base, "/meta/") || g.dynamicAnchorCount["meta"] > 0 {
				return 0, costErrorf("a reference to %s is not supported: refer to the dialect itself, such as https://json-schema.org/draft/2020-12/schema, and do not name your own $dynamicAnchor meta", clipText(base))
			}
		}
		return -1, nil // a dialect, whose cost is small, or a document that is never fetched
	}
	if fragment == "" {
		return resource, nil
	}
	if !strings.HasPrefix(fragment, "/") {
		if j, ok := g.anchors[base+"#"+fragment]; ok {
			return j, nil
		}
		return -1, nil
	}
	v, err := followPointer(g.nodes[resource].object, fragment)
	if err != nil {
		return 0, err
	}
	if object, ok := v.(map[string]any); ok {
		if j, known := g.byMap[reflect.ValueOf(object).Pointer()]; known {
			return j, nil
		}
		if g.foreignTargets++; g.foreignTargets > maxForeignTargets {
			return 0, costErrorf("more than %d of its references point to places that are not subschemas; use $defs", maxForeignTargets)
		}
		if err := g.spendBytes(foreignTableBytes*len(g.nodes), "#"+clipText(fragment)); err != nil {
			return 0, err
		}
		return g.addSchema(object, base, "#"+clipText(fragment), pointerSize{len(fragment), strings.Count(fragment, "/")})
	}
	return -1, nil
}

// joinReference resolves a reference against a base URL as RFC 3986 does, and
// splits off the fragment.
func joinReference(base, ref string) (absolute, fragment string, ok bool) {
	ref, fragment, _ = strings.Cut(ref, "#")
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return "", "", false
	}
	if ref == "" {
		return base, fragment, true
	}
	to, err := url.Parse(ref)
	if err != nil {
		return "", "", false
	}
	from, err := url.Parse(base)
	if err != nil {
		return "", "", false
	}
	return from.ResolveReference(to).String(), fragment, true
}

// followPointer returns the value at a JSON pointer; nil if there is none. It
// refuses a second spelling of an index, such as 01: the library would compile
// the subschema once for each spelling.
func followPointer(v any, path string) (any, error) {
	for token := range strings.SplitSeq(path[1:], "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch at := v.(type) {
		case map[string]any:
			v = at[token]
		case []any:
			n, err := strconv.Atoi(token)
			if err != nil || n < 0 || n >= len(at) {
				return nil, nil
			}
			if strconv.Itoa(n) != token {
				return nil, costErrorf("the reference to %s writes the index %d as %q", clipText(path), n, clipText(token))
			}
			v = at[n]
		default:
			return nil, nil
		}
	}
	return v, nil
}

// measureReachable checks the cost of every node that can be reached from the
// root.
func (g *schemaGraph) measureReachable(root int) error {
	g.cost, g.height = make([]int, len(g.nodes)), make([]int, len(g.nodes))
	reached := make([]bool, len(g.nodes))
	reached[root] = true
	for queue := []int{root}; len(queue) > 0; {
		i := queue[0]
		queue = queue[1:]
		if err := g.measureNode(i, 0); err != nil {
			return err
		}
		for _, next := range [][]int{g.nodes[i].sameValue, g.nodes[i].innerValues} {
			for _, j := range next {
				if !reached[j] {
					reached[j] = true
					queue = append(queue, j)
				}
			}
		}
	}
	return nil
}

// measureNode computes how many evaluations one value takes at node i. It fails
// on a cycle that never descends into the value, since the check would not end.
func (g *schemaGraph) measureNode(i, depth int) error {
	const underWay = -1
	at := clipText(g.nodes[i].path)
	switch known := g.cost[i]; {
	case known == underWay:
		return costErrorf("%s refers to itself without descending into the value", at)
	case depth+g.height[i] > maxReferenceDepth:
		return costErrorf("more than %d references and combinators form a chain at %s", maxReferenceDepth, at)
	case known > 0:
		return nil
	}
	g.cost[i] = underWay
	sum := 1
	for _, j := range g.nodes[i].sameValue {
		if err := g.measureNode(j, depth+1); err != nil {
			return err
		}
		g.height[i] = max(g.height[i], g.height[j]+1)
		if sum += g.cost[j]; sum > maxStepsPerValue {
			return costErrorf("at %s it takes more than %d evaluations of each value: combinators (allOf, anyOf, oneOf, not, if, dependentSchemas) and references multiply", at, maxStepsPerValue)
		}
	}
	g.cost[i] = sum
	return nil
}

// sortedKeys returns the keys of an object in a fixed order, so that errors are
// the same each time.
func sortedKeys(object map[string]any) []string {
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// costErrorf makes the error for a schema that exceeds a limit.
func costErrorf(format string, args ...any) error {
	return junctor.Errorf(junctor.CodeTooLarge, "the schema is too expensive to check values against: "+format, args...)
}
