package signin

import (
	"context"
	"errors"
	"html/template"
	"net/http"
	"net/url"

	junctor "github.com/junctor-mcp/junctor"
	oauthserver "github.com/junctor-mcp/junctor/internal/oauth/server"
)

// Authority lets OAuth clients act for users who consent. It has judged every address that
// it returns. internal/oauth/server implements it.
type Authority interface {
	// PromptConsent returns the question to the user: what a client wants to do.
	PromptConsent(ctx context.Context, p *junctor.Principal, request url.Values) (*oauthserver.ConsentPrompt, error)
	// AnswerConsent takes the user's answer and returns the address to which the browser goes
	// back.
	AnswerConsent(ctx context.Context, p *junctor.Principal, sealed string, yes bool) (back string, err error)
}

// registerConsentRoutes registers the page that asks for consent.
func (s *SignIn) registerConsentRoutes(mux junctor.Mux) {
	mux.HandleFunc("GET "+oauthserver.AuthorizePath, s.showConsentPage)
	mux.HandleFunc("POST "+oauthserver.AuthorizePath, s.requireOwnForm(s.submitConsent))
}

// showConsentPage asks a user whether an OAuth client may act for them. Nothing is looked
// up before the user is known. A browser that comes from another site withholds the
// cookie, so the page reloads itself once with here=1. Clients use the address at which
// they reach the instance; users sign in at that of the console.
func (s *SignIn) showConsentPage(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	here := query.Has("here")
	query.Del("here")
	again := oauthserver.AuthorizePath + "?" + query.Encode()
	p := s.signedInUser(r)
	switch {
	case len(again) > maxNext:
		s.renderPage(w, r, http.StatusBadRequest, pageData{ConsentError: "The authorization request of the client is too long."})
		return
	case !s.isHomeAddress(r):
		http.Redirect(w, r, s.URL()+again, http.StatusSeeOther) //nolint:gosec // the same instance
		return
	case p == nil && !here:
		s.renderPage(w, r, http.StatusOK, pageData{RedirectTo: again + "&here=1"})
		return
	case p == nil:
		http.Redirect(w, r, "/login?"+url.Values{"next": {again}}.Encode(), http.StatusSeeOther)
		return
	}
	q, err := s.Authority.PromptConsent(r.Context(), p, query)
	if err != nil {
		s.renderConsentError(w, r, err)
		return
	}
	if q.RedirectURL != "" {
		http.Redirect(w, r, q.RedirectURL, http.StatusSeeOther) //nolint:gosec // an address of the program that the person knows
		return
	}
	s.renderPage(w, r, http.StatusOK, pageData{Question: q, SignedInName: p.Name, Tenant: tenantLabel(p.Tenant)})
}

// submitConsent takes the user's answer. The browser continues by a page, because the
// content security policy does not let a form lead to another site.
func (s *SignIn) submitConsent(w http.ResponseWriter, r *http.Request) {
	p := s.signedInUser(r)
	if p == nil {
		s.renderPage(w, r, http.StatusUnauthorized, pageData{ConsentError: "You are no longer signed in. Go back to the client, and start again."})
		return
	}
	back, err := s.Authority.AnswerConsent(r.Context(), p, r.PostForm.Get("question"), r.PostForm.Get("answer") == "yes")
	if err != nil {
		s.renderConsentError(w, r, err)
		return
	}
	s.renderPage(w, r, http.StatusOK, pageData{ClientURL: template.URL(back)}) //nolint:gosec // judged by the authority
}

// renderConsentError shows why a client gets no answer.
func (s *SignIn) renderConsentError(w http.ResponseWriter, r *http.Request, err error) {
	if t, ok := errors.AsType[*oauthserver.RequestError](err); ok {
		s.renderPage(w, r, http.StatusBadRequest, pageData{ConsentError: "The authorization request of the client is invalid: " + t.Text + ".", ClientURL: template.URL(t.RedirectURL), SentTo: t.SentTo}) //nolint:gosec // as above
		return
	}
	e := junctor.AsError(err)
	if e.Code != junctor.CodeInvalid {
		s.renderFault(w, r, err)
		return
	}
	s.Log.WarnContext(r.Context(), "OAuth authorization request refused", "reason", e.Message)
	s.renderPage(w, r, http.StatusBadRequest, pageData{ConsentError: e.Message})
}
