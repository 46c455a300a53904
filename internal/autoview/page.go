package autoview

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/junctor-mcp/junctor/mcpapps"
)

// pageFiles are the sources of the page.
//
//go:embed page
var pageFiles embed.FS

// The forms of import and export that the modules of the page use. addModule understands
// no others.
var (
	importLine = regexp.MustCompile(`(?m)^import (\{[^}]*\}) from '\./([a-z]+)\.js';$`)
	exportLine = regexp.MustCompile(`(?m)^export ((?:async )?function|const) ([A-Za-z0-9_]+)`)
)

// buildPage returns the page as one HTML document, with its style and all modules of its
// script inline: a sandboxed App view may load nothing else.
func buildPage() ([]byte, error) {
	folder, err := fs.Sub(pageFiles, "page")
	if err != nil {
		return nil, err
	}
	html, err := fs.ReadFile(folder, "page.html")
	if err != nil {
		return nil, err
	}
	style, err := fs.ReadFile(folder, "page.css")
	if err != nil {
		return nil, err
	}
	s := scriptBundle{folder: folder, added: map[string]bool{}}
	if err := s.addModule("main"); err != nil {
		return nil, err
	}
	html = bytes.Replace(html, []byte("/* STYLE */\n"), style, 1)
	html = bytes.Replace(html, []byte("/* SCRIPT */\n"), s.text.Bytes(), 1)
	return []byte(mcpapps.InsertBridge(string(html))), nil
}

// scriptBundle joins the modules of the page's script into one text. Each module becomes a
// function that returns its exports, so that its other names stay private. The sources are
// modules because they are tested as such.
type scriptBundle struct {
	folder fs.FS
	added  map[string]bool
	text   bytes.Buffer
}

// addModule writes a module after those that it imports, each once.
func (s *scriptBundle) addModule(name string) error {
	if s.added[name] {
		return nil
	}
	s.added[name] = true
	text, err := fs.ReadFile(s.folder, name+".js")
	if err != nil {
		return err
	}
	for _, found := range importLine.FindAllSubmatch(text, -1) {
		if err := s.addModule(string(found[2])); err != nil {
			return err
		}
	}
	var names []string
	for _, found := range exportLine.FindAllSubmatch(text, -1) {
		names = append(names, string(found[2]))
	}
	text = importLine.ReplaceAll(text, []byte("const $1 = part_$2;"))
	text = exportLine.ReplaceAll(text, []byte("$1 $2"))
	_, err = fmt.Fprintf(&s.text, "const part_%s = (() => {\n%sreturn { %s };\n})();\n", name, text, strings.Join(names, ", "))
	return err
}
