package signin

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"

	"github.com/junctor-mcp/junctor/internal/authority"
)

//go:embed page.css
var style string

//go:embed page.html
var markup string

// page is what the page shows: a program's question, logging in to a server, or the first of Onward, Token, Person, and else the
// ways to sign in.
type page struct {
	Alert  string // what went wrong
	Onward string // where to go on to
	Token  string // of a link, to be confirmed
	Person string // who is signed in
	Tenant string
	Name   string // what was typed
	Next   string // where to go on to once signed in; "" is the console

	// Of logging in to a server, before all these.
	About     string // what a link is for, with Ticket and Server
	Ticket    string
	Server    string
	Away      string // where the browser goes on to
	Again     string // where to come back to, once signed in
	Connected string // the server that was logged in to
	Trouble   string // why it was not
	Paste     bool   // the answer belongs into a terminal

	// Of a program that wants to act for a person, before all these.
	Ask    *authority.Question
	Wrong  string       // why it cannot be asked
	Return template.URL // where a program waits; it was judged
	SentTo string       // to whom that leads

	Provider string // what the identity provider is called; "" where there is none
	Style    template.CSS
}

func (s *SignIn) render(w http.ResponseWriter, r *http.Request, status int, p page) {
	if s.Provider != nil {
		p.Provider = s.Provider.Name()
	}
	p.Style = template.CSS(style) //nolint:gosec // our own file
	t, err := template.New("page").Parse(markup)
	var body bytes.Buffer
	if err == nil {
		err = t.Execute(&body, p)
	}
	if err != nil {
		s.Log.ErrorContext(r.Context(), "the sign-in page cannot be made", "error", err)
		http.Error(w, "the sign-in page cannot be made", http.StatusInternalServerError)
		return
	}
	sum := sha256.Sum256([]byte(style))
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+
		"'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	// Nothing of the address leaves the origin. A stricter policy would take the
	// Origin off the forms, and they would be refused.
	h.Set("Referrer-Policy", "same-origin")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body.Bytes())
	}
}
