package visit

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/oauth"
)

// Pages logs people in to servers by way of the pages of signin.
type Pages struct{ Desk *Desk }

// invited reads the ticket of a link for who follows it. Without one the person
// came by themselves.
func (g Pages) invited(ctx context.Context, p *junctor.Principal, server, sealed string) (*logins, string, oauth.Challenge, error) {
	t := ticket{Tenant: p.Tenant, Server: server}
	if sealed != "" {
		text, err := g.Desk.Sealer.Open(purposeTicket, sealed)
		if err != nil || json.Unmarshal(text, &t) != nil || !time.Now().Before(t.Until) || t.Server != server {
			return nil, "", oauth.Challenge{}, junctor.Errorf(junctor.CodeInvalid, "this link is not valid any more: make the call again, and follow the new one")
		}
		if t.Tenant != p.Tenant || t.User != "" && t.User != p.User {
			return nil, "", oauth.Challenge{}, junctor.Errorf(junctor.CodeDenied, "this link is for somebody else: who asked for it has to follow it, signed in as themselves")
		}
	}
	l, user, err := g.Desk.whose(ctx, p, server, sealed != "" && t.User == "")
	return l, user, t.challenge(), err
}

// About implements signin.Connector.
func (g Pages) About(ctx context.Context, p *junctor.Principal, server, sealed string) (string, error) {
	l, user, wants, err := g.invited(ctx, p, server, sealed)
	if err != nil {
		return "", err
	}
	whose := "Calls of everybody who may use it are made with this login."
	if user != "" {
		whose = "Your calls, and those of your agents, are made with this login, and nobody else's."
	}
	what := "The server " + server + " (" + oauth.OriginOf(l.row.URL) + ") wants you to log in."
	if wants.More() {
		what = "The server " + server + " (" + oauth.OriginOf(l.row.URL) + ") wants a login with more rights."
	}
	return what + " " + whose, nil
}

// Start implements signin.Connector.
func (g Pages) Start(ctx context.Context, p *junctor.Principal, server, sealed string) (address, pending string, err error) {
	l, user, wants, err := g.invited(ctx, p, server, sealed)
	if err != nil {
		return "", "", err
	}
	pending, address, _, err = l.start(ctx, p, user, g.Desk.callbackURL(), wants)
	return address, pending, err
}

// End implements signin.Connector.
func (g Pages) End(ctx context.Context, p *junctor.Principal, sealed string, answer url.Values) (string, error) {
	b, err := g.Desk.opened(sealed)
	if err != nil {
		return "", err
	}
	if b.Tenant != p.Tenant || b.By != p.ID() {
		return "", junctor.Errorf(junctor.CodeDenied, "this login was begun by somebody else: begin it again")
	}
	_, err = g.Desk.finish(ctx, p, b, answer)
	return b.Server, err
}

// DocumentPath is where the client metadata document lies.
const DocumentPath = "/oauth/client.json"

// loopbackCallback is where the command line waits for browsers, where it can.
const loopbackCallback = "http://127.0.0.1:8719/callback"

// callbackURL is where browsers come back to.
func (d *Desk) callbackURL() string { return d.ConsoleURL() + d.CallbackPath }

// Document gives authorization servers the client metadata document.
func (d *Desk) Document(w http.ResponseWriter, _ *http.Request) {
	if d.DocumentURL == "" {
		http.Error(w, "there is none: this instance has no public https address", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	_ = json.NewEncoder(w).Encode(map[string]any{ // an error is that the client has gone away
		"client_id": d.DocumentURL, "client_name": "Junctor", "client_uri": d.URL(),
		"redirect_uris": []string{d.callbackURL(), loopbackCallback, "http://127.0.0.1/callback"},
		"grant_types":   []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
		"token_endpoint_auth_method": "none",
	})
}
