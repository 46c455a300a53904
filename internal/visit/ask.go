package visit

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
	"github.com/junctor-mcp/junctor/internal/oauth"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// How a caller who has no login is told to log in: by an elicitation with the
// address where its client can open one, and else by an error that holds it.

const (
	stateLogin = "l" // begins the state of a call that waits for a login, since when follows
	loginKey   = "login"

	purposeTicket = "server-login-ticket"
	ticketLife    = 30 * time.Minute

	returnFor  = 20 * time.Second // how long a call waits for a person who said that they go
	returnLook = 250 * time.Millisecond
)

// ticket says what a link to log in with is for. The link holds it, sealed. It
// opens nothing by itself: who follows it has to be signed in as the one it is
// for.
type ticket struct {
	Tenant   junctor.TenantID `json:"t"`
	Server   string           `json:"s"`
	User     string           `json:"u,omitempty"`
	Metadata string           `json:"m,omitempty"` // as the server's challenge says
	Scopes   []string         `json:"c,omitempty"`
	More     bool             `json:"w,omitempty"` // the server wants more rights than there are
	Until    time.Time        `json:"e"`
}

func (t *ticket) challenge() oauth.Challenge {
	c := oauth.Challenge{Metadata: t.Metadata, Scopes: t.Scopes}
	switch {
	case t.More:
		c.Status, c.Error = http.StatusForbidden, "insufficient_scope"
	case t.Metadata != "" || len(t.Scopes) > 0:
		c.Status = http.StatusUnauthorized
	}
	return c
}

// link is where a person logs in to the server.
func (l *logins) link(user string, wants oauth.Challenge) string {
	t := ticket{Tenant: l.row.Tenant, Server: l.row.ID, User: user, Metadata: wants.Metadata, Scopes: wants.Scopes, More: wants.More(), Until: time.Now().Add(ticketLife)}
	text, _ := json.Marshal(t) //nolint:errchkjson // texts and a time
	sealed := l.d.Sealer.Seal(purposeTicket, text)
	return l.d.ConsoleURL() + "/connect/" + l.row.ID + "?" + url.Values{"ticket": {sealed}}.Encode()
}

// required is the answer to a call that the server wants a login for.
func (l *logins) required(ctx context.Context, req *catalog.Request, user string, wants oauth.Challenge) (catalog.Result, error) {
	l.mu.Lock()
	l.wanted = oauth.Challenge{Status: http.StatusUnauthorized, Metadata: wants.Metadata, Scopes: wants.Scopes}
	l.mu.Unlock()
	what := "wants you to log in"
	switch {
	case wants.More():
		what = "wants a login with more rights"
	case user == "" && !l.mayLogIn(ctx, req.Principal):
		return catalog.Result{}, junctor.Errorf(junctor.CodeUnauthenticated, "server %s wants a login, and nobody has logged in: who added it, or an admin, does so with junctor server login %s", l.row.ID, l.row.ID)
	}
	if g, err := l.of(user).Grant(ctx); err == nil && g != nil {
		if t := l.client.Rejected(g, wants); t != nil {
			l.d.traced(ctx, &l.row, user, t)
			return catalog.Result{}, junctor.Errorf(junctor.CodeUpstream, "server %s: %s; %s", l.row.ID, t.Verdict, t.Remedy)
		}
		if g.Ended != "" {
			what += " again (" + g.Ended + ")"
		}
	}
	address := l.link(user, wants)
	if !opens(req) {
		return catalog.Result{}, junctor.Errorf(junctor.CodeUnauthenticated, "server %s %s: open %s with a browser, or run junctor server login %s, and call again", l.row.ID, what, address, l.row.ID)
	}
	params := map[string]any{"mode": "url", "message": "The server " + l.row.ID + " " + what + ".", "url": address}
	if !wire.IsModern(req.Caller.Protocol) {
		params["elicitationId"] = l.d.NewID()
	}
	body, err := json.Marshal(map[string]any{
		"inputRequests": map[string]any{loginKey: map[string]any{"method": wire.MethodElicitationCreate, "params": params}},
		"requestState":  stateLogin + strconv.FormatInt(time.Now().UnixNano(), 36),
	})
	if err != nil {
		return catalog.Result{}, junctor.AsError(err)
	}
	return catalog.Result{Body: body, Input: true}, nil
}

// opens says whether the caller's client can be asked to open an address, and
// the operation can wait for it.
func opens(req *catalog.Request) bool {
	switch req.Kind {
	case junctor.KindTool, junctor.KindPrompt, junctor.KindResource:
		return req.Input.State == "" && wire.Get(wire.Get(req.Caller.Capabilities, "elicitation"), "url") != nil
	default:
		return false
	}
}

// returned waits until a person who said that they log in has done so, for a
// while. A call that comes too early is asked again.
func (l *logins) returned(ctx context.Context, req *catalog.Request, user string) error {
	action, _ := wire.String(wire.Get(wire.Get(req.Input.Responses, loginKey), "action"))
	switch action {
	case "accept", "":
	default:
		return junctor.Errorf(junctor.CodeUnauthenticated, "server %s wants a login, and you did not want to log in; junctor server login %s does it later", l.row.ID, l.row.ID)
	}
	login, keep := l.of(user), l.keep(user)
	since, err := strconv.ParseInt(strings.TrimPrefix(req.Input.State, stateLogin), 36, 64)
	if err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "the state of the call cannot be read: call again")
	}
	for until := time.Now().Add(returnFor); ; {
		g, err := keep.Load(ctx)
		if err != nil {
			return err
		}
		if g.Live() && g.Since.UnixNano() > since {
			login.Changed() // it may have come by way of another instance
			return nil
		}
		if deadline, ok := ctx.Deadline(); time.Now().After(until) || ok && time.Until(deadline) < 5*time.Second {
			return nil
		}
		select {
		case <-time.After(returnLook):
		case <-ctx.Done():
			return junctor.AsError(ctx.Err())
		}
	}
}

// nobody is the answer to a caller who is no user, of a server that wants each
// user's login.
func (l *logins) nobody(p *junctor.Principal) error {
	if p.Agent != "" {
		return junctor.Errorf(junctor.CodeUnauthenticated, "server %s is called with the logins of users, and no user made the agent %s, or may act: have one make it", l.row.ID, p.Agent)
	}
	return junctor.Errorf(junctor.CodeUnauthenticated, "server %s is called with the logins of users, and this key belongs to none: use one that junctor key create --user made", l.row.ID)
}

// mayLogIn says whether a principal may log in for everybody.
func (l *logins) mayLogIn(ctx context.Context, p *junctor.Principal) bool {
	if p == nil || p.Agent != "" || !p.Has(junctor.ScopeServersWrite) {
		return false
	}
	_, err := l.d.Servers.Owned(ctx, p, l.row.ID)
	return err == nil
}
