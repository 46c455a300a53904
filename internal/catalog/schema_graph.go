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

// Limits of a schema that comes from a server. They are held when the server's
// tools are listed: a tool whose schema exceeds one is left out of the catalog.
// Compiling cannot be interrupted, so what it takes is bounded beforehand; checking
// one value takes as many steps as combinators and references lead to, which a
// schema can double at every level.
const (
	maxCompileBytes    = 32 << 20 // allocations of compiling, estimated
	maxStepsPerValue   = 10_000   // evaluations of one value at one location
	maxReferenceDepth  = 200      // references and combinators that lead from one to the next, for one value
	maxSchemaResources = 64       // subschemas with an $id of their own
	maxForeignTargets  = 64       // $ref targets outside the places where subschemas stand
	smallSchema        = 4 << 10
)

// What the library allocates while it compiles a schema, in bytes, measured and
// rounded up. Most of it is garbage at once. Its time follows: the library
// searches the list of all subschemas for each of them, and a list as long as
// the budget allows is searched in about a hundred milliseconds.
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

// CheckSchemaCost refuses a JSON Schema that would cost too much to compile or
// to check values against, and says why. It looks at the text alone, in time
// that grows with its length; a schema that is malformed in another way passes,
// and is refused when it is compiled.
func CheckSchemaCost(raw []byte) error {
	if isCheapSchema(raw) {
		return nil
	}
	doc, err := wire.Value(raw)
	if err != nil {
		return nil //nolint:nilerr // told by whoever compiles it
	}
	_, err = newSchemaGraph(doc)
	return err
}

// isCheapSchema knows most schemas without parsing them: a short one without
// references and patterns is a tree, each part of which is looked at once.
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
	// Every part stands behind a colon, a comma or a bracket.
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

// schemaGraph is a schema as the subschemas that it leads to.
type schemaGraph struct {
	nodes     []schemaNode
	byMap     map[uintptr]int // a node by the identity of its object
	resources map[string]int  // by absolute URL
	anchors   map[string]int  // by absolute URL, "#" and name
	dynamic   map[string]int  // $dynamicAnchor: how many have the name
	roots     []int           // nodes with $recursiveAnchor
	byDynamic map[string]int  // the node of a $dynamicAnchor, by name
	work      int             // bytes that compiling allocates, as far as it is known
	patterns  int             // instructions of all patterns
	foreign   int
	dialects  bool  // it refers to a dialect of JSON Schema
	unseen    bool  // it has unevaluatedItems or unevaluatedProperties
	oldID     bool  // the dialect is draft 4, where id is what $id is since
	cost      []int // steps for one value, per node; 0 before it is known
	height    []int // the longest way through subschemas for the same value, per node
}

type schemaNode struct {
	object map[string]any
	base   string
	at     string // the keyword path that led there first, for messages
	same   []int  // subschemas for the same value
	below  []int  // subschemas for values inside of it
	refs   []schemaRef
}

type schemaRef struct{ keyword, text string }

const schemaBase = "junctor://tool/schema"

func newSchemaGraph(doc any) (*schemaGraph, error) {
	g := &schemaGraph{byMap: map[uintptr]int{}, resources: map[string]int{}, anchors: map[string]int{}, dynamic: map[string]int{}, byDynamic: map[string]int{}}
	if object, ok := doc.(map[string]any); ok {
		dialect, _ := object["$schema"].(string)
		g.oldID = strings.Contains(dialect, "draft-04")
	}
	root, err := g.add(doc, schemaBase, "#", pointerSize{})
	if err != nil {
		return nil, err
	}
	if root < 0 {
		return g, nil
	}
	g.resources[schemaBase] = root
	for i := 0; i < len(g.nodes); i++ { //nolint:intrange // resolving may add nodes
		if err := g.resolve(i); err != nil {
			return nil, err
		}
	}
	return g, g.measure(root)
}

// pointerSize is how long the JSON pointer to a subschema is.
type pointerSize struct{ bytes, levels int }

// then is the size with one more token.
func (p pointerSize) then(token string) pointerSize {
	return pointerSize{p.bytes + len(token) + 1, p.levels + 1}
}

// spend counts what compiling allocates.
func (g *schemaGraph) spend(bytes int, at string) error {
	if g.work += bytes; g.work <= maxCompileBytes {
		return nil
	}
	return costErrorf("compiling it takes more than %d MiB, which is reached at %s, its subschema %d; use fewer subschemas and values, shorter names, or nest them less deep",
		maxCompileBytes>>20, clip(at), len(g.nodes))
}

// add enters a subschema and all below it. It gives -1 for a boolean.
func (g *schemaGraph) add(v any, base, at string, pointer pointerSize) (int, error) {
	object, ok := v.(map[string]any)
	if !ok {
		return -1, g.spend(subschemaBytes+levelBytes*pointer.levels+pointerFactor*pointer.bytes+valueBytes*countValues(v), at)
	}
	identity := reflect.ValueOf(object).Pointer()
	if i, known := g.byMap[identity]; known {
		return i, nil
	}
	i := len(g.nodes)
	g.byMap[identity] = i
	if err := g.spend(subschemaBytes+keywordBytes*len(object)+levelBytes*pointer.levels+pointerFactor*pointer.bytes, at); err != nil {
		return 0, err
	}
	base, err := g.identify(object, base, i)
	if err != nil {
		return 0, err
	}
	g.nodes = append(g.nodes, schemaNode{object: object, base: base, at: at})
	for _, keyword := range sortedKeys(object) {
		if err := g.addKeyword(i, keyword, object[keyword], pointer.then(keyword)); err != nil {
			return 0, err
		}
	}
	return i, nil
}

// identify enters the names that a subschema gives itself, and says what its
// references are relative to.
func (g *schemaGraph) identify(object map[string]any, base string, i int) (string, error) {
	for _, key := range []string{"$id", "id"} {
		id, ok := object[key].(string)
		if !ok || strings.HasPrefix(id, "#") || g.oldID != (key == "id") {
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
				g.byDynamic[name] = i
				if g.dynamic[name]++; g.dynamic[name] > 1 {
					return "", costErrorf("it has several $dynamicAnchor %q, and what a $dynamicRef means then cannot be told in advance", clip(name))
				}
			}
		}
	}
	if object["$recursiveAnchor"] == true {
		if g.roots = append(g.roots, i); i != 0 {
			return "", costErrorf("it has $recursiveAnchor below its root, and what a $recursiveRef means then cannot be told in advance")
		}
	}
	return base, nil
}

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
		g.unseen = g.unseen || strings.HasPrefix(keyword, "unevaluated")
		return g.addOne(i, keyword, value, false, pointer)
	case "dependentSchemas", "dependencies":
		found, err := g.addMap(i, keyword, value, pointer)
		g.nodes[i].same = append(g.nodes[i].same, found...)
		return err
	case "properties", "patternProperties":
		found, err := g.addMap(i, keyword, value, pointer)
		g.nodes[i].below = append(g.nodes[i].below, found...)
		return err
	case "$defs", "definitions": // only references lead there
		_, err := g.addMap(i, keyword, value, pointer)
		return err
	case "$ref", "$dynamicRef", "$recursiveRef":
		if text, ok := value.(string); ok {
			g.nodes[i].refs = append(g.nodes[i].refs, schemaRef{keyword, text})
			return g.spend(referenceFactor*(len(g.nodes[i].base)+len(text)), g.nodes[i].at)
		}
	case "pattern":
		if text, ok := value.(string); ok {
			return g.addPattern(text, g.nodes[i].at)
		}
	default:
		return g.spend(valueBytes*countValues(value), g.nodes[i].at)
	}
	return nil
}

func (g *schemaGraph) addPattern(text, at string) error {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil //nolint:nilerr // told by whoever compiles it
	}
	size := instructions(tree)
	if g.patterns += max(size, leastPattern); size > maxPattern || g.patterns > 8*maxPattern {
		return costErrorf("the pattern %s at %s is too large to be matched: at most %d instructions, and %d in all patterns; use fewer or smaller repetitions", strconv.Quote(clip(text)), clip(at), maxPattern, 8*maxPattern)
	}
	return g.spend(patternBytes+instructionBytes*size+classRangeBytes*countClassRanges(tree), at)
}

// countValues counts the values inside of one, without itself where it has none.
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

func (g *schemaGraph) addOne(i int, keyword string, value any, same bool, pointer pointerSize) error {
	j, err := g.add(value, g.nodes[i].base, extend(g.nodes[i].at, keyword), pointer)
	if err != nil || j < 0 {
		return err
	}
	if same {
		g.nodes[i].same = append(g.nodes[i].same, j)
	} else {
		g.nodes[i].below = append(g.nodes[i].below, j)
	}
	return nil
}

func (g *schemaGraph) addList(i int, keyword string, value any, same bool, pointer pointerSize) error {
	list, _ := value.([]any)
	for _, one := range list {
		if err := g.addOne(i, keyword, one, same, pointer.then("00000")); err != nil {
			return err
		}
	}
	return nil
}

// addMap enters the values of a keyword whose names are free.
func (g *schemaGraph) addMap(i int, keyword string, value any, pointer pointerSize) (found []int, err error) {
	object, _ := value.(map[string]any)
	for _, name := range sortedKeys(object) {
		at := extend(g.nodes[i].at, keyword+"/"+clip(name))
		if keyword == "patternProperties" {
			if err := g.addPattern(name, at); err != nil {
				return nil, err
			}
		}
		j, err := g.add(object[name], g.nodes[i].base, at, pointer.then(name))
		if err != nil {
			return nil, err
		}
		if j >= 0 {
			found = append(found, j)
		}
	}
	return found, nil
}

// extend makes a path longer, up to what a message needs.
func extend(at, by string) string {
	if len(at) > 200 {
		return at
	}
	return at + "/" + by
}

// resolve makes edges of a node's references.
func (g *schemaGraph) resolve(i int) error {
	for _, ref := range g.nodes[i].refs {
		j, err := g.target(i, ref)
		if err != nil {
			return err
		}
		if j >= 0 {
			g.nodes[i].same = append(g.nodes[i].same, j)
		}
	}
	return nil
}

// target finds what a reference names, or -1: what cannot be found makes the
// schema fail when it is compiled.
func (g *schemaGraph) target(i int, ref schemaRef) (int, error) {
	if ref.keyword == "$recursiveRef" && len(g.roots) > 0 {
		return g.roots[0], nil
	}
	base, fragment, ok := joinReference(g.nodes[i].base, ref.text)
	if !ok {
		return -1, nil
	}
	if ref.keyword == "$dynamicRef" && g.dynamic[fragment] == 1 {
		return g.byDynamic[fragment], nil
	}
	resource, ok := g.resources[base]
	if !ok {
		if !g.dialects && strings.Contains(base, "//json-schema.org/draft") {
			g.dialects = true
			if err := g.spend(dialectBytes, g.nodes[i].at); err != nil {
				return 0, err
			}
		}
		if g.dialects {
			if strings.Contains(base, "/meta/") || g.dynamic["meta"] > 0 {
				return 0, costErrorf("a reference to %s is not supported: refer to the dialect itself, such as https://json-schema.org/draft/2020-12/schema, and call no $dynamicAnchor of your own meta", clip(base))
			}
		}
		return -1, nil // a dialect, whose cost is known to be small, or a document that is not fetched
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
	v, err := lookUp(g.nodes[resource].object, fragment)
	if err != nil {
		return 0, err
	}
	if object, ok := v.(map[string]any); ok {
		if j, known := g.byMap[reflect.ValueOf(object).Pointer()]; known {
			return j, nil
		}
		if g.foreign++; g.foreign > maxForeignTargets {
			return 0, costErrorf("more than %d of its references lead to places that are no subschemas; use $defs", maxForeignTargets)
		}
		if err := g.spend(foreignTableBytes*len(g.nodes), "#"+clip(fragment)); err != nil {
			return 0, err
		}
		return g.add(object, base, "#"+clip(fragment), pointerSize{len(fragment), strings.Count(fragment, "/")})
	}
	return -1, nil
}

// joinReference resolves a reference as RFC 3986 does, and takes it apart.
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

// lookUp follows a JSON pointer. It refuses a second spelling of an index: the
// library takes subschemas under two pointers for two, and compiles them twice.
func lookUp(v any, path string) (any, error) {
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
				return nil, costErrorf("the reference to %s spells the index %d as %q", clip(path), n, clip(token))
			}
			v = at[n]
		default:
			return nil, nil
		}
	}
	return v, nil
}

// measure refuses what is reachable and costs too much.
func (g *schemaGraph) measure(root int) error {
	g.cost, g.height = make([]int, len(g.nodes)), make([]int, len(g.nodes))
	reached := make([]bool, len(g.nodes))
	reached[root] = true
	for queue := []int{root}; len(queue) > 0; {
		i := queue[0]
		queue = queue[1:]
		if err := g.measureNode(i, 0); err != nil {
			return err
		}
		for _, next := range [][]int{g.nodes[i].same, g.nodes[i].below} {
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

// measureNode finds how many evaluations one value takes at node i.
func (g *schemaGraph) measureNode(i, depth int) error {
	const underWay = -1
	at := clip(g.nodes[i].at)
	switch known := g.cost[i]; {
	case known == underWay:
		return costErrorf("%s leads back to itself without going into the value that is checked", at)
	case depth+g.height[i] > maxReferenceDepth:
		return costErrorf("more than %d references and combinators lead from one to the next at %s", maxReferenceDepth, at)
	case known > 0:
		return nil
	}
	g.cost[i] = underWay
	sum := 1
	for _, j := range g.nodes[i].same {
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

func sortedKeys(object map[string]any) []string {
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func costErrorf(format string, args ...any) error {
	return junctor.Errorf(junctor.CodeTooLarge, "the schema is too expensive to check values against: "+format, args...)
}
