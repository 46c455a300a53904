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

// showLoginPage handles GET /login. It shows the confirmation of a link, who is signed in,
// or the ways to sign in. It changes nothing, so that a mail scanner which fetches a link
// does not use it up.
func (s *SignIn) showLoginPage(w http.ResponseWriter, r *http.Request) {
	next := localPath(r.URL.Query().Get("next"))
	if token := r.URL.Query().Get("token"); token != "" {
		s.renderPage(w, r, http.StatusOK, pageData{Token: token, Next: next})
		return
	}
	if p, found, err := s.Authenticate(r); found && err == nil {
		s.renderPage(w, r, http.StatusOK, pageData{ContinueTo: next, SignedInName: p.Name, Tenant: tenantLabel(p.Tenant)})
		return
	}
	s.renderPage(w, r, http.StatusOK, pageData{Next: next})
}

// tenantLabel returns a tenant's id for the page; "" for the default tenant.
func tenantLabel(t junctor.TenantID) string {
	if t == junctor.DefaultTenant {
		return ""
	}
	return string(t)
}

// submitLogin handles POST /login: it signs in by a link or by a password.
func (s *SignIn) submitLogin(w http.ResponseWriter, r *http.Request) {
	next := localPath(r.PostForm.Get("next"))
	if token := r.PostForm.Get("token"); token != "" {
		cookie, _, err := s.Identity.UseLink(r.Context(), token)
		if junctor.CodeOf(err) == junctor.CodeNotFound {
			s.renderRefusal(w, r, http.StatusUnauthorized, "This link is no longer valid: it was used, or it has expired. Run “junctor login” for a new one.")
			return
		}
		s.finishSignIn(w, r, cookie, next, err)
		return
	}
	name, password := r.PostForm.Get("name"), r.PostForm.Get("password")
	tenant, who := parseName(name)
	if wait, ok := s.countTry(r, tenant, who); !ok {
		w.Header().Set("Retry-After", strconv.FormatInt(roundUpSeconds(wait), 10))
		s.renderPage(w, r, http.StatusTooManyRequests, pageData{TypedName: name, Next: next, Alert: fmt.Sprintf("Too many attempts. Wait %s, then try again, or use a sign-in link.", formatSeconds(roundUpSeconds(wait)))})
		return
	}
	cookie, _, err := s.Identity.SignIn(r.Context(), tenant, who, password)
	if junctor.CodeOf(err) == junctor.CodeUnauthenticated {
		s.Log.WarnContext(r.Context(), "password sign-in failed", "from", s.Address(r).String())
		s.renderPage(w, r, http.StatusUnauthorized, pageData{TypedName: name, Next: next, Alert: "The name or the password is not correct."})
		return
	}
	s.finishSignIn(w, r, cookie, next, err)
}

// localPath returns next if it is a path of this instance, and "" otherwise: a link must
// not send a user to another site after signing in.
func localPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\t\r\n") ||
		strings.HasPrefix(u.Path, "/login") || len(next) > maxNext {
		return ""
	}
	return next
}

// maxNext bounds the path that a user continues to after signing in.
const maxNext = 2000

// roundUpSeconds returns a duration in whole seconds, rounded up.
func roundUpSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// formatSeconds returns a number of seconds for messages.
func formatSeconds(seconds int64) string {
	if seconds == 1 {
		return "a second"
	}
	return strconv.FormatInt(seconds, 10) + " seconds"
}

// finishSignIn sets the session cookie and shows a page that continues to next. It does
// not redirect: after a visit to another site, a browser would not send the new strict
// cookie to the target of a redirect.
func (s *SignIn) finishSignIn(w http.ResponseWriter, r *http.Request, cookie, next string, err error) {
	if err != nil {
		s.renderFault(w, r, err)
		return
	}
	s.setCookie(w, r, sessionCookie, cookie, junctor.LoginLife, http.SameSiteStrictMode)
	s.renderPage(w, r, http.StatusOK, pageData{ContinueTo: cmp.Or(next, "/")})
}

// signOut handles POST /logout.
func (s *SignIn) signOut(w http.ResponseWriter, r *http.Request) {
	if cookie, found := s.readCookie(r, sessionCookie); found {
		if p, err := s.Identity.AuthenticateCookie(cookie); err == nil {
			if err := s.Identity.RevokeLogin(r.Context(), p.Tenant, p.Login); err != nil {
				s.renderFault(w, r, err)
				return
			}
		}
		s.setCookie(w, r, sessionCookie, "", 0, http.SameSiteStrictMode)
	}
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// renderRefusal shows the sign-in page with a message.
func (s *SignIn) renderRefusal(w http.ResponseWriter, r *http.Request, status int, why string) {
	s.renderPage(w, r, status, pageData{Alert: why})
}

// renderFault logs an internal error and shows a page without its details.
func (s *SignIn) renderFault(w http.ResponseWriter, r *http.Request, err error) {
	s.Log.ErrorContext(r.Context(), "sign-in failed with an internal error", "error", err, "cause", junctor.AsError(err).Cause)
	s.renderRefusal(w, r, http.StatusServiceUnavailable, "Sign-in is unavailable; the log of this instance has the reason. Try again in a moment.")
}
