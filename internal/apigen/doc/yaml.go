package doc

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxAliasNodes bounds the nodes that the aliases of a YAML text expand to. It
// ends documents in which aliases of aliases multiply ("billion laughs").
const maxAliasNodes = 1 << 18

// maxYAMLParts bounds the parts of a YAML text, counted by the characters that
// can begin one, before the library builds a tree of them.
const maxYAMLParts = 2 << 20

// parseYAML parses a YAML text and records the position of every value.
//
// If mend is set, it repairs common mistakes of real documents, with a warning
// each. A part that cannot be parsed is then left out with an error, and the
// remaining text is parsed again, up to 32 times. Without mend, the first error
// ends it; parseText uses that to find out whether a text is YAML at all.
func parseYAML(file, source string, mend bool) (*Node, []Problem) {
	y := yamlReader{file: file}
	if n := strings.Count(source, "\n") + strings.Count(source, ",") + strings.Count(source, "[") + strings.Count(source, "{"); n > maxYAMLParts {
		y.reportProblem(1, 1, Error, TooLarge, "The document has more parts than can be read as YAML.", "Split it into several documents, or save it as JSON.")
		return nil, y.problems
	}
	if mend {
		source = y.repairCharacters(source)
	}
	lines := strings.SplitAfter(source, "\n")
	for range 32 {
		var root yaml.Node
		err := unmarshalYAML([]byte(strings.Join(lines, "")), &root)
		if err == nil {
			if len(root.Content) == 0 {
				return nil, y.problems
			}
			return y.convertNode(root.Content[0], 0), y.problems
		}
		line := yamlErrorLine(err, len(lines))
		row, column := line, 1
		if mend { // otherwise nobody reads the position
			row, column = y.locateFault(lines, line)
		}
		y.reportProblem(row, column, Error, Syntax, "Invalid YAML: "+yamlErrorMessage(err)+".", "Correct the text here.")
		if !mend {
			break
		}
		from, to := findBrokenBlock(lines, line)
		if from < 0 {
			break
		}
		y.problems[len(y.problems)-1].Remedy = fmt.Sprintf("Correct the text here. Lines %d to %d were left out, so that the rest could be read.", from+1, to)
		for i := from; i < to; i++ {
			lines[i] = "\n"
		}
	}
	return nil, y.problems
}

// unmarshalYAML parses a text with the library. A panic of the library becomes
// an error: documents come from strangers.
func unmarshalYAML(source []byte, root *yaml.Node) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: %v", p)
		}
	}()
	return yaml.Unmarshal(source, root)
}

// yamlReader is the state of one parse of a YAML text.
type yamlReader struct {
	file     string
	problems []Problem
	// aliasNodes counts the nodes that came of aliases.
	aliasNodes int
	// openAliases are the anchors that are being expanded. An alias to one of
	// them would expand without end.
	openAliases []*yaml.Node
	// searchedBytes counts the bytes that were parsed again to locate faults.
	searchedBytes int
	// limitReported is set once the problem of too much nesting or too many
	// aliases is reported.
	limitReported bool
}

// reportProblem adds a problem at a line and column.
func (y *yamlReader) reportProblem(line, column int, severity Severity, code Code, message, remedy string) {
	y.problems = append(y.problems, Problem{
		At:       Position{File: y.file, Line: int32(line), Column: int32(max(column, 1))}, //nolint:gosec // at most 32 MB
		Severity: severity, Code: code, Message: message, Remedy: remedy,
	})
}

// repairCharacters empties lines of white space that contain a tab, and
// replaces characters that YAML does not allow. Line numbers stay the same.
func (y *yamlReader) repairCharacters(source string) string {
	if !strings.ContainsAny(source, "\t\r") && !strings.ContainsFunc(source, isUnprintable) {
		return source
	}
	lines := strings.Split(strings.ReplaceAll(source, "\r\n", "\n"), "\n")
	for i, line := range lines {
		if strings.Contains(line, "\t") && strings.TrimSpace(line) == "" {
			lines[i] = ""
			y.reportProblem(i+1, strings.Index(line, "\t")+1, Warning, Repaired, "A blank line contains a tab; it was treated as empty.", "Remove the tab.")
		}
		if at := strings.IndexFunc(line, isUnprintable); at >= 0 {
			lines[i] = strings.Map(func(r rune) rune {
				if isUnprintable(r) {
					return '\uFFFD'
				}
				return r
			}, lines[i])
			y.reportProblem(i+1, at+1, Warning, Repaired, "The line contains a character that YAML does not allow; it was replaced.", "Remove the control character.")
		}
	}
	return strings.Join(lines, "\n")
}

// isUnprintable reports whether YAML forbids a character.
func isUnprintable(r rune) bool {
	return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r >= 0x7F && r < 0xA0 && r != 0x85 || r == 0xFFFE || r == 0xFFFF || r == 0xFEFF
}

// The parts of an error of the library: the line that it names, and the prefix
// that users need not see.
var (
	lineNumberPattern = regexp.MustCompile(`line (\d+)`)
	yamlErrorPrefix   = regexp.MustCompile(`^yaml: (unmarshal errors:\s*)?(line \d+: )?`)
)

// yamlErrorLine returns the line that an error of the library names, between 1
// and last.
func yamlErrorLine(err error, last int) int {
	m := lineNumberPattern.FindStringSubmatch(err.Error())
	if m == nil {
		return 1
	}
	n, _ := strconv.Atoi(m[1])
	return min(max(n, 1), max(last, 1))
}

// yamlErrorMessage returns an error of the library without its prefix.
func yamlErrorMessage(err error) string {
	return yamlErrorPrefix.ReplaceAllString(err.Error(), "")
}

// findBrokenBlock returns the smallest part around a line that is worth leaving
// out: the path item or the component that the line belongs to. from and to are
// indexes of lines. from is -1 if the line belongs to neither; then nothing can
// be saved.
func findBrokenBlock(lines []string, line int) (from, to int) {
	indent := func(i int) int {
		trimmed := strings.TrimLeft(lines[i], " ")
		if strings.TrimSpace(trimmed) == "" || trimmed[0] == '#' {
			return -1
		}
		return len(lines[i]) - len(trimmed)
	}
	at := min(line, len(lines)) - 1
	for at > 0 && indent(at) < 0 {
		at--
	}
	// chain goes outwards from the line: each entry is indented less than the
	// one before.
	var chain []int
	for i, least := at, indent(at)+1; i >= 0 && least > 0; i-- {
		if n := indent(i); n >= 0 && n < least {
			chain, least = append(chain, i), n
		}
	}
	if len(chain) < 2 || indent(chain[len(chain)-1]) != 0 {
		return -1, 0
	}
	deep := 2 // below paths and definitions
	if strings.HasPrefix(lines[chain[len(chain)-1]], "components") && len(chain) > 2 {
		deep = 3
	}
	from = chain[len(chain)-min(deep, len(chain))]
	to = from + 1
	for to < len(lines) && (indent(to) < 0 || indent(to) > indent(from)) {
		to++
	}
	return from, to
}

// Bounds of the search for a fault: the lines after the one that the library
// names, and the bytes that are parsed again for all faults of a text. The
// search takes time with the square of the text.
const (
	maxSearchLines = 400
	maxSearchBytes = 4 << 20
)

// locateFault finds the position of a fault. The library names the line at
// which the mapping or list begins that it was parsing, and some lines as one
// less. The fault is behind the last line up to which the text can be parsed.
func (y *yamlReader) locateFault(lines []string, line int) (row, column int) {
	last := min(max(line-2, 0), len(lines)) // the lines that can be parsed
	for n := last; n <= min(line+maxSearchLines, len(lines)-1); n++ {
		text := strings.Join(lines[:n], "")
		if y.searchedBytes += len(text); y.searchedBytes > maxSearchBytes {
			last = max(last, line-1)
			break
		}
		if unmarshalYAML([]byte(text), &yaml.Node{}) == nil {
			last = n
		}
	}
	row = min(last+1, len(lines))
	text, _, _ := strings.Cut(lines[row-1], " #")
	for _, pair := range []string{"{}", "[]"} { // a bracket that is left open
		if open := strings.LastIndexByte(text, pair[0]); open >= 0 && strings.Count(text, pair[:1]) > strings.Count(text, pair[1:]) {
			return row, open + 1
		}
	}
	indent := text[:len(text)-len(strings.TrimLeft(text, " \t"))]
	if tab := strings.IndexByte(indent, '\t'); tab >= 0 {
		return row, tab + 1
	}
	return row, len(indent) + 1
}

// convertNode makes a Node of the library's node and empties that one: two
// trees of a large document need not be in memory at once. Nodes with an anchor
// are kept, because aliases convert them again.
func (y *yamlReader) convertNode(n *yaml.Node, depth int) *Node {
	out := &Node{Kind: Null, At: Position{File: y.file, Line: int32(n.Line), Column: int32(n.Column)}} //nolint:gosec // at most 32 MB
	if len(y.openAliases) > 0 {
		y.aliasNodes++
	}
	if depth > maxDepth || y.aliasNodes > maxAliasNodes {
		if !y.limitReported {
			y.reportProblem(n.Line, n.Column, Error, TooLarge, "Values are nested too deep, or aliases expand to too much; the rest of this part was left out.", "Write the parts out without aliases.")
		}
		y.limitReported = true
		return out
	}
	switch n.Kind {
	case yaml.AliasNode:
		return y.convertAlias(n, depth)
	case yaml.SequenceNode:
		out.Kind = Array
		out.Items = make([]*Node, 0, len(n.Content))
		for _, c := range n.Content {
			out.Items = append(out.Items, y.convertNode(c, depth+1))
		}
	case yaml.MappingNode:
		out.Kind = Object
		y.convertMembers(out, n, depth)
	case yaml.ScalarNode:
		out.Kind, out.Text = convertScalar(n)
	default:
	}
	if n.Anchor == "" && len(y.openAliases) == 0 {
		n.Content = nil
	}
	return out
}

// convertAlias converts the node that an alias names. An alias inside its own
// anchor becomes null, with a problem.
func (y *yamlReader) convertAlias(n *yaml.Node, depth int) *Node {
	if slices.Contains(y.openAliases, n.Alias) {
		y.reportProblem(n.Line, n.Column, Error, WrongType, "The alias *"+n.Value+" is inside the part that it names.", "Use $ref for a part that contains itself.")
		return &Node{Kind: Null, At: Position{File: y.file, Line: int32(n.Line), Column: int32(n.Column)}} //nolint:gosec // at most 32 MB
	}
	y.openAliases = append(y.openAliases, n.Alias)
	out := y.convertNode(n.Alias, depth+1)
	y.openAliases = y.openAliases[:len(y.openAliases)-1]
	return out
}

// convertMembers fills an object. The merge key "<<" adds those members of
// another object that this one does not have.
func (y *yamlReader) convertMembers(out *Node, n *yaml.Node, depth int) {
	out.Members = make([]Member, 0, len(n.Content)/2)
	var merged []*Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], y.convertNode(n.Content[i+1], depth+1)
		if key.Kind == yaml.AliasNode && key.Alias != nil {
			key = key.Alias
		}
		if key.Kind == yaml.ScalarNode && key.Tag == "!!merge" {
			if value.Kind == Array {
				merged = append(merged, value.Items...)
			} else {
				merged = append(merged, value)
			}
			continue
		}
		at := Position{File: y.file, Line: int32(key.Line), Column: int32(key.Column)} //nolint:gosec // at most 32 MB
		out.Members = append(out.Members, Member{Key: key.Value, At: at, Value: value})
	}
	if len(merged) == 0 {
		return
	}
	there := make(map[string]bool, len(out.Members))
	for _, m := range out.Members {
		there[m.Key] = true
	}
	for _, from := range merged {
		for _, m := range from.Members {
			if !there[m.Key] {
				there[m.Key] = true
				out.Members = append(out.Members, m)
			}
		}
	}
}

// convertScalar returns the kind of a scalar and its text. Dates, and numbers
// that JSON cannot write, become strings.
func convertScalar(n *yaml.Node) (Kind, string) {
	switch n.ShortTag() {
	case "!!null":
		return Null, "null"
	case "!!bool":
		return Bool, strings.ToLower(n.Value)
	case "!!int", "!!float":
		if isNumber(n.Value) {
			return Number, n.Value
		}
		if i, err := strconv.ParseInt(strings.ReplaceAll(n.Value, "_", ""), 0, 64); err == nil {
			return Number, strconv.FormatInt(i, 10)
		}
		if f, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64); err == nil {
			if s := strconv.FormatFloat(f, 'g', -1, 64); isNumber(s) {
				return Number, s
			}
		}
	}
	return String, n.Value
}
