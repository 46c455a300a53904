package autoview

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/mcpapps"
)

// The page is whole: nothing of it lies elsewhere, and nothing in it reads markup
// or makes code of text.
func TestPage(t *testing.T) {
	t.Parallel()
	html, err := buildPage()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(html), "<script>\n"+mcpapps.BridgeScript()+"</script>", "", 1) // which has tests of its own
	for _, want := range []string{"<!doctype html>", "const part_main = ", "--color-background-primary", "mcpApp("} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, never := range []string{
		`innerHTML`, `outerHTML`, `insertAdjacentHTML`, `document\.write`, `\beval\(`, `new Function`, `DOMParser`, `srcdoc`, `setTimeout\(['"]`, `\bfetch\(`, `XMLHttpRequest`, `WebSocket`,
		`localStorage`, `document\.cookie`, `window\.open`, `location\.(href|assign|replace)`, `(?m)^import `, `(?m)^export `, `https?://[a-z]`, `/\* (STYLE|SCRIPT) \*/`, `@import`, `url\(`,
	} {
		found := regexp.MustCompile(never).FindAllString(strings.ReplaceAll(text, "http://www.w3.org/2000/svg", ""), -1)
		if len(found) > 0 {
			t.Errorf("the page has %q", found)
		}
	}
	if strings.Count(text, "</script") != 1 || strings.Count(text, "<script") != 1 || strings.Contains(text, "<!--") {
		t.Error("a part of the script would end it")
	}
	if len(html) > 128<<10 {
		t.Errorf("the page has %d bytes", len(html))
	}
	if to := os.Getenv("JUNCTOR_TEST_PAGE"); to != "" { // to look at it
		if err := os.WriteFile(to, html, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Every part is in the page, before those that use it.
func TestParts(t *testing.T) {
	t.Parallel()
	html, err := buildPage()
	if err != nil {
		t.Fatal(err)
	}
	parts, err := fs.Glob(pageFiles, "page/*.js")
	if err != nil || len(parts) == 0 {
		t.Fatal(parts, err)
	}
	for _, path := range parts {
		name := strings.TrimSuffix(strings.TrimPrefix(path, "page/"), ".js")
		made := strings.Index(string(html), "const part_"+name+" = ")
		used := strings.Index(string(html), "= part_"+name+";")
		if made < 0 || used >= 0 && used < made {
			t.Errorf("%s is made at %d and used at %d", name, made, used)
		}
	}
}
