package builtin

import (
	"bytes"
	stdjson "encoding/json"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// Content is an MCP content block as JSON. The functions below make the usual
// ones; any other block may be written by hand.
type Content []byte

// MarshalJSON implements json.Marshaler: the block itself, and not base64 of
// it.
func (c Content) MarshalJSON() ([]byte, error) { return c, nil }

// Result is the result of a tool.
type Result struct {
	Content    []Content
	Structured stdjson.RawMessage // structuredContent, a JSON object; nil for none
	IsError    bool               // the tool ran and failed; Content is the reason
	Meta       stdjson.RawMessage // the result's _meta, a JSON object; nil for none
}

// TextResult returns a result of one text block.
func TextResult(text string) Result { return Result{Content: []Content{Text(text)}} }

// StructuredResult returns v as structured content and, for clients that do not
// read that, as text.
func StructuredResult(v any) (Result, error) {
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return Result{}, err
	}
	return Result{Content: []Content{Text(string(data))}, Structured: data}, nil
}

// Text returns a text block.
func Text(text string) Content {
	b := make([]byte, 0, len(text)+len(text)/8+32)
	b = append(b, `{"type":"text","text":`...)
	return append(appendQuoted(b, text), '}')
}

// Embedded returns a block with a resource and its contents.
func Embedded(c Contents) Content {
	b := append([]byte(nil), `{"type":"resource","resource":`...)
	return append(c.appendJSON(b), '}')
}

// appendQuoted appends s as a JSON string. Invalid UTF-8 becomes the
// replacement character, which is all that the error of AppendQuote would
// report.
func appendQuoted(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

// textResult renders the most common result without intermediate values.
func textResult(text string, isError bool) catalog.Result {
	b := make([]byte, 0, len(text)+len(text)/8+64)
	b = append(b, `{"content":[{"type":"text","text":`...)
	b = appendQuoted(b, text)
	b = append(b, `}]`...)
	if isError {
		b = append(b, `,"isError":true`...)
	}
	return catalog.Result{Body: append(b, '}'), IsError: isError}
}

// structuredResult renders a JSON object as structured content and as text.
func structuredResult(structured []byte) catalog.Result {
	b := make([]byte, 0, 2*len(structured)+len(structured)/4+96)
	b = append(b, `{"content":[{"type":"text","text":`...)
	b, _ = jsontext.AppendQuote(b, structured)
	b = append(b, `}],"structuredContent":`...)
	b = append(b, structured...)
	return catalog.Result{Body: append(b, '}')}
}

// renderResult renders the body of a result. Handlers may have written parts of
// it by hand, so it checks that the body is JSON, and removes line breaks
// between tokens. Endpoints need not check it again.
func (r *Result) renderResult() (catalog.Result, error) {
	size := len(r.Structured) + len(r.Meta) + 64
	for _, c := range r.Content {
		size += len(c) + 1
	}
	b := append(make([]byte, 0, size), `{"content":[`...)
	for i, c := range r.Content {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, c...)
	}
	b = append(b, ']')
	if r.Structured != nil {
		b = append(append(b, `,"structuredContent":`...), r.Structured...)
	}
	if r.IsError {
		b = append(b, `,"isError":true`...)
	}
	if r.Meta != nil {
		b = append(append(b, `,"_meta":`...), r.Meta...)
	}
	b, err := compactJSON(append(b, '}'))
	if err != nil {
		return catalog.Result{}, junctor.Errorf(junctor.CodeInternal, "the tool returned a result that cannot be encoded as JSON: %w", err)
	}
	return catalog.Result{Body: b, IsError: r.IsError}, nil
}

// compactJSON checks that b is one JSON value, and removes line breaks between
// tokens.
func compactJSON(b []byte) ([]byte, error) {
	v := jsontext.Value(b)
	if !v.IsValid() || bytes.IndexByte(b, '\n') >= 0 {
		if err := v.Compact(jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false)); err != nil {
			return nil, err
		}
	}
	return v, nil
}
