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

// maxTokens bounds the work that one text can cause. GitHub's schema, the
// largest that is known, has a fifth of a million.
const maxTokens = 4_000_000

// parse parses SDL. Where it is broken, each definition is parsed by itself, so
// that a broken one costs no other.
func (s *Schema) parse(text string) *ast.SchemaDocument {
	whole, err := parser.ParseSchemaWithLimit(&ast.Source{Name: s.file, Input: text}, maxTokens)
	if err == nil {
		return whole
	}
	all := &ast.SchemaDocument{}
	parts := split(text)
	if len(parts) < 2 {
		s.syntax(err, 0)
		return all
	}
	for _, part := range parts {
		one, err := parser.ParseSchemaWithLimit(&ast.Source{Name: s.file, Input: part.text}, maxTokens)
		if err != nil {
			s.syntax(err, part.line)
			continue
		}
		shift(one, part.line)
		all.Merge(one)
	}
	return all
}

func (s *Schema) syntax(err error, lines int) {
	at := &ast.Position{Line: 1 + lines, Column: 1}
	message := err.Error()
	if e, ok := errors.AsType[*gqlerror.Error](err); ok {
		message = e.Message
		if len(e.Locations) > 0 {
			at.Line, at.Column = e.Locations[0].Line+lines, e.Locations[0].Column
		}
	}
	s.problem(at, "", doc.Error, codeSyntax, "", "this is not GraphQL's schema language: "+message, "correct the definition")
}

// part is a piece of SDL and how many lines stand before it.
type part struct {
	text string
	line int
}

// A definition at the beginning of a line, and a number that is written plainly.
var (
	definition = regexp.MustCompile(`^(extend\s+)?(type|interface|union|enum|input|scalar|directive|schema)\b`)
	number     = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
)

// split cuts SDL where a line begins with a definition, together with the
// description and comments before it.
func split(text string) []part {
	var parts []part
	lines := strings.SplitAfter(text, "\n")
	begin, lead := 0, -1 // lead is where the description of the next definition begins
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
		case definition.MatchString(line):
			if lead < 0 {
				lead = n
			}
			if open {
				parts = append(parts, part{strings.Join(lines[begin:lead], ""), begin})
				begin = lead
			}
			open, lead = true, -1
		case trimmed != "":
			lead = -1
			block = quotes%2 == 1
		}
	}
	return append(parts, part{strings.Join(lines[begin:], ""), begin})
}

// shift moves the places of a part to where they are in the whole text.
func shift(d *ast.SchemaDocument, lines int) {
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
