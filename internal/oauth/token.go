package oauth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// The shortest and the longest that an access token is used without being
// renewed, whatever its server says. A life shorter than a call would have each
// call renew it.
const (
	minLife = 30 * time.Second
	maxLife = 30 * 24 * time.Hour
)

// asked is a request at a token endpoint.
type asked struct {
	step     string
	at       Endpoints
	client   *Registered
	resource string // "" is none
	form     url.Values
}

// got is what a token endpoint answered.
type got struct {
	Access  string          `json:"access_token"`
	Type    string          `json:"token_type"`
	Refresh string          `json:"refresh_token"`
	Issued  string          `json:"issued_token_type"`
	Scope   string          `json:"scope"`
	Expires json.RawMessage `json:"expires_in"`
	problem
}

// ask asks for a token. Of an error, refused says that the authorization server
// will not give one for this, ever.
func (r *run) ask(ctx context.Context, q asked) (token Token, refused bool, err error) {
	form := url.Values{}
	maps.Copy(form, q.form)
	if q.resource != "" {
		form.Set("resource", q.resource)
	}
	header := http.Header{}
	if err := r.prove(q.client, q.at, form, header); err != nil {
		return Token{}, false, r.failed(r.step(q.step), junctor.CodeInvalid, junctor.AsError(err).Message, "enter the client's private key again, in the server's auth")
	}
	s, a := r.post(ctx, q.step, q.at.Token, form, header)
	var g got
	parsed := json.Unmarshal(a.body, &g)
	if a.err == nil && a.ok() && parsed == nil && g.Access != "" {
		if !strings.EqualFold(g.Type, "bearer") && g.Type != "" && g.Issued == "" {
			return Token{}, false, r.failed(s, junctor.CodeUpstream, "the token is of the type "+clip(g.Type)+", which is not spoken here", "tell the operator of the authorization server: bearer tokens are")
		}
		token = g.token(r.c.Now())
		r.passed(s, "a token"+life(token, r.c.Now()))
		return token, false, nil
	}
	refused, err = r.refusal(s, q, a, g.problem)
	return Token{}, refused, err
}

func life(t Token, now time.Time) string {
	text := ", for a time that is not said"
	if !t.Expires.IsZero() {
		text = " for " + t.Expires.Sub(now).Round(time.Second).String()
	}
	if t.Refresh != "" {
		text += ", and one to renew it with"
	}
	return text
}

func (g *got) token(now time.Time) Token {
	t := Token{Access: g.Access, Refresh: g.Refresh, Scopes: strings.Fields(g.Scope), Got: now}
	var seconds json.Number
	if json.Unmarshal(g.Expires, &seconds) == nil { // some write it as a text
		if n, err := seconds.Float64(); err == nil && n > 0 {
			t.Expires = now.Add(max(junctor.BoundDuration(n, time.Second, maxLife), minLife))
		}
	}
	return t
}

// refusal names the cause of an answer that has no token.
func (r *run) refusal(s *junctor.TraceStep, q asked, a answer, p problem) (refused bool, err error) {
	if a.err == nil && a.status/100 == 4 && a.skew != 0 {
		return false, r.failed(s, junctor.CodeUpstream, fmt.Sprintf("refused (HTTP %d%s), and the clock of the authorization server is %s %s ours: it takes what we send for too old or too new",
			a.status, p.said(), a.skew.Abs(), beside(a.skew)), "set the clock of this machine, or have that of the authorization server set")
	}
	switch {
	case a.err != nil:
		return false, r.failed(s, junctor.CodeOf(a.err), "no answer: "+junctor.AsError(a.err).Message, "try again; check that the authorization server can be reached from here")
	case a.status >= 500:
		return false, r.failed(s, junctor.CodeUnavailable, fmt.Sprintf("the authorization server failed with HTTP %d%s", a.status, p.said()), "try again later, or tell its operator")
	case a.status == http.StatusTooManyRequests:
		return false, r.failed(s, junctor.CodeUnavailable, "the authorization server takes no more requests for now", "try again later")
	case p.Error == "invalid_client" || p.Error == "unauthorized_client" || p.Error == "" && (a.status == http.StatusUnauthorized || a.status == http.StatusForbidden):
		return false, r.failed(s, junctor.CodeUnauthenticated, "it does not know the client "+q.client.ID+", or not by this proof"+p.said(), "check client_id and secret in the server's auth, or log in again to register anew")
	case p.Error == "invalid_grant":
		what, remedy := ended(q.form.Get("grant_type"))
		return true, r.failed(s, junctor.CodeUnauthenticated, what+p.said(), remedy)
	case p.Error == "invalid_scope":
		return true, r.failed(s, junctor.CodeUnauthenticated, "it does not give these rights"+p.said(), "change the scope in the server's auth, and log in again")
	case p.Error == "invalid_target":
		return true, r.failed(s, junctor.CodeUnauthenticated, "it gives no tokens for the server "+q.resource+p.said(), "tell the server's operator, who named this authorization server")
	case p.Error != "":
		return a.status/100 == 4, r.failed(s, junctor.CodeUpstream, fmt.Sprintf("it answered with HTTP %d%s", a.status, p.said()), "tell the operator of the authorization server")
	}
	return false, r.failed(s, junctor.CodeUpstream, fmt.Sprintf("it answered with HTTP %d and no token", a.status), "tell the operator of the authorization server")
}

// ended says what is no longer taken, and what to do then.
func ended(grant string) (what, remedy string) {
	switch grant {
	case "authorization_code":
		return "the code is not taken: it has expired, or was used before", "log in again"
	case "refresh_token":
		return "the refresh token is not taken any more: the login has ended or was revoked", "log in again"
	case grantAssertion:
		return "the assertion is not taken: it has expired, or is not for this authorization server", "check the subject in the server's auth, and whether who issued it is trusted there"
	}
	return "the token is not taken in exchange: it has expired, or may not be exchanged here", "check the subject in the server's auth, and whether who issued it is trusted there"
}

func beside(skew time.Duration) string {
	if skew > 0 {
		return "before"
	}
	return "behind"
}

// prove adds what proves the client to a request.
func (r *run) prove(c *Registered, at Endpoints, form url.Values, header http.Header) error {
	if c.Secret != "" {
		r.secrets = append(r.secrets, c.Secret)
	}
	switch c.Auth {
	case AuthBasic:
		pair := url.QueryEscape(c.ID) + ":" + url.QueryEscape(c.Secret) // RFC 6749, 2.3.1
		text := base64.StdEncoding.EncodeToString([]byte(pair))
		r.secrets = append(r.secrets, text)
		header.Set("Authorization", "Basic "+text)
	case AuthPost:
		form.Set("client_id", c.ID)
		form.Set("client_secret", c.Secret)
	case AuthKey:
		assertion, err := sign(c.Secret, c.ID, at.Issuer, r.c.Now())
		if err != nil {
			return err
		}
		form.Set("client_id", c.ID)
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
	case AuthNone:
		if c.ID != "" { // with an assertion there need not be a client
			form.Set("client_id", c.ID)
		}
	default:
		return junctor.Errorf(junctor.CodeInvalid, "the authorization server wants the client to prove itself by %s, which is not spoken here", clip(string(c.Auth)))
	}
	return nil
}
