// Package console is what people see of Junctor in a browser. Its pages are
// made of TypeScript in web/, which Vite builds into dist/; the build is
// committed, so that the binary holds it and needs nothing but Go. It stands
// beside admin, whose API the pages use, and behind signin, which lets people
// in: the pages themselves hold nothing that is worth a key.
package console

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"html"
	"io/fs"
	"mime"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
)

// Screens are the first parts of the addresses that the pages have, beside the
// root. The pages themselves know what is below each.
func Screens() []string {
	return []string{"start", "servers", "gallery", "tools", "playground", "apps", "agents", "models", "chat", "calls", "usage", "audit", "events", "triggers", "sources", "deliveries", "dead", "endpoints", "chains", "chain-agents", "settings"}
}

// Options say how the pages are served.
type Options struct {
	// Plain answers at the root who is no browser.
	Plain http.Handler
	// Dev is where Vite serves the source, while somebody works on it; nil is
	// the build. Transport leads there.
	Dev       *url.URL
	Transport http.RoundTripper
	// Frames gives the sources that a page of the console at an origin may show in
	// frames: where the pages of Apps are. nil is none.
	Frames func(origin string) []string
	// Tiles is where maps have their pictures from: an address with {z}, {x} and
	// {y}, and after a space whom they are of. "" is nowhere: maps are outlines.
	Tiles string
}

// Console serves the pages.
type Console struct {
	o     Options
	page  []byte // index.html, with a placeholder for the nonce
	files map[string]*file
	dev   http.Handler
}

// file is one part of the build. Its name says what is in it, so that browsers
// may keep it for good. It is read when somebody first asks for it: an instance
// that only agents use holds none of it.
type file struct {
	body, zipped func() []byte
	mediaType    string
}

// What stands in index.html for what is new with each answer, and for what maps
// are made of.
const (
	placeholder = "__NONCE__"
	tilesHere   = "__TILES__"
)

// New reads the build.
func New(o Options) (*Console, error) {
	c := &Console{o: o, files: map[string]*file{}}
	if o.Dev != nil {
		c.dev = &httputil.ReverseProxy{
			Transport: o.Transport,
			Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(o.Dev)
				r.Out.Header.Del("Cookie") // Vite has no business with them
			},
		}
		return c, nil
	}
	build := dist()
	err := fs.WalkDir(build, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if name == "index.html" {
			page, err := fs.ReadFile(build, name)
			c.page = bytes.ReplaceAll(page, []byte(tilesHere), []byte(html.EscapeString(o.Tiles)))
			return err
		}
		body := sync.OnceValue(func() []byte {
			b, _ := fs.ReadFile(build, name) // it was just found
			return b
		})
		c.files["/"+name] = &file{body: body, zipped: sync.OnceValue(func() []byte { return compress(body()) }), mediaType: mediaType(name)}
		return nil
	})
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "the console's build cannot be read: %w", err)
	}
	return c, nil
}

// mediaType does not ask the machine: what it knows differs.
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

// Mux is what the pages are registered on.
type Mux interface {
	HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request))
}

// Routes puts the pages and their parts into a mux.
func (c *Console) Routes(mux Mux) {
	mux.HandleFunc("GET /{$}", c.root)
	if c.dev != nil {
		for _, from := range []string{"/src/", "/node_modules/", "/@vite/", "/@fs/", "/@id/", "/@react-refresh"} {
			mux.HandleFunc("GET "+from, c.dev.ServeHTTP)
		}
	} else {
		mux.HandleFunc("GET /assets/", c.asset)
	}
	for _, s := range Screens() {
		mux.HandleFunc("GET /"+s, c.index)
		mux.HandleFunc("GET /"+s+"/", c.index)
	}
}

func (c *Console) root(w http.ResponseWriter, r *http.Request) {
	if c.o.Plain != nil && (c.empty() || !strings.Contains(r.Header.Get("Accept"), "text/html")) {
		c.o.Plain.ServeHTTP(w, r)
		return
	}
	c.index(w, r)
}

// empty says whether the binary was built without the pages.
func (c *Console) empty() bool { return c.page == nil && c.dev == nil }

// index answers with the one page that all screens are drawn on.
func (c *Console) index(w http.ResponseWriter, r *http.Request) {
	switch {
	case c.empty():
		http.Error(w, "this binary was built without the console", http.StatusNotFound)
	case c.dev != nil:
		// Vite puts styles into the page in a way that no policy would allow.
		c.dev.ServeHTTP(w, r)
	default:
		nonce := rand.Text()
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Referrer-Policy", "same-origin") // with none at all, the form that signs out would have no origin, and be refused
		h.Set("Content-Security-Policy", policy(nonce, c.frames(r), c.tiles()))
		_, _ = w.Write(bytes.ReplaceAll(c.page, []byte(placeholder), []byte(nonce)))
	}
}

// policy lets the page run and show nothing but what is ours. Attributes may
// carry styles, since elements are placed by them; an attribute loads nothing,
// as images and fonts have rules of their own.
func policy(nonce, frames, tiles string) string {
	return "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-" + nonce + "'; style-src-attr 'unsafe-inline'; img-src 'self' data:" + tiles + "; " +
		"media-src data:; font-src 'self'; connect-src 'self'; frame-src " + frames + "; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
}

// tiles is the source of pictures that maps are made of, with a space before it.
func (c *Console) tiles() string {
	address, _, _ := strings.Cut(c.o.Tiles, " ")
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return " " + u.Scheme + "://" + u.Host
}

// frames are the sources of frames for the page that a request asks for.
func (c *Console) frames(r *http.Request) string {
	if c.o.Frames == nil {
		return "'none'"
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	sources := c.o.Frames(scheme + r.Host)
	if len(sources) == 0 {
		return "'none'"
	}
	return strings.Join(sources, " ")
}

// asset answers with a part of the build.
func (c *Console) asset(w http.ResponseWriter, r *http.Request) {
	f := c.files[r.URL.Path]
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
		body = f.zipped
		h.Set("Content-Encoding", "gzip")
	}
	text := body()
	h.Set("Content-Length", strconv.Itoa(len(text)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(text)
	}
}

func compress(text []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = w.Write(text)                                  // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}
