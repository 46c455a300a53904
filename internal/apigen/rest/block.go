package rest

import (
	"strings"
)

// block is a piece of a page: what Markdown and HTML have in common.
type block struct {
	kind  blockKind
	level int        // of a heading
	text  string     // of all but tables
	lang  string     // of code, where it says
	rows  [][]string // of a table, the first are its headings
	line  int        // from 1
}

type blockKind uint8

const (
	heading blockKind = iota + 1
	code              // a block of it
	span              // code within a sentence
	table
	prose
)

// markdown takes a page apart.
func markdown(text string) []block {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	var blocks []block
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if m := pattern().fence.FindStringSubmatch(line); m != nil {
			end := i + 1
			for end < len(lines) && !strings.HasPrefix(strings.TrimSpace(lines[end]), m[1]) {
				end++
			}
			blocks = append(blocks, block{kind: code, lang: strings.ToLower(m[2]), text: strings.Join(lines[i+1:min(end, len(lines))], "\n"), line: i + 2})
			i = end
			continue
		}
		if m := pattern().atx.FindStringSubmatch(line); m != nil {
			blocks = append(blocks, block{kind: heading, level: len(m[1]), text: bare(m[2]), line: i + 1})
			continue
		}
		if i+1 < len(lines) && strings.TrimSpace(line) != "" && setext(lines[i+1]) > 0 && !strings.Contains(line, "|") {
			blocks = append(blocks, block{kind: heading, level: setext(lines[i+1]), text: bare(line), line: i + 1})
			i++
			continue
		}
		if strings.Contains(line, "|") && i+1 < len(lines) && pattern().delimiter.MatchString(lines[i+1]) && strings.Contains(lines[i+1], "-") {
			rows := [][]string{cells(line)}
			end := i + 2
			for ; end < len(lines) && strings.Contains(lines[end], "|"); end++ {
				rows = append(rows, cells(lines[end]))
			}
			blocks = append(blocks, block{kind: table, rows: rows, line: i + 1})
			i = end - 1
			continue
		}
		if strings.HasPrefix(line, "    ") && (i == 0 || strings.TrimSpace(lines[i-1]) == "") {
			end := i
			for end < len(lines) && (strings.HasPrefix(lines[end], "    ") || strings.TrimSpace(lines[end]) == "") {
				end++
			}
			blocks = append(blocks, block{kind: code, text: strings.TrimSpace(strings.ReplaceAll(strings.Join(lines[i:end], "\n"), "\n    ", "\n")), line: i + 1})
			i = end - 1
			continue
		}
		for _, m := range pattern().inline.FindAllStringSubmatch(line, -1) {
			blocks = append(blocks, block{kind: span, text: m[1], line: i + 1})
		}
		if strings.TrimSpace(line) != "" {
			blocks = append(blocks, block{kind: prose, text: strings.TrimSpace(line), line: i + 1})
		}
	}
	return blocks
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

// bare is text without its marks.
func bare(s string) string {
	s = pattern().link.ReplaceAllString(s, "$1")
	s = strings.NewReplacer("**", "", "__", "", "`", "", "&nbsp;", " ", "<br>", " ", "<br/>", " ", "\\_", "_").Replace(s)
	return strings.TrimSpace(s)
}
