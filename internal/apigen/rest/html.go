package rest

import (
	"bytes"
	"context"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/net/html"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// readHTML reads a page: the document that it draws, where it says which; and
// what it says itself otherwise.
func readHTML(ctx context.Context, in *doc.Input) (*doc.Document, string) {
	if !pattern().pageTag.Match(in.Text) {
		return nil, "it is no HTML page"
	}
	var problems []doc.Problem
	if d := embeddedIn(ctx, in); d != nil {
		return d, ""
	}
	for _, re := range []*regexp.Regexp{pattern().specTag, pattern().specData, pattern().specCall, pattern().specLink} {
		for _, m := range re.FindAllSubmatchIndex(in.Text, 4) {
			name := html.UnescapeString(string(in.Text[m[2]:m[3]]))
			at := doc.Position{File: in.Name, Line: int32(1 + bytes.Count(in.Text[:m[2]], []byte("\n"))), Column: 1} //nolint:gosec // at most 32 MB
			d, err := drawn(ctx, in, name)
			if err == nil {
				d.Problems = append(problems, d.Problems...)
				return d, ""
			}
			problems = append(problems, doc.Problem{
				At: at, Severity: doc.Warning, Code: doc.ExternalRefBlocked, Message: "the page draws the document " + name + ", which cannot be had: " + err.Error(),
				Remedy: "give that document itself",
			})
		}
	}
	d, reason := readProse(in, doc.HTML, blocksOf(in.Text))
	if d != nil {
		d.Problems = append(problems, d.Problems...)
	} else if len(problems) > 0 {
		reason = problems[0].Message
	}
	return d, reason
}

// drawn fetches the document that a page draws.
func drawn(ctx context.Context, in *doc.Input, name string) (*doc.Document, error) {
	target := name
	if base, err := url.Parse(in.URL); err == nil {
		if ref, err := base.Parse(name); err == nil {
			target = ref.String()
		}
	}
	text, err := in.Fetch(ctx, target)
	if err != nil {
		return nil, err
	}
	return in.Within(ctx, doc.Source{Name: target, URL: target, Text: text})
}

// embeddedIn is a document that stands inside a page's scripts.
func embeddedIn(ctx context.Context, in *doc.Input) *doc.Document {
	for _, m := range pattern().embedded.FindAllSubmatch(in.Text, 50) {
		text := m[1]
		if !bytes.Contains(text, []byte(`"openapi"`)) && !bytes.Contains(text, []byte(`"swagger"`)) {
			continue
		}
		for _, key := range []string{`"openapi"`, `"swagger"`} {
			at := bytes.Index(text, []byte(key))
			for at > 0 {
				if at = bytes.LastIndexByte(text[:at], '{'); at < 0 {
					break
				}
				if whole := balanced(text[at:]); whole != nil {
					if d, err := in.Within(ctx, doc.Source{Name: in.Name, URL: in.URL, Text: whole}); err == nil && len(d.Operations) > 0 {
						return d
					}
				}
				break
			}
		}
	}
	return nil
}

// balanced is the JSON object that a text begins with.
func balanced(text []byte) []byte {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return text[:i+1]
			}
		}
	}
	return nil
}

// blocksOf takes a page apart.
func blocksOf(text []byte) []block {
	w := &walker{line: 1}
	z := html.NewTokenizer(bytes.NewReader(text))
	for {
		kind := z.Next()
		raw := bytes.Count(z.Raw(), []byte("\n"))
		if kind == html.ErrorToken {
			w.flush()
			return w.blocks
		}
		w.token(kind, z.Token())
		w.line += raw
	}
}

// walker gathers the text of what is open.
type walker struct {
	blocks []block
	line   int
	begin  int // line of the text so far
	text   strings.Builder
	kind   blockKind
	level  int
	lang   string
	hidden int // inside script and style
	rows   [][]string
	inRow  bool
	tables int
}

func (w *walker) token(kind html.TokenType, t html.Token) {
	switch kind {
	case html.TextToken:
		if w.hidden == 0 {
			if w.text.Len() == 0 {
				w.begin = w.line
			}
			w.text.WriteString(t.Data)
		}
	case html.StartTagToken, html.SelfClosingTagToken:
		w.start(t, kind == html.SelfClosingTagToken)
	case html.EndTagToken:
		w.close(t.Data)
	case html.ErrorToken, html.CommentToken, html.DoctypeToken:
	}
}

func (w *walker) start(t html.Token, closed bool) {
	switch t.Data {
	case "script", "style", "noscript", "svg", "nav", "template":
		if !closed {
			w.hidden++
		}
	case "h1", "h2", "h3", "h4", "h5", "h6":
		w.flush()
		w.kind, w.level = heading, int(t.Data[1]-'0')
	case "pre":
		w.flush()
		w.kind, w.lang = code, ""
	case "code":
		for _, a := range t.Attr {
			if a.Key == "class" && w.kind == code {
				_, w.lang, _ = strings.Cut(a.Val, "language-")
			}
		}
		if w.kind == 0 && w.tables == 0 {
			w.flush()
			w.kind = span
		}
	case "table":
		w.flush()
		w.tables++
		w.rows = nil
	case "tr":
		w.text.Reset()
		w.inRow = w.tables > 0
		if w.inRow {
			w.rows = append(w.rows, nil)
		}
	case "td", "th":
		w.text.Reset()
	case "br":
		w.text.WriteString("\n")
	case "p", "div", "li", "section", "article", "ul", "ol", "dt", "dd":
		if w.tables == 0 && w.kind != code {
			w.flush()
		}
		if t.Data == "li" {
			w.text.WriteString("- ")
		}
	}
}

func (w *walker) close(tag string) {
	switch tag {
	case "script", "style", "noscript", "svg", "nav", "template":
		w.hidden = max(0, w.hidden-1)
	case "h1", "h2", "h3", "h4", "h5", "h6", "pre", "p", "div", "li", "dt", "dd":
		if w.tables == 0 && (tag == "pre" || w.kind != code) {
			w.flush()
		}
	case "code":
		if w.kind == span {
			w.flush()
		}
	case "td", "th":
		if w.inRow && len(w.rows) > 0 {
			last := len(w.rows) - 1
			w.rows[last] = append(w.rows[last], strings.Join(strings.Fields(w.text.String()), " "))
			w.text.Reset()
		}
	case "table":
		if w.tables = max(0, w.tables-1); len(w.rows) > 1 {
			w.blocks = append(w.blocks, block{kind: table, rows: w.rows, line: w.line})
		}
		w.rows, w.inRow = nil, false
		w.text.Reset()
	}
}

// flush ends the block that is open.
func (w *walker) flush() {
	text := w.text.String()
	if w.kind != code {
		text = strings.Join(strings.Fields(text), " ")
	}
	kind := w.kind
	if kind == 0 {
		kind = prose
	}
	if strings.TrimSpace(text) != "" && text != "-" && w.tables == 0 {
		w.blocks = append(w.blocks, block{kind: kind, level: w.level, lang: w.lang, text: text, line: w.begin})
	}
	w.text.Reset()
	w.kind, w.level = 0, 0
}
