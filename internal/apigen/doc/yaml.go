package doc

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxExpanded bounds how many nodes the aliases of a YAML text may expand to.
const maxExpanded = 1 << 18

// maxYAML bounds the parts of a YAML text, counted by what can begin one, before
// the library makes a tree of them.
const maxYAML = 2 << 20

// parseYAML reads a YAML text, with the place of every value. Where mend is set,
// what real documents get wrong is repaired with a warning each, and a part that
// cannot be read is left out with an error, so that the rest can be.
func parseYAML(file, source string, mend bool) (*Node, []Problem) {
	y := yamlReader{file: file}
	if n := strings.Count(source, "\n") + strings.Count(source, ",") + strings.Count(source, "[") + strings.Count(source, "{"); n > maxYAML {
		y.report(1, 1, Error, TooLarge, "The document has more parts than can be read as YAML.", "Cut it into several documents, or save it as JSON.")
		return nil, y.problems
	}
	if mend {
		source = y.prepare(source)
	}
	lines := strings.SplitAfter(source, "\n")
	for range 32 {
		var root yaml.Node
		err := unmarshal([]byte(strings.Join(lines, "")), &root)
		if err == nil {
			if len(root.Content) == 0 {
				return nil, y.problems
			}
			return y.convert(root.Content[0], 0), y.problems
		}
		line := yamlLine(err, len(lines))
		row, column := line, 1
		if mend { // else nobody reads it
			row, column = y.locate(lines, line)
		}
		y.report(row, column, Error, Syntax, "Invalid YAML: "+yamlMessage(err)+".", "Correct the text here.")
		if !mend {
			break
		}
		from, to := brokenBlock(lines, line)
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

// unmarshal keeps what the library panics with, should it ever, an error.
func unmarshal(source []byte, root *yaml.Node) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: %v", p)
		}
	}()
	return yaml.Unmarshal(source, root)
}

type yamlReader struct {
	file     string
	problems []Problem
	expanded int          // nodes that came of aliases
	inside   []*yaml.Node // anchors being expanded
	searched int          // bytes that were read again to find faults
	capped   bool
}

func (y *yamlReader) report(line, column int, severity Severity, code Code, message, remedy string) {
	y.problems = append(y.problems, Problem{
		At:       Position{File: y.file, Line: int32(line), Column: int32(max(column, 1))}, //nolint:gosec // at most 32 MB
		Severity: severity, Code: code, Message: message, Remedy: remedy,
	})
}

// prepare blanks lines of white space that hold a tab, and replaces characters
// that YAML does not have. Line numbers stay.
func (y *yamlReader) prepare(source string) string {
	if !strings.ContainsAny(source, "\t\r") && !strings.ContainsFunc(source, unprintable) {
		return source
	}
	lines := strings.Split(strings.ReplaceAll(source, "\r\n", "\n"), "\n")
	for i, line := range lines {
		if strings.Contains(line, "\t") && strings.TrimSpace(line) == "" {
			lines[i] = ""
			y.report(i+1, strings.Index(line, "\t")+1, Warning, Repaired, "A line of white space holds a tab; it was taken as empty.", "Take the tab out.")
		}
		if at := strings.IndexFunc(line, unprintable); at >= 0 {
			lines[i] = strings.Map(func(r rune) rune {
				if unprintable(r) {
					return '\uFFFD'
				}
				return r
			}, lines[i])
			y.report(i+1, at+1, Warning, Repaired, "The line holds a character that YAML does not have; it was replaced.", "Take the control character out.")
		}
	}
	return strings.Join(lines, "\n")
}

func unprintable(r rune) bool {
	return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r >= 0x7F && r < 0xA0 && r != 0x85 || r == 0xFFFE || r == 0xFFFF || r == 0xFEFF
}

var (
	atLine     = regexp.MustCompile(`line (\d+)`)
	yamlPrefix = regexp.MustCompile(`^yaml: (unmarshal errors:\s*)?(line \d+: )?`)
)

// yamlLine finds the line in an error of the library.
func yamlLine(err error, last int) int {
	m := atLine.FindStringSubmatch(err.Error())
	if m == nil {
		return 1
	}
	n, _ := strconv.Atoi(m[1])
	return min(max(n, 1), max(last, 1))
}

func yamlMessage(err error) string {
	return yamlPrefix.ReplaceAllString(err.Error(), "")
}

// brokenBlock is the smallest part around a line that is worth leaving out: the
// path item or the component that it belongs to. It gives -1 where there is none.
func brokenBlock(lines []string, line int) (from, to int) {
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
	var chain []int // from the line outwards: each line that is indented less than the one before
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

// Bounds of the search for a fault: the lines after that which the library names,
// and the bytes that are read again for all faults of a text.
const (
	maxSearch      = 400
	maxSearchBytes = 4 << 20
)

// locate finds where a fault is. The library names the line at which the mapping or
// list begins that it was reading, and some lines as one less; the fault is behind
// the last line up to which the text can be read.
func (y *yamlReader) locate(lines []string, line int) (row, column int) {
	last := min(max(line-2, 0), len(lines)) // lines that can be read
	for n := last; n <= min(line+maxSearch, len(lines)-1); n++ {
		text := strings.Join(lines[:n], "")
		if y.searched += len(text); y.searched > maxSearchBytes {
			last = max(last, line-1)
			break
		}
		if unmarshal([]byte(text), &yaml.Node{}) == nil {
			last = n
		}
	}
	row = min(last+1, len(lines))
	text, _, _ := strings.Cut(lines[row-1], " #")
	for _, pair := range []string{"{}", "[]"} { // left open
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

// convert makes a Node of the library's, which it empties: two trees of a large
// document need not be there at once.
func (y *yamlReader) convert(n *yaml.Node, depth int) *Node {
	out := &Node{Kind: Null, At: Position{File: y.file, Line: int32(n.Line), Column: int32(n.Column)}} //nolint:gosec // at most 32 MB
	if len(y.inside) > 0 {
		y.expanded++
	}
	if depth > maxDepth || y.expanded > maxExpanded {
		if !y.capped {
			y.report(n.Line, n.Column, Error, TooLarge, "Values are nested too deep, or aliases expand to too much; what follows here was left out.", "Write the parts out, or take the aliases out.")
		}
		y.capped = true
		return out
	}
	switch n.Kind {
	case yaml.AliasNode:
		return y.alias(n, depth)
	case yaml.SequenceNode:
		out.Kind = Array
		out.Items = make([]*Node, 0, len(n.Content))
		for _, c := range n.Content {
			out.Items = append(out.Items, y.convert(c, depth+1))
		}
	case yaml.MappingNode:
		out.Kind = Object
		y.members(out, n, depth)
	case yaml.ScalarNode:
		out.Kind, out.Text = scalar(n)
	default:
	}
	if n.Anchor == "" && len(y.inside) == 0 {
		n.Content = nil
	}
	return out
}

func (y *yamlReader) alias(n *yaml.Node, depth int) *Node {
	if slices.Contains(y.inside, n.Alias) {
		y.report(n.Line, n.Column, Error, WrongType, "The alias *"+n.Value+" stands inside what it names.", "Use $ref for what contains itself.")
		return &Node{Kind: Null, At: Position{File: y.file, Line: int32(n.Line), Column: int32(n.Column)}} //nolint:gosec // at most 32 MB
	}
	y.inside = append(y.inside, n.Alias)
	out := y.convert(n.Alias, depth+1)
	y.inside = y.inside[:len(y.inside)-1]
	return out
}

// members fills an object; "<<" brings those of another one that are not there.
func (y *yamlReader) members(out *Node, n *yaml.Node, depth int) {
	out.Members = make([]Member, 0, len(n.Content)/2)
	var merged []*Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], y.convert(n.Content[i+1], depth+1)
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

// scalar takes the text as it stands, and its kind. Dates and what JSON cannot
// say as a number are texts.
func scalar(n *yaml.Node) (Kind, string) {
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
