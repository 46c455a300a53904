package apps

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"regexp"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/mcpapps"
)

//go:embed proxy.html
var proxySource string

// proxyPage holds the hashes of the script and style of the proxy page, the frame between
// a console and a View. Its policy allows these two and nothing else.
type proxyPage struct{ scriptHash, styleHash string }

// newProxyPage computes the hashes from the embedded page. It fails if the page lost its
// script or style, which its policy would otherwise block silently.
func newProxyPage() (*proxyPage, error) {
	sum := func(tag string) string {
		_, rest, _ := strings.Cut(proxySource, "<"+tag+">")
		text, _, ok := strings.Cut(rest, "</"+tag+">")
		if !ok {
			return ""
		}
		hash := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"
	}
	p := &proxyPage{scriptHash: sum("script"), styleHash: sum("style")}
	if p.scriptHash == "" || p.styleHash == "" {
		return nil, junctor.Errorf(junctor.CodeInternal, "apps: the sandbox page has no script or no style")
	}
	return p, nil
}

// idPattern finds the id of a View in the host name or the path of a request.
func idPattern() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[pa]-|/[par]/)([a-z2-7]{26})(?:\.|$)`)
}

// ServeHTTP serves the sandbox listener: the two frames of each View, at exactly the
// addresses that placeView chose, and the endpoint for violation reports. Everything else
// is not found. A closed View is not found either.
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Cache-Control", "no-store")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("X-Dns-Prefetch-Control", "off")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	v := h.findRequested(r)
	if v == nil {
		http.Error(w, "no App view is open at this address; it may have been closed", http.StatusNotFound)
		return
	}
	at, f := r.Host+r.URL.EscapedPath(), &v.frames
	switch {
	case r.Method == http.MethodPost && (at == f.page.Host+v.reportPath() || at == f.proxy.Host+v.reportPath()):
		h.recordViolation(w, r, v)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		head.Set("Allow", "GET, HEAD")
		http.Error(w, "a View is looked at with GET", http.StatusMethodNotAllowed)
	case at == f.proxy.Host+f.proxy.Path:
		h.serveProxy(w, v)
	case at == f.page.Host+f.page.Path:
		h.servePage(w, v)
	default:
		http.Error(w, "there is nothing here", http.StatusNotFound)
	}
}

// ViewIDOf gives the id of the View that a request to the sandbox listener names, by host
// or by path; empty if it names none.
func ViewIDOf(r *http.Request) string {
	pattern := idPattern()
	found := pattern.FindStringSubmatch(r.Host)
	if found == nil {
		found = pattern.FindStringSubmatch(r.URL.EscapedPath())
	}
	if found == nil {
		return ""
	}
	return found[1]
}

// findRequested gives the View that a request names; nil if there is none or its session
// has ended.
func (h *Host) findRequested(r *http.Request) *view {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := h.views[ViewIDOf(r)]
	if v == nil {
		return nil
	}
	if !h.isAlive(v, h.opts.Now()) {
		h.dropView(v)
		return nil
	}
	return v
}

// serveProxy answers with the outer frame. Its policy allows its own script and style,
// and the page of this View as the only frame.
func (h *Host) serveProxy(w http.ResponseWriter, v *view) {
	f, head := &v.frames, w.Header()
	head.Set("Content-Type", "text/html; charset=utf-8")
	head.Set("Origin-Agent-Cluster", "?1")
	head.Set("Content-Security-Policy", "default-src 'none'; script-src "+h.proxy.scriptHash+"; style-src "+h.proxy.styleHash+"; frame-src "+f.frameSource()+
		"; frame-ancestors "+f.console+"; base-uri 'none'; form-action 'none'; report-uri "+v.reportPath())
	head.Set("Connection-Allowlist", "(response-origin \""+f.page.Scheme+"://"+f.page.Host+"\")")
	text := strings.NewReplacer(
		"{{host}}", html.EscapeString(f.console), "{{page}}", html.EscapeString(f.page.String()), "{{origin}}", html.EscapeString(f.pageOrigin()),
		"{{sandbox}}", html.EscapeString(f.pageSandbox()), "{{permissions}}", html.EscapeString(strings.Join(v.requestedPermissions(), " ")),
	).Replace(proxySource)
	_, _ = io.WriteString(w, text)
}

// servePage answers with the page of the server, unchanged, under the View's policy.
func (h *Host) servePage(w http.ResponseWriter, v *view) {
	head := w.Header()
	head.Set("Content-Type", "text/html; charset=utf-8")
	head.Set("Origin-Agent-Cluster", "?1")
	head.Set("Content-Security-Policy", v.contentPolicy())
	head.Set("Connection-Allowlist", v.page.Meta.CSP.ConnectionAllowlist())
	_, _ = io.WriteString(w, v.page.HTML)
}

// contentPolicy is the Content-Security-Policy of the page: the sources that the page
// declares, restricted to valid ones, and eval only with the compatible profile.
func (v *view) contentPolicy() string {
	return mcpapps.Policy{
		FrameAncestors: []string{v.frames.proxyOrigin(), v.frames.console},
		AllowEval:      v.profile == junctor.AppCompatible,
		OpaqueOrigin:   v.frames.isolation == junctor.IsolationOpaque,
		ReportURI:      v.reportPath(),
	}.HeaderValue(v.page.Meta.CSP)
}

// reportPath is the path at which browsers report violations of the policies.
func (v *view) reportPath() string { return "/r/" + v.id }

// maxReport bounds one violation report in bytes.
const maxReport = 64 << 10

// recordViolation adds a violation report of a browser to the View's log. Reports come
// from the person's browser without a credential, so their text is cut and never trusted.
func (h *Host) recordViolation(w http.ResponseWriter, r *http.Request, v *view) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReport))
	if err != nil {
		http.Error(w, "the report is too long", http.StatusRequestEntityTooLarge)
		return
	}
	var in struct {
		Report struct {
			Directive string `json:"effective-directive"`
			Violated  string `json:"violated-directive"`
			Blocked   string `json:"blocked-uri"`
			Document  string `json:"document-uri"`
			Source    string `json:"source-file"`
			Line      int    `json:"line-number"`
			Sample    string `json:"script-sample"`
		} `json:"csp-report"`
	}
	if json.Unmarshal(body, &in) != nil || in.Report.Directive+in.Report.Violated == "" {
		http.Error(w, "this is no report", http.StatusBadRequest)
		return
	}
	detail := map[string]any{"directive": clipText(in.Report.Directive + ""), "blocked": junctor.ShortenText(in.Report.Blocked, 2000), "document": junctor.ShortenText(in.Report.Document, 300)}
	if in.Report.Directive == "" {
		detail["directive"] = clipText(in.Report.Violated)
	}
	if in.Report.Line > 0 {
		detail["line"] = in.Report.Line
	}
	if in.Report.Sample != "" {
		detail["sample"] = clipText(in.Report.Sample)
	}
	h.addNote(v, sourceSandbox, kindViolation, "", detail)
	w.WriteHeader(http.StatusNoContent)
}
