// Package console serves the web console. Its pages are written in TypeScript in web/,
// which Vite builds into dist/. The build is committed, so that building the binary needs
// nothing but Go.
//
// It stands beside admin, whose API the pages use, and behind signin, which authenticates
// users. The pages themselves hold nothing secret, so they are served to everybody. app
// creates the Console and registers its routes. embed.go embeds the build; with the tag
// noconsole, embed_none.go leaves it out.
//
// It also serves the documentation at /docs/, without scripts: docs.go has the pages and
// their index, docs_markdown.go renders them, docs_search.go finds sections.
package console

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
)

// Screens returns the first path segments of the console's pages, beside the root. The
// pages themselves know the paths below each.
func Screens() []string {
	return []string{"start", "attention", "servers", "gallery", "tools", "apps", "agents", "models", "chat", "events", "triggers", "sources", "deliveries", "dead", "endpoints", "chains", "chain-agents", "policies", "calls", "usage", "audit", "playground", "users", "keys", "settings"}
}

// Options configures the console.
type Options struct {
	// Plain answers requests at the root that do not come from a browser.
	Plain http.Handler
	// Dev is the address of a Vite server that serves the source during development; nil
	// serves the build. Transport is used to reach it.
	Dev       *url.URL
	Transport http.RoundTripper
	// Frames returns the sources that a console page at an origin may show in frames: the
	// origins of App views. nil means none.
	Frames func(origin string) []string
	// Tiles is the URL template of map tiles with {z}, {x} and {y}, then a space and the
	// attribution. If it is empty, maps show built-in outlines.
	Tiles string
	// Docs are the pages of the documentation, by their paths below docs/; nil serves none.
	Docs fs.FS
}

// Console serves the pages.
type Console struct {
	options   Options
	docs      *docsReader // nil if there are no pages
	indexPage []byte      // index.html, with a placeholder for the nonce
	assets    map[string]*asset
	devProxy  http.Handler
}

// asset is one file of the build. Its name contains a hash of its content, so that
// browsers may cache it forever. It is read at its first request: an instance that only
// agents use holds none in memory.
type asset struct {
	body, gzipped func() []byte
	mediaType     string
}

// Placeholders in index.html: for the nonce, which is new in each answer, and for the map
// tiles.
const (
	noncePlaceholder = "__NONCE__"
	tilesPlaceholder = "__TILES__"
)

// New reads the list of files of the build. It reads index.html at once and other files
// when they are requested.
func New(o Options) (*Console, error) {
	c := &Console{options: o, assets: map[string]*asset{}}
	if o.Dev != nil {
		c.devProxy = &httputil.ReverseProxy{
			Transport: o.Transport,
			Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(o.Dev)
				r.Out.Header.Del("Cookie") // Vite has no business with them
			},
		}
		return c, c.openDocs()
	}
	build := openBuild()
	err := fs.WalkDir(build, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if name == "index.html" {
			page, err := fs.ReadFile(build, name)
			c.indexPage = bytes.ReplaceAll(page, []byte(tilesPlaceholder), []byte(html.EscapeString(o.Tiles)))
			return err
		}
		body := sync.OnceValue(func() []byte {
			b, _ := fs.ReadFile(build, name) // it was just found
			return b
		})
		c.assets["/"+name] = &asset{body: body, gzipped: sync.OnceValue(func() []byte { return compressGzip(body()) }), mediaType: mediaType(name)}
		return nil
	})
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "the console's build cannot be read: %w", err)
	}
	return c, c.openDocs()
}

// openDocs lists the pages of the documentation.
func (c *Console) openDocs() (err error) {
	if c.options.Docs != nil {
		c.docs, err = newDocsReader(c.options.Docs, c.fontStyle())
	}
	return err
}

// fontStyle returns a style sheet with the fonts of the console, for pages without its
// scripts.
func (c *Console) fontStyle() string {
	var style strings.Builder
	for _, font := range []struct{ family, file string }{{"Inter Variable", "inter-"}, {"JetBrains Mono Variable", "jetbrains-mono-"}} {
		for _, name := range slices.Sorted(maps.Keys(c.assets)) {
			if strings.HasPrefix(name, "/assets/"+font.file) && path.Ext(name) == ".woff2" {
				fmt.Fprintf(&style, "@font-face{font-family:%q;font-weight:100 900;font-display:swap;src:url(%q) format(\"woff2\")}\n", font.family, name)
			}
		}
	}
	return style.String()
}

// mediaType returns the media type of a file by its extension. It does not use the
// machine's own table for the types of the build, because tables differ.
func mediaType(name string) string {
	switch ext := path.Ext(name); ext {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".woff2":
		return "font/woff2"
	default:
		return mime.TypeByExtension(ext)
	}
}

// Routes registers the pages and assets on a mux.
func (c *Console) Routes(mux junctor.Mux) {
	mux.HandleFunc("GET /{$}", c.serveRoot)
	if c.devProxy != nil {
		for _, from := range []string{"/src/", "/node_modules/", "/@vite/", "/@fs/", "/@id/", "/@react-refresh"} {
			mux.HandleFunc("GET "+from, c.devProxy.ServeHTTP)
		}
	} else {
		mux.HandleFunc("GET /assets/", c.serveAsset)
	}
	if c.docs != nil {
		mux.HandleFunc("GET /docs", c.docs.serve)
		mux.HandleFunc("GET "+docsPrefix, c.docs.serve)
	}
	for _, s := range Screens() {
		mux.HandleFunc("GET /"+s, c.serveIndex)
		mux.HandleFunc("GET /"+s+"/", c.serveIndex)
	}
}

// serveRoot answers at /: with the console for browsers, with Options.Plain for everything
// else.
func (c *Console) serveRoot(w http.ResponseWriter, r *http.Request) {
	if c.options.Plain != nil && (c.isEmpty() || !strings.Contains(r.Header.Get("Accept"), "text/html")) {
		c.options.Plain.ServeHTTP(w, r)
		return
	}
	c.serveIndex(w, r)
}

// ServeUnknown answers a browser that asks for a page at a path without a route: with the
// console's page, which says so and has links, and with the status 404. It reports whether
// it answered; other clients need no page.
func (c *Console) ServeUnknown(w http.ResponseWriter, r *http.Request) bool {
	if c.isEmpty() || r.Method != http.MethodGet || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		return false
	}
	c.servePage(w, r, http.StatusNotFound)
	return true
}

// isEmpty reports whether the binary was built without the pages.
func (c *Console) isEmpty() bool { return c.indexPage == nil && c.devProxy == nil }

// serveIndex answers with the one HTML page on which all screens are drawn.
func (c *Console) serveIndex(w http.ResponseWriter, r *http.Request) {
	c.servePage(w, r, http.StatusOK)
}

// servePage answers with the page and a status.
func (c *Console) servePage(w http.ResponseWriter, r *http.Request, status int) {
	switch {
	case c.isEmpty():
		http.Error(w, "this binary was built without the console", http.StatusNotFound)
	case c.devProxy != nil:
		// Vite puts styles into the page in a way that no policy would allow.
		c.devProxy.ServeHTTP(w, r)
	default:
		nonce := rand.Text()
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Referrer-Policy", "same-origin") // with none at all, the form that signs out would have no origin, and be refused
		h.Set("Content-Security-Policy", contentSecurityPolicy(nonce, c.frameSources(r), c.tileSource()))
		w.WriteHeader(status)
		_, _ = w.Write(bytes.ReplaceAll(c.indexPage, []byte(noncePlaceholder), []byte(nonce)))
	}
}

// contentSecurityPolicy returns a policy by which the page runs and shows only what this
// instance serves. Style attributes are allowed, because elements are positioned by them.
// They cannot load anything, since images and fonts have rules of their own.
func contentSecurityPolicy(nonce, frames, tiles string) string {
	return "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-" + nonce + "'; style-src-attr 'unsafe-inline'; img-src 'self' data:" + tiles + "; " +
		"media-src data:; font-src 'self'; connect-src 'self'; frame-src " + frames + "; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
}

// tileSource returns the origin of map tiles for the policy, with a space before it; "" if
// there is none.
func (c *Console) tileSource() string {
	address, _, _ := strings.Cut(c.options.Tiles, " ")
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return " " + u.Scheme + "://" + u.Host
}

// frameSources returns the sources of frames for the page that a request asks for.
func (c *Console) frameSources(r *http.Request) string {
	if c.options.Frames == nil {
		return "'none'"
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	sources := c.options.Frames(scheme + r.Host)
	if len(sources) == 0 {
		return "'none'"
	}
	return strings.Join(sources, " ")
}

// serveAsset answers with a file of the build, compressed if the browser accepts it.
func (c *Console) serveAsset(w http.ResponseWriter, r *http.Request) {
	f := c.assets[r.URL.Path]
	if f == nil {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.mediaType)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Vary", "Accept-Encoding")
	body := f.body
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && f.mediaType != "font/woff2" {
		body = f.gzipped
		h.Set("Content-Encoding", "gzip")
	}
	text := body()
	h.Set("Content-Length", strconv.Itoa(len(text)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(text)
	}
}

// compressGzip returns text compressed as much as possible: it happens once for each file.
func compressGzip(text []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = w.Write(text)                                  // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}
