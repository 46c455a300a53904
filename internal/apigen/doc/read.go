package doc

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxTextBytes bounds a document, all its files together.
const maxTextBytes = 32 << 20

// Reader reads one format.
type Reader struct {
	Format Format
	// Read returns nil and the reason if the text is no document of the format.
	// Faults inside a document of the format are Problems of the Document.
	Read func(ctx context.Context, in *Input) (*Document, string)
}

// builtinReaders returns the readers of this package. They are tried before all
// others.
func builtinReaders() []Reader {
	return []Reader{
		{OpenAPI, readOpenAPI},
		{Swagger, readSwagger},
	}
}

// Input is a text that several readers look at, one after the other. It is
// parsed as JSON or YAML once, by the first reader that asks for the tree.
type Input struct {
	Source
	fetch        Fetch
	otherReaders []Reader
	// nested is set if another document, which embeds or links this one, is
	// being read. It ends the recursion after one level.
	nested   bool
	parsed   bool
	root     *Node
	problems []Problem
	// fault is the first fault of a text that is of some reader's format, but
	// broken.
	fault *Problem
}

// ReportBroken records that the text is of a reader's format and breaks its rules, so
// that nothing can be made of it. Read then returns this fault instead of the
// reasons of all readers.
func (in *Input) ReportBroken(p Problem) {
	if in.fault == nil {
		in.fault = &p
	}
}

// ParseTree returns the text as JSON or YAML, as far as it could be parsed, and the
// problems of parsing it. The root is nil if nothing could be parsed.
func (in *Input) ParseTree() (*Node, []Problem) {
	if !in.parsed {
		in.root, in.problems = parseText(in.Name, in.Text)
		in.parsed = true
	}
	return in.root, in.problems
}

// Read reads a document of any format. It tries the readers of this package,
// then more in their order, and returns the document of the first that takes
// the text. The Document is never nil: if no reader takes the text, it holds
// the attempts and problems, and the error is one sentence for users.
func Read(ctx context.Context, source Source, fetch Fetch, more ...Reader) (*Document, error) {
	if source.Name == "" {
		source.Name = cmp.Or(source.URL, "document")
	}
	none := &Document{}
	if len(source.Text) > maxTextBytes {
		p := Problem{
			At: Position{File: source.Name, Line: 1, Column: 1}, Severity: Error, Code: TooLarge,
			Message: fmt.Sprintf("The document has %d MB; at most %d MB are read.", len(source.Text)>>20, maxTextBytes>>20),
			Remedy:  "Split it into several documents, one for each part of the API.",
		}
		none.Problems = []Problem{p}
		return none, fmt.Errorf("%s: %s %s", source.Name, p.Message, p.Remedy)
	}
	ctx, meter := WithMeter(ctx)
	var d *Document
	var err error
	if ended := meter.Run(func() { d, err = readDocument(ctx, &Input{Source: source, fetch: fetch, otherReaders: more}) }); ended != nil {
		return none, ended
	}
	return d, err
}

// Fetch loads another file that the text names, if the caller of Read allows
// that.
func (in *Input) Fetch(ctx context.Context, url string) ([]byte, error) {
	if in.fetch == nil {
		return nil, errors.New("references to other files are not supported here")
	}
	return in.fetch(ctx, url)
}

// ReadNested reads another document that the text embeds or links, such as the
// OpenAPI document of a documentation page. That document cannot embed a
// further one.
func (in *Input) ReadNested(ctx context.Context, source Source) (*Document, error) {
	if in.nested {
		return nil, errors.New("a page must lead to a document, not to another page")
	}
	source.Name = cmp.Or(source.Name, in.Name)
	return readDocument(ctx, &Input{Source: source, fetch: in.fetch, otherReaders: in.otherReaders, nested: true})
}

// readDocument tries the readers in their order. If source.As names a format,
// only its reader is tried; OpenAPI includes Swagger, because users call both
// by that name.
func readDocument(ctx context.Context, in *Input) (*Document, error) {
	in.meter = MeterFromContext(ctx)
	source, none := in.Source, &Document{}
	var tried []Attempt
	for _, r := range append(builtinReaders(), in.otherReaders...) {
		if source.Format != "" && source.Format != r.Format && (source.Format != OpenAPI || r.Format != Swagger) {
			continue
		}
		d, reason := r.Read(ctx, in)
		tried = append(tried, Attempt{Format: r.Format, Accepted: d != nil, Reason: reason})
		if err := ctx.Err(); err != nil {
			return none, err
		}
		if d != nil {
			d.Attempts = tried
			sortProblems(d.Problems)
			return d, nil
		}
	}
	none.Attempts = tried
	// No reader took the text. If it was meant as JSON or OpenAPI, its syntax
	// error is more useful to a user than the reasons of ten readers.
	_, none.Problems = in.ParseTree()
	if i := slices.IndexFunc(none.Problems, func(p Problem) bool { return p.Severity == Error }); i >= 0 && (structuredTextPattern.Match(source.Text) || source.Format == OpenAPI || source.Format == Swagger) {
		in.ReportBroken(none.Problems[i])
	}
	if in.fault != nil && !slices.Contains(none.Problems, *in.fault) {
		none.Problems = append(none.Problems, *in.fault)
	}
	sortProblems(none.Problems)
	if in.fault != nil {
		return none, errors.New(in.fault.Sentence())
	}
	reasons := make([]string, len(tried))
	for i, a := range tried {
		reasons[i] = fmt.Sprintf("%s: %s", a.Format, a.Reason)
	}
	return none, fmt.Errorf("%s is not in a known format (%s). Set its format, or enter its methods, paths and parameters by hand", source.Name, strings.Join(reasons, "; "))
}

// structuredTextPattern matches a text that is meant as JSON, or as OpenAPI in
// YAML.
var structuredTextPattern = regexp.MustCompile(`^\s*[{[]|(?m)^["']?(?:openapi|swagger)["']?\s*:`)

// Sentence returns the problem in one line: the position, the fault and the
// remedy.
func (p *Problem) Sentence() string {
	message := AsSentence(p.Message)
	if first, size := utf8.DecodeRuneInString(message); size > 0 {
		message = string(unicode.ToLower(first)) + message[size:]
	}
	return strings.TrimSpace(fmt.Sprintf("%s, line %d, column %d: %s", p.At.File, p.At.Line, p.At.Column, strings.TrimSpace(message+" "+AsSentence(p.Remedy))))
}

// AsSentence gives a text a capital letter and a full stop, where it has none.
func AsSentence(text string) string {
	if text == "" {
		return ""
	}
	if !strings.ContainsAny(text[len(text)-1:], ".!?:}]") {
		text += "."
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// sortProblems sorts by file, line and column. Problems of one position keep
// their order.
func sortProblems(list []Problem) {
	slices.SortStableFunc(list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.At.File, b.At.File), cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Column, b.At.Column))
	})
}

// parseText parses a text as JSON if it looks like it, and as YAML otherwise.
// JSON never goes through the YAML library, which does not accept all of it. A
// text that only begins like JSON is tried as YAML, in which flow mappings look
// alike.
func parseText(name string, source []byte) (*Node, []Problem) {
	source = bytes.TrimPrefix(source, []byte("\xef\xbb\xbf"))
	s, problems := string(source), []Problem(nil)
	if !utf8.Valid(source) {
		s = strings.ToValidUTF8(s, "\uFFFD")
		sound, _, _ := strings.Cut(s, "\uFFFD")
		line := strings.Count(sound, "\n") + 1
		problems = append(problems, Problem{
			At: Position{File: name, Line: int32(line), Column: 1}, Severity: Warning, Code: Repaired, //nolint:gosec // at most 32 MB
			Message: "Some of the text is not UTF-8 and was replaced.", Remedy: "Save the document as UTF-8.",
		})
	}
	begin := strings.TrimLeft(s, " \t\r\n")
	if begin == "" || begin[0] == '{' || begin[0] == '[' {
		n, found := parseJSON(name, s)
		if slices.ContainsFunc(found, func(p Problem) bool { return p.Severity == Error }) && begin != "" {
			if m, foundToo := parseYAML(name, s, false); m != nil && len(foundToo) == 0 {
				return m, problems
			}
		}
		return n, append(problems, found...)
	}
	n, found := parseYAML(name, s, true)
	return n, append(problems, found...)
}
