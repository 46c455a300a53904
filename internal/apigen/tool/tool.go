// Package tool makes tools of the operations that apigen/doc has read: a name,
// schemas that every model takes, and the plan by which apigen/call sends what
// a tool is called with. The same document gives the same bytes, always.
//
// Profiles change a schema for a client that takes less. Nothing here reads or
// sends anything.
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

// Tool is one tool and how it is called. It is stored as JSON: the same document
// gives the same bytes.
type Tool struct {
	Key         string          `json:"key"` // of the operation: what it is known by when the document is read again
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input"`            // canonical schema
	Output      json.RawMessage `json:"output,omitempty"` // lenient; absent where there is none
	Annotations json.RawMessage `json:"annotations,omitempty"`
	ID          string          `json:"id,omitempty"` // operationId, as the document has it
	Tags        []string        `json:"tags,omitempty"`
	Words       []string        `json:"words,omitempty"` // of the path, for search and roles
	Deprecated  bool            `json:"deprecated,omitempty"`
	Inferred    bool            `json:"inferred,omitempty"`
	Truncated   bool            `json:"truncated,omitempty"`  // Input says less than the document
	Incomplete  []doc.Code      `json:"incomplete,omitempty"` // why it cannot be called; such a tool is shown to people alone
	Partial     []doc.Code      `json:"partial,omitempty"`    // what is not known of one that can be called
	At          doc.Position    `json:"at"`
	Plan        call.Plan       `json:"plan"`
}

// JSON is the tool as MCP lists it.
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

// Digest is the SHA-256 of all that a call depends on, hex.
func (t *Tool) Digest() string {
	sum := sha256.Sum256(slices.Concat(t.JSON(), []byte{'\n'}, encodeJSON(t.Plan)))
	return hex.EncodeToString(sum[:])
}

// Options of making tools.
type Options struct {
	Server string            // id of the server, which shares the length of shown names
	Names  map[string]string // by Key, those that the tools had before and keep
	Base   string            // URL of the API where somebody named one: operations without a server have it

	// Meter bounds the work; nil does not. Where nothing is left of it, Build
	// ends by a panic that Meter.Run takes.
	Meter *doc.Meter
}

// Budgets of one tool, in bytes of JSON.
const (
	maxToolBytes   = 16 << 10
	maxOutputBytes = 8 << 10
)

// toolAnnotations say what a call does, as far as its method tells. What is left out
// is false, but for destructiveHint, which is true where nothing is said.
type toolAnnotations struct {
	ReadOnly    bool  `json:"readOnlyHint,omitempty"`
	Destructive *bool `json:"destructiveHint,omitempty"`
	Idempotent  bool  `json:"idempotentHint,omitempty"`
	OpenWorld   bool  `json:"openWorldHint"`
}

// Build makes a tool of every operation, in the document's order. What could not
// be kept is among the problems.
func Build(d *doc.Document, o Options) ([]Tool, []doc.Problem) {
	b := builder{doc: d, texts: textCache{}, meter: o.Meter, cycles: newCycleFinder(d.Schemas, o.Meter), names: assignNames(d.Operations, o.Server, o.Names), outputBytes: outputBudget(len(d.Operations)), baseURL: o.Base}
	tools := make([]Tool, 0, len(d.Operations))
	made := map[string]bool{}
	for _, op := range d.Operations {
		if !made[op.Key] { // a document may have a path twice: the last one counts, see doc
			made[op.Key] = true
			b.meter.At(op.Key)
			b.meter.Spend(20)
			tools = append(tools, b.buildTool(op))
		}
	}
	return tools, b.problems
}

// outputBudget leaves less for each answer where there are many: a list of tools
// is read whole.
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

type builder struct {
	doc         *doc.Document
	cycles      *cycleFinder
	names       map[string]string
	texts       textCache
	meter       *doc.Meter
	outputBytes int
	baseURL     string
	problems    []doc.Problem
}

func (b *builder) buildTool(op *doc.Operation) Tool {
	if why := op.TooLarge(); why != "" { // of formats whose readers look at the whole alone
		b.problems = append(b.problems, doc.Problem{
			At: op.At, Severity: doc.Error, Code: doc.TooLarge, Key: op.Key, Message: "The operation is passed over. " + why, Remedy: "Take parameters out, or pass them in the body.",
		})
		op = &doc.Operation{Key: op.Key, Method: op.Method, Path: truncateBytes(op.Path, 200), ID: op.ID, At: op.At, Servers: op.Servers, Incomplete: []doc.Code{doc.TooLarge}}
	}
	t := Tool{
		Name: b.names[op.Key], Key: op.Key, Title: makeTitle(op, b.names[op.Key]), Description: makeDescription(op), Annotations: encodeJSON(annotateOperation(op, b.names[op.Key])),
		ID: op.ID, Tags: op.Tags, Words: splitWords(strings.NewReplacer("{", " ", "}", " ").Replace(op.Path)),
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
	if a.unresolvedRef && !slices.Contains(t.Partial, doc.UnresolvedRef) {
		t.Partial = append(t.Partial, doc.UnresolvedRef)
	}
	t.Plan = call.Plan{
		Method: op.Method, Base: b.ownServer(op), Path: op.Path, Query: op.Query, Args: a.callArgs(), Body: a.body,
		Accept: acceptedMedia(op), Security: securityNeeds(op), Wrapped: wrapped, Paging: b.findPaging(op, a),
	}
	if f := op.Field; f != nil {
		t.Plan.GraphQL = &call.GraphQL{Head: f.Head, Selection: f.Selection, Tail: f.Tail, Operation: f.Name, Path: f.Path, Select: f.Returns}
	}
	if t.Truncated {
		b.problems = append(b.problems, doc.Problem{
			At: op.At, Severity: doc.Hint, Code: doc.SchemaTruncated, Key: op.Key,
			Message: "The arguments are larger than a tool may be; optional parts are described less, and are still taken.",
			Remedy:  "Nothing has to be done. A smaller request body in the document is easier for models.",
		})
	}
	return t
}

// encodeJSON writes JSON without the escapes that HTML would want.
func encodeJSON(v any) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return []byte("{}") // cannot be: these are plain values
	}
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}

// makeTitle is the readable name.
func makeTitle(op *doc.Operation, name string) string {
	if s := strings.TrimSuffix(cleanText(op.Summary, 80), "."); s != "" && !strings.HasSuffix(s, "…") {
		return s
	}
	s := strings.ReplaceAll(name, "_", " ")
	return strings.ToUpper(s[:1]) + s[1:]
}

// makeDescription is the summary and the first paragraph of the description.
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

// annotateOperation goes by the method, and by words that say that something is lost.
func annotateOperation(op *doc.Operation, name string) toolAnnotations {
	a := toolAnnotations{OpenWorld: true}
	no, yes := false, true
	if f := op.Field; f != nil {
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

// ownServer is the server of an operation, where it has one of its own.
func (b *builder) ownServer(op *doc.Operation) string {
	if len(op.Servers) == 0 || len(b.doc.Servers) > 0 && op.Servers[0].URL == b.doc.Servers[0].URL {
		return ""
	}
	return op.Servers[0].Address(nil)
}

// incompleteCodes is why an operation cannot be called, but for what Base makes good.
func (b *builder) incompleteCodes(op *doc.Operation) []doc.Code {
	return slices.DeleteFunc(slices.Clone(op.Incomplete), func(c doc.Code) bool { return c == doc.NoServer && b.baseURL != "" })
}

func securityNeeds(op *doc.Operation) [][]call.Need {
	if !op.Secured {
		return nil
	}
	if len(op.Security) == 0 {
		return [][]call.Need{{}}
	}
	list := make([][]call.Need, len(op.Security))
	for i, alternative := range op.Security {
		list[i] = []call.Need{}
		for _, r := range alternative {
			list[i] = append(list[i], call.Need{Scheme: r.Scheme, Scopes: r.Scopes})
		}
	}
	return list
}
