package apigen

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
	"github.com/junctor-mcp/junctor/internal/apigen/tool"
)

// Tool is one tool of a generated server. The alias spares callers the import
// of apigen/tool.
type Tool = tool.Tool

// ImportedAPI is the result of ImportAPI.
type ImportedAPI struct {
	Document *doc.Document
	// Tools has one tool for every operation, those that cannot be called
	// included.
	Tools    []tool.Tool
	Problems []doc.Problem
	// Base is the URL of the API; empty if neither the user nor the document
	// names a usable one.
	BaseURL string
	// File is the name that Problems have for the document itself.
	DocumentName string
}

// ImportAPI reads a document and builds its tools. base overrides the server of the
// document; names are the former names of tools by operation. If no reader
// takes the document, ImportAPI returns an error and an ImportedAPI with the problems. If
// the context ended, ImportedAPI is nil.
func ImportAPI(ctx context.Context, source doc.Source, fetch doc.Fetch, server, base string, names map[string]string) (*ImportedAPI, error) {
	source.Name = cmp.Or(source.Name, source.URL, "document")
	ctx, meter := doc.WithMeter(ctx)
	d, err := ReadDocument(ctx, source, fetch)
	junctor.StepPassed(ctx, "read")
	if err != nil {
		if ctx.Err() != nil {
			return nil, junctor.AsError(ctx.Err())
		}
		if junctor.CodeOf(err) == junctor.CodeTooLarge {
			return &ImportedAPI{Document: d, Problems: d.Problems, DocumentName: source.Name}, junctor.AsError(err)
		}
		return &ImportedAPI{Document: d, Problems: d.Problems, DocumentName: source.Name}, junctor.Errorf(junctor.CodeInvalid, "%s", err.Error())
	}
	m := &ImportedAPI{Document: d, BaseURL: base, DocumentName: source.Name}
	if m.BaseURL == "" && len(d.Servers) > 0 {
		m.BaseURL = d.Servers[0].Address(nil)
	}
	// A document may name a server that is no usable URL, such as a relative
	// one. Users then enter the address.
	if junctor.CheckServerURL(m.BaseURL) != nil {
		m.BaseURL = ""
	}
	var more []doc.Problem
	if err := meter.Run(func() {
		m.Tools, more = tool.Build(d, tool.Options{Server: server, FormerNames: names, BaseURL: m.BaseURL, Meter: meter})
	}); err != nil {
		return &ImportedAPI{Document: d, Problems: d.Problems, BaseURL: m.BaseURL, DocumentName: source.Name}, err
	}
	junctor.StepPassed(ctx, "tools")
	// The user named a base URL, so a missing server is no problem.
	m.Problems = slices.DeleteFunc(slices.Concat(d.Problems, more), func(p doc.Problem) bool { return p.Code == doc.NoServer && m.BaseURL != "" })
	slices.SortStableFunc(m.Problems, func(a, b doc.Problem) int {
		return cmp.Or(cmp.Compare(a.At.File, b.At.File), cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Column, b.At.Column))
	})
	return m, nil
}

// EncodeTools returns the tools in their stored form.
func EncodeTools(tools []tool.Tool) ([]byte, error) {
	out, err := json.Marshal(tools)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "the tools cannot be stored: %w", err)
	}
	return out, nil
}

// DecodeTools decodes the result of EncodeTools.
func DecodeTools(stored []byte) (tools []tool.Tool, err error) {
	if err := json.Unmarshal(stored, &tools); err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "the stored tools cannot be read: import the document again: %w", err)
	}
	return tools, nil
}

// NamesByKey returns the names of tools by the keys of their operations, for the
// next ImportAPI.
func NamesByKey(tools []tool.Tool) map[string]string {
	out := make(map[string]string, len(tools))
	for i := range tools {
		out[tools[i].Key] = tools[i].Name
	}
	return out
}
