package oauth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	junctor "github.com/junctor-mcp/junctor"
)

// Pending is a login that a person is at. It is kept sealed: who has it can use
// the person's answer.
type Pending struct {
	State     string     `json:"state"`
	Verifier  string     `json:"verifier"`
	Redirect  string     `json:"redirect"`
	Origin    string     `json:"origin"`
	Resource  string     `json:"resource"`
	Endpoints Endpoints  `json:"endpoints"`
	SaysWho   bool       `json:"says_who,omitempty"` // the authorization server names itself in its answers
	Nameless  bool       `json:"nameless,omitempty"` // nobody knows what it calls itself
	Client    Registered `json:"client"`
	Scopes    []string   `json:"scopes,omitempty"`
	Until     time.Time  `json:"until"`

	// Pinned is where the operator's client was used by now. It is not kept.
	Pinned Pin `json:"-"`
}

// PendingLife is how long a person may take.
const PendingLife = 10 * time.Minute

// Start is what a login begins with.
type Start struct {
	Server    Server
	Redirect  string      // where the person comes back to
	Challenge Challenge   // what the server said; may be empty
	Known     *Registered // a client from before; may be nil
	Pinned    Pin         // where the operator's client was used by now
	Former    *Grant      // the login that this one is to widen; may be nil
}

// Begin finds out where to log in and as which client, and gives the address
// that the person is to open. The trace is there with an error, too.
func (c *Client) Begin(ctx context.Context, in Start) (*Pending, string, *junctor.Trace, error) {
	r := c.run(junctor.TraceBegin)
	if in.Challenge.Status == 0 && !in.Server.known() {
		in.Challenge = r.knock(ctx, in.Server.URL)
	}
	p, err := r.discover(ctx, in.Server, in.Challenge)
	if err != nil {
		return nil, "", r.trace, err
	}
	if p.server.AuthorizationEndpoint == "" {
		return nil, "", r.trace, r.failed(r.step(stepSend), junctor.CodeUpstream, "the authorization server has no page for people", "use an auth of the type oauth-client, which needs none")
	}
	client, err := r.register(ctx, p, in)
	if err != nil {
		return nil, "", r.trace, err
	}
	pending := &Pending{
		State: rand.Text(), Verifier: oauth2.GenerateVerifier(), Redirect: in.Redirect, Origin: OriginOf(in.Server.URL), Resource: p.resource,
		Endpoints: p.endpoints(), SaysWho: p.server.AuthorizationResponseIssParameterSupported, Nameless: p.nameless, Client: *client,
		Scopes: choose(p, in), Until: c.Now().Add(PendingLife),
	}
	r.secrets = append(r.secrets, pending.Verifier)
	address, err := url.Parse(p.server.AuthorizationEndpoint)
	if err != nil {
		return nil, "", r.trace, r.failed(r.step(stepSend), junctor.CodeUpstream, "the authorization_endpoint is no address", "tell the operator of the authorization server")
	}
	query := address.Query()
	query.Set("response_type", "code")
	query.Set("client_id", client.ID)
	query.Set("redirect_uri", in.Redirect)
	query.Set("state", pending.State)
	query.Set("code_challenge", oauth2.S256ChallengeFromVerifier(pending.Verifier))
	query.Set("code_challenge_method", "S256")
	if p.resource != "" {
		query.Set("resource", p.resource)
	}
	if len(pending.Scopes) > 0 {
		query.Set("scope", strings.Join(pending.Scopes, " "))
	}
	if slices.Contains(pending.Scopes, offline) {
		query.Set("prompt", "consent") // without which OpenID providers ignore it
	}
	address.RawQuery = query.Encode()
	s := r.step(stepSend)
	s.Sent = map[string]string{"client_id": client.ID, "redirect_uri": in.Redirect, "resource": p.resource, "scope": strings.Join(pending.Scopes, " "), "state": junctor.Masked, "code_challenge_method": "S256"}
	s.Request = "GET " + p.server.AuthorizationEndpoint
	r.passed(s, "the person has to open it")
	r.done("a person has to log in at " + p.server.Issuer)
	return pending, address.String(), r.trace, nil
}

const offline = "offline_access"

// choose gives the scopes to ask for: what the operator set, else what the
// server wants, else what it has; beside those of a login that is to be widened.
func choose(p *place, in Start) []string {
	var all []string
	add := func(more []string) {
		for _, s := range more {
			if !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	if in.Former != nil && SameIssuer(in.Former.Endpoints.Issuer, p.server.Issuer) {
		add(in.Former.Token.Scopes)
	}
	switch {
	case len(in.Server.Scopes) > 0:
		add(in.Server.Scopes)
		if in.Challenge.More() {
			add(in.Challenge.Scopes)
		}
	case len(in.Challenge.Scopes) > 0:
		add(in.Challenge.Scopes)
	default:
		add(p.scopes)
	}
	if slices.Contains(p.server.ScopesSupported, offline) {
		add([]string{offline})
	}
	return all
}

// Finish makes a login of the answer that the person came back with: the query
// of the redirect address.
func (c *Client) Finish(ctx context.Context, p *Pending, answer url.Values) (*Grant, *junctor.Trace, error) {
	r := c.run(junctor.TraceFinish, p.Verifier, answer.Get("code"), p.State)
	if err := r.arrive(p, answer); err != nil {
		return nil, r.trace, err
	}
	if err := r.pinned(p.Client.ID, p.Pinned, p.Endpoints, false); err != nil {
		return nil, r.trace, err
	}
	token, _, err := r.ask(ctx, asked{
		step: stepCode, at: p.Endpoints, client: &p.Client, resource: p.Resource,
		form: url.Values{"grant_type": {"authorization_code"}, "code": {answer.Get("code")}, "redirect_uri": {p.Redirect}, "code_verifier": {p.Verifier}},
	})
	if err != nil {
		return nil, r.trace, err
	}
	if len(token.Scopes) == 0 {
		token.Scopes = p.Scopes // as RFC 6749 says of who does not say
	}
	r.done("logged in at " + p.Endpoints.Issuer)
	return &Grant{Origin: p.Origin, Resource: p.Resource, Endpoints: p.Endpoints, Client: p.Client, Token: token, Since: c.Now()}, r.trace, nil
}

// arrive judges the answer of an authorization server.
func (r *run) arrive(p *Pending, answer url.Values) error {
	s := r.step(stepReturn)
	s.Sent = map[string]string{}
	for name, values := range answer {
		switch name {
		case "iss", "error", "error_description", "error_uri", "scope":
			s.Sent[name] = r.scrub(clip(strings.Join(values, " ")))
		default:
			s.Sent[name] = junctor.Masked
		}
	}
	iss, again := answer["iss"], "log in again"
	switch {
	case subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(p.State)) != 1:
		return r.failed(s, junctor.CodeDenied, "it is the answer to another login: the state is not the one that was sent", again+", and use the answer of that login")
	case !r.c.Now().Before(p.Until):
		return r.failed(s, junctor.CodeDenied, fmt.Sprintf("it took longer than %v", PendingLife), again)
	case len(iss) > 1, len(iss) == 1 && iss[0] != p.Endpoints.Issuer && !p.Nameless:
		return r.failed(s, junctor.CodeDenied, fmt.Sprintf("it is from %s, and the person was sent to %s: somebody mixes up authorization servers, and the code is not used", clip(strings.Join(iss, ", ")), p.Endpoints.Issuer),
			"do not repeat it before the operators of both know")
	case len(iss) == 0 && p.SaysWho:
		return r.failed(s, junctor.CodeDenied, p.Endpoints.Issuer+" always says that an answer is its own, and this one does not: it may be another's, and the code is not used", "tell the operator of the authorization server")
	case answer.Get("error") == "access_denied":
		return r.failed(s, junctor.CodeDenied, "the person, or the authorization server, said no"+problem{answer.Get("error"), answer.Get("error_description")}.said(), again+" where that was a mistake")
	case answer.Get("error") != "":
		return r.failed(s, junctor.CodeUpstream, "the authorization server did not let the person through"+problem{answer.Get("error"), answer.Get("error_description")}.said(), again+", or tell its operator")
	case answer.Get("code") == "":
		return r.failed(s, junctor.CodeInvalid, "there is no code in it", "give the whole address that the browser was sent to")
	}
	r.passed(s, "it is the answer to this login")
	return nil
}
