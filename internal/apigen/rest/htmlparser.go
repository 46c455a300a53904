package rest

import (
	"bytes"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// parseHTMLBlocks splits a page into blocks.
func parseHTMLBlocks(text []byte) []pageBlock {
	w := &htmlParser{line: 1}
	z := html.NewTokenizer(bytes.NewReader(text))
	for {
		kind := z.Next()
		// The lines of a token are counted before z.Token changes the buffer.
		raw := bytes.Count(z.Raw(), []byte("\n"))
		if kind == html.ErrorToken {
			w.endTable()
			w.flushBlock()
			return w.blocks
		}
		w.handleToken(kind, z.Token())
		w.line += raw
	}
}

// htmlParser collects the text of the open element. It works on tokens and
// needs no valid nesting: real pages often have none.
type htmlParser struct {
	blocks []pageBlock
	// line is the line of the current token.
	line int
	// textLine is the first line of the open text.
	textLine int
	text     strings.Builder
	// kind is the kind of the open block; 0 is prose.
	kind  blockKind
	level int
	// skipDepth counts the open elements without text, such as script.
	skipDepth int
	// navDepth counts the open nav elements. Their text is hidden.
	navDepth int
	// inPlaceholder is set if the text is a placeholder in a path, such as
	// /users/<em>id</em>.
	inPlaceholder bool
	// placeholderStart is where the placeholder begins in the text.
	placeholderStart int

	// Of the table that is open.
	inTable bool
	rows    [][]string
	// rowLines are the first lines of the rows.
	rowLines []int
	inCell   bool
	// rowSpan is the number of rows that the open cell covers.
	rowSpan int
	// openSpans are cells of former rows that also cover the next ones, by
	// column.
	openSpans map[int]*cellSpan
}

// cellSpan is a cell that covers several rows.
type cellSpan struct {
	text     string
	rowsLeft int
}

// handleToken handles one token of the page.
func (w *htmlParser) handleToken(kind html.TokenType, t html.Token) {
	switch kind {
	case html.TextToken:
		w.writeText(t.Data)
	case html.StartTagToken, html.SelfClosingTagToken:
		w.openTag(t, kind == html.SelfClosingTagToken)
	case html.EndTagToken:
		w.closeTag(t.Data)
	case html.CommentToken:
		for i, line := range strings.Split(t.Data, "\n") {
			w.blocks = append(w.blocks, pageBlock{kind: blockHidden, text: line, line: w.line + i})
		}
	case html.ErrorToken, html.DoctypeToken:
	}
}

// writeText adds text to the open block. The block begins at the line of its
// first visible character.
func (w *htmlParser) writeText(text string) {
	if w.skipDepth > 0 {
		return
	}
	if before := w.text.String(); strings.Trim(before, "- \t\r\n") == "" {
		blank := len(text) - len(strings.TrimLeft(text, " \t\r\n"))
		w.textLine = w.line + strings.Count(text[:blank], "\n")
		if w.kind != blockCode {
			w.text.Reset()
			w.text.WriteString(strings.TrimLeft(before, " \t\r\n"))
			text = text[blank:]
		}
	}
	w.text.WriteString(text)
}

// endInlineWord is called where an element within a sentence begins or ends. A
// method that ends there is a word of its own, as in <b>GET</b>/users.
func (w *htmlParser) endInlineWord() {
	if w.kind != blockCode {
		endMethodWord(&w.text)
	}
}

// endPlaceholder ends the placeholder that is open, if there is one.
func (w *htmlParser) endPlaceholder() {
	if !w.inPlaceholder {
		return
	}
	w.inPlaceholder = false
	text := w.text.String()
	w.text.Reset()
	w.text.WriteString(text[:w.placeholderStart] + "{" + placeholderName(text[w.placeholderStart:]) + "}")
}

// openTag handles a start tag. closed marks a self-closing one.
func (w *htmlParser) openTag(t html.Token, closed bool) {
	switch t.Data {
	case "script", "style", "noscript", "svg", "template":
		if !closed {
			w.skipDepth++
		}
	case "nav":
		w.flushBlock()
		w.navDepth++
	case "h1", "h2", "h3", "h4", "h5", "h6":
		// A heading inside a table means that the table only lays the page out.
		w.endTable()
		w.flushBlock()
		w.kind, w.level = blockHeading, int(t.Data[1]-'0')
	case "pre", "textarea":
		if w.inTable {
			w.writeText(" `")
			return
		}
		w.flushBlock()
		w.kind = blockCode
	case "table":
		w.endTable()
		w.flushBlock()
		w.inTable, w.rows, w.rowLines, w.openSpans = true, nil, nil, map[int]*cellSpan{}
	case "tr", "td", "th":
		w.startCell(t)
	case "br":
		w.text.WriteString("\n")
	case "em", "i", "var":
		w.endInlineWord()
		// Emphasis right after a slash marks a parameter of the path.
		if !w.inPlaceholder && strings.HasSuffix(w.text.String(), "/") {
			w.inPlaceholder, w.placeholderStart = true, w.text.Len()
		}
	case "code", "kbd", "samp", "tt":
		w.endInlineWord()
		if w.kind != blockCode {
			w.writeText("`")
		}
	case "a", "b", "strong", "span", "u", "small", "label", "button", "font", "mark", "sub", "sup", "img", "input":
		w.endInlineWord()
	default:
		w.breakText()
		if t.Data == "li" && !w.inTable {
			w.text.WriteString("- ")
		}
	}
}

// breakText ends the text at a block element such as a paragraph. Inside a cell
// of a table it is a space.
func (w *htmlParser) breakText() {
	switch {
	case w.inTable:
		w.text.WriteByte(' ')
	case w.kind != blockCode:
		w.flushBlock()
	}
}

// startCell begins a row or a cell of the open table.
func (w *htmlParser) startCell(t html.Token) {
	w.endCell()
	if !w.inTable {
		w.flushBlock()
		return
	}
	w.text.Reset()
	if t.Data == "tr" {
		w.endRow()
		w.rows, w.rowLines = append(w.rows, nil), append(w.rowLines, w.line)
		return
	}
	if len(w.rows) == 0 {
		w.rows, w.rowLines = append(w.rows, nil), append(w.rowLines, w.line)
	}
	w.addSpannedCells()
	w.inCell, w.rowSpan = true, 1
	for _, a := range t.Attr {
		if n, err := strconv.Atoi(a.Val); a.Key == "rowspan" && err == nil && n > 1 {
			w.rowSpan = min(n, 1000)
		}
	}
}

// addSpannedCells adds the cells of former rows that cover the next columns of
// this one.
func (w *htmlParser) addSpannedCells() {
	last := len(w.rows) - 1
	for s := w.openSpans[len(w.rows[last])]; s != nil && s.rowsLeft > 0; s = w.openSpans[len(w.rows[last])] {
		s.rowsLeft--
		w.rows[last] = append(w.rows[last], s.text)
	}
}

// endRow ends the last row.
func (w *htmlParser) endRow() {
	if len(w.rows) > 0 {
		w.addSpannedCells()
	}
}

// endCell adds the open cell to its row.
func (w *htmlParser) endCell() {
	w.endPlaceholder()
	if !w.inCell {
		return
	}
	last := len(w.rows) - 1
	text := plainText(w.text.String())
	if len(w.rows[last]) == 0 && strings.TrimSpace(text) != "" {
		w.rowLines[last] = w.textLine
	}
	if w.rowSpan > 1 {
		w.openSpans[len(w.rows[last])] = &cellSpan{text: text, rowsLeft: w.rowSpan - 1}
	}
	w.rows[last] = append(w.rows[last], text)
	w.inCell = false
	w.text.Reset()
}

// endTable adds the open table as a block. Tables inside tables end the outer
// one.
func (w *htmlParser) endTable() {
	if !w.inTable {
		return
	}
	w.endPlaceholder()
	text, begin := w.text.String(), w.textLine
	inCell := w.inCell
	w.inCell = false
	if inCell && w.skipDepth == 0 && strings.TrimSpace(text) != "" {
		w.inCell = true
		w.endCell()
	}
	w.endRow()
	if len(w.rows) > 0 {
		w.blocks = append(w.blocks, pageBlock{kind: w.visibleKind(blockTable), rows: w.rows, lines: w.rowLines, line: w.rowLines[0]})
	}
	w.inTable, w.rows, w.rowLines, w.openSpans, w.textLine = false, nil, nil, nil, begin
	w.text.Reset()
}

// visibleKind returns the kind of a block, or blockHidden inside a menu.
func (w *htmlParser) visibleKind(kind blockKind) blockKind {
	if w.navDepth > 0 && kind != blockTable {
		return blockHidden
	}
	return kind
}

// closeTag handles an end tag.
func (w *htmlParser) closeTag(tag string) {
	switch tag {
	case "script", "style", "noscript", "svg", "template":
		w.skipDepth = max(0, w.skipDepth-1)
	case "nav":
		w.flushBlock()
		w.navDepth = max(0, w.navDepth-1)
	case "h1", "h2", "h3", "h4", "h5", "h6":
		w.breakText()
	case "pre", "textarea":
		if w.inTable {
			w.writeText("` ")
		} else {
			w.flushBlock()
		}
	case "em", "i", "var":
		w.endPlaceholder()
		w.endInlineWord()
	case "code", "kbd", "samp", "tt":
		if w.kind != blockCode {
			w.writeText("`")
		}
	case "a", "b", "strong", "span", "u", "small", "label", "button", "font", "mark", "sub", "sup":
		w.endInlineWord()
	case "td", "th", "tr":
		w.endCell()
		if !w.inTable {
			w.flushBlock()
		}
	case "table":
		w.endTable()
	default:
		w.breakText()
	}
}

// flushBlock ends the open block and adds it if it has text.
func (w *htmlParser) flushBlock() {
	if w.inTable {
		return
	}
	w.endPlaceholder()
	text, kind := w.text.String(), w.kind
	if kind != blockCode {
		text = strings.TrimSpace(text)
	} else {
		text = strings.TrimRight(text, " \t\r\n")
	}
	if kind == 0 {
		kind = blockProse
	}
	// Empty lines at the beginning of code are dropped: textLine is the first
	// line with text.
	for kind == blockCode {
		first, rest, more := strings.Cut(text, "\n")
		if !more || strings.TrimSpace(first) != "" {
			break
		}
		text = rest
	}
	if strings.Trim(text, "-` \t\r\n") != "" {
		w.blocks = append(w.blocks, pageBlock{kind: w.visibleKind(kind), level: w.level, text: text, line: w.textLine})
	}
	w.text.Reset()
	w.kind, w.level = 0, 0
}
