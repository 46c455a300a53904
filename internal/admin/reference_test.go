package admin

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	junctor "github.com/junctor-mcp/junctor"
)

//go:generate go test . -run ^(TestDocument|TestReferencePages)$ -update

// TestReferencePages compares docs/reference/api/README.md and the pages below docs/reference/api
// with the OpenAPI document. With -update it writes them.
func TestReferencePages(t *testing.T) {
	t.Parallel()
	ref := newAPIReference(newAPI(newWorld().options()).huma.OpenAPI())
	root := filepath.Join("..", "..", "docs", "reference")
	changes, err := os.ReadFile(filepath.Join(root, "changes.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{"api/types.md": typesPage(ref), "changes.md": changesPage(newAPI(newWorld().options()), string(changes))}
	for _, g := range ref.Groups {
		pages["api/"+fileOf(g.Name)] = groupPage(g)
	}
	index, err := os.ReadFile(filepath.Join(root, "api/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- api: make generate -->\n", "<!-- end of api -->\n"
	before, rest, ok := strings.Cut(string(index), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("api/README.md has no part between %q and %q", begin, end)
	}
	pages["api/README.md"] = before + begin + indexTable(ref) + end + after
	if *update {
		if err := os.MkdirAll(filepath.Join(root, "api"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range pages {
		file := filepath.Join(root, filepath.FromSlash(name))
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile(file); err != nil || string(have) != want {
			t.Errorf("docs/reference/%s is stale: run `make generate` (%v)", name, err)
		}
	}
	files, err := os.ReadDir(filepath.Join(root, "api"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if pages["api/"+f.Name()] != "" {
			continue
		}
		if !*update {
			t.Errorf("docs/reference/api/%s is about no part of the API: delete it", f.Name())
		} else if err := os.Remove(filepath.Join(root, "api", f.Name())); err != nil {
			t.Error(err)
		}
	}
}

func fileOf(group string) string { return strings.ReplaceAll(group, " ", "-") + ".md" }

// anchorOf gives the anchor of a heading, as GitHub makes it.
func anchorOf(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, heading)
}

// cellOf makes a text fit for a cell of a table.
func cellOf(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`).Replace(strings.Join(strings.Fields(text), " "))
}

func typeText(t apiTypeName, from string) string {
	if t.Link == "" {
		return cellOf(t.Text)
	}
	return strings.ReplaceAll(t.Text, "%s", "["+t.Link+"]("+from+"#"+anchorOf(t.Link)+")")
}

func indexTable(ref apiReference) string {
	var b strings.Builder
	for _, g := range ref.Groups {
		fmt.Fprintf(&b, "\n### %s\n\n| operation | what it does | requires |\n|---|---|---|\n", g.Name)
		for _, o := range g.Operations {
			fmt.Fprintf(&b, "| [%s %s](%s#%s) | %s | %s |\n", o.Method, o.Path, fileOf(g.Name), anchorOf(o.Method+" "+o.Path), cellOf(o.Summary), o.Requires)
		}
	}
	return b.String() + "\n"
}

func groupPage(g apiGroup) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Admin API: %s\n\nGenerated from the OpenAPI document (`make generate`). [The index](README.md) says how to authenticate and lists all operations; [types.md](types.md) has the types.\n", g.Name)
	for _, o := range g.Operations {
		fmt.Fprintf(&b, "\n## %s %s\n\n%s. Requires: %s.\n", o.Method, o.Path, o.Summary, o.Requires)
		if len(o.Parameters) > 0 {
			b.WriteString("\n| parameter | in | type | meaning |\n|---|---|---|---|\n")
			for _, p := range o.Parameters {
				fmt.Fprintf(&b, "| `%s`%s | %s | %s | %s |\n", p.Name, requiredMark(p), p.In, typeText(p.Type, "types.md"), cellOf(p.Description))
			}
		}
		if o.BodyType.Text != "" {
			fmt.Fprintf(&b, "\nBody: %s\n", typeText(o.BodyType, "types.md"))
			b.WriteString(fieldsTable(o.Body, "types.md"))
		}
		b.WriteString("\n")
		for _, a := range o.Answers {
			fmt.Fprintf(&b, "- Answer %s", a.Status)
			if a.Type.Text != "" {
				b.WriteString(": " + typeText(a.Type, "types.md"))
			}
			if a.Media != "" && a.Media != "application/json" {
				b.WriteString(" (`" + a.Media + "`)")
			}
			b.WriteString("\n")
		}
		b.WriteString("\n```sh\n" + o.Example + "\n```\n")
	}
	return b.String()
}

func requiredMark(f apiField) string {
	if f.Required {
		return " (required)"
	}
	return ""
}

func fieldsTable(fields []apiField, from string) string {
	if len(fields) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n| field | type | meaning |\n|---|---|---|\n")
	for _, f := range fields {
		fmt.Fprintf(&b, "| `%s`%s | %s | %s |\n", f.Name, requiredMark(f), typeText(f.Type, from), cellOf(f.Description))
	}
	return b.String()
}

func typesPage(ref apiReference) string {
	var b strings.Builder
	b.WriteString("# Admin API: types\n\nGenerated from the OpenAPI document (`make generate`).\n")
	for _, one := range ref.Types {
		fmt.Fprintf(&b, "\n## %s\n", one.Name)
		if one.Description != "" {
			b.WriteString("\n" + strings.ReplaceAll(one.Description, "<", "&lt;") + "\n")
		}
		b.WriteString(fieldsTable(one.Fields, ""))
	}
	return b.String()
}

// TestReferencePage reads the page at ReferencePath: who may read it, that it has every operation
// and every link leads to an anchor, and that nothing on it comes from elsewhere.
func TestReferencePage(t *testing.T) {
	t.Parallel()
	w := newWorld()
	h, err := New(w.options())
	if err != nil {
		t.Fatal(err)
	}
	get := func(who, accept string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, ReferencePath, http.NoBody)
		if who != "" {
			r.Header.Set("Authorization", "Bearer "+who)
		}
		r.Header.Set("Accept", accept)
		rec := httptest.NewRecorder()
		h.ServeReference(rec, r)
		return rec
	}
	if rec := get("", "*/*"); rec.Code != http.StatusUnauthorized || !strings.Contains(rec.Body.String(), `"code":"unauthenticated"`) {
		t.Errorf("without a credential: %d %s", rec.Code, rec.Body)
	}
	if rec := get("", "text/html,*/*"); rec.Code != http.StatusSeeOther || rec.Header().Get("Location") != "/login?next="+ReferencePath {
		t.Errorf("a browser without a login: %d %s", rec.Code, rec.Header().Get("Location"))
	}
	rec := get("tools:read", "text/html")
	body := rec.Body.String()
	if rec.Code != http.StatusOK {
		t.Fatalf("%d %s", rec.Code, body)
	}
	if csp := rec.Header().Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; style-src 'sha256-") || strings.Contains(csp, "script") || strings.Contains(csp, "unsafe") {
		t.Errorf("Content-Security-Policy: %s", csp)
	}
	_, style, _ := strings.Cut(body, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	sum := sha256.Sum256([]byte(style))
	if hash := base64.StdEncoding.EncodeToString(sum[:]); len(style) < 100 || !strings.Contains(rec.Header().Get("Content-Security-Policy"), hash) {
		t.Errorf("the policy does not allow the style of the page, %s", hash)
	}
	for _, bad := range []string{"<script", "src=", "style=", "@import", "url("} {
		if strings.Contains(body, bad) {
			t.Errorf("the page contains %s", bad)
		}
	}
	anchors := map[string]int{}
	for _, m := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(body, -1) {
		if anchors[m[1]]++; anchors[m[1]] > 1 {
			t.Errorf("two anchors %s", m[1])
		}
	}
	for id, op := range operations(newAPI(w.options())) {
		if anchors[id] == 0 || !strings.Contains(body, op.Path) {
			t.Errorf("%s %s (%s) is missing", op.Method, op.Path, id)
		}
	}
	for _, m := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(body, -1) {
		if anchor, ok := strings.CutPrefix(m[1], "#"); ok && anchors[anchor] == 0 {
			t.Errorf("the link %s leads nowhere", m[1])
		} else if !ok && m[1] != Prefix+"/openapi.json" {
			t.Errorf("the link %s leads elsewhere", m[1])
		}
	}
}

// TestReferenceRequirements checks that each operation names what it requires, as a scope
// that exists, and has a summary and an answer.
func TestReferenceRequirements(t *testing.T) {
	t.Parallel()
	ref := newAPIReference(newAPI(newWorld().options()).huma.OpenAPI())
	known := []string{"any valid key or login", "a browser's login; keys are refused", "scope `admin` in the tenant `default`", "scope `tools:call` or `audit:read`", "scope `policy:write` or `audit:read`"}
	for _, s := range junctor.Scopes() {
		known = append(known, "scope `"+string(s)+"`")
	}
	for _, g := range ref.Groups {
		for _, o := range g.Operations {
			if !slices.Contains(known, o.Requires) || len(o.Answers) == 0 || o.Summary == "" {
				t.Errorf("%s %s: requires %q, %d answers, summary %q", o.Method, o.Path, o.Requires, len(o.Answers), o.Summary)
			}
		}
	}
}
