package rest

import (
	"bytes"
	"context"
	"net/url"
	"regexp"

	"golang.org/x/net/html"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// readHTML is the Reader of HTML. A page may embed or link the document that it
// displays, as Swagger UI does: then that document is read. Otherwise the page
// itself is read as prose.
func readHTML(ctx context.Context, in *doc.Input) (*doc.Document, string) {
	if !patterns().pageTag.Match(in.Text) {
		return nil, "it is not an HTML page"
	}
	var problems []doc.Problem
	// An embedded document needs no request, so it comes first.
	if d := embeddedDocument(ctx, in); d != nil {
		return d, ""
	}
	for _, re := range []*regexp.Regexp{patterns().specTag, patterns().specData, patterns().specCall, patterns().specLink} {
		for _, m := range re.FindAllSubmatchIndex(in.Text, 4) {
			name := html.UnescapeString(string(in.Text[m[2]:m[3]]))
			at := doc.Position{File: in.Name, Line: int32(1 + bytes.Count(in.Text[:m[2]], []byte("\n"))), Column: 1} //nolint:gosec // at most 32 MB
			d, err := fetchLinkedDocument(ctx, in, name)
			if err == nil {
				d.Problems = append(problems, d.Problems...)
				return d, ""
			}
			problems = append(problems, doc.Problem{
				At: at, Severity: doc.Warning, Code: doc.ExternalRefBlocked, Message: "the page shows the document " + name + ", which cannot be fetched: " + err.Error(),
				Remedy: "import that document directly",
			})
		}
	}
	d, reason := readProse(in, doc.HTML, parseHTMLBlocks(in.Text))
	if d != nil {
		d.Problems = append(problems, d.Problems...)
	} else if len(problems) > 0 {
		reason = problems[0].Message
	}
	return d, reason
}

// fetchLinkedDocument fetches and reads the document that a page displays.
func fetchLinkedDocument(ctx context.Context, in *doc.Input, name string) (*doc.Document, error) {
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
	return in.ReadNested(ctx, doc.Source{Name: target, URL: target, Text: text})
}

// embeddedDocument returns a document inside the scripts of a page, or nil.
func embeddedDocument(ctx context.Context, in *doc.Input) *doc.Document {
	for _, m := range patterns().embedded.FindAllSubmatch(in.Text, 50) {
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
				if whole := leadingObject(text[at:]); whole != nil {
					if d, err := in.ReadNested(ctx, doc.Source{Name: in.Name, URL: in.URL, Text: whole}); err == nil && len(d.Operations) > 0 {
						return d
					}
				}
				break
			}
		}
	}
	return nil
}

// leadingObject returns the JSON object that a text begins with, or nil if it
// does not end.
func leadingObject(text []byte) []byte {
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
