package signin

import (
	"context"
	"errors"
	"html/template"
	"net/http"
	"net/url"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/authority"
)

// Authority lets programs act for people who consent. What it says of where a
// browser goes it has judged.
type Authority interface {
	// Ask says what a program wants of a person.
	Ask(ctx context.Context, p *junctor.Principal, request url.Values) (*authority.Question, error)
	// Answer takes what the person said, and gives the address that the browser
	// goes back to.
	Answer(ctx context.Context, p *junctor.Principal, sealed string, yes bool) (back string, err error)
}

func (s *SignIn) consentRoutes(mux Mux) {
	mux.HandleFunc("GET "+authority.AuthorizePath, s.ask)
	mux.HandleFunc("POST "+authority.AuthorizePath, s.own(s.answer))
}

// ask asks a person whether a program may act for them. Nothing is looked up
// before it is known who they are. A page elsewhere that led here keeps the
// cookie back, so the page leads once to itself. Programs want the page at the
// address where they reach us; people sign in at the console's.
func (s *SignIn) ask(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	here := query.Has("here")
	query.Del("here")
	again := authority.AuthorizePath + "?" + query.Encode()
	p := s.person(r)
	switch {
	case len(again) > maxNext:
		s.render(w, r, http.StatusBadRequest, page{Wrong: "The address that the program made is too long."})
		return
	case !s.home(r):
		http.Redirect(w, r, s.URL()+again, http.StatusSeeOther) //nolint:gosec // the same instance
		return
	case p == nil && !here:
		s.render(w, r, http.StatusOK, page{Away: again + "&here=1"})
		return
	case p == nil:
		http.Redirect(w, r, "/login?"+url.Values{"next": {again}}.Encode(), http.StatusSeeOther)
		return
	}
	q, err := s.Authority.Ask(r.Context(), p, query)
	if err != nil {
		s.unasked(w, r, err)
		return
	}
	if q.Back != "" {
		http.Redirect(w, r, q.Back, http.StatusSeeOther) //nolint:gosec // an address of the program that the person knows
		return
	}
	s.render(w, r, http.StatusOK, page{Ask: q, Person: p.Name, Tenant: foreign(p.Tenant)})
}

// answer takes what a person said. The browser goes on by a page: forms may not
// lead to another site.
func (s *SignIn) answer(w http.ResponseWriter, r *http.Request) {
	p := s.person(r)
	if p == nil {
		s.render(w, r, http.StatusUnauthorized, page{Wrong: "You are not signed in any more. Go back to the program, and begin again."})
		return
	}
	back, err := s.Authority.Answer(r.Context(), p, r.PostForm.Get("question"), r.PostForm.Get("answer") == "yes")
	if err != nil {
		s.unasked(w, r, err)
		return
	}
	s.render(w, r, http.StatusOK, page{Return: template.URL(back)}) //nolint:gosec // judged by the authority
}

// unasked says why a program does not get an answer.
func (s *SignIn) unasked(w http.ResponseWriter, r *http.Request, err error) {
	if t, ok := errors.AsType[*authority.RequestError](err); ok {
		s.render(w, r, http.StatusBadRequest, page{Wrong: "The program asked for something that cannot be: " + t.Text + ".", Return: template.URL(t.Back), SentTo: t.SentTo}) //nolint:gosec // as above
		return
	}
	e := junctor.AsError(err)
	if e.Code != junctor.CodeInvalid {
		s.fault(w, r, err)
		return
	}
	s.Log.WarnContext(r.Context(), "a program that wants to act for somebody was refused", "why", e.Message)
	s.render(w, r, http.StatusBadRequest, page{Wrong: e.Message})
}
