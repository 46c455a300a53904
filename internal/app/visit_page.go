package app

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/oauth"
)

// connector logs people in to servers by way of the pages of signin.
type connector struct{ a *App }

// invited reads the ticket of a link for who follows it. Without one the person
// came by themselves.
func (c connector) invited(ctx context.Context, p *junctor.Principal, server, sealed string) (*visits, string, oauth.Challenge, error) {
	t := ticket{Tenant: p.Tenant, Server: server}
	if sealed != "" {
		text, err := sealer{c.a.ring}.Open(purposeTicket, sealed) //nolint:contextcheck // opening asks nobody
		if err != nil || json.Unmarshal(text, &t) != nil || !time.Now().Before(t.Until) || t.Server != server {
			return nil, "", oauth.Challenge{}, junctor.Errorf(junctor.CodeInvalid, "this link is not valid any more: make the call again, and follow the new one")
		}
		if t.Tenant != p.Tenant || t.User != "" && t.User != p.User {
			return nil, "", oauth.Challenge{}, junctor.Errorf(junctor.CodeDenied, "this link is for somebody else: who asked for it has to follow it, signed in as themselves")
		}
	}
	v, user, err := c.a.servers.whose(ctx, p, server, sealed != "" && t.User == "")
	return v, user, t.challenge(), err
}

// About implements signin.Connector.
func (c connector) About(ctx context.Context, p *junctor.Principal, server, sealed string) (string, error) {
	v, user, wants, err := c.invited(ctx, p, server, sealed)
	if err != nil {
		return "", err
	}
	whose := "Calls of everybody who may use it are made with this login."
	if user != "" {
		whose = "Your calls, and those of your agents, are made with this login, and nobody else's."
	}
	what := "The server " + server + " (" + oauth.OriginOf(v.row.URL) + ") wants you to log in."
	if wants.More() {
		what = "The server " + server + " (" + oauth.OriginOf(v.row.URL) + ") wants a login with more rights."
	}
	return what + " " + whose, nil
}

// Start implements signin.Connector.
func (c connector) Start(ctx context.Context, p *junctor.Principal, server, sealed string) (address, pending string, err error) {
	v, user, wants, err := c.invited(ctx, p, server, sealed)
	if err != nil {
		return "", "", err
	}
	pending, address, _, err = v.start(ctx, p, user, c.a.callbackURL(), wants)
	return address, pending, err
}

// End implements signin.Connector.
func (c connector) End(ctx context.Context, p *junctor.Principal, sealed string, answer url.Values) (string, error) {
	b, err := c.a.servers.opened(sealed) //nolint:contextcheck // opening asks nobody
	if err != nil {
		return "", err
	}
	if b.Tenant != p.Tenant || b.By != p.ID() {
		return "", junctor.Errorf(junctor.CodeDenied, "this login was begun by somebody else: begin it again")
	}
	_, err = c.a.servers.finish(ctx, p, b, answer)
	return b.Server, err
}

// document gives authorization servers the client metadata document.
func (a *App) document(w http.ResponseWriter, _ *http.Request) {
	if a.documentURL() == "" {
		http.Error(w, "there is none: this instance has no public https address", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	_ = json.NewEncoder(w).Encode(a.clientDocument()) // the client has gone away
}
