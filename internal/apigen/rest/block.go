package rest

import (
	"strings"
)

// block is a piece of a page: what Markdown and HTML have in common.
type block struct {
	kind  blockKind
	level int        // of a heading
	text  string     // of all but tables; code within a sentence is in backticks
	rows  [][]string // of a table
	lines []int      // of a table: where each row begins
	line  int        // from 1
}

type blockKind uint8

const (
	heading blockKind = iota + 1
	code              // a block of it
	table
	prose
	hidden // what a reader of the page does not see as its text: comments, menus
)

// plainLines takes a text apart into lines. Marks that only tell systems apart, and
// spaces that no one sees, are made alike.
func plainLines(text string) []string {
	text = strings.NewReplacer("\ufeff", "", "\r\n", "\n", "\r", "\n", "\u00a0", " ", "\u200b", "", "\u2060", "").Replace(text)
	return strings.Split(text, "\n")
}

// markdown takes a page apart.
func markdown(text string) []block {
	m := &markdownPage{lines: plainLines(text)}
	for m.at < len(m.lines) {
		if !m.codeBlock() && !m.comment() && !m.heading() && !m.table() {
			m.paragraph()
		}
	}
	return m.blocks
}

// markdownPage is a page of Markdown, AsciiDoc or reStructuredText that is read
// line by line.
type markdownPage struct {
	lines  []string
	at     int // the line to read next, from 0
	blocks []block
}

func (m *markdownPage) add(b block) { m.blocks = append(m.blocks, b) }

// next is the line after the present one.
func (m *markdownPage) next() string {
	if m.at+1 < len(m.lines) {
		return m.lines[m.at+1]
	}
	return ""
}

// codeBlock takes a block of code: fenced, of AsciiDoc, or indented.
func (m *markdownPage) codeBlock() bool {
	line := m.lines[m.at]
	if f := pattern().fence.FindStringSubmatch(line); f != nil {
		m.fenced(m.at+1, f[1])
		return true
	}
	if delimiter := strings.TrimSpace(m.next()); pattern().sourceBlock.MatchString(line) && (delimiter == "----" || delimiter == "....") {
		m.fenced(m.at+2, delimiter)
		return true
	}
	indented := func(i int) bool { return strings.HasPrefix(m.lines[i], "    ") || strings.HasPrefix(m.lines[i], "\t") }
	if !indented(m.at) || m.at > 0 && strings.TrimSpace(m.lines[m.at-1]) != "" || pattern().item.MatchString(line) || strings.TrimSpace(line) == "" {
		return false
	}
	end := m.at
	for end < len(m.lines) && (indented(end) || strings.TrimSpace(m.lines[end]) == "") && !pattern().fence.MatchString(m.lines[end]) {
		end++
	}
	part := make([]string, end-m.at)
	for i := range part {
		part[i] = strings.TrimPrefix(strings.TrimPrefix(m.lines[m.at+i], "    "), "\t")
	}
	m.add(block{kind: code, text: strings.TrimRight(strings.Join(part, "\n"), "\n "), line: m.at + 1})
	m.at = end
	return true
}

// fenced takes the lines up to a closing fence. Where none comes, the page itself is
// broken: then only what is up to the next heading is code.
func (m *markdownPage) fenced(from int, fence string) {
	closes := func(i int) bool { return strings.HasPrefix(strings.TrimSpace(m.lines[i]), fence) }
	end := min(from, len(m.lines))
	for end < len(m.lines) && !closes(end) {
		end++
	}
	closed := end < len(m.lines)
	if !closed {
		for end = min(from, len(m.lines)); end < len(m.lines) && !strings.HasPrefix(m.lines[end], "#"); {
			end++
		}
	}
	m.add(block{kind: code, text: strings.Join(m.lines[min(from, end):end], "\n"), line: from + 1})
	m.at = end
	if closed {
		m.at++
	}
}

// comment takes a comment of HTML, which is not part of the page's text.
func (m *markdownPage) comment() bool {
	before, rest, found := strings.Cut(m.lines[m.at], "<!--")
	if !found {
		return false
	}
	from := m.at
	for {
		inside, after, ended := strings.Cut(rest, "-->")
		m.add(block{kind: hidden, text: inside, line: m.at + 1})
		if ended || m.at+1 >= len(m.lines) {
			m.lines[m.at] = after
			break
		}
		m.at++
		rest = m.lines[m.at]
	}
	if before = strings.TrimSpace(before); before != "" {
		m.add(block{kind: prose, text: inlineText(before), line: from + 1})
	}
	if strings.TrimSpace(m.lines[m.at]) == "" {
		m.at++
	}
	return true
}

func (m *markdownPage) heading() bool {
	line := m.lines[m.at]
	if h := pattern().atx.FindStringSubmatch(line); h != nil {
		m.add(block{kind: heading, level: len(h[1]), text: inlineText(h[2]), line: m.at + 1})
		m.at++
		return true
	}
	if h := pattern().section.FindStringSubmatch(line); h != nil {
		m.add(block{kind: heading, level: len(h[1]), text: inlineText(h[2]), line: m.at + 1})
		m.at++
		return true
	}
	if h := pattern().directive.FindStringSubmatch(line); h != nil {
		m.add(block{kind: heading, level: 3, text: strings.ToUpper(h[1]) + " " + h[2], line: m.at + 1})
		m.at++
		return true
	}
	if level := setext(m.next()); level > 0 && strings.TrimSpace(line) != "" && !strings.Contains(line, "|") {
		m.add(block{kind: heading, level: level, text: inlineText(strings.TrimSpace(line)), line: m.at + 1})
		m.at += 2
		return true
	}
	return false
}

// table takes a table of Markdown, AsciiDoc or HTML.
func (m *markdownPage) table() bool {
	line := m.lines[m.at]
	from, end := m.at, m.at
	switch {
	case strings.Contains(line, "|") && strings.Contains(m.next(), "-") && pattern().delimiter.MatchString(m.next()):
		t := block{kind: table, line: m.at + 1}
		for ; end < len(m.lines) && strings.Contains(m.lines[end], "|"); end++ {
			if end != from+1 {
				t.rows, t.lines = append(t.rows, cells(m.lines[end])), append(t.lines, end+1)
			}
		}
		m.add(t)
	case strings.TrimSpace(line) == "|===":
		t := block{kind: table, line: m.at + 1}
		for end++; end < len(m.lines) && strings.TrimSpace(m.lines[end]) != "|==="; end++ {
			if row := strings.TrimSpace(m.lines[end]); strings.HasPrefix(row, "|") {
				t.rows, t.lines = append(t.rows, cells(row)), append(t.lines, end+1)
			}
		}
		end++
		if len(t.rows) > 0 {
			m.add(t)
		}
	case strings.Contains(strings.ToLower(line), "<table"):
		for end < len(m.lines) && !strings.Contains(strings.ToLower(m.lines[end]), "</table") {
			end++
		}
		end++
		for _, b := range blocksOf([]byte(strings.Join(m.lines[from:min(end, len(m.lines))], "\n"))) {
			b.line += from
			for i := range b.lines {
				b.lines[i] += from
			}
			m.add(b)
		}
	default:
		return false
	}
	m.at = min(end, len(m.lines))
	return true
}

func (m *markdownPage) paragraph() {
	if line := strings.TrimSpace(m.lines[m.at]); line != "" {
		m.add(block{kind: prose, text: inlineText(line), line: m.at + 1})
	}
	m.at++
}

// setext is the level of the heading above a line of = or -; 0 where it is none.
func setext(line string) int {
	line = strings.TrimRight(line, " ")
	switch {
	case len(line) < 3:
		return 0
	case strings.Trim(line, "=") == "":
		return 1
	case strings.Trim(line, "-") == "":
		return 2
	}
	return 0
}

// cells takes the row of a table apart. A bar that is escaped or in code belongs
// to a cell.
func cells(line string) []string {
	line = strings.TrimSpace(line)
	line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
	var all []string
	var cell strings.Builder
	quoted := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line) && line[i+1] == '|':
			cell.WriteByte('|')
			i++
		case c == '|' && !quoted:
			all = append(all, bare(cell.String()))
			cell.Reset()
		default:
			if c == '`' {
				quoted = !quoted
			}
			cell.WriteByte(c)
		}
	}
	return append(all, bare(cell.String()))
}

// bare is text without its marks, on one line.
func bare(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(inlineText(s), "`", "")), " ")
}
