package rest

import (
	"strings"
)

// pageBlock is a piece of a page in the form that Markdown and HTML have in
// common.
type pageBlock struct {
	kind blockKind
	// level is the level of a heading, from 1.
	level int
	// text is the text of all blocks but tables. Code within a sentence is in
	// backticks.
	text string
	// rows are the cells of a table; the first row is its head.
	rows [][]string
	// lines are the first lines of the rows of a table.
	lines []int
	// line is the first line, from 1.
	line int
}

// blockKind is the kind of a block.
type blockKind uint8

const (
	blockHeading blockKind = iota + 1
	// blockCode is a block of code, not code within a sentence.
	blockCode
	blockTable
	blockProse
	// blockHidden is content that readers of the page do not see as its text:
	// comments and menus. No request is made of it, but reportUnread looks at
	// it.
	blockHidden
)

// splitLines splits a text into lines. It normalizes line breaks and removes
// invisible characters.
func splitLines(text string) []string {
	text = strings.NewReplacer("\ufeff", "", "\r\n", "\n", "\r", "\n", "\u00a0", " ", "\u200b", "", "\u2060", "").Replace(text)
	return strings.Split(text, "\n")
}

// parseMarkdown splits a page into blocks.
func parseMarkdown(text string) []pageBlock {
	m := &markdownParser{lines: splitLines(text)}
	for m.lineIndex < len(m.lines) {
		if !m.readCodeBlock() && !m.readComment() && !m.readHeading() && !m.readTableBlock() {
			m.readParagraph()
		}
	}
	return m.blocks
}

// markdownParser parses a page of Markdown, AsciiDoc or reStructuredText line
// by line. It is no complete parser of any of them: it finds headings, code,
// tables and paragraphs.
type markdownParser struct {
	lines []string
	// lineIndex is the line to parse next, from 0.
	lineIndex int
	blocks    []pageBlock
}

// addBlock adds a block.
func (m *markdownParser) addBlock(b pageBlock) { m.blocks = append(m.blocks, b) }

// nextLine returns the line after the current one.
func (m *markdownParser) nextLine() string {
	if m.lineIndex+1 < len(m.lines) {
		return m.lines[m.lineIndex+1]
	}
	return ""
}

// readCodeBlock reads a block of code: fenced, of AsciiDoc, or indented. It
// reports whether there was one.
func (m *markdownParser) readCodeBlock() bool {
	line := m.lines[m.lineIndex]
	if f := patterns().fence.FindStringSubmatch(line); f != nil {
		m.readFenced(m.lineIndex+1, f[1])
		return true
	}
	if delimiter := strings.TrimSpace(m.nextLine()); patterns().sourceBlock.MatchString(line) && (delimiter == "----" || delimiter == "....") {
		m.readFenced(m.lineIndex+2, delimiter)
		return true
	}
	indented := func(i int) bool { return strings.HasPrefix(m.lines[i], "    ") || strings.HasPrefix(m.lines[i], "\t") }
	// Indented text is code only after an empty line, and only if it is no item
	// of a nested list.
	if !indented(m.lineIndex) || m.lineIndex > 0 && strings.TrimSpace(m.lines[m.lineIndex-1]) != "" || patterns().listItem.MatchString(line) || strings.TrimSpace(line) == "" {
		return false
	}
	end := m.lineIndex
	for end < len(m.lines) && (indented(end) || strings.TrimSpace(m.lines[end]) == "") && !patterns().fence.MatchString(m.lines[end]) {
		end++
	}
	part := make([]string, end-m.lineIndex)
	for i := range part {
		part[i] = strings.TrimPrefix(strings.TrimPrefix(m.lines[m.lineIndex+i], "    "), "\t")
	}
	m.addBlock(pageBlock{kind: blockCode, text: strings.TrimRight(strings.Join(part, "\n"), "\n "), line: m.lineIndex + 1})
	m.lineIndex = end
	return true
}

// readFenced reads the lines up to a closing fence. If none follows, the page
// is broken: then the code ends at the next heading, so that the rest of the
// page is not lost.
func (m *markdownParser) readFenced(from int, fence string) {
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
	m.addBlock(pageBlock{kind: blockCode, text: strings.Join(m.lines[min(from, end):end], "\n"), line: from + 1})
	m.lineIndex = end
	if closed {
		m.lineIndex++
	}
}

// readComment reads an HTML comment, which is not part of the page's text. It
// reports whether there was one.
func (m *markdownParser) readComment() bool {
	before, rest, found := strings.Cut(m.lines[m.lineIndex], "<!--")
	if !found {
		return false
	}
	from := m.lineIndex
	for {
		inside, after, ended := strings.Cut(rest, "-->")
		m.addBlock(pageBlock{kind: blockHidden, text: inside, line: m.lineIndex + 1})
		if ended || m.lineIndex+1 >= len(m.lines) {
			m.lines[m.lineIndex] = after
			break
		}
		m.lineIndex++
		rest = m.lines[m.lineIndex]
	}
	if before = strings.TrimSpace(before); before != "" {
		m.addBlock(pageBlock{kind: blockProse, text: stripInlineMarks(before), line: from + 1})
	}
	if strings.TrimSpace(m.lines[m.lineIndex]) == "" {
		m.lineIndex++
	}
	return true
}

// readHeading reads a heading of any notation. A directive such as "..
// http:get::" is one, because it names an endpoint.
func (m *markdownParser) readHeading() bool {
	line := m.lines[m.lineIndex]
	if h := patterns().atxHeading.FindStringSubmatch(line); h != nil {
		m.addBlock(pageBlock{kind: blockHeading, level: len(h[1]), text: stripInlineMarks(h[2]), line: m.lineIndex + 1})
		m.lineIndex++
		return true
	}
	if h := patterns().asciidocHeading.FindStringSubmatch(line); h != nil {
		m.addBlock(pageBlock{kind: blockHeading, level: len(h[1]), text: stripInlineMarks(h[2]), line: m.lineIndex + 1})
		m.lineIndex++
		return true
	}
	if h := patterns().rstDirective.FindStringSubmatch(line); h != nil {
		m.addBlock(pageBlock{kind: blockHeading, level: 3, text: strings.ToUpper(h[1]) + " " + h[2], line: m.lineIndex + 1})
		m.lineIndex++
		return true
	}
	if level := setextLevel(m.nextLine()); level > 0 && strings.TrimSpace(line) != "" && !strings.Contains(line, "|") {
		m.addBlock(pageBlock{kind: blockHeading, level: level, text: stripInlineMarks(strings.TrimSpace(line)), line: m.lineIndex + 1})
		m.lineIndex += 2
		return true
	}
	return false
}

// readTableBlock reads a table of Markdown, AsciiDoc or HTML.
func (m *markdownParser) readTableBlock() bool {
	line := m.lines[m.lineIndex]
	from, end := m.lineIndex, m.lineIndex
	switch {
	case strings.Contains(line, "|") && strings.Contains(m.nextLine(), "-") && patterns().tableDelimiter.MatchString(m.nextLine()):
		t := pageBlock{kind: blockTable, line: m.lineIndex + 1}
		for ; end < len(m.lines) && strings.Contains(m.lines[end], "|"); end++ {
			if end != from+1 {
				t.rows, t.lines = append(t.rows, splitCells(m.lines[end])), append(t.lines, end+1)
			}
		}
		m.addBlock(t)
	case strings.TrimSpace(line) == "|===":
		t := pageBlock{kind: blockTable, line: m.lineIndex + 1}
		for end++; end < len(m.lines) && strings.TrimSpace(m.lines[end]) != "|==="; end++ {
			if row := strings.TrimSpace(m.lines[end]); strings.HasPrefix(row, "|") {
				t.rows, t.lines = append(t.rows, splitCells(row)), append(t.lines, end+1)
			}
		}
		end++
		if len(t.rows) > 0 {
			m.addBlock(t)
		}
	case strings.Contains(strings.ToLower(line), "<table"):
		for end < len(m.lines) && !strings.Contains(strings.ToLower(m.lines[end]), "</table") {
			end++
		}
		end++
		for _, b := range parseHTMLBlocks([]byte(strings.Join(m.lines[from:min(end, len(m.lines))], "\n"))) {
			b.line += from
			for i := range b.lines {
				b.lines[i] += from
			}
			m.addBlock(b)
		}
	default:
		return false
	}
	m.lineIndex = min(end, len(m.lines))
	return true
}

// readParagraph reads one line of text. Each line is a block of its own, so
// that problems have exact lines.
func (m *markdownParser) readParagraph() {
	if line := strings.TrimSpace(m.lines[m.lineIndex]); line != "" {
		m.addBlock(pageBlock{kind: blockProse, text: stripInlineMarks(line), line: m.lineIndex + 1})
	}
	m.lineIndex++
}

// setextLevel returns the level of the heading above a line of "=" or "-", and
// 0 for another line.
func setextLevel(line string) int {
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

// splitCells splits the row of a table. A bar that is escaped or in code
// belongs to its cell.
func splitCells(line string) []string {
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
			all = append(all, plainText(cell.String()))
			cell.Reset()
		default:
			if c == '`' {
				quoted = !quoted
			}
			cell.WriteByte(c)
		}
	}
	return append(all, plainText(cell.String()))
}

// plainText returns a text without marks, on one line.
func plainText(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(stripInlineMarks(s), "`", "")), " ")
}
