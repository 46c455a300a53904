package docs

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

//go:generate go test . -run ^TestEventTypesPage$ -update

// eventTexts says what the members of an event and of a delivery's _meta have.
func eventTexts() map[string]string {
	return map[string]string{
		"Event.id":            "The ID of the event.",
		"Event.source":        "The source: its ID, or one of the names above.",
		"Event.type":          "The type, as the source names it.",
		"Event.type_unsigned": "True if the type comes from a header that the signature does not cover.",
		"Event.agent":         "The agent that the event concerns. Events of one agent are delivered in order.",
		"Event.dedupe_key":    "A second event of the source with the same key is ignored.",
		"Event.data":          "The payload: any JSON of at most 1 MiB.",
		"Event.received_at":   "When it was stored.",
		"Event.raised":        "The number of deliveries that it caused.",
		"Event.faults":        "Why matching triggers could not make a call.",
		"Event.depth":         "The length of the chain of answers that led to it. At 8, no further event is made.",

		"deliveryMeta.id":      "The ID of the delivery. It is the same in every attempt.",
		"deliveryMeta.event":   "The ID of the event.",
		"deliveryMeta.type":    "The type of the event.",
		"deliveryMeta.source":  "The source of the event.",
		"deliveryMeta.trigger": "The trigger.",
		"deliveryMeta.agent":   "The agent that the event concerns.",
		"deliveryMeta.attempt": "The number of the attempt, from 1.",
		"deliveryMeta.file":    "Present if the trigger asks for the file of the event and the call is made without it: `uri`, `state` (`missing` or `unproved`) and `why`.",
	}
}

// styleTexts says how the messages of each style of source look.
func styleTexts() map[string][3]string { // authenticated by, type, dedupe key
	return map[string][3]string{
		"standard":     {"`webhook-id`, `webhook-timestamp` and `webhook-signature` (Standard Webhooks: HMAC-SHA256 or ed25519), within 5 minutes", "`type` of the body", "`webhook-id`"},
		"github":       {"`X-Hub-Signature-256` (HMAC-SHA256 of the body)", "derived from the body, then `.` and its `action`; see below", "SHA-256 of the body"},
		"stripe":       {"`Stripe-Signature` (HMAC-SHA256 of time and body), within 5 minutes", "`type` of the body", "`id` of the body"},
		"hmac":         {"the header that the source names, by default `X-Signature-256` (HMAC-SHA256 of the body)", "`type` of the body", "SHA-256 of the body"},
		"redis":        {"access to the Redis; Junctor reads the list", "`job`", "`id` of the job"},
		"redis-stream": {"access to the Redis; Junctor reads the stream", "`job`", "`id` of the job"},
	}
}

// chainTexts says what each event of a chain reports.
func chainTexts() map[string]string {
	return map[string]string{
		"NewFeedback":        "A client gave feedback on the agent.",
		"FeedbackRevoked":    "A client revoked its feedback.",
		"ResponseAppended":   "Somebody responded to feedback.",
		"Registered":         "The agent was registered.",
		"URIUpdated":         "The address of the agent's registration changed.",
		"MetadataSet":        "A metadata value of the agent was set.",
		"Transfer":           "The agent's token was transferred to another owner.",
		"ValidationRequest":  "A validation of the agent's work was requested.",
		"ValidationResponse": "A validator answered.",
	}
}

// streamTexts says when each event of Junctor appears in a room's stream.
func streamTexts() map[string]string {
	return map[string]string{
		"junctor.retry": "A model is busy, and its request is retried.",
		"junctor.call":  "A call of a tool has ended.",
		"junctor.limit": "A limit of the agent ended its turn.",
		"a2ui-surface":  "The agent shows or changes a surface ([A2UI](../guides/a2ui.md)).",
		"mcp-apps":      "The tool that was called has an App view.",
	}
}

// TestEventTypesPage holds docs/reference/event-types.md to the events in the source.
func TestEventTypesPage(t *testing.T) {
	t.Parallel()
	r, err := loadProgram(program.Root(t), ".", "./internal/erc8004", "./internal/intake", "./internal/worker", "./internal/room")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("\n## Fields of an event\n")
	r.writeMembers(t, &b, "", "Event")
	b.WriteString("\n## Formats of webhook sources\n\nMessages are posted to `/hooks/{source}`, or to `/hooks/{tenant}/{source}` outside the tenant `default`. The `data` of the event is the body.\n\n| style | authenticated by | type | dedupe key |\n|---|---|---|---|\n")
	styles := r.constants("", func(_ string, c *types.Const) bool { return strings.HasSuffix(c.Type().String(), ".SourceStyle") })
	texts := styleTexts()
	for _, c := range styles {
		text, ok := texts[constant.StringVal(c.Val())]
		if !ok {
			t.Errorf("styleTexts has no text for %s", c.Val())
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", constant.StringVal(c.Val()), text[0], text[1], text[2])
	}
	if len(texts) != len(styles) {
		t.Errorf("%d styles, %d texts", len(styles), len(texts))
	}
	b.WriteString("\n### Types of GitHub messages\n\nThe type is derived from the fields of the body, which the signature covers. If no row fits, the header `X-GitHub-Event` is used, and the event has `type_unsigned`.\n\n| type | the body has |\n|---|---|\n")
	for _, shape := range r.githubShapes(t) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", shape[0], shape[1])
	}
	r.writeChainEvents(t, &b)
	b.WriteString("\n## Events of answers\n\nA trigger with `raise` makes an event of the answer of its tool. The source is `trigger:NAME` and the type the name of the tool. The fields of `data`:\n\n")
	answer := r.mapKeys("/internal/worker", "newRaisedEvent")
	if len(answer) < 6 {
		t.Fatalf("newRaisedEvent has %v: the search is broken", answer)
	}
	fmt.Fprintf(&b, "%s. `result` is the JSON of the answer; `text` stands in its place if the answer was cut or is not JSON.\n", strings.Join(quoteAll(answer), ", "))
	b.WriteString("\n## What a delivery tells the tool\n\nThe call of a delivery has these fields in `_meta[\"junctor/delivery\"]`:\n")
	r.writeMembers(t, &b, "/internal/worker", "deliveryMeta")
	b.WriteString("\n## Events of a room's stream\n\nThe stream of a run in a room is [AG-UI](https://docs.ag-ui.com). Besides its standard events, Junctor sends these:\n\n| event | name | sent when | fields of its value |\n|---|---|---|---|\n")
	r.writeStreamEvents(t, &b)
	b.WriteString("\n")
	checkGenerated(t, "event-types.md", "event types", b.String())
}

func quoteAll(names []string) []string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = "`" + n + "`"
	}
	return quoted
}

// eachFunction visits the functions of a package.
func (r *logReader) eachFunction(path string, visit func(p checkedPackage, fn *ast.FuncDecl)) {
	for _, p := range r.packages {
		for _, f := range p.files {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && p.path == r.module+path && fn.Body != nil {
					visit(p, fn)
				}
			}
		}
	}
}

// writeMembers writes the table of a struct's JSON members.
func (r *logReader) writeMembers(t *testing.T, b *strings.Builder, path, name string) {
	t.Helper()
	b.WriteString("\n| field | type | meaning |\n|---|---|---|\n")
	told := 0
	for _, p := range r.packages {
		for id, obj := range p.info.Defs {
			tn, ok := obj.(*types.TypeName)
			if !ok || p.path != r.module+path || id.Name != name || tn.Parent() != tn.Pkg().Scope() {
				continue
			}
			s := tn.Type().Underlying().(*types.Struct)
			for i := range s.NumFields() {
				key, _, _ := strings.Cut(reflect.StructTag(s.Tag(i)).Get("json"), ",")
				if key == "-" || key == "" {
					continue
				}
				text, ok := eventTexts()[name+"."+key]
				if !ok {
					t.Errorf("eventTexts has no text for %s.%s", name, key)
				}
				told++
				fmt.Fprintf(b, "| `%s` | %s | %s |\n", key, jsonTypeName(s.Field(i).Type()), text)
			}
		}
	}
	for key := range eventTexts() {
		if strings.HasPrefix(key, name+".") {
			told--
		}
	}
	if told != 0 {
		t.Errorf("eventTexts and %s differ by %d members", name, told)
	}
}

// jsonTypeName names the JSON type of a Go type.
func jsonTypeName(t types.Type) string {
	switch t.String() {
	case "time.Time":
		return "string (date-time)"
	case "encoding/json.RawMessage":
		return "any"
	}
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return "array of " + jsonTypeName(u.Elem())
	case *types.Basic:
		switch {
		case u.Info()&types.IsString != 0:
			return "string"
		case u.Info()&types.IsBoolean != 0:
			return "boolean"
		case u.Info()&types.IsInteger != 0:
			return "integer"
		}
	}
	return "object"
}

// githubShapes gives the type of each GitHub message that can be recognized, and the members
// that tell it.
func (r *logReader) githubShapes(t *testing.T) [][2]string {
	t.Helper()
	var shapes [][2]string
	r.eachFunction("/internal/intake", func(p checkedPackage, fn *ast.FuncDecl) {
		if fn.Name.Name != "githubShapes" {
			return
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok || lit.Type != nil || len(lit.Elts) != 3 {
				return true
			}
			has := strings.Join(quoteAll(literalTexts(p, lit.Elts[1])), ", ")
			if not := literalTexts(p, lit.Elts[2]); len(not) > 0 {
				has += ", not " + strings.Join(quoteAll(not), ", ")
			}
			shapes = append(shapes, [2]string{constantText(p, lit.Elts[0]), has})
			return false
		})
	})
	if len(shapes) < 30 {
		t.Fatalf("found %d shapes of GitHub messages: the search is broken", len(shapes))
	}
	return shapes
}

// literalTexts gives the constant texts of a slice.
func literalTexts(p checkedPackage, e ast.Expr) []string {
	var texts []string
	if lit, ok := e.(*ast.CompositeLit); ok {
		for _, el := range lit.Elts {
			texts = append(texts, constantText(p, el))
		}
	}
	return texts
}

// mapKeys gives the keys of all map literals in a function, in their order.
func (r *logReader) mapKeys(path, function string) []string {
	var keys []string
	r.eachFunction(path, func(p checkedPackage, fn *ast.FuncDecl) {
		if fn.Name.Name == function {
			keys = append(keys, keysOf(p, fn.Body)...)
		}
	})
	return keys
}

func keysOf(p checkedPackage, in ast.Node) []string {
	var keys []string
	ast.Inspect(in, func(n ast.Node) bool {
		if kv, ok := n.(*ast.KeyValueExpr); ok {
			if key := constantText(p, kv.Key); key != "" && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
		return true
	})
	return keys
}

// writeChainEvents writes the tables of the events of chains.
func (r *logReader) writeChainEvents(t *testing.T, b *strings.Builder) {
	t.Helper()
	b.WriteString("\n## Events of chains\n\nThe source is `chain:NAME`. If the chain is reorganized and no longer has an event that was delivered, an event with the suffix `.retracted` follows, with the same data. Fields in parentheses are absent if the log does not have them. Numbers beyond 2^53, and an agent's ID, are strings.\n\n")
	puts, always := map[string][]string{}, []string(nil)
	r.eachFunction("/internal/erc8004", func(p checkedPackage, fn *ast.FuncDecl) {
		switch fn.Name.Name {
		case "putFeedback", "putFile":
			puts[fn.Name.Name] = readPuts(p, fn.Body.List, puts)
		}
	})
	kinds := map[string][]string{}
	r.eachFunction("/internal/erc8004", func(p checkedPackage, fn *ast.FuncDecl) {
		if fn.Name.Name == "putFeedback" { // putFile may have been read after it
			puts[fn.Name.Name] = readPuts(p, fn.Body.List, puts)
		}
	})
	r.eachFunction("/internal/erc8004", func(p checkedPackage, fn *ast.FuncDecl) {
		if fn.Name.Name != "Data" {
			return
		}
		for _, s := range fn.Body.List {
			switch s := s.(type) {
			case *ast.SwitchStmt:
				for _, c := range s.Body.List {
					clause := c.(*ast.CaseClause)
					for _, e := range clause.List {
						kinds[constantText(p, e)] = readPuts(p, clause.Body, puts)
					}
				}
			case *ast.AssignStmt:
				always = append(always, quoteAll(keysOf(p, s))...)
			case *ast.ExprStmt:
				always = append(always, readPuts(p, []ast.Stmt{s}, puts)...)
			}
		}
	})
	if len(always) < 10 || len(kinds["NewFeedback"]) < 10 {
		t.Fatalf("found %d and %d members of chain events: the search is broken", len(always), len(kinds["NewFeedback"]))
	}
	fmt.Fprintf(b, "Every event has %s.\n\n| type | reports | further fields |\n|---|---|---|\n", strings.Join(always, ", "))
	texts := chainTexts()
	for _, c := range r.constants("/internal/erc8004", func(_ string, c *types.Const) bool { return strings.HasSuffix(c.Type().String(), "erc8004.Kind") }) {
		kind := constant.StringVal(c.Val())
		if texts[kind] == "" || len(kinds[kind]) == 0 {
			t.Errorf("the event %s has the text %q and the members %v", kind, texts[kind], kinds[kind])
		}
		delete(texts, kind)
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", kind, chainTexts()[kind], strings.Join(kinds[kind], ", "))
	}
	for kind := range texts {
		t.Errorf("chainTexts has a text for %s, which is no event", kind)
	}
}

// readPuts gives the members that statements put into the data of an event. Those that may
// be absent are in parentheses.
func readPuts(p checkedPackage, body []ast.Stmt, known map[string][]string) []string {
	var names []string
	for _, s := range body {
		_, conditional := s.(*ast.IfStmt)
		ast.Inspect(s, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
				names = append(names, known[sel.Sel.Name]...)
			}
			if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "put" && len(call.Args) == 3 {
				name := "`" + constantText(p, call.Args[0]) + "`"
				if v := p.info.Types[call.Args[2]].Value; conditional || v == nil || !constant.BoolVal(v) {
					name = "(" + name + ")"
				}
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
			return true
		})
	}
	return names
}

// writeStreamEvents writes the rows of the events that package room sends besides those of
// AG-UI.
func (r *logReader) writeStreamEvents(t *testing.T, b *strings.Builder) {
	t.Helper()
	rows := map[string]string{}
	texts := streamTexts()
	r.eachFunction("/internal/room", func(p checkedPackage, fn *ast.FuncDecl) {
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			callee, kind, at := calledFunction(p, call), "CUSTOM", 0
			switch {
			case strings.HasSuffix(callee, ").EmitCustom"):
			case strings.HasSuffix(callee, ").EmitActivity"):
				kind, at = "ACTIVITY_SNAPSHOT", 1
			default:
				return true
			}
			name := constantText(p, call.Args[at])
			if texts[name] == "" {
				t.Errorf("streamTexts has no text for %s %s", kind, strconv.Quote(name))
			}
			keys := keysOf(p, call)
			if id, ok := call.Args[len(call.Args)-1].(*ast.Ident); ok {
				keys = variableKeys(p, fn.Body, id.Name)
			}
			if len(keys) == 0 {
				t.Errorf("%s has no fields: the search is broken", name)
			}
			rows[name] = fmt.Sprintf("| `%s` | `%s` | %s | %s |\n", kind, name, texts[name], strings.Join(quoteAll(keys), ", "))
			return true
		})
	})
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		b.WriteString(rows[name])
	}
	for name := range texts {
		if rows[name] == "" {
			t.Errorf("streamTexts has a text for %s, which is not sent", name)
		}
	}
}

// variableKeys gives the keys of a map that a function fills in a variable.
func variableKeys(p checkedPackage, body ast.Node, name string) []string {
	var keys []string
	ast.Inspect(body, func(n ast.Node) bool {
		assign, ok := n.(*ast.AssignStmt)
		if !ok || len(assign.Lhs) != 1 {
			return true
		}
		switch to := assign.Lhs[0].(type) {
		case *ast.Ident:
			if to.Name == name {
				keys = append(keys, keysOf(p, assign.Rhs[0])...)
			}
		case *ast.IndexExpr:
			if id, ok := to.X.(*ast.Ident); ok && id.Name == name {
				keys = append(keys, constantText(p, to.Index))
			}
		}
		return true
	})
	return keys
}
