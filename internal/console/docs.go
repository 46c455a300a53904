package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"

	junctor "github.com/junctor-mcp/junctor"
)

// docsPrefix is the path of the documentation.
const docsPrefix = "/docs/"

// docsPolicy allows no script, and styles, fonts and images of this instance only.
const docsPolicy = "default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

//go:embed docs.css
var docsStyle string

//go:embed docs.html
var docsTemplate string

// docsReader serves the documentation. Its pages are rendered at their first request; they
// contain nothing of the instance, so everybody gets the same.
type docsReader struct {
	files    fs.FS
	markdown goldmark.Markdown
	template *template.Template
	style    []byte
	pages    map[string]*docsPage          // by file, such as guides/servers.md
	index    func() *docsIndex             // reads the index at its first call
	search   func() (*docsSearcher, error) // reads all pages at its first call
	running  chan struct{}                 // holds as many values as searches run

	mu      sync.Mutex
	answers map[string]*docsAnswer // by file; only files that exist, so it does not grow
}

// docsPage is one page.
type docsPage struct {
	file string
	path string // address on this instance
}

// docsAnswer is a rendered page. Only the compressed form is kept, because nearly every
// browser asks for it.
type docsAnswer struct {
	gzipped []byte
	etag    string
	length  int
}

// parallelSearches limits the searches that run at the same time: they need no key.
const parallelSearches = 2

// newDocsReader lists the pages of files. fonts is a style sheet with the fonts of the
// console.
func newDocsReader(files fs.FS, fonts string) (*docsReader, error) {
	d := &docsReader{
		files: files, markdown: newMarkdown(), style: []byte(fonts + docsStyle),
		pages: map[string]*docsPage{}, answers: map[string]*docsAnswer{}, running: make(chan struct{}, parallelSearches),
	}
	var err error
	if d.template, err = template.New("docs").Parse(docsTemplate); err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "the template of the documentation is invalid: %w", err)
	}
	err = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && path.Ext(name) == ".md" {
			d.pages[name] = &docsPage{file: name, path: docsPath(name)}
		}
		return err
	})
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "the documentation cannot be read: %w", err)
	}
	d.index = sync.OnceValue(d.readIndex)
	d.search = sync.OnceValues(d.newSearcher)
	return d, nil
}

// docsPath returns the address of a page: without the ending, and that of the folder for a
// README.
func docsPath(file string) string {
	name := strings.TrimSuffix(file, ".md")
	if path.Base(name) == "README" {
		name = strings.TrimSuffix(name, "README")
	}
	return docsPrefix + name
}

// serve answers a request for the documentation.
func (d *docsReader) serve(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, docsPrefix)
	switch {
	case len(d.pages) == 0:
		http.Error(w, "this binary was built without the documentation", http.StatusNotFound)
	case r.URL.Path+"/" == docsPrefix:
		http.Redirect(w, r, docsPrefix, http.StatusPermanentRedirect)
	case name == "search":
		d.serveSearch(w, r)
	case name == "style.css":
		d.writeAnswer(w, r, http.StatusOK, "text/css; charset=utf-8", newDocsAnswer(d.style))
	case path.Ext(name) == ".png":
		d.serveImage(w, r, name)
	default:
		d.servePage(w, r, name)
	}
}

// servePage answers with a page, with the address of one that is meant, or says that there
// is none.
func (d *docsReader) servePage(w http.ResponseWriter, r *http.Request, name string) {
	trimmed := strings.TrimSuffix(name, "/")
	for _, file := range []string{trimmed + ".md", path.Join(trimmed, "README.md"), trimmed} {
		page := d.pages[file]
		if page == nil {
			continue
		}
		if page.path != r.URL.Path {
			http.Redirect(w, r, page.path, http.StatusPermanentRedirect)
			return
		}
		answer, err := d.answerWith(page)
		if err != nil {
			http.Error(w, junctor.AsError(err).Message, http.StatusInternalServerError)
			return
		}
		d.writeAnswer(w, r, http.StatusOK, "text/html; charset=utf-8", answer)
		return
	}
	if part := d.index().partOf(trimmed + "/"); part != nil && part.folder == trimmed+"/" {
		http.Redirect(w, r, docsPrefix+"#"+part.anchor, http.StatusTemporaryRedirect)
		return
	}
	d.writePage(w, r, http.StatusNotFound, docsView{Title: "Page not found", Missing: true})
}

// serveImage answers with an image of the pages.
func (d *docsReader) serveImage(w http.ResponseWriter, r *http.Request, name string) {
	body, err := fs.ReadFile(d.files, name)
	if err != nil {
		d.writePage(w, r, http.StatusNotFound, docsView{Title: "Page not found", Missing: true})
		return
	}
	w.Header().Set("ETag", docsETag(body))
	w.Header().Set("Content-Type", "image/png")
	setDocsHeaders(w.Header())
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// answerWith returns the rendered page.
func (d *docsReader) answerWith(page *docsPage) (*docsAnswer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if answer := d.answers[page.file]; answer != nil {
		return answer, nil
	}
	parsed, err := d.parse(page.file)
	if err != nil {
		return nil, err
	}
	content, err := parsed.render(d.markdown)
	if err != nil {
		return nil, err
	}
	view := docsView{Title: parsed.title, Content: template.HTML(content)} //nolint:gosec // rendered from a page of the binary, without raw HTML
	view.Previous, view.Next = d.index().neighbours(page)
	for _, s := range parsed.sections {
		if s.level == 2 { // the parts of the page
			view.Contents = append(view.Contents, docsLink{Title: s.heading, Path: "#" + s.anchor})
		}
	}
	body, err := d.renderPage(page.path, view)
	if err != nil {
		return nil, err
	}
	answer := newDocsAnswer(body)
	d.answers[page.file] = answer
	return answer, nil
}

// parse reads a page.
func (d *docsReader) parse(file string) (parsedPage, error) {
	source, err := fs.ReadFile(d.files, file)
	if err != nil {
		return parsedPage{}, junctor.Errorf(junctor.CodeInternal, "the page %s of the documentation cannot be read: %w", file, err)
	}
	return parsePage(d.markdown, source, func(destination string) string { return d.addressOf(file, destination) }), nil
}

// addressOf returns where a link of a page leads: to a page or an image of this instance,
// or to a file of the repository that is not served.
func (d *docsReader) addressOf(page, destination string) string {
	if isExternal(destination) || strings.HasPrefix(destination, "#") {
		return destination
	}
	file, anchor := resolveLink(page, destination)
	address := repositoryFiles + path.Join("docs", file)
	if target := d.pages[file]; target != nil {
		address = target.path
	} else if _, err := fs.Stat(d.files, file); err == nil && path.Ext(file) != "" {
		address = docsPrefix + file
	}
	if anchor != "" {
		address += "#" + anchor
	}
	return address
}

// docsView is the input of docs.html.
type docsView struct {
	Title    string
	Content  template.HTML
	Contents []docsLink // headings of the page
	Parts    []docsPart
	Previous *docsLink
	Next     *docsLink

	Missing  bool // there is no such page
	IsSearch bool
	Query    string
	Results  []docsResult
	More     int // results that are not shown
}

// renderPage returns a whole page. at is its address, which the index marks.
func (d *docsReader) renderPage(at string, view docsView) ([]byte, error) {
	view.Parts = d.index().at(at)
	var b bytes.Buffer
	if err := d.template.Execute(&b, view); err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "cannot render a page of the documentation: %w", err)
	}
	return b.Bytes(), nil
}

// writePage answers with a page that is made for this request.
func (d *docsReader) writePage(w http.ResponseWriter, r *http.Request, status int, view docsView) {
	body, err := d.renderPage(r.URL.Path, view)
	if err != nil {
		http.Error(w, junctor.AsError(err).Message, http.StatusInternalServerError)
		return
	}
	d.writeAnswer(w, r, status, "text/html; charset=utf-8", newDocsAnswer(body))
}

// setDocsHeaders sets the headers of every answer.
func setDocsHeaders(h http.Header) {
	h.Set("Cache-Control", "no-cache") // a browser asks whether its copy is that of this version
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Content-Security-Policy", docsPolicy)
}

// writeAnswer answers with a text, or with 304 if the client has it.
func (d *docsReader) writeAnswer(w http.ResponseWriter, r *http.Request, status int, mediaType string, answer *docsAnswer) {
	h := w.Header()
	setDocsHeaders(h)
	h.Set("Content-Type", mediaType)
	h.Set("Vary", "Accept-Encoding")
	if status == http.StatusOK {
		h.Set("ETag", answer.etag)
		if hasETag(r.Header.Get("If-None-Match"), answer.etag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	body, length := io.Reader(bytes.NewReader(answer.gzipped)), len(answer.gzipped)
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
	} else {
		length = answer.length
		body, _ = gzip.NewReader(body) // compressed by newDocsAnswer
	}
	h.Set("Content-Length", strconv.Itoa(length))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = io.CopyN(w, body, int64(length)) // an error means that the client is gone
	}
}

// newDocsAnswer compresses a text.
func newDocsAnswer(body []byte) *docsAnswer {
	return &docsAnswer{gzipped: compressGzip(body), etag: docsETag(body), length: len(body)}
}

// docsETag returns the tag of an answer. It is weak, since the same tag stands for the
// answer with and without gzip.
func docsETag(body []byte) string {
	sum := sha256.Sum256(body)
	return `W/"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
}

// hasETag reports whether If-None-Match names a tag.
func hasETag(header, tag string) bool {
	for one := range strings.SplitSeq(header, ",") {
		if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}

// docsLink is a link of the index.
type docsLink struct {
	Title   string
	Path    string
	Current bool
	Below   []docsLink // pages of its folder
}

// docsPart is a part of the documentation, such as the guides.
type docsPart struct {
	Title  string
	Links  []docsLink
	IsOpen bool   // its links are shown
	anchor string // of its heading in the index
	folder string // such as guides/
}

// docsIndex is the order of all pages: that of the tables in README.md.
type docsIndex struct {
	parts []docsPart
	order []docsLink // all pages, one after the other
}

// readIndex reads the parts and their pages from README.md, and the pages of a deeper
// folder from its README.
func (d *docsReader) readIndex() *docsIndex {
	index := &docsIndex{order: []docsLink{{Title: "Documentation", Path: docsPrefix}}}
	known := map[string]bool{"README.md": true}
	readme, err := d.parse("README.md")
	if err != nil { // the pages remain readable without an index
		return index
	}
	for n := readme.tree.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			if h.Level == 2 { // a part
				index.parts = append(index.parts, docsPart{Title: plainText(h, readme.source), anchor: anchorOf(h)})
			}
			continue
		}
		if len(index.parts) == 0 {
			continue
		}
		part := &index.parts[len(index.parts)-1]
		for _, link := range d.linksIn(n, readme.source, known, "") {
			file := d.fileAt(link.Path)
			if part.folder == "" {
				part.folder = strings.SplitAfter(file, "/")[0]
				part.Links = append(part.Links, d.overview(part.folder, known)...)
			}
			if folder := path.Dir(file); path.Base(file) == "README.md" {
				if below, err := d.parse(file); err == nil {
					link.Below = d.linksBelow(folder, below, known)
				}
			}
			part.Links = append(part.Links, link)
		}
	}
	served := index.parts[:0]
	for _, part := range index.parts {
		if len(part.Links) == 0 { // all of its pages are for contributors
			continue
		}
		served = append(served, part)
		for _, link := range part.Links {
			index.order = append(append(index.order, link), link.Below...)
		}
	}
	index.parts = served
	return index
}

// overview returns a link to the README of a part's folder, if the index does not have
// it.
func (d *docsReader) overview(folder string, known map[string]bool) []docsLink {
	page := d.pages[folder+"README.md"]
	if page == nil || known[page.file] {
		return nil
	}
	known[page.file] = true
	return []docsLink{{Title: "Overview", Path: page.path}}
}

// linksBelow returns the links of a README to pages of its folder.
func (d *docsReader) linksBelow(folder string, readme parsedPage, known map[string]bool) (below []docsLink) {
	for _, link := range d.linksIn(readme.tree, readme.source, known, folder) {
		if page, err := d.parse(d.fileAt(link.Path)); err == nil {
			link.Title = strings.TrimPrefix(page.title, readme.title+": ")
		}
		below = append(below, link)
	}
	return below
}

// fileAt returns the file of the page at an address; "" if there is none.
func (d *docsReader) fileAt(address string) string {
	name := strings.TrimPrefix(address, docsPrefix)
	if strings.HasSuffix(address, "/") {
		name += "README"
	}
	if page := d.pages[name+".md"]; page != nil {
		return page.file
	}
	return ""
}

// linksIn returns the links of an element to pages of a folder that are not known yet, each
// once; those of all folders if the folder is "".
func (d *docsReader) linksIn(n ast.Node, source []byte, known map[string]bool, folder string) (links []docsLink) {
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		link, ok := n.(*ast.Link)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		address, _, _ := strings.Cut(string(link.Destination), "#")
		if file := d.fileAt(address); file != "" && !known[file] && (folder == "" || path.Dir(file) == folder) {
			known[file] = true
			links = append(links, docsLink{Title: plainText(link, source), Path: address})
		}
		return ast.WalkContinue, nil
	})
	return links
}

// at returns the parts for the page at an address. The page is marked, its part is open,
// and only the pages of its own folder are shown below their README. An address without a
// page, such as the search, has all parts open.
func (x *docsIndex) at(address string) []docsPart {
	parts := make([]docsPart, 0, len(x.parts))
	isFound := false
	for _, part := range x.parts {
		links := make([]docsLink, 0, len(part.Links))
		for _, link := range part.Links {
			link.Current = link.Path == address
			isOpen := link.Current // the link with what is below it
			below := make([]docsLink, 0, len(link.Below))
			for _, one := range link.Below {
				one.Current = one.Path == address
				isOpen = isOpen || one.Current
				below = append(below, one)
			}
			if link.Below = nil; isOpen {
				link.Below = below
			}
			part.IsOpen = part.IsOpen || isOpen
			links = append(links, link)
		}
		part.Links = links
		isFound = isFound || part.IsOpen
		parts = append(parts, part)
	}
	for i := range parts {
		parts[i].IsOpen = parts[i].IsOpen || !isFound
	}
	return parts
}

// partOf returns the part that a file or folder belongs to; nil if there is none.
func (x *docsIndex) partOf(file string) *docsPart {
	for i := range x.parts {
		if strings.HasPrefix(file, x.parts[i].folder) {
			return &x.parts[i]
		}
	}
	return nil
}

// neighbours returns the pages before and after a page; nil at the ends.
func (x *docsIndex) neighbours(page *docsPage) (previous, next *docsLink) {
	for i := range x.order {
		if x.order[i].Path != page.path {
			continue
		}
		if i > 0 {
			previous = &x.order[i-1]
		}
		if i+1 < len(x.order) {
			next = &x.order[i+1]
		}
	}
	return previous, next
}
