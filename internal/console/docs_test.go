package console

import (
	"compress/gzip"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/junctor-mcp/junctor/docs"
)

func serveDocs(t *testing.T) *http.ServeMux {
	t.Helper()
	return serve(t, Options{Docs: docs.Files()})
}

// docsPages returns the answers for all pages, by their address.
func docsPages(t *testing.T, mux *http.ServeMux) map[string]string {
	t.Helper()
	d, err := newDocsReader(docs.Files(), "")
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, page := range d.pages {
		w := ask(mux, page.path)
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d", page.path, w.Code)
		}
		pages[page.path] = w.Body.String()
	}
	if len(pages) < 100 {
		t.Fatalf("only %d pages are served", len(pages))
	}
	return pages
}

// TestDocsPages holds that every page is rendered completely, with nothing that its policy
// forbids, and can be reached from the index.
func TestDocsPages(t *testing.T) {
	t.Parallel()
	mux := serveDocs(t)
	code := regexp.MustCompile(`(?s)<pre>.*?</pre>|<code>.*?</code>|/\*\*|\*\*\*`) // and the globs that pages escape
	article := regexp.MustCompile(`(?s)<article>.*</article>`)
	markdown := regexp.MustCompile("\\]\\(|\\*\\*|```|(?m:^\\s*\\|)|\\|---|(?m:^#+ )|&lt;!--|<!-- raw|(?m:^<p>- )")
	for path, page := range docsPages(t, mux) {
		text := article.FindString(page)
		if !strings.Contains(text, "<h1") {
			t.Errorf("%s has no title", path)
		}
		if left := markdown.FindString(code.ReplaceAllString(text, "")); left != "" {
			t.Errorf("%s has markdown left: %q", path, left)
		}
		for _, forbidden := range []string{"<script", " style=", "<style", " onclick", "javascript:"} {
			if strings.Contains(code.ReplaceAllString(page, ""), forbidden) {
				t.Errorf("%s contains %s", path, forbidden)
			}
		}
		if open := strings.Count(page, "<details open>"); path != docsPrefix && open != 1 || path == docsPrefix && open != 4 {
			t.Errorf("the index of %s has %d open parts", path, open)
		}
		if path != docsPrefix && !strings.Contains(page, `href="`+path+`" aria-current="page"`) {
			t.Errorf("the index does not show %s", path)
		}
	}
	d, err := newDocsReader(docs.Files(), "")
	if err != nil {
		t.Fatal(err)
	}
	if shown := len(d.index().order); shown != len(d.pages) {
		t.Errorf("the index has %d pages of %d", shown, len(d.pages))
	}
	var parts []string
	for _, part := range d.index().parts {
		parts = append(parts, part.Title)
	}
	if got := strings.Join(parts, " "); got != "Start Guides Reference Operate" {
		t.Errorf("the parts of the index are %s", got)
	}
}

// TestDocsLinks follows the links of every page: to pages and their headings, to images,
// and to files of the repository.
func TestDocsLinks(t *testing.T) {
	t.Parallel()
	mux := serveDocs(t)
	pages := docsPages(t, mux)
	links := regexp.MustCompile(`(?:href|src)="([^"]+)"`)
	followed := 0
	for from, page := range pages {
		for _, m := range links.FindAllStringSubmatch(page, -1) {
			target := html.UnescapeString(m[1])
			path, anchor, _ := strings.Cut(target, "#")
			if path == "" {
				path = from
			}
			file, isFile := strings.CutPrefix(path, repositoryFiles)
			switch {
			case path == "/": // the console
			case isFile:
				if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(file))); err != nil {
					t.Errorf("%s links to %s: %v", from, target, err)
				}
			case strings.HasPrefix(path, "https://") || strings.HasPrefix(path, "http://"):
			case !strings.HasPrefix(path, docsPrefix):
				t.Errorf("%s links to %s", from, target)
			case pages[path] == "":
				if w := ask(mux, path); w.Code != http.StatusOK {
					t.Errorf("%s links to %s: %d", from, target, w.Code)
				}
			case anchor != "" && !strings.Contains(pages[path], ` id="`+html.EscapeString(anchor)+`"`):
				t.Errorf("%s links to %s, which has no such heading", from, target)
			}
			followed++
		}
	}
	if followed < 5000 {
		t.Errorf("only %d links are followed: the search for links is broken", followed)
	}
}

// TestDocsAnswers holds the headers of answers, and what happens at addresses that are
// nearly those of pages.
func TestDocsAnswers(t *testing.T) {
	t.Parallel()
	mux := serveDocs(t)
	for _, path := range []string{"/docs/", "/docs/guides/servers", "/docs/style.css", "/docs/search?q=key"} {
		plain := ask(mux, path)
		h := plain.Header()
		if policy := h.Get("Content-Security-Policy"); policy != docsPolicy || strings.Contains(policy, "script") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: policy %q", path, policy)
		}
		zipped := ask(mux, path, "Accept-Encoding", "gzip")
		if zipped.Header().Get("Content-Encoding") != "gzip" || zipped.Body.Len() >= plain.Body.Len() {
			t.Errorf("%s is not compressed: %v", path, zipped.Header())
		}
		r, err := gzip.NewReader(zipped.Body)
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := io.ReadAll(r); string(text) != plain.Body.String() {
			t.Errorf("%s differs when compressed", path)
		}
		if again := ask(mux, path, "If-None-Match", h.Get("ETag")); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%s: %d with its ETag %s", path, again.Code, h.Get("ETag"))
		}
	}
	image := ask(mux, "/docs/images/console-overview.png")
	if image.Code != http.StatusOK || image.Header().Get("Content-Type") != "image/png" {
		t.Errorf("an image: %d %v", image.Code, image.Header())
	}
	if again := ask(mux, "/docs/images/console-overview.png", "If-None-Match", image.Header().Get("ETag")); again.Code != http.StatusNotModified {
		t.Errorf("an image with its ETag: %d", again.Code)
	}
	for path, want := range map[string]string{
		"/docs":                         "/docs/",
		"/docs/guides/servers.md":       "/docs/guides/servers",
		"/docs/guides/servers/":         "/docs/guides/servers",
		"/docs/README.md":               "/docs/",
		"/docs/reference/api":           "/docs/reference/api/",
		"/docs/reference/api/README.md": "/docs/reference/api/",
		"/docs/guides":                  "/docs/#guides",
		"/docs/operate/":                "/docs/#operate",
	} {
		if w := ask(mux, path); w.Code/100 != 3 || w.Header().Get("Location") != want {
			t.Errorf("%s: %d to %q, want %q", path, w.Code, w.Header().Get("Location"), want)
		}
	}
	for _, path := range []string{"/docs/missing", "/docs/guides/x.png", "/docs/adr/README", "/docs/ARCHITECTURE", "/docs/embed.go", "/docs/%2e%2e/go.mod", "/docs/guides/<script>"} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: path}, Header: http.Header{}})
		if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), `action="/docs/search"`) || strings.Contains(w.Body.String(), "<script") {
			t.Errorf("%s: %d %.200s", path, w.Code, w.Body)
		}
	}
}

// TestDocsFonts holds that the pages have the fonts of the console.
func TestDocsFonts(t *testing.T) {
	t.Parallel()
	mux := serveDocs(t)
	style := ask(mux, "/docs/style.css").Body.String()
	fonts := regexp.MustCompile(`url\("(/assets/[^"]+)"\)`).FindAllStringSubmatch(style, -1)
	if len(fonts) != 2 {
		t.Errorf("the style names %d fonts", len(fonts))
	}
	for _, font := range fonts {
		if w := ask(mux, font[1]); w.Code != http.StatusOK {
			t.Errorf("%s: %d", font[1], w.Code)
		}
	}
}

// TestDocsSearch holds that searches find the page that a reader would want first.
func TestDocsSearch(t *testing.T) {
	t.Parallel()
	mux := serveDocs(t)
	first := regexp.MustCompile(`<h2><a href="(/docs/[^"#]+)`)
	for query, want := range map[string][]string{
		"dead letter":     {"/docs/guides/deliveries", "/docs/guides/console"},
		"OIDC":            {"/docs/operate/team-sign-in", "/docs/operate/access", "/docs/reference/settings"},
		"egress-allow":    {"/docs/reference/settings"},
		"--egress-allow":  {"/docs/reference/settings"},
		"github webhook":  {"/docs/start/receive-a-github-webhook"},
		"leaked key":      {"/docs/operate/leaked-key"},
		"back up restore": {"/docs/operate/backup", "/docs/operate/backup-and-move"},
		"replay":          {"/docs/guides/deliveries"},
	} {
		page := ask(mux, "/docs/search?q="+url.QueryEscape(query)).Body.String()
		found := first.FindStringSubmatch(page)
		if found == nil || !slices.Contains(want, found[1]) {
			t.Errorf("%q finds %v first, want one of %v", query, found, want)
		}
		for word := range splitWords(query) {
			if !regexp.MustCompile(`(?i)<mark>` + word).MatchString(page) {
				t.Errorf("%q: no result shows %q", query, word)
			}
		}
	}
	anchors := regexp.MustCompile(`<h2><a href="([^"#]+)#([^"]+)"`)
	for _, m := range anchors.FindAllStringSubmatch(ask(mux, "/docs/search?q=server").Body.String(), -1) {
		if !strings.Contains(ask(mux, m[1]).Body.String(), ` id="`+m[2]+`"`) {
			t.Errorf("a result leads to %s, which has no heading %s", m[1], m[2])
		}
	}
}

// TestDocsSearchHostile holds that the text of a query is shown as text.
func TestDocsSearchHostile(t *testing.T) {
	t.Parallel()
	mux := serveDocs(t)
	for _, query := range []string{`"><script>alert(1)</script>`, `' onfocus=x autofocus '`, `</title><img src=x onerror=y>`, "\xff\xfe<b>", strings.Repeat("<b> server ", 5000), "javascript:alert(1)"} {
		w := ask(mux, "/docs/search?q="+url.QueryEscape(query))
		body := w.Body.String()
		if w.Code != http.StatusOK || len(body) > 60_000 {
			t.Errorf("%.40q: %d with %d bytes", query, w.Code, len(body))
		}
		for _, bad := range []string{"<script", "<img", "<b>", `"><` + `script`, `value=""`, "\xff", `href="javascript`} {
			if strings.Contains(body, bad) {
				t.Errorf("%.40q: the page contains %q", query, bad)
			}
		}
	}
	for _, path := range []string{"/docs/search", "/docs/search?q=", "/docs/search?q=%3F%3F%3F", "/docs/search?q=zzzzqqqq"} {
		if w := ask(mux, path); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "<ol") && strings.Contains(w.Body.String(), "<li>\n<h2>") {
			t.Errorf("%s: %d with results", path, w.Code)
		}
	}
}

// TestDocsOfScreens holds that the page exists that the console links on each screen, with
// its heading.
func TestDocsOfScreens(t *testing.T) {
	t.Parallel()
	places, err := os.ReadFile("web/src/app/navigation.ts")
	if err != nil {
		t.Fatal(err)
	}
	mux := serveDocs(t)
	named := regexp.MustCompile(`docs: '([^']+)'`).FindAllStringSubmatch(string(places), -1)
	if len(named) < len(Screens()) {
		t.Fatalf("only %d screens name a page", len(named))
	}
	for _, m := range append(named, regexp.MustCompile(`docs \?\? '([^']+)'`).FindStringSubmatch(string(places))) {
		path, anchor, _ := strings.Cut(m[1], "#")
		w := ask(mux, docsPrefix+path)
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d", m[1], w.Code)
		} else if anchor != "" && !strings.Contains(w.Body.String(), ` id="`+anchor+`"`) {
			t.Errorf("%s has no heading %s", path, anchor)
		}
	}
}

// TestDocsMarkdown holds what becomes of the parts of a page.
func TestDocsMarkdown(t *testing.T) {
	t.Parallel()
	mux := serve(t, Options{Docs: fstest.MapFS{
		"README.md": {Data: []byte("# Docs\n\n## Guides\n\n| page | |\n|---|---|\n| [A](guides/a.md) | x |\n\n## Others\n\n[Code](../main.go)\n")},
		"guides/a.md": {Data: []byte("# The `A` <page>\n\n<!-- a comment -->\n\n## What's `new`: 2.0?\n\n## Same\n\n## Same\n\n" +
			"[up](../README.md#docs) [here](#same-1) [code](../../cmd/x.go) [adr](../adr/1.md) [out](https://example.com/#x) [bad](javascript:alert(1)) ![i](../images/i.png)\n\n" +
			"<script>alert(1)</script> <b>bold</b>\n\n| a | b | c | d |\n|--:|---|---|---|\n| 1 | `x|y` \\| z | | |\n\n```sh run\nls <dir>\n```\n")},
		"images/i.png": {Data: []byte("png")},
	}})
	page := ask(mux, "/docs/guides/a").Body.String()
	for _, want := range []string{
		`<title>The A`, `<h2 id="whats-new-20">`, `<h2 id="same">`, `<h2 id="same-1">`, `href="/docs/#docs"`, `href="#same-1"`,
		`href="` + repositoryFiles + `cmd/x.go"`, `href="` + repositoryFiles + `docs/adr/` + `1.md"`, `href="https://example.com/#x"`, `src="/docs/images/i.png"`,
		`<div class="table" role="group" aria-label="Table" tabindex="0">`, `align="right"`, `ls &lt;dir&gt;`, `aria-current="page">A</a>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	for _, bad := range []string{"comment", "<script", "<b>", "javascript:", "<summary>Others"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
	if w := ask(serve(t, Options{Docs: fstest.MapFS{}}), "/docs/"); w.Code != http.StatusNotFound {
		t.Errorf("without pages: %d", w.Code)
	}
}
