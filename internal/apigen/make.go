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

// Made is the result of Make.
type Made struct {
	Document *doc.Document
	// Tools has one tool for every operation, those that cannot be called
	// included.
	Tools    []tool.Tool
	Problems []doc.Problem
	// Base is the URL of the API; empty if neither the user nor the document
	// names a usable one.
	Base string
	// File is the name that Problems have for the document itself.
	File string
}

// Make reads a document and builds its tools. base overrides the server of the
// document; names are the former names of tools by operation. If no reader
// takes the document, Make returns an error and a Made with the problems. If
// the context ended, Made is nil.
func Make(ctx context.Context, source doc.Source, fetch doc.Fetch, server, base string, names map[string]string) (*Made, error) {
	source.Name = cmp.Or(source.Name, source.URL, "document")
	ctx, meter := doc.WithMeter(ctx)
	d, err := Read(ctx, source, fetch)
	junctor.StepPassed(ctx, "read")
	if err != nil {
		if ctx.Err() != nil {
			return nil, junctor.AsError(ctx.Err())
		}
		if junctor.CodeOf(err) == junctor.CodeTooLarge {
			return &Made{Document: d, Problems: d.Problems, File: source.Name}, junctor.AsError(err)
		}
		return &Made{Document: d, Problems: d.Problems, File: source.Name}, junctor.Errorf(junctor.CodeInvalid, "%s", err.Error())
	}
	m := &Made{Document: d, Base: base, File: source.Name}
	if m.Base == "" && len(d.Servers) > 0 {
		m.Base = d.Servers[0].Address(nil)
	}
	// A document may name a server that is no usable URL, such as a relative
	// one. Users then enter the address.
	if junctor.CheckServerURL(m.Base) != nil {
		m.Base = ""
	}
	var more []doc.Problem
	if err := meter.Run(func() {
		m.Tools, more = tool.Build(d, tool.Options{Server: server, Names: names, Base: m.Base, Meter: meter})
	}); err != nil {
		return &Made{Document: d, Problems: d.Problems, Base: m.Base, File: source.Name}, err
	}
	junctor.StepPassed(ctx, "tools")
	// The user named a base URL, so a missing server is no problem.
	m.Problems = slices.DeleteFunc(slices.Concat(d.Problems, more), func(p doc.Problem) bool { return p.Code == doc.NoServer && m.Base != "" })
	slices.SortStableFunc(m.Problems, func(a, b doc.Problem) int {
		return cmp.Or(cmp.Compare(a.At.File, b.At.File), cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Column, b.At.Column))
	})
	return m, nil
}

// Encode returns the tools in their stored form.
func Encode(tools []tool.Tool) ([]byte, error) {
	out, err := json.Marshal(tools)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "the tools cannot be stored: %w", err)
	}
	return out, nil
}

// Decode decodes the result of Encode.
func Decode(stored []byte) (tools []tool.Tool, err error) {
	if err := json.Unmarshal(stored, &tools); err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "the stored tools cannot be read: import the document again: %w", err)
	}
	return tools, nil
}

// Names returns the names of tools by the keys of their operations, for the
// next Make.
func Names(tools []tool.Tool) map[string]string {
	out := make(map[string]string, len(tools))
	for i := range tools {
		out[tools[i].Key] = tools[i].Name
	}
	return out
}
