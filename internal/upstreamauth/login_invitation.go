package upstreamauth

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	oauthclient "github.com/junctor-mcp/junctor/internal/oauth/client"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// A caller without a login gets an invitation to log in: a URL elicitation if its
// client supports one, else an error that contains the URL.

const (
	loginStatePrefix = "l" // starts the requestState of a call that waits for a login; its time follows
	loginRequestKey  = "login"

	purposeInvitation = "server-login-ticket"
	invitationLife    = 30 * time.Minute

	// A call that is repeated after the person accepted the elicitation waits this
	// long for the login to finish.
	loginWait         = 20 * time.Second
	loginPollInterval = 250 * time.Millisecond
)

// loginInvitation is the sealed content of a login link. The link grants nothing by
// itself: the person who follows it has to be signed in as the user it was made for.
type loginInvitation struct {
	Tenant          junctor.TenantID `json:"t"`
	Server          string           `json:"s"`
	User            string           `json:"u,omitempty"`
	Metadata        string           `json:"m,omitempty"` // metadata URL from the server's challenge
	Scopes          []string         `json:"c,omitempty"`
	NeedsMoreScopes bool             `json:"w,omitempty"` // the server requires more scopes than the login has
	Until           time.Time        `json:"e"`
}

// toChallenge restores the challenge that caused the invitation.
func (t *loginInvitation) toChallenge() oauthclient.Challenge {
	c := oauthclient.Challenge{MetadataURL: t.Metadata, Scopes: t.Scopes}
	switch {
	case t.NeedsMoreScopes:
		c.Status, c.Error = http.StatusForbidden, "insufficient_scope"
	case t.Metadata != "" || len(t.Scopes) > 0:
		c.Status = http.StatusUnauthorized
	}
	return c
}

// invitationURL returns the console page where a user logs in to the server.
func (l *serverLogins) invitationURL(user string, wants oauthclient.Challenge) string {
	t := loginInvitation{Tenant: l.row.Tenant, Server: l.row.ID, User: user, Metadata: wants.MetadataURL, Scopes: wants.Scopes, NeedsMoreScopes: wants.NeedsMoreScopes(), Until: time.Now().Add(invitationLife)}
	text, _ := json.Marshal(t) //nolint:errchkjson // texts and a time
	sealed := l.manager.Sealer.Seal(purposeInvitation, text)
	return l.manager.ConsoleURL() + "/connect/" + l.row.ID + "?" + url.Values{"ticket": {sealed}}.Encode()
}

// requireLogin answers a call that the server refused for lack of a valid login. It
// returns an elicitation if the caller's client can open URLs, else an
// unauthenticated error that contains the login URL.
//
// There is no invitation in two cases. If only an admin can make the shared login,
// the error says so. If the server refused a token that is brand new, another login
// would not help, and the error is the server's.
func (l *serverLogins) requireLogin(ctx context.Context, req *catalog.Request, user string, wants oauthclient.Challenge) (catalog.Result, error) {
	l.mu.Lock()
	l.lastChallenge = oauthclient.Challenge{Status: http.StatusUnauthorized, MetadataURL: wants.MetadataURL, Scopes: wants.Scopes}
	l.mu.Unlock()
	what := "requires you to log in"
	switch {
	case wants.NeedsMoreScopes():
		what = "requires a login with more scopes"
	case user == "" && !l.mayLogIn(ctx, req.Principal):
		return catalog.Result{}, junctor.Errorf(junctor.CodeUnauthenticated, "server %s requires a login, and nobody has logged in: its owner or an admin can log in with junctor server login %s", l.row.ID, l.row.ID)
	}
	if g, err := l.loginOf(user).Grant(ctx); err == nil && g != nil {
		if t := l.client.TraceRejectedToken(g, wants); t != nil {
			l.manager.recordTrace(ctx, &l.row, user, t)
			return catalog.Result{}, junctor.Errorf(junctor.CodeUpstream, "server %s: %s; %s", l.row.ID, t.Verdict, t.Remedy)
		}
		if g.EndReason != "" {
			what += " again (" + g.EndReason + ")"
		}
	}
	address := l.invitationURL(user, wants)
	if !canOpenURL(req) {
		return catalog.Result{}, junctor.Errorf(junctor.CodeUnauthenticated, "server %s %s: open %s in a browser, or run junctor server login %s, then call again", l.row.ID, what, address, l.row.ID)
	}
	params := map[string]any{"mode": "url", "message": "The server " + l.row.ID + " " + what + ".", "url": address}
	if !wire.IsModern(req.Caller.Protocol) {
		params["elicitationId"] = l.manager.NewID()
	}
	body, err := json.Marshal(map[string]any{
		"inputRequests": map[string]any{loginRequestKey: map[string]any{"method": wire.MethodElicitationCreate, "params": params}},
		"requestState":  loginStatePrefix + strconv.FormatInt(time.Now().UnixNano(), 36),
	})
	if err != nil {
		return catalog.Result{}, junctor.AsError(err)
	}
	return catalog.Result{Body: body, Input: true}, nil
}

// canOpenURL reports whether the caller's client supports URL elicitation and the
// operation can be continued afterwards.
func canOpenURL(req *catalog.Request) bool {
	switch req.Kind {
	case junctor.KindTool, junctor.KindPrompt, junctor.KindResource:
		return req.Input.State == "" && wire.Get(wire.Get(req.Caller.Capabilities, "elicitation"), "url") != nil
	default:
		return false
	}
}

// awaitLogin waits until the login of a repeated call is finished, for at most
// loginWait. Without a login by then it returns nil: the call runs, is refused, and
// the caller is invited again. It returns an error if the person declined.
func (l *serverLogins) awaitLogin(ctx context.Context, req *catalog.Request, user string) error {
	action, _ := wire.String(wire.Get(wire.Get(req.Input.Responses, loginRequestKey), "action"))
	switch action {
	case "accept", "":
	default:
		return junctor.Errorf(junctor.CodeUnauthenticated, "server %s requires a login, and you declined it; to log in later, run junctor server login %s", l.row.ID, l.row.ID)
	}
	// The grant store is polled because the login may be finished on another
	// replica.
	login, keep := l.loginOf(user), l.grantStoreOf(user)
	since, err := strconv.ParseInt(strings.TrimPrefix(req.Input.State, loginStatePrefix), 36, 64)
	if err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "requestState of the call is invalid: call again without it")
	}
	for until := time.Now().Add(loginWait); ; {
		g, err := keep.Load(ctx)
		if err != nil {
			return err
		}
		if g.IsLive() && g.Since.UnixNano() > since {
			login.Invalidate() // another replica may have stored it
			return nil
		}
		if deadline, ok := ctx.Deadline(); time.Now().After(until) || ok && time.Until(deadline) < 5*time.Second {
			return nil
		}
		select {
		case <-time.After(loginPollInterval):
		case <-ctx.Done():
			return junctor.AsError(ctx.Err())
		}
	}
}

// noUserError explains why a caller that is no user cannot call a server with
// per-user logins.
func (l *serverLogins) noUserError(p *junctor.Principal) error {
	if p.Agent != "" {
		return junctor.Errorf(junctor.CodeUnauthenticated, "server %s is called with the logins of users, but the agent %s has no active owner: let a user create the agent", l.row.ID, p.Agent)
	}
	return junctor.Errorf(junctor.CodeUnauthenticated, "server %s is called with the logins of users, but this key belongs to no user: use a key from junctor key create --user", l.row.ID)
}

// mayLogIn reports whether p may make the shared login.
func (l *serverLogins) mayLogIn(ctx context.Context, p *junctor.Principal) bool {
	if p == nil || p.Agent != "" || !p.Has(junctor.ScopeServersWrite) {
		return false
	}
	_, err := l.manager.Servers.ChangeableServer(ctx, p, l.row.ID)
	return err == nil
}
