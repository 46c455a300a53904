package signin

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// show shows the page: what to do with a link, who is signed in, or the ways to
// sign in. It changes nothing: whatever fetches a link ahead of the person does
// not use it up.
func (s *SignIn) show(w http.ResponseWriter, r *http.Request) {
	next := ours(r.URL.Query().Get("next"))
	if token := r.URL.Query().Get("token"); token != "" {
		s.render(w, r, http.StatusOK, page{Token: token, Next: next})
		return
	}
	if p, found, err := s.Authenticate(r); found && err == nil {
		s.render(w, r, http.StatusOK, page{Onward: next, Person: p.Name, Tenant: foreign(p.Tenant)})
		return
	}
	s.render(w, r, http.StatusOK, page{Next: next})
}

// foreign is a tenant's id where it is worth saying.
func foreign(t junctor.TenantID) string {
	if t == junctor.DefaultTenant {
		return ""
	}
	return string(t)
}

// enter signs in by a link or by a password.
func (s *SignIn) enter(w http.ResponseWriter, r *http.Request) {
	next := ours(r.PostForm.Get("next"))
	if token := r.PostForm.Get("token"); token != "" {
		cookie, _, err := s.Identity.UseLink(r.Context(), token)
		if junctor.CodeOf(err) == junctor.CodeNotFound {
			s.refuse(w, r, http.StatusUnauthorized, "This link is not valid any more: it was used, or its time has passed. “junctor login” makes a new one.")
			return
		}
		s.entered(w, r, cookie, next, err)
		return
	}
	name, password := r.PostForm.Get("name"), r.PostForm.Get("password")
	tenant, who := parseName(name)
	if wait, ok := s.countTry(r, tenant, who); !ok {
		w.Header().Set("Retry-After", strconv.FormatInt(seconds(wait), 10))
		s.render(w, r, http.StatusTooManyRequests, page{Name: name, Next: next, Alert: fmt.Sprintf("Too many tries. Wait %s and try again, or use a sign-in link.", span(seconds(wait)))})
		return
	}
	cookie, _, err := s.Identity.SignIn(r.Context(), tenant, who, password)
	if junctor.CodeOf(err) == junctor.CodeUnauthenticated {
		s.Log.WarnContext(r.Context(), "a sign-in by password failed", "from", s.Address(r).String())
		s.render(w, r, http.StatusUnauthorized, page{Name: name, Next: next, Alert: "This name and password do not go together."})
		return
	}
	s.entered(w, r, cookie, next, err)
}

// ours is an address to go on to, where it is a page of ours; "" else. What
// a link brings along must not lead a person elsewhere.
func ours(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\t\r\n") ||
		strings.HasPrefix(u.Path, "/login") || len(next) > maxNext {
		return ""
	}
	return next
}

const maxNext = 2000

// seconds is a time in whole seconds, and no less than it is.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

func span(seconds int64) string {
	if seconds == 1 {
		return "a second"
	}
	return strconv.FormatInt(seconds, 10) + " seconds"
}

// entered gives the browser its session. A page that goes on by itself, in
// place of a redirect: a browser that comes from another site would not show
// the new cookie to where it is redirected.
func (s *SignIn) entered(w http.ResponseWriter, r *http.Request, cookie, next string, err error) {
	if err != nil {
		s.fault(w, r, err)
		return
	}
	s.setCookie(w, r, sessionCookie, cookie, junctor.LoginLife, http.SameSiteStrictMode)
	s.render(w, r, http.StatusOK, page{Onward: cmp.Or(next, "/")})
}

// leave signs out.
func (s *SignIn) leave(w http.ResponseWriter, r *http.Request) {
	if cookie, found := s.cookie(r, sessionCookie); found {
		if p, err := s.Identity.Session(cookie); err == nil {
			if err := s.Identity.RevokeLogin(r.Context(), p.Tenant, p.Login); err != nil {
				s.fault(w, r, err)
				return
			}
		}
		s.setCookie(w, r, sessionCookie, "", 0, http.SameSiteStrictMode)
	}
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// refuse says why somebody is not let in.
func (s *SignIn) refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	s.render(w, r, status, page{Alert: why})
}

// fault says that something is wrong with us, and logs what.
func (s *SignIn) fault(w http.ResponseWriter, r *http.Request, err error) {
	s.Log.ErrorContext(r.Context(), "somebody could not sign in", "error", err, "cause", junctor.AsError(err).Cause)
	s.refuse(w, r, http.StatusServiceUnavailable, "Signing in does not work just now; the log of this instance says why. Try again in a moment.")
}
