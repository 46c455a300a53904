package graphql

import (
	"errors"
	"regexp"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// maxTokens bounds the tokens of one text. GitHub's schema, the largest known
// one, has two hundred thousand.
const maxTokens = 4_000_000

// parseSDL parses SDL. If the text is broken, it parses each definition by
// itself, so that a broken one costs no other.
func (s *Schema) parseSDL(text string) *ast.SchemaDocument {
	whole, err := parser.ParseSchemaWithLimit(&ast.Source{Name: s.file, Input: text}, maxTokens)
	if err == nil {
		return whole
	}
	all := &ast.SchemaDocument{}
	// One error ends the parser, so the text is split and parsed in parts.
	parts := splitDefinitions(text)
	if len(parts) < 2 {
		s.reportSyntax(err, 0)
		return all
	}
	for _, part := range parts {
		one, err := parser.ParseSchemaWithLimit(&ast.Source{Name: s.file, Input: part.text}, maxTokens)
		if err != nil {
			s.reportSyntax(err, part.linesBefore)
			continue
		}
		shiftPositions(one, part.linesBefore)
		all.Merge(one)
	}
	return all
}

// reportSyntax reports an error of the parser. lines is the number of lines
// before the part that was parsed.
func (s *Schema) reportSyntax(err error, lines int) {
	at := &ast.Position{Line: 1 + lines, Column: 1}
	message := err.Error()
	if e, ok := errors.AsType[*gqlerror.Error](err); ok {
		message = e.Message
		if len(e.Locations) > 0 {
			at.Line, at.Column = e.Locations[0].Line+lines, e.Locations[0].Column
		}
	}
	s.addProblem(at, "", doc.Error, codeSyntax, "", "invalid GraphQL schema: "+message, "correct the definition")
}

// sdlPart is a piece of SDL, and the number of lines before it.
type sdlPart struct {
	text        string
	linesBefore int
}

// A definition at the beginning of a line, and a number in plain notation.
var (
	definitionPattern = regexp.MustCompile(`^(extend\s+)?(type|interface|union|enum|input|scalar|directive|schema)\b`)
	numberPattern     = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
)

// splitDefinitions splits SDL before each line that begins a definition.
// Descriptions and comments before a definition belong to it. Lines inside a
// block string begin no definition.
func splitDefinitions(text string) []sdlPart {
	var parts []sdlPart
	lines := strings.SplitAfter(text, "\n")
	// begin is the first line of the current part. lead is the first line of
	// the description of the next definition, or -1.
	begin, lead := 0, -1
	block, open := false, false
	for n, line := range lines {
		trimmed := strings.TrimSpace(line)
		quotes := strings.Count(trimmed, `"""`)
		switch {
		case block:
			block = quotes%2 == 0
		case strings.HasPrefix(line, `"`) || strings.HasPrefix(line, "#"):
			if lead < 0 {
				lead = n
			}
			block = quotes%2 == 1
		case definitionPattern.MatchString(line):
			if lead < 0 {
				lead = n
			}
			if open {
				parts = append(parts, sdlPart{strings.Join(lines[begin:lead], ""), begin})
				begin = lead
			}
			open, lead = true, -1
		case trimmed != "":
			lead = -1
			block = quotes%2 == 1
		}
	}
	return append(parts, sdlPart{strings.Join(lines[begin:], ""), begin})
}

// shiftPositions moves the positions of a part to those in the whole text. A
// position that several nodes share is moved once.
func shiftPositions(d *ast.SchemaDocument, lines int) {
	moved := map[*ast.Position]bool{}
	move := func(p *ast.Position) {
		if p != nil && !moved[p] {
			moved[p] = true
			p.Line += lines
		}
	}
	for _, list := range []ast.DefinitionList{d.Definitions, d.Extensions} {
		for _, def := range list {
			move(def.Position)
			for _, f := range def.Fields {
				move(f.Position)
				for _, a := range f.Arguments {
					move(a.Position)
				}
			}
		}
	}
}
