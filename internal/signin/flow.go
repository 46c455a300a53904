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

// flowLife is how long a person may take at the identity provider.
const flowLife = 10 * time.Minute

const sealedFlow = "oidc"

// flow is what has to come back from the identity provider, or be known when it
// does. The browser that began holds it, sealed, so that a code is good in that
// browser only, whichever replica it comes to.
type flow struct {
	Issuer   string `json:"issuer"`
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
	Until    int64  `json:"until"` // in microseconds
	Next     string `json:"next,omitempty"`
}

// callback is where the identity provider sends people back to.
func (s *SignIn) callback() string { return s.URL() + "/login/callback" }

// home says whether a request is to the address where people reach the instance.
func (s *SignIn) home(r *http.Request) bool {
	u, err := url.Parse(s.URL())
	return err != nil || strings.EqualFold(u.Host, r.Host)
}

// depart sends a person to the identity provider.
func (s *SignIn) depart(w http.ResponseWriter, r *http.Request) {
	if !sameOrigin(r) {
		s.refuse(w, r, http.StatusForbidden, "Another site sent you here. Choose how to sign in yourself.")
		return
	}
	// People come back to one address, and the cookie has to be there.
	if !s.home(r) {
		to := s.URL() + "/login"
		if next := ours(r.URL.Query().Get("next")); next != "" {
			to += "?" + url.Values{"next": {next}}.Encode()
		}
		http.Redirect(w, r, to, http.StatusSeeOther)
		return
	}
	d, err := s.Provider.discover(r.Context())
	if err != nil {
		s.absent(w, r, err)
		return
	}
	c, err := s.Provider.oauth(r.Context(), d, s.callback())
	switch {
	case junctor.CodeOf(err) == junctor.CodeUnavailable:
		s.absent(w, r, err)
		return
	case err != nil:
		s.fault(w, r, err)
		return
	}
	f := flow{
		Issuer: s.Provider.cfg.Issuer, State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Until: s.Now().Add(flowLife).UnixMicro(),
		Next: ours(r.URL.Query().Get("next")),
	}
	text, err := json.Marshal(f)
	if err != nil {
		s.fault(w, r, err)
		return
	}
	// The provider's page is of another site: on the way back only a lax cookie
	// is shown.
	s.setCookie(w, r, flowCookie, s.Sealer.Seal(sealedFlow, text), flowLife, http.SameSiteLaxMode)
	http.Redirect(w, r, c.AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)), http.StatusSeeOther)
}

// arrive takes a person back from the identity provider.
func (s *SignIn) arrive(w http.ResponseWriter, r *http.Request) {
	sealed, _ := s.cookie(r, flowCookie)
	s.setCookie(w, r, flowCookie, "", 0, http.SameSiteLaxMode)
	f, err := s.resume(r.Context(), sealed, r.URL.Query())
	if err == nil {
		var c identity.Claims
		if c, err = s.Provider.exchange(r.Context(), s.callback(), r.URL.Query().Get("code"), f.Verifier, f.Nonce); err == nil {
			var u junctor.User
			if u, err = s.Identity.Admit(r.Context(), s.Provider.cfg.Admission, c); err == nil {
				cookie, _, err := s.Identity.CreateLogin(r.Context(), u.Tenant, u.ID, s.Provider.cfg.Issuer)
				s.entered(w, r, cookie, f.Next, err)
				return
			}
		}
	}
	switch e := junctor.AsError(err); e.Code {
	case junctor.CodeUnavailable:
		s.absent(w, r, err)
	case junctor.CodeDenied, junctor.CodeInvalid, junctor.CodeUnauthenticated:
		s.Log.WarnContext(r.Context(), "a sign-in by the identity provider failed", "issuer", s.Provider.cfg.Issuer, "why", e.Message)
		s.refuse(w, r, http.StatusForbidden, e.Message)
	default:
		s.fault(w, r, err)
	}
}

// resume finds the flow that an answer belongs to. Each is good for one answer.
func (s *SignIn) resume(ctx context.Context, sealed string, answer url.Values) (flow, error) {
	again := func(why string) (flow, error) {
		return flow{}, junctor.Errorf(junctor.CodeInvalid, "%s Go back to the sign-in page and try again.", why)
	}
	var f flow
	text, err := s.Sealer.Open(sealedFlow, sealed)
	if err != nil || json.Unmarshal(text, &f) != nil {
		return again("This browser did not begin this sign-in, or too long ago.")
	}
	d, err := s.Provider.discover(ctx)
	if err != nil {
		return flow{}, err
	}
	issuer, until := answer["iss"], time.UnixMicro(f.Until)
	switch {
	case !same(answer.Get("state"), f.State), !s.Now().Before(until):
		return again("This browser did not begin this sign-in, or too long ago.")
	case f.Issuer != s.Provider.cfg.Issuer, len(issuer) > 0 && issuer[0] != f.Issuer, len(issuer) > 1, len(issuer) == 0 && d.saysIssuer:
		return again("The answer is from another identity provider.")
	case answer.Get("error") != "":
		return again("The identity provider did not let you in (" + word(answer.Get("error")) + ").")
	case answer.Get("code") == "":
		return again("The identity provider gave no answer.")
	}
	first, err := s.UseState(ctx, "oidc:"+f.State, until)
	if err != nil {
		return flow{}, err
	}
	if !first {
		return again("This sign-in was finished already.")
	}
	return f, nil
}

// absent says that the identity provider does not do its part.
func (s *SignIn) absent(w http.ResponseWriter, r *http.Request, err error) {
	e := junctor.AsError(err)
	s.Log.ErrorContext(r.Context(), "the identity provider cannot be used", "error", e.Message, "cause", e.Cause)
	s.refuse(w, r, http.StatusBadGateway, "The identity provider cannot be used just now; the log of this instance says why. Try again in a moment, or sign in another way.")
}

// same compares in a time that says nothing of where two texts differ. Nothing
// is the same as an empty one.
func same(a, b string) bool {
	return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}
