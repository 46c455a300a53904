package tool

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/call"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// outputSchema returns the schema of an operation's answer; it is nil if the
// document has none. The schema requires nothing: an answer that differs from
// the documentation, or was truncated, must not fail the call. MCP wants an
// object, so another value is wrapped under "result", and wrapped says so.
func (b *builder) outputSchema(op *doc.Operation) (out schema, wrapped bool) {
	content := successContent(op, isJSONContent)
	if content == nil || content.Schema == nil {
		return nil, false
	}
	n := b.followRefs(content.Schema)
	for _, l := range []schemaLimits{
		{maxDepth: 4, inlineCycles: true},
		{maxDepth: 3, inlineCycles: true},
		{maxDepth: 2, inlineCycles: true},
		{maxDepth: 2, inlineCycles: true, omitScalarTypes: true},
		{maxDepth: 1, inlineCycles: true, omitScalarTypes: true},
		{maxDepth: 0, inlineCycles: true, omitScalarTypes: true},
	} {
		c := b.newCompiler(l)
		c.forAnswer, c.maxNodes = true, b.outputBytes/4
		s := c.compileNode(n, 0)
		if c.isOverLimit() {
			continue
		}
		// An answer that may be a list as well as an object is wrapped like a
		// list.
		object := slices.Contains(typesOf(s["type"]), "object") || s["type"] == nil && s["properties"] != nil
		object = object && !slices.Contains(typesOf(s["type"]), "array")
		if out, wrapped = s, !object; wrapped {
			out = schema{"type": "object", "properties": schema{"result": s}}
		} else {
			out["type"] = "object"
		}
		if raw, err := json.Marshal(out); err == nil && len(raw) <= b.outputBytes {
			return out, wrapped
		}
	}
	// No limits fit, not even by the number of nodes. The result is still an
	// object.
	if out == nil {
		return schema{"type": "object"}, !b.isObject(n)
	}
	return schema{"type": "object"}, wrapped
}

// isObject reports whether a schema describes an object, judged by its own
// keywords.
func (b *builder) isObject(n *doc.Node) bool {
	return n.Get("type").ScalarText() == "object" || n.Get("properties") != nil
}

// findPaging finds the argument that asks for the next page, by the usual
// names. A cursor is preferred to a page number, and that to an offset.
func (b *builder) findPaging(op *doc.Operation, a *argumentSet) *call.Paging {
	if op.Method != http.MethodGet && op.Method != "QUERY" && op.GraphQL == nil {
		return nil
	}
	for _, kind := range []struct {
		name string
		args []string
	}{
		{"cursor", []string{"cursor", "page_token", "next_token", "after", "starting_after", "continuation_token", "start_cursor", "page_cursor", "marker", "next_cursor", "continue"}},
		{"page", []string{"page", "page_number", "page_num", "p"}},
		{"offset", []string{"offset", "skip", "start", "start_at", "start_index"}},
	} {
		for _, want := range kind.args {
			for _, one := range a.arguments {
				if one.plan.Place != call.Query && one.plan.Place != call.Variable || strings.Join(splitWords(one.plan.Key), "_") != want {
					continue
				}
				p := &call.Paging{Arg: one.plan.Name, Kind: kind.name}
				if kind.name == "cursor" {
					p.Cursor = findCursor(b.shallowAnswer(op), want)
				}
				return p
			}
		}
	}
	return nil
}

// shallowAnswer returns two levels of the answer's schema.
func (b *builder) shallowAnswer(op *doc.Operation) schema {
	content := successContent(op, isJSONContent)
	if content == nil {
		return nil
	}
	c := b.newCompiler(schemaLimits{maxDepth: 1, inlineCycles: true, omitScalarTypes: true})
	c.forAnswer = true
	return c.compileNode(b.followRefs(content.Schema), 0)
}

// findCursor returns the JSON pointer of the value in an answer that the next
// call takes as arg. It looks at the members of the answer, then at those of
// its objects. It returns "" if none has a usual name.
func findCursor(answer schema, arg string) string {
	props, _ := answer["properties"].(schema)
	look := func(props schema, at string) string {
		for _, want := range []string{"next_" + arg, "next_cursor", "next_page_token", "next_token", "end_cursor", "next_page_cursor", "continuation_token", "next_marker", "cursor", "continue", "next"} {
			for _, name := range sortedKeys(props) {
				if strings.Join(splitWords(name), "_") == want {
					return at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
				}
			}
		}
		return ""
	}
	if found := look(props, ""); found != "" {
		return found
	}
	for _, name := range sortedKeys(props) {
		if sub, ok := props[name].(schema); ok && slices.Contains(typesOf(sub["type"]), "object") {
			below, _ := sub["properties"].(schema)
			if found := look(below, "/"+name); found != "" {
				return found
			}
		}
	}
	return ""
}
