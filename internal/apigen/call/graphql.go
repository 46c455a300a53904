package call

import (
	"strings"

	"github.com/junctor-mcp/junctor/internal/wire"
)

// SelectArg is the argument with a caller's own GraphQL selection set.
const SelectArg = "_select"

// encodeGraphQL returns the body of a GraphQL request. Arguments are sent as
// variables, never in the text. A selection of the caller replaces the default
// one and cannot leave its braces.
func (p *Plan) encodeGraphQL(given map[string][]byte) ([]byte, error) {
	selection := p.GraphQL.Selection
	if own, ok := wire.String(given[SelectArg]); ok && own != "" && p.GraphQL.SelectType != "" {
		if own = strings.TrimSpace(own); !strings.HasPrefix(own, "{") {
			own = "{" + own + "}"
		}
		if !isSelection(own) {
			a := Arg{Name: SelectArg}
			return nil, a.invalidError("is not a selection of fields: write it like { id name owner { login } }, without variables")
		}
		selection = " " + own + " "
	}
	out := append([]byte(`{"query":`), wire.AppendString(nil, p.GraphQL.Head+selection+p.GraphQL.Tail)...)
	if p.GraphQL.Operation != "" {
		out = wire.AppendString(append(out, `,"operationName":`...), p.GraphQL.Operation)
	}
	out = append(out, `,"variables":{`...)
	first := true
	for i := range p.Args {
		a := &p.Args[i]
		value, ok := given[a.Name]
		if a.Place != Variable || !ok {
			continue
		}
		if !first {
			out = append(out, ',')
		}
		first = false
		out = append(append(wire.AppendString(out, a.Key), ':'), value...)
	}
	return append(out, "}}"...), nil
}

// isSelection reports whether a text is exactly one selection set: brackets
// match, and there is no string, comment or variable that could hide one.
// apigen checks selections against the schema if it has it; this check is for
// servers without one.
func isSelection(s string) bool {
	var open []byte
	for i := range len(s) {
		switch c := s[i]; c {
		case '{', '(', '[':
			open = append(open, c)
		case '}', ')', ']':
			if len(open) == 0 || open[len(open)-1] != map[byte]byte{'}': '{', ')': '(', ']': '['}[c] {
				return false
			}
			if open = open[:len(open)-1]; len(open) == 0 && i != len(s)-1 {
				return false
			}
		case '"', '#', '$', '\\':
			return false
		default:
			if !strings.ContainsRune(" \t\r\n,:.@!-", rune(c)) && !isUnreserved(c) {
				return false
			}
		}
	}
	return len(open) == 0
}
