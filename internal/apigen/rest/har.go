package rest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/junctor-mcp/junctor/internal/apigen/doc"
)

// readHAR is the Reader of HTTP archives, which browsers record.
func readHAR(_ context.Context, in *doc.Input) (*doc.Document, string) {
	root, problems := in.ParseTree()
	entries := root.Get("log").List("entries")
	if entries == nil {
		return nil, "it has no log.entries"
	}
	h := harReader{problems: problems, skipped: map[string]*doc.Problem{}, skippedCounts: map[string]int{}}
	var requests []*request
	title := ""
	for _, e := range entries {
		in.Meter().Spend(50)
		if r := h.readEntry(e); r != nil {
			requests = append(requests, r)
			_, title, _ = strings.Cut(r.base, "://")
		}
	}
	problems = h.allProblems()
	if len(requests) == 0 {
		return nil, "it records only pages and their files, no call of an API"
	}
	findPathParameters(requests)
	d := makeDocument(doc.HAR, title, requests, problems)
	d.Version = root.Get("log").Get("version").ScalarText()
	return d, ""
}

// harReader reads the entries of a recording.
type harReader struct {
	problems []doc.Problem
	// skipped has one problem for each kind of entries that are no calls of an
	// API.
	skipped map[string]*doc.Problem
	// skippedCounts counts the skipped entries by kind.
	skippedCounts map[string]int
}

// skipEntry counts an entry that is no call of an API. The first of a kind is
// reported with their number, since one page has hundreds.
func (h *harReader) skipEntry(e *doc.Node, kind, remedy string) {
	if h.skippedCounts[kind]++; h.skipped[kind] == nil {
		h.skipped[kind] = &doc.Problem{At: e.At, Severity: doc.Hint, Code: doc.UnreadEndpoint, Message: kind, Remedy: remedy}
	}
}

// allProblems returns the problems, with the counts of skipped entries filled
// in.
func (h *harReader) allProblems() []doc.Problem {
	for kind, p := range h.skipped {
		p.Message = fmt.Sprintf("No tool is made of %s: %d recorded, this is the first.", kind, h.skippedCounts[kind])
		h.problems = append(h.problems, *p)
	}
	slices.SortStableFunc(h.problems, func(a, b doc.Problem) int { return cmp.Compare(a.At.Line, b.At.Line) })
	return h.problems
}

// readEntry returns the request of an entry. It returns nil if the entry is for
// a page or an asset of one.
func (h *harReader) readEntry(e *doc.Node) *request {
	req, resp := e.Get("request"), e.Get("response")
	r := &request{method: normalizeMethod(req.Get("method").ScalarText()), at: e.At}
	media := baseMedia(resp.Get("content").Get("mimeType").ScalarText())
	url := req.Get("url").ScalarText()
	switch {
	case r.method == "" || url == "":
		h.problems = append(h.problems, doc.Problem{
			At: e.At, Severity: doc.Warning, Code: doc.Missing, Message: "this entry has no request with a method and a URL", Remedy: "remove it, or record the request again",
		})
		return nil
	case r.method == "OPTIONS" || r.method == "CONNECT":
		h.skipEntry(e, r.method+" requests, which browsers send by themselves", "Nothing has to be done.")
		return nil
	case isPageAsset(r.method, media):
		h.skipEntry(e, "requests for pages and their files", "Nothing has to be done.")
		return nil
	}
	r.setURL(url, false, e.At)
	if !strings.HasPrefix(r.base, "http") {
		h.skipEntry(e, "requests that are not HTTP", "Nothing has to be done.")
		return nil
	}
	r.nameIDs()
	for _, h := range req.List("headers") {
		// Other headers are those of the browser.
		if name := strings.ToLower(h.Get("name").ScalarText()); name == "authorization" || patterns().secretName.MatchString(name) {
			r.addParam(&r.headers, doc.InHeader, h.Get("name").ScalarText(), h.Get("value").ScalarText(), h.At)
		}
	}
	if post := req.Get("postData"); post != nil {
		p := &requestBody{media: baseMedia(post.Get("mimeType").ScalarText()), at: post.At}
		if list := post.List("params"); len(list) > 0 {
			for _, f := range list {
				p.fields = append(p.fields, requestField{name: f.Get("name").ScalarText(), shape: shapeOfValue(f.Get("value").ScalarText()), file: f.Get("fileName").ScalarText() != "", at: f.At})
			}
		} else {
			p.parseBody(post.Get("text").ScalarText(), false)
		}
		if p.media != "" {
			r.body = p
		}
	}
	if s := resp.Get("status"); s != nil {
		a := responseExample{status: s.Text, media: media}
		if strings.Contains(media, "json") {
			a.shape = shapeOfJSON(resp.Get("content").Get("text").ScalarText())
		}
		r.answers = append(r.answers, a)
	}
	return r
}

// baseMedia returns a media type in lower case, without parameters.
func baseMedia(s string) string {
	s, _, _ = strings.Cut(s, ";")
	return strings.ToLower(strings.TrimSpace(s))
}

// isPageAsset reports whether an answer is a page or an asset of one, such as a
// script or an image.
func isPageAsset(method, media string) bool {
	if method != "GET" && method != "HEAD" {
		return false
	}
	for _, prefix := range []string{"text/html", "text/css", "text/javascript", "application/javascript", "application/x-javascript", "image/", "font/", "audio/", "video/", "application/font", "application/wasm", "application/manifest"} {
		if strings.HasPrefix(media, prefix) {
			return true
		}
	}
	return false
}

// findPathParameters turns segments into parameters if they have many different
// values among requests that are otherwise equal. It changes the requests.
func findPathParameters(requests []*request) {
	// Fewer values could be names of different endpoints.
	const many = 5
	values := map[string]map[string]bool{}
	where := func(r *request, i int) string {
		var b strings.Builder
		b.WriteString(r.method + " " + r.base)
		for j, s := range r.path {
			if j == i {
				b.WriteString("/*")
			} else {
				b.WriteString("/" + s.text)
			}
		}
		return b.String()
	}
	requests = slices.DeleteFunc(slices.Clone(requests), func(r *request) bool { return len(r.path) > maxSegments })
	for _, r := range requests {
		for i, s := range r.path {
			if len(s.params) == 0 {
				at := where(r, i)
				if values[at] == nil {
					values[at] = map[string]bool{}
				}
				values[at][s.text] = true
			}
		}
	}
	for _, r := range requests {
		for i, s := range r.path {
			if len(s.params) == 0 && i > 0 && len(values[where(r, i)]) >= many {
				r.setPathParam(i, idName(r.path[i-1].text), "string")
			}
		}
	}
}
