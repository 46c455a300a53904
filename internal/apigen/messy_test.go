package apigen_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/apigen"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// methodLine finds the lines of a page that name a method and, behind or before
// it, a path or URL. It is written apart from the reader's own patterns, so that a
// mistake in those does not hide itself.
var methodLine = regexp.MustCompile(`\b(GET|POST|PUT|PATCH|DELETE|DEL|HEAD|OPTIONS)\b.*?(?:https?://[\w.]|[\s"'(>|]/[\w{:<]|` + "`/" + `[\w{:<])`)

// messyCase is what somebody expects of a document.
type messyCase struct {
	tools    []string // METHOD path base, of those that are whole
	flagged  []string // METHOD path, of those that are incomplete
	problems []string // line and code
	unread   bool     // no reader takes the document
}

// readCase reads the expectations beside a document. Lines of the document are
// named by a part of their text, or as a whole after "==".
func readCase(t *testing.T, file string, lines []string) messyCase {
	t.Helper()
	text, err := os.ReadFile(file + ".want")
	if err != nil {
		t.Fatal(err)
	}
	var c messyCase
	for want := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n") {
		kind, rest, _ := strings.Cut(want, " ")
		switch kind {
		case "tool":
			c.tools = append(c.tools, rest)
		case "incomplete":
			c.flagged = append(c.flagged, rest)
		case "problem", "unread":
			c.unread = c.unread || kind == "unread"
			code, part, found := strings.Cut(rest, " <- ")
			at := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, part) })
			if !found {
				code, part, found = strings.Cut(rest, " == ")
				at = slices.Index(lines, part)
			}
			if !found || at < 0 {
				t.Fatalf("%s: no line has %q", file, want)
			}
			c.problems = append(c.problems, fmt.Sprintf("%d %s", at+1, code))
		default:
			t.Fatalf("%s: %q is no expectation", file, want)
		}
	}
	return c
}

// TestMessyDocuments reads documentation as people write it: READMEs, pages, curl
// collections and broken OpenAPI files. Each endpoint is one tool, whatever it is
// written like and however often; a line that names an endpoint and becomes no tool
// is a problem with its line; nothing else becomes a tool.
func TestMessyDocuments(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/messy/*.want")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d documents, %v", len(files), err)
	}
	for _, file := range files {
		file = strings.TrimSuffix(file, ".want")
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimRight(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n"), "\n")
			want := readCase(t, file, lines)
			made, err := apigen.ImportAPI(t.Context(), doc.Source{Name: filepath.Base(file), Text: text}, nil, "s", "", nil)
			if (err != nil) != want.unread {
				t.Fatalf("%v", err)
			}
			checkMessy(t, made, want)
			if made.Document.Format != doc.OpenAPI && made.Document.Format != doc.Swagger && !want.unread {
				checkLines(t, made, lines)
			}
		})
	}
}

func checkMessy(t *testing.T, made *apigen.ImportedAPI, want messyCase) {
	t.Helper()
	var tools, flagged, problems []string
	for i, op := range made.Document.Operations {
		base := "?"
		if len(op.Servers) > 0 {
			base = op.Servers[0].URL
		}
		tool := made.Tools[min(i, len(made.Tools)-1)]
		if slices.ContainsFunc(tool.Incomplete, func(c doc.Code) bool { return c != doc.NoServer }) || !op.Inferred && len(tool.Partial) > 0 {
			flagged = append(flagged, op.Method+" "+op.Path)
		} else {
			tools = append(tools, op.Method+" "+op.Path+" "+base)
		}
	}
	for _, p := range made.Problems {
		if p.Code != doc.NoServer && (p.Code != doc.BodyUnknown || p.Severity != doc.Hint) {
			problems = append(problems, fmt.Sprintf("%d %s", p.At.Line, p.Code))
		}
	}
	for _, list := range []struct {
		name      string
		got, want []string
	}{{"tools", tools, want.tools}, {"incomplete", flagged, want.flagged}, {"problems", problems, want.problems}} {
		slices.Sort(list.got)
		slices.Sort(list.want)
		for _, x := range list.want {
			if !slices.Contains(list.got, x) {
				t.Errorf("%s: %s is missing", list.name, x)
			}
		}
		for i, x := range list.got {
			if !slices.Contains(list.want, x) {
				t.Errorf("%s: %s is not expected", list.name, x)
			}
			if i > 0 && list.got[i-1] == x && list.name == "tools" {
				t.Errorf("%s: %s is repeated", list.name, x)
			}
		}
	}
	if len(made.Tools) != len(made.Document.Operations) {
		t.Errorf("%d tools for %d operations", len(made.Tools), len(made.Document.Operations))
	}
}

// checkLines: each line that names a method and a path has a tool or a problem, or
// names a tool again.
func checkLines(t *testing.T, made *apigen.ImportedAPI, lines []string) {
	t.Helper()
	for i, line := range lines {
		if !methodLine.MatchString(line) || strings.Contains(line, "<script>") {
			continue
		}
		known := slices.ContainsFunc(made.Problems, func(p doc.Problem) bool { return int(p.At.Line) == i+1 })
		for _, op := range made.Document.Operations {
			known = known || int(op.At.Line) == i+1 || namesAgain(op, line)
		}
		if !known {
			t.Errorf("line %d is neither a tool nor a problem: %s", i+1, line)
		}
	}
}

func namesAgain(op *doc.Operation, line string) bool {
	if !strings.Contains(line, op.Method) && (op.Method != http.MethodDelete || !strings.Contains(line, "DEL")) {
		return false
	}
	last := "" // the base may have the others
	for part := range strings.SplitSeq(op.Path, "/") {
		if !strings.Contains(part, "{") && part != "" {
			last = part
		}
	}
	return strings.Contains(line, last)
}
