package signin

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"

	oauthserver "github.com/junctor-mcp/junctor/internal/oauth/server"
)

//go:embed page.css
var pageStyle string

//go:embed page.html
var pageTemplate string

// pageData is the input of page.html. The page shows the first part that is set: a
// client's question, then logging in to a server, then ContinueTo, Token and
// SignedInName, and otherwise the ways to sign in.
type pageData struct {
	Alert        string // why signing in failed
	ContinueTo   string // path to which the browser continues by itself
	Token        string // of a link, to be confirmed
	SignedInName string // name of the user who is signed in
	Tenant       string // id of the user's tenant, unless it is the default one
	TypedName    string // name that the user typed, to fill the form again
	Next         string // path to continue to after signing in; "" is the console

	// Logging in to a server. These have precedence over the members above.

	ConnectPurpose    string // what a link is for, with Ticket and Server
	Ticket            string
	Server            string
	RedirectTo        string // address to which the browser continues by itself
	RetryPath         string // path to come back to after signing in
	ConnectedServer   string // the server to which the user is logged in now
	ConnectError      string // why the login failed
	PasteIntoTerminal bool   // the address of this page has to be pasted into a terminal

	// Consent to an OAuth client. These have precedence over all others.

	Question     *oauthserver.ConsentPrompt
	ConsentError string       // why the client's request was refused
	ClientURL    template.URL // where the client waits; the authority has judged it
	SentTo       string       // the host of ClientURL, for the user to see

	Provider string // name of the identity provider; "" if there is none
	Style    template.CSS
}

// renderPage writes the page. Its policy allows no script and only the embedded style, by
// its hash.
func (s *SignIn) renderPage(w http.ResponseWriter, r *http.Request, status int, p pageData) {
	if s.Provider != nil {
		p.Provider = s.Provider.Name()
	}
	p.Style = template.CSS(pageStyle) //nolint:gosec // our own file
	t, err := template.New("page").Parse(pageTemplate)
	var body bytes.Buffer
	if err == nil {
		err = t.Execute(&body, p)
	}
	if err != nil {
		s.Log.ErrorContext(r.Context(), "cannot render the sign-in page", "error", err)
		http.Error(w, "cannot render the sign-in page", http.StatusInternalServerError)
		return
	}
	sum := sha256.Sum256([]byte(pageStyle))
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
