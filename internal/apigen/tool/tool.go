// Package tool builds tools of the operations that apigen/doc, apigen/graphql
// and apigen/rest have read: a name, schemas that every model accepts, and the
// plan by which apigen/call sends a call. Nothing here reads documents or sends
// requests. The same document always gives the same bytes, so that a changed
// tool means a changed document.
//
// apigen calls [Build] when a document is imported, and [ApplyProfile] and [NormalizeArguments] when
// tools are listed and called for a client of a profile.
//
// Read the files in this order:
//   - tool.go: Tool and Build.
//   - name.go and text.go: names and descriptions.
//   - arguments.go and media.go: the arguments of a tool and where each is
//     sent.
//   - compile.go, merge.go and cycles.go: the compiler from document schemas to
//     canonical ones.
//   - input.go, prune.go and output.go: schemas within their budgets.
//   - profile.go and profilearguments.go: schemas and arguments for clients that accept
//     less.
package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/call"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// Tool is one tool and the plan of its calls. It is stored as JSON.
type Tool struct {
	// Key is the Key of the operation. It identifies the tool when the document
	// is read again.
	Key         string `json:"key"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// Input is the canonical schema of the arguments, before a profile changes
	// it.
	Input json.RawMessage `json:"input"`
	// Output is the schema of the result. It requires nothing, and is absent if
	// the document describes no answer.
	Output      json.RawMessage `json:"output,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
	// ID is the operationId as the document has it.
	ID   string   `json:"id,omitempty"`
	Tags []string `json:"tags,omitempty"`
	// Words are the words of the path, for search and roles.
	PathWords  []string `json:"words,omitempty"`
	Deprecated bool     `json:"deprecated,omitempty"`
	Inferred   bool     `json:"inferred,omitempty"`
	// Truncated is set if Input describes less than the document does.
	Truncated bool `json:"truncated,omitempty"`
	// Incomplete is why the tool cannot be called. Such a tool is shown to
	// users only, never to clients.
	Incomplete []doc.Code `json:"incomplete,omitempty"`
	// Partial is what is unknown of a tool that can be called.
	Partial []doc.Code   `json:"partial,omitempty"`
	At      doc.Position `json:"at"`
	Plan    call.Plan    `json:"plan"`
}

// JSON returns the tool as MCP lists it.
func (t *Tool) JSON() []byte {
	return encodeJSON(struct {
		Name         string          `json:"name"`
		Title        string          `json:"title,omitempty"`
		Description  string          `json:"description,omitempty"`
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
		Annotations  json.RawMessage `json:"annotations,omitempty"`
	}{t.Name, t.Title, t.Description, t.Input, t.Output, t.Annotations})
}

// Digest returns the SHA-256, in hex, of everything that a call depends on: the
// listed tool and its plan.
func (t *Tool) Digest() string {
	sum := sha256.Sum256(slices.Concat(t.JSON(), []byte{'\n'}, encodeJSON(t.Plan)))
	return hex.EncodeToString(sum[:])
}

// Options are the options of Build.
type Options struct {
	// Server is the id of the server. It shares the length limit of shown names
	// with the tools.
	Server string
	// Names are the former names of tools by Key. An operation keeps its name,
	// since clients refer to it.
	FormerNames map[string]string
	// Base is the URL of the API if the user entered one. Operations without a
	// server are then callable.
	BaseURL string

	// Meter bounds the work; nil bounds nothing. If the budget is used up,
	// Build panics with a value for Meter.Run.
	Meter *doc.Meter
}

// Budgets of one tool, in bytes of JSON. Models read the whole list of tools.
const (
	maxToolBytes   = 16 << 10
	maxOutputBytes = 8 << 10
)

// toolAnnotations are the MCP annotations of a tool, as far as the method tells
// them. A missing hint means false, except destructiveHint: MCP takes a missing
// one as true, so it is a pointer.
type toolAnnotations struct {
	ReadOnly    bool  `json:"readOnlyHint,omitempty"`
	Destructive *bool `json:"destructiveHint,omitempty"`
	Idempotent  bool  `json:"idempotentHint,omitempty"`
	OpenWorld   bool  `json:"openWorldHint"`
}

// Build makes a tool of every operation, in the order of the document, those
// that cannot be called included. The problems are losses, such as a schema
// that was too large.
func Build(d *doc.Document, o Options) ([]Tool, []doc.Problem) {
	b := builder{doc: d, texts: textCache{}, meter: o.Meter, cycles: newCycleFinder(d.Schemas, o.Meter), names: assignNames(d.Operations, o.Server, o.FormerNames), outputBytes: outputBudget(len(d.Operations)), baseURL: o.BaseURL}
	tools := make([]Tool, 0, len(d.Operations))
	made := map[string]bool{}
	for _, op := range d.Operations {
		// A document may have a path twice. One tool is built of it.
		if !made[op.Key] {
			made[op.Key] = true
			b.meter.SetSubject(op.Key)
			b.meter.Spend(20)
			tools = append(tools, b.buildTool(op))
		}
	}
	return tools, b.problems
}

// outputBudget returns the bytes for one output schema. It leaves less to each
// tool if there are many, since models read the list as a whole.
func outputBudget(operations int) int {
	switch {
	case operations > 1000:
		return 384
	case operations > 500:
		return 512
	case operations > 100:
		return 2 << 10
	default:
		return maxOutputBytes
	}
}

// builder is the state of one Build.
type builder struct {
	doc    *doc.Document
	cycles *cycleFinder
	// names are the names of tools by Key.
	names map[string]string
	// texts caches cleaned descriptions.
	texts textCache
	meter *doc.Meter
	// outputBytes is the budget of one output schema.
	outputBytes int
	baseURL     string
	problems    []doc.Problem
}

// buildTool makes the tool of one operation. The output schema comes first: the
// input schema gets the remaining bytes of the budget.
func (b *builder) buildTool(op *doc.Operation) Tool {
	// Readers other than that of OpenAPI do not check the size of single
	// operations.
	if why := op.SizeProblem(); why != "" {
		b.problems = append(b.problems, doc.Problem{
			At: op.At, Severity: doc.Error, Code: doc.TooLarge, OperationKey: op.Key, Message: "The operation is ignored. " + why, Remedy: "Remove parameters, or pass them in the body.",
		})
		// The operation is replaced by one without parameters, so that users
		// still see it.
		op = &doc.Operation{Key: op.Key, Method: op.Method, Path: truncateBytes(op.Path, 200), ID: op.ID, At: op.At, Servers: op.Servers, Incomplete: []doc.Code{doc.TooLarge}}
	}
	t := Tool{
		Name: b.names[op.Key], Key: op.Key, Title: makeTitle(op, b.names[op.Key]), Description: makeDescription(op), Annotations: encodeJSON(annotateOperation(op, b.names[op.Key])),
		ID: op.ID, Tags: op.Tags, PathWords: splitWords(strings.NewReplacer("{", " ", "}", " ").Replace(op.Path)),
		Deprecated: op.Deprecated, Inferred: op.Inferred, Incomplete: b.incompleteCodes(op), Partial: slices.Clone(op.Partial), At: op.At,
	}
	out, wrapped := b.outputSchema(op)
	if out != nil {
		t.Output = encodeJSON(out)
	}
	a := b.collectArguments(op)
	var input schema
	input, t.Truncated = b.inputSchema(a, maxToolBytes-len(t.JSON())-8)
	t.Input = encodeJSON(input)
	// The compiler found this out while it compiled the arguments.
	if a.unresolvedRef && !slices.Contains(t.Partial, doc.UnresolvedRef) {
		t.Partial = append(t.Partial, doc.UnresolvedRef)
	}
	t.Plan = call.Plan{
		Method: op.Method, Base: b.ownServer(op), Path: op.Path, Query: op.Query, Args: a.callArgs(), Body: a.body,
		Accept: acceptedMedia(op), Security: securityNeeds(op), WrapsResult: wrapped, Paging: b.findPaging(op, a),
	}
	if f := op.GraphQL; f != nil {
		t.Plan.GraphQL = &call.GraphQL{Head: f.Head, Selection: f.Selection, Tail: f.Tail, Operation: f.Name, Path: f.Path, SelectType: f.ReturnType}
	}
	if t.Truncated {
		b.problems = append(b.problems, doc.Problem{
			At: op.At, Severity: doc.Hint, Code: doc.SchemaTruncated, OperationKey: op.Key,
			Message: "The arguments are larger than the limit of a tool; optional parts have shorter descriptions, and are still accepted.",
			Remedy:  "Nothing has to be done. A smaller request body in the document is easier for models.",
		})
	}
	return t
}

// encodeJSON encodes JSON without escaping <, > and &. It is for values that
// always encode.
func encodeJSON(v any) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		// This cannot happen: the values are plain.
		return []byte("{}")
	}
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}

// makeTitle returns the readable name: a short summary, or else the words of
// the tool's name.
func makeTitle(op *doc.Operation, name string) string {
	if s := strings.TrimSuffix(cleanText(op.Summary, 80), "."); s != "" && !strings.HasSuffix(s, "…") {
		return s
	}
	s := strings.ReplaceAll(name, "_", " ")
	return strings.ToUpper(s[:1]) + s[1:]
}

// makeDescription joins the summary and the first paragraph of the description.
// Without both it returns the method and path.
func makeDescription(op *doc.Operation) string {
	const most = 1024
	summary, text := cleanText(op.Summary, most), cleanText(firstParagraph(op.Description), most)
	switch {
	case text == "" || strings.HasPrefix(summary, text):
		text = summary
	case summary != "" && !strings.HasPrefix(text, strings.TrimSuffix(summary, ".")):
		text = strings.TrimSuffix(summary, ".") + ". " + text
	}
	if text == "" {
		text = op.Method + " " + cleanText(op.Path, 200)
	}
	if op.Deprecated {
		text = "Deprecated. " + text
	}
	return shortenText(text, most)
}

// annotateOperation derives the annotations from the method, and from words in
// the name that mean that something is lost.
func annotateOperation(op *doc.Operation, name string) toolAnnotations {
	a := toolAnnotations{OpenWorld: true}
	no, yes := false, true
	if f := op.GraphQL; f != nil {
		a.ReadOnly, a.Idempotent = !f.Mutation, !f.Mutation
		if f.Mutation {
			a.Destructive = &no
		}
	} else {
		switch op.Method {
		case http.MethodGet, http.MethodHead, "QUERY", http.MethodOptions, http.MethodTrace:
			a.ReadOnly, a.Idempotent = true, true
			return a
		case http.MethodPut:
			a.Idempotent, a.Destructive = true, &no
		case http.MethodDelete:
			a.Idempotent, a.Destructive = true, &yes
		default:
			a.Destructive = &no
		}
	}
	if !a.ReadOnly && slices.ContainsFunc(slices.Concat(splitWords(name), splitWords(op.ID)), func(w string) bool {
		return slices.Contains([]string{"delete", "deletes", "remove", "removes", "revoke", "cancel", "purge", "destroy", "wipe", "drop", "erase"}, w)
	}) {
		a.Destructive = &yes
	}
	return a
}

// ownServer returns the address of an operation's server if that differs from
// the server of the API, and "" otherwise.
func (b *builder) ownServer(op *doc.Operation) string {
	if len(op.Servers) == 0 || len(b.doc.Servers) > 0 && op.Servers[0].URL == b.doc.Servers[0].URL {
		return ""
	}
	return op.Servers[0].Address(nil)
}

// incompleteCodes returns why an operation cannot be called. A missing server
// does not count if the user entered a base URL.
func (b *builder) incompleteCodes(op *doc.Operation) []doc.Code {
	return slices.DeleteFunc(slices.Clone(op.Incomplete), func(c doc.Code) bool { return c == doc.NoServer && b.baseURL != "" })
}

// securityNeeds returns the alternatives to authenticate. nil means that the
// document says nothing; one empty alternative means that it requires nothing.
func securityNeeds(op *doc.Operation) [][]call.SecurityRequirement {
	if !op.DeclaresSecurity {
		return nil
	}
	if len(op.Security) == 0 {
		return [][]call.SecurityRequirement{{}}
	}
	list := make([][]call.SecurityRequirement, len(op.Security))
	for i, alternative := range op.Security {
		list[i] = []call.SecurityRequirement{}
		for _, r := range alternative {
			list[i] = append(list[i], call.SecurityRequirement{Scheme: r.Scheme, Scopes: r.Scopes})
		}
	}
	return list
}
