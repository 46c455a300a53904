package console

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	junctor "github.com/junctor-mcp/junctor"
)

// repositoryFiles is the address of the files of the repository. Links of a page to files
// that are not served lead there.
const repositoryFiles = "https://github.com/junctor-mcp/junctor/blob/main/"

// widestFitting is the number of columns up to which a table fits on a narrow screen.
const widestFitting = 3

// parsedPage is a page of the documentation as a tree of its elements.
type parsedPage struct {
	title    string
	source   []byte
	tree     ast.Node
	sections []docsSection
}

// docsSection is a heading of a page with the text up to the next heading.
type docsSection struct {
	heading string
	anchor  string
	level   int
	text    string
	terms   []string // that tables explain: the first cells of their rows
}

// newMarkdown returns the parser and renderer of pages.
func newMarkdown() goldmark.Markdown {
	return goldmark.New(
		// Aligned cells have an attribute, because the policy of the pages forbids styles.
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(tableRenderer{}, 100))),
	)
}

// parsePage reads a page. linkTo returns the address for a link of the page.
func parsePage(md goldmark.Markdown, source []byte, linkTo func(destination string) string) parsedPage {
	p := parsedPage{source: source, tree: md.Parser().Parse(text.NewReader(source))}
	anchors := map[string]bool{}
	var comments []ast.Node
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			n.SetAttributeString("id", []byte(uniqueAnchor(anchors, plainText(n, source))))
		case *ast.Link:
			n.Destination = []byte(linkTo(string(n.Destination)))
		case *ast.Image:
			n.Destination = []byte(linkTo(string(n.Destination)))
			n.SetAttributeString("loading", []byte("lazy"))
		case *ast.HTMLBlock, *ast.RawHTML:
			comments = append(comments, n)
		}
		return ast.WalkContinue, nil
	})
	for _, n := range comments {
		n.Parent().RemoveChild(n.Parent(), n)
	}
	p.sections = splitSections(p.tree, source)
	for _, s := range p.sections {
		if s.level == 1 {
			p.title = s.heading
			break
		}
	}
	return p
}

// splitSections returns the sections of a page.
func splitSections(tree ast.Node, source []byte) (sections []docsSection) {
	var body strings.Builder
	finish := func() {
		if len(sections) > 0 {
			sections[len(sections)-1].text = strings.Join(strings.Fields(body.String()), " ")
		}
		body.Reset()
	}
	for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			finish()
			sections = append(sections, docsSection{heading: plainText(h, source), anchor: anchorOf(h), level: h.Level})
			continue
		}
		body.WriteString(plainText(n, source) + " ")
		if table, ok := n.(*tables.Table); ok && len(sections) > 0 {
			last := &sections[len(sections)-1]
			last.terms = append(last.terms, explainedTerms(table, source)...)
		}
	}
	finish()
	return sections
}

// explainedTerms returns the first cells of the rows of a table, such as the names of
// settings. A link is no term: the page that it leads to explains it.
func explainedTerms(table *tables.Table, source []byte) (terms []string) {
	for row := table.FirstChild(); row != nil; row = row.NextSibling() {
		cell := row.FirstChild()
		if row.Kind() == tables.KindTableRow && cell != nil && cell.FirstChild() != nil && cell.FirstChild().Kind() != ast.KindLink {
			terms = append(terms, plainText(cell, source))
		}
	}
	return terms
}

// anchorOf returns the anchor of a heading of a parsed page.
func anchorOf(h *ast.Heading) string {
	id, _ := h.AttributeString("id")
	anchor, _ := id.([]byte)
	return string(anchor)
}

// uniqueAnchor returns the anchor of a heading as GitHub makes it: lower case, without
// what is no letter, digit, hyphen, underscore or space, with hyphens for spaces. Anchors
// that repeat on the page have a number.
func uniqueAnchor(taken map[string]bool, heading string) string {
	anchor := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
	unique := anchor
	for i := 1; taken[unique]; i++ {
		unique = fmt.Sprintf("%s-%d", anchor, i)
	}
	taken[unique] = true
	return unique
}

// plainText returns what a reader sees of an element, without markup. Blocks and cells are
// separated by spaces.
func plainText(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if !entering {
			if n.Type() == ast.TypeBlock || n.Kind() == tables.KindTableCell {
				b.WriteByte(' ')
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(textOf(n, source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(source))
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			b.Write(n.Lines().Value(source))
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}

// textOf returns a piece of text. Escapes and entities stand for characters, except in
// code.
func textOf(n *ast.Text, source []byte) []byte {
	value := n.Segment.Value(source)
	if n.IsRaw() || n.Parent() != nil && n.Parent().Kind() == ast.KindCodeSpan {
		return value
	}
	return util.ResolveNumericReferences(util.ResolveEntityNames(util.UnescapePunctuations(value)))
}

// render writes a page as HTML.
func (p parsedPage) render(md goldmark.Markdown) ([]byte, error) {
	var b bytes.Buffer
	if err := md.Renderer().Render(&b, p.source, p.tree); err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "cannot render the page %q of the documentation: %w", p.title, err)
	}
	return b.Bytes(), nil
}

// isExternal reports whether a link leads to another site, or is no link to a file.
func isExternal(destination string) bool {
	scheme, _, found := strings.Cut(destination, ":")
	return found && !strings.ContainsAny(scheme, "/#?.") || strings.HasPrefix(destination, "//")
}

// resolveLink returns the path of the file that a link of a page names, below the folder
// of the documentation, and the part behind #. A path that leaves the folder begins
// with "../".
func resolveLink(page, destination string) (file, anchor string) {
	name, anchor, _ := strings.Cut(destination, "#")
	if name == "" {
		return page, anchor
	}
	return path.Join(path.Dir(page), name), anchor
}

// tableRenderer puts a table into an element that scrolls sideways. One with many columns
// can be reached by keyboard, since it does not fit on a narrow screen.
type tableRenderer struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (tableRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(tables.KindTable, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		table, ok := n.(*tables.Table)
		switch {
		case !entering:
			_, _ = w.WriteString("</table></div>\n") // errors of a buffered writer come at its end
		case ok && len(table.Alignments) > widestFitting:
			_, _ = w.WriteString("<div class=\"table\" role=\"group\" aria-label=\"Table\" tabindex=\"0\"><table>\n")
		default:
			_, _ = w.WriteString("<div class=\"table\"><table>\n")
		}
		return ast.WalkContinue, nil
	})
}
