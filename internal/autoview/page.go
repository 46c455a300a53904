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

//go:embed page
var files embed.FS

var (
	importLine = regexp.MustCompile(`(?m)^import (\{[^}]*\}) from '\./([a-z]+)\.js';$`)
	exportLine = regexp.MustCompile(`(?m)^export ((?:async )?function|const) ([A-Za-z0-9_]+)`)
)

// page puts the page together: its style and all parts of its script are inside.
func page() ([]byte, error) {
	folder, err := fs.Sub(files, "page")
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
	s := script{folder: folder, has: map[string]bool{}}
	if err := s.add("main"); err != nil {
		return nil, err
	}
	html = bytes.Replace(html, []byte("/* STYLE */\n"), style, 1)
	html = bytes.Replace(html, []byte("/* SCRIPT */\n"), s.text.Bytes(), 1)
	return []byte(mcpapps.WithBridge(string(html))), nil
}

// script is the parts of the page's script, which are modules where they are
// tested, in one: each a function that gives what it exports, so that its other
// names stay its own.
type script struct {
	folder fs.FS
	has    map[string]bool
	text   bytes.Buffer
}

// add writes a part behind those that it imports.
func (s *script) add(name string) error {
	if s.has[name] {
		return nil
	}
	s.has[name] = true
	text, err := fs.ReadFile(s.folder, name+".js")
	if err != nil {
		return err
	}
	for _, found := range importLine.FindAllSubmatch(text, -1) {
		if err := s.add(string(found[2])); err != nil {
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
