package rest

import (
	"bytes"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// blocksOf takes a page apart.
func blocksOf(text []byte) []block {
	w := &walker{line: 1}
	z := html.NewTokenizer(bytes.NewReader(text))
	for {
		kind := z.Next()
		raw := bytes.Count(z.Raw(), []byte("\n"))
		if kind == html.ErrorToken {
			w.endTable()
			w.flush()
			return w.blocks
		}
		w.token(kind, z.Token())
		w.line += raw
	}
}

// walker gathers the text of what is open.
type walker struct {
	blocks  []block
	line    int
	begin   int // line of the text so far
	text    strings.Builder
	kind    blockKind
	level   int
	dropped int  // inside script and style
	menu    int  // inside nav
	braced  bool // the text is in a placeholder

	// Of the table that is open.
	inTable bool
	rows    [][]string
	starts  []int // line of each row
	inCell  bool
	span    int           // rows that the open cell stands in
	spans   map[int]*span // cells of rows above that stand in the next ones, by column
}

// span is a cell that stands in several rows.
type span struct {
	text string
	left int
}

func (w *walker) token(kind html.TokenType, t html.Token) {
	switch kind {
	case html.TextToken:
		w.write(t.Data)
	case html.StartTagToken, html.SelfClosingTagToken:
		w.start(t, kind == html.SelfClosingTagToken)
	case html.EndTagToken:
		w.close(t.Data)
	case html.CommentToken:
		for i, line := range strings.Split(t.Data, "\n") {
			w.blocks = append(w.blocks, block{kind: hidden, text: line, line: w.line + i})
		}
	case html.ErrorToken, html.DoctypeToken:
	}
}

// write adds text. Its first line is that of the first character that is seen.
func (w *walker) write(text string) {
	if w.dropped > 0 {
		return
	}
	if before := w.text.String(); strings.Trim(before, "- \t\r\n") == "" {
		blank := len(text) - len(strings.TrimLeft(text, " \t\r\n"))
		w.begin = w.line + strings.Count(text[:blank], "\n")
		if w.kind != code {
			w.text.Reset()
			w.text.WriteString(strings.TrimLeft(before, " \t\r\n"))
			text = text[blank:]
		}
	}
	w.text.WriteString(text)
}

// boundary is where an element within a sentence begins or ends: a method that
// ends there is a word of its own.
func (w *walker) boundary() {
	text := w.text.String()
	at := strings.LastIndexFunc(text, func(r rune) bool { return r < 'A' || r > 'Z' })
	if w.kind != code && len(onlyMethods(text[at+1:])) > 0 {
		w.text.WriteByte(' ')
	}
}

func (w *walker) start(t html.Token, closed bool) {
	switch t.Data {
	case "script", "style", "noscript", "svg", "template":
		if !closed {
			w.dropped++
		}
	case "nav":
		w.flush()
		w.menu++
	case "h1", "h2", "h3", "h4", "h5", "h6":
		w.endTable() // a table that only lays the page out
		w.flush()
		w.kind, w.level = heading, int(t.Data[1]-'0')
	case "pre", "textarea":
		if w.inTable {
			w.write(" `")
			return
		}
		w.flush()
		w.kind = code
	case "table":
		w.endTable()
		w.flush()
		w.inTable, w.rows, w.starts, w.spans = true, nil, nil, map[int]*span{}
	case "tr", "td", "th":
		w.startCell(t)
	case "br":
		w.text.WriteString("\n")
	case "em", "i", "var":
		w.boundary()
		if !w.braced && strings.HasSuffix(w.text.String(), "/") {
			w.braced = true
			w.text.WriteByte('{')
		}
	case "code", "kbd", "samp", "tt":
		w.boundary()
		if w.kind != code {
			w.write("`")
		}
	case "a", "b", "strong", "span", "u", "small", "label", "button", "font", "mark", "sub", "sup", "img", "input":
		w.boundary()
	default:
		w.breakText()
		if t.Data == "li" && !w.inTable {
			w.text.WriteString("- ")
		}
	}
}

// breakText ends the text at an element that stands for itself, such as a
// paragraph. In a cell of a table it is a space.
func (w *walker) breakText() {
	switch {
	case w.inTable:
		w.text.WriteByte(' ')
	case w.kind != code:
		w.flush()
	}
}

func (w *walker) startCell(t html.Token) {
	w.endCell()
	if !w.inTable {
		w.flush()
		return
	}
	w.text.Reset()
	if t.Data == "tr" {
		w.endRow()
		w.rows, w.starts = append(w.rows, nil), append(w.starts, w.line)
		return
	}
	if len(w.rows) == 0 {
		w.rows, w.starts = append(w.rows, nil), append(w.starts, w.line)
	}
	w.spanned()
	w.inCell, w.span = true, 1
	for _, a := range t.Attr {
		if n, err := strconv.Atoi(a.Val); a.Key == "rowspan" && err == nil && n > 1 {
			w.span = min(n, 1000)
		}
	}
}

// spanned adds the cells of rows above that stand in the next columns.
func (w *walker) spanned() {
	last := len(w.rows) - 1
	for s := w.spans[len(w.rows[last])]; s != nil && s.left > 0; s = w.spans[len(w.rows[last])] {
		s.left--
		w.rows[last] = append(w.rows[last], s.text)
	}
}

func (w *walker) endRow() {
	if len(w.rows) > 0 {
		w.spanned()
	}
}

func (w *walker) endCell() {
	if !w.inCell {
		return
	}
	last := len(w.rows) - 1
	text := bare(w.text.String())
	if len(w.rows[last]) == 0 && strings.TrimSpace(text) != "" {
		w.starts[last] = w.begin
	}
	if w.span > 1 {
		w.spans[len(w.rows[last])] = &span{text: text, left: w.span - 1}
	}
	w.rows[last] = append(w.rows[last], text)
	w.inCell = false
	w.text.Reset()
}

func (w *walker) endTable() {
	if !w.inTable {
		return
	}
	text, begin := w.text.String(), w.begin
	inCell := w.inCell
	w.inCell = false
	if inCell && w.dropped == 0 && strings.TrimSpace(text) != "" {
		w.inCell = true
		w.endCell()
	}
	w.endRow()
	if len(w.rows) > 0 {
		w.blocks = append(w.blocks, block{kind: w.shown(table), rows: w.rows, lines: w.starts, line: w.starts[0]})
	}
	w.inTable, w.rows, w.starts, w.spans, w.begin = false, nil, nil, nil, begin
	w.text.Reset()
}

// shown is the kind of a block, or that it is none of the page's text.
func (w *walker) shown(kind blockKind) blockKind {
	if w.menu > 0 && kind != table {
		return hidden
	}
	return kind
}

func (w *walker) close(tag string) {
	switch tag {
	case "script", "style", "noscript", "svg", "template":
		w.dropped = max(0, w.dropped-1)
	case "nav":
		w.flush()
		w.menu = max(0, w.menu-1)
	case "h1", "h2", "h3", "h4", "h5", "h6":
		w.breakText()
	case "pre", "textarea":
		if w.inTable {
			w.write("` ")
		} else {
			w.flush()
		}
	case "em", "i", "var":
		if w.braced {
			w.text.WriteByte('}')
			w.braced = false
		}
		w.boundary()
	case "code", "kbd", "samp", "tt":
		if w.kind != code {
			w.write("`")
		}
	case "a", "b", "strong", "span", "u", "small", "label", "button", "font", "mark", "sub", "sup":
		w.boundary()
	case "td", "th", "tr":
		w.endCell()
		if !w.inTable {
			w.flush()
		}
	case "table":
		w.endTable()
	default:
		w.breakText()
	}
}

// flush ends the block that is open.
func (w *walker) flush() {
	if w.inTable {
		return
	}
	text, kind := w.text.String(), w.kind
	if kind != code {
		text = strings.TrimSpace(text)
	} else {
		text = strings.TrimRight(text, " \t\r\n")
	}
	if kind == 0 {
		kind = prose
	}
	for kind == code { // begin is the first line with text
		first, rest, more := strings.Cut(text, "\n")
		if !more || strings.TrimSpace(first) != "" {
			break
		}
		text = rest
	}
	if strings.Trim(text, "-` \t\r\n") != "" {
		w.blocks = append(w.blocks, block{kind: w.shown(kind), level: w.level, text: text, line: w.begin})
	}
	w.text.Reset()
	w.kind, w.level, w.braced = 0, 0, false
}
