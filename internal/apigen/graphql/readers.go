package graphql

import (
	"bytes"
	"context"
	"regexp"
	"slices"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// Readers returns the readers of both notations of a schema.
func Readers() []doc.Reader {
	return []doc.Reader{
		{Format: doc.Introspection, Read: func(_ context.Context, in *doc.Input) (*doc.Document, string) {
			if !bytes.Contains(in.Text, []byte("__schema")) {
				return nil, "it has no __schema"
			}
			root, problems := in.ParseTree()
			d, err := readIntrospection(in.Source, root)
			if err != nil {
				return nil, err.Error()
			}
			d.Problems = append(d.Problems, problems...)
			return d, ""
		}},
		{Format: doc.GraphQL, Read: func(_ context.Context, in *doc.Input) (*doc.Document, string) {
			if !sdlPattern.Match(in.Text) {
				return nil, "no line begins a type definition"
			}
			d, problems, err := readSDL(in.Source)
			if err != nil {
				if i := slices.IndexFunc(problems, func(p doc.Problem) bool { return p.Code == codeSyntax }); i >= 0 {
					in.ReportBroken(problems[i])
				}
				return nil, err.Error()
			}
			return d, ""
		}},
	}
}

// sdlPattern matches the definition of a type. It decides cheaply whether a
// text is worth parsing.
var sdlPattern = regexp.MustCompile(`(?m)^\s*(extend\s+)?(type|interface|input|schema|union|enum|scalar)\b[^:=]*[{@=]`)
