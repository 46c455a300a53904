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

// maxText bounds a document, all its files together.
const maxText = 32 << 20

// Reader reads one format.
type Reader struct {
	Format Format
	// Read gives nil and the reason where the text is no document of its
	// format. What is wrong inside a document of its format are Problems.
	Read func(ctx context.Context, in *Input) (*Document, string)
}

// readers are those of this package, and the first that are tried.
func readers() []Reader {
	return []Reader{
		{OpenAPI, readOpenAPI},
		{Swagger, readSwagger},
	}
}

// Input is a text that readers look at. It is parsed as JSON or YAML once, by
// the first that asks.
type Input struct {
	Source
	fetch    Fetch
	more     []Reader
	within   bool // another document, which drew this one, is being read
	parsed   bool
	root     *Node
	problems []Problem
	fault    *Problem // of a text that is of a reader's format, and broken
}

// Broken notes that the text is of a reader's format and breaks its rules, so that
// nothing can be made of it. What the other readers say of it is of no use then.
func (in *Input) Broken(p Problem) {
	if in.fault == nil {
		in.fault = &p
	}
}

// Tree is the text as JSON or YAML, as far as it could be read.
func (in *Input) Tree() (*Node, []Problem) {
	if !in.parsed {
		in.root, in.problems = parse(in.Name, in.Text)
		in.parsed = true
	}
	return in.root, in.problems
}

// Read reads a document of whatever format: by the readers of this package, and
// more after them, in their order. The Document is never nil: where no
// reader takes the text, it holds why, and the error says so in a sentence.
func Read(ctx context.Context, source Source, fetch Fetch, more ...Reader) (*Document, error) {
	if source.Name == "" {
		source.Name = cmp.Or(source.URL, "document")
	}
	none := &Document{}
	if len(source.Text) > maxText {
		p := Problem{
			At: Position{File: source.Name, Line: 1, Column: 1}, Severity: Error, Code: TooLarge,
			Message: fmt.Sprintf("The document has %d MB; at most %d MB are read.", len(source.Text)>>20, maxText>>20),
			Remedy:  "Cut it into several documents, one for each part of the API.",
		}
		none.Problems = []Problem{p}
		return none, fmt.Errorf("%s: %s %s", source.Name, p.Message, p.Remedy)
	}
	ctx, meter := WithMeter(ctx)
	var d *Document
	var err error
	if ended := meter.Run(func() { d, err = read(ctx, &Input{Source: source, fetch: fetch, more: more}) }); ended != nil {
		return none, ended
	}
	return d, err
}

// Fetch brings another file that the text names, where that is allowed.
func (in *Input) Fetch(ctx context.Context, url string) ([]byte, error) {
	if in.fetch == nil {
		return nil, errors.New("other files are not fetched here")
	}
	return in.fetch(ctx, url)
}

// Within reads another document that the text holds or draws, such as that of a
// page. What it draws in turn is not read.
func (in *Input) Within(ctx context.Context, source Source) (*Document, error) {
	if in.within {
		return nil, errors.New("a page that draws a page is not followed")
	}
	source.Name = cmp.Or(source.Name, in.Name)
	return read(ctx, &Input{Source: source, fetch: in.fetch, more: in.more, within: true})
}

func read(ctx context.Context, in *Input) (*Document, error) {
	in.meter = MeterOf(ctx)
	source, none := in.Source, &Document{}
	var tried []Attempt
	for _, r := range append(readers(), in.more...) {
		if source.As != "" && source.As != r.Format && (source.As != OpenAPI || r.Format != Swagger) {
			continue
		}
		d, reason := r.Read(ctx, in)
		tried = append(tried, Attempt{Format: r.Format, Took: d != nil, Reason: reason})
		if err := ctx.Err(); err != nil {
			return none, err
		}
		if d != nil {
			d.Tried = tried
			sortProblems(d.Problems)
			return d, nil
		}
	}
	none.Tried = tried
	_, none.Problems = in.Tree()
	if i := slices.IndexFunc(none.Problems, func(p Problem) bool { return p.Severity == Error }); i >= 0 && (structuredText.Match(source.Text) || source.As == OpenAPI || source.As == Swagger) {
		in.Broken(none.Problems[i])
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
	return none, fmt.Errorf("%s is no document that can be read (%s). Name its format, or fill in its methods, paths and parameters by hand", source.Name, strings.Join(reasons, "; "))
}

// structuredText finds a text that is meant as JSON, or as OpenAPI in YAML.
var structuredText = regexp.MustCompile(`^\s*[{[]|(?m)^["']?(?:openapi|swagger)["']?\s*:`)

// Sentence is the problem in one line: where it is, what is wrong and what to do.
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

func sortProblems(list []Problem) {
	slices.SortStableFunc(list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.At.File, b.At.File), cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Column, b.At.Column))
	})
}

// parse reads a text as JSON where it looks like it, and as YAML otherwise.
// JSON never goes through the YAML reader, which takes less than all of it;
// what only looks like JSON does.
func parse(name string, source []byte) (*Node, []Problem) {
	source = bytes.TrimPrefix(source, []byte("\xef\xbb\xbf"))
	s, problems := string(source), []Problem(nil)
	if !utf8.Valid(source) {
		s = strings.ToValidUTF8(s, "\uFFFD")
		sound, _, _ := strings.Cut(s, "\uFFFD")
		line := strings.Count(sound, "\n") + 1
		problems = append(problems, Problem{
			At: Position{File: name, Line: int32(line), Column: 1}, Severity: Warning, Code: Repaired, //nolint:gosec // at most 32 MB
			Message: "The text is not UTF-8 everywhere; what is not was replaced.", Remedy: "Save the document as UTF-8.",
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
