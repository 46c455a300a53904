package signin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/identity"
)

// flowLife is how long a user may take at the identity provider.
const flowLife = 10 * time.Minute

// flowPurpose is the purpose of a sealed flow.
const flowPurpose = "oidc"

// oidcFlow is the state of a sign-in at the identity provider. The browser that began it
// holds it, sealed, so that a code is valid in that browser only, whichever replica it
// returns to.
type oidcFlow struct {
	Issuer   string `json:"issuer"`
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
	Until    int64  `json:"until"` // in microseconds
	Next     string `json:"next,omitempty"`
}

// callbackURL returns the address to which the identity provider sends users back.
func (s *SignIn) callbackURL() string { return s.URL() + "/login/callback" }

// isHomeAddress reports whether a request is to the address at which users reach the
// instance.
func (s *SignIn) isHomeAddress(r *http.Request) bool {
	u, err := url.Parse(s.URL())
	return err != nil || strings.EqualFold(u.Host, r.Host)
}

// startOIDC handles GET /login/oidc: it sends the user to the identity provider.
func (s *SignIn) startOIDC(w http.ResponseWriter, r *http.Request) {
	if !sameOrigin(r) {
		s.renderRefusal(w, r, http.StatusForbidden, "Another site sent this request. Open the sign-in page, and choose how to sign in.")
		return
	}
	// People come back to one address, and the cookie has to be there.
	if !s.isHomeAddress(r) {
		to := s.URL() + "/login"
		if next := localPath(r.URL.Query().Get("next")); next != "" {
			to += "?" + url.Values{"next": {next}}.Encode()
		}
		http.Redirect(w, r, to, http.StatusSeeOther)
		return
	}
	d, err := s.Provider.discoverEndpoints(r.Context())
	if err != nil {
		s.renderProviderError(w, r, err)
		return
	}
	c, err := s.Provider.oauthConfig(r.Context(), d, s.callbackURL())
	switch {
	case junctor.CodeOf(err) == junctor.CodeUnavailable:
		s.renderProviderError(w, r, err)
		return
	case err != nil:
		s.renderFault(w, r, err)
		return
	}
	f := oidcFlow{
		Issuer: s.Provider.config.Issuer, State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Until: s.Now().Add(flowLife).UnixMicro(),
		Next: localPath(r.URL.Query().Get("next")),
	}
	text, err := json.Marshal(f)
	if err != nil {
		s.renderFault(w, r, err)
		return
	}
	// The provider's page is of another site: on the way back only a lax cookie
	// is shown.
	s.setCookie(w, r, flowCookie, s.Sealer.Seal(flowPurpose, text), flowLife, http.SameSiteLaxMode)
	http.Redirect(w, r, c.AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)), http.StatusSeeOther)
}

// finishOIDC handles GET /login/callback: it takes the user back from the identity
// provider, exchanges the code, admits the user and signs in.
func (s *SignIn) finishOIDC(w http.ResponseWriter, r *http.Request) {
	sealed, _ := s.readCookie(r, flowCookie)
	s.setCookie(w, r, flowCookie, "", 0, http.SameSiteLaxMode)
	f, err := s.resumeFlow(r.Context(), sealed, r.URL.Query())
	if err == nil {
		var c identity.Claims
		if c, err = s.Provider.exchangeCode(r.Context(), s.callbackURL(), r.URL.Query().Get("code"), f.Verifier, f.Nonce); err == nil {
			var u junctor.User
			if u, err = s.Identity.AdmitUser(r.Context(), s.Provider.config.AdmissionPolicy, c); err == nil {
				cookie, _, err := s.Identity.CreateLogin(r.Context(), u.Tenant, u.ID, s.Provider.config.Issuer)
				s.finishSignIn(w, r, cookie, f.Next, err)
				return
			}
		}
	}
	switch e := junctor.AsError(err); e.Code {
	case junctor.CodeUnavailable:
		s.renderProviderError(w, r, err)
	case junctor.CodeDenied, junctor.CodeInvalid, junctor.CodeUnauthenticated:
		s.Log.WarnContext(r.Context(), "identity provider sign-in failed", "issuer", s.Provider.config.Issuer, "reason", e.Message)
		s.renderRefusal(w, r, http.StatusForbidden, e.Message)
	default:
		s.renderFault(w, r, err)
	}
}

// resumeFlow returns the flow that an answer of the identity provider belongs to, and
// refuses answers of another browser, provider or time. Each flow is valid for one answer.
func (s *SignIn) resumeFlow(ctx context.Context, sealed string, answer url.Values) (oidcFlow, error) {
	again := func(why string) (oidcFlow, error) {
		return oidcFlow{}, junctor.Errorf(junctor.CodeInvalid, "%s Go back to the sign-in page and try again.", why)
	}
	var f oidcFlow
	text, err := s.Sealer.Open(flowPurpose, sealed)
	if err != nil || json.Unmarshal(text, &f) != nil {
		return again("This sign-in was started in another browser, or it has expired.")
	}
	d, err := s.Provider.discoverEndpoints(ctx)
	if err != nil {
		return oidcFlow{}, err
	}
	issuer, until := answer["iss"], time.UnixMicro(f.Until)
	switch {
	case !equalSecrets(answer.Get("state"), f.State), !s.Now().Before(until):
		return again("This sign-in was started in another browser, or it has expired.")
	case f.Issuer != s.Provider.config.Issuer, len(issuer) > 0 && issuer[0] != f.Issuer, len(issuer) > 1, len(issuer) == 0 && d.namesIssuer:
		return again("The response is from another identity provider.")
	case answer.Get("error") != "":
		return again("The identity provider rejected the sign-in (" + sanitizeErrorCode(answer.Get("error")) + ").")
	case answer.Get("code") == "":
		return again("The response of the identity provider has no code.")
	}
	first, err := s.UseState(ctx, "oidc:"+f.State, until)
	if err != nil {
		return oidcFlow{}, err
	}
	if !first {
		return again("This sign-in is already complete.")
	}
	return f, nil
}

// renderProviderError logs why the identity provider cannot be used and shows a page
// without the details.
func (s *SignIn) renderProviderError(w http.ResponseWriter, r *http.Request, err error) {
	e := junctor.AsError(err)
	s.Log.ErrorContext(r.Context(), "identity provider is unavailable", "error", e.Message, "cause", e.Cause)
	s.renderRefusal(w, r, http.StatusBadGateway, "The identity provider is unavailable; the log of this instance has the reason. Try again in a moment, or sign in another way.")
}

// equalSecrets compares two texts in constant time. An empty text equals nothing.
func equalSecrets(a, b string) bool {
	return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}
