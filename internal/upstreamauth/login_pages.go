package upstreamauth

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	oauthclient "github.com/junctor-mcp/junctor/internal/oauth/client"
)

// LoginPages implements signin.Connector: it lets people log in to upstream servers
// on the pages of signin.
type LoginPages struct{ Manager *Manager }

// openInvitation checks the ticket of a login link for the person who follows it,
// and returns which login it is for. Without a ticket, the person opened the page
// themselves and logs in as they may. A ticket for another user is denied, so that
// nobody can be tricked into logging in for somebody else.
func (pages LoginPages) openInvitation(ctx context.Context, p *junctor.Principal, server, sealed string) (*serverLogins, string, oauthclient.Challenge, error) {
	t := loginInvitation{Tenant: p.Tenant, Server: server}
	if sealed != "" {
		text, err := pages.Manager.Sealer.Open(purposeInvitation, sealed)
		if err != nil || json.Unmarshal(text, &t) != nil || !time.Now().Before(t.Until) || t.Server != server {
			return nil, "", oauthclient.Challenge{}, junctor.Errorf(junctor.CodeInvalid, "this link has expired: make the call again, and open the new link")
		}
		if t.Tenant != p.Tenant || t.User != "" && t.User != p.User {
			return nil, "", oauthclient.Challenge{}, junctor.Errorf(junctor.CodeDenied, "this link is for another user: sign in as the user who made the call")
		}
	}
	l, user, err := pages.Manager.resolveLogin(ctx, p, server, sealed != "" && t.User == "")
	return l, user, t.toChallenge(), err
}

// DescribeLogin returns the text that the page shows before the person goes on:
// which server it is, and whose calls will use the login.
func (pages LoginPages) DescribeLogin(ctx context.Context, p *junctor.Principal, server, sealed string) (string, error) {
	l, user, wants, err := pages.openInvitation(ctx, p, server, sealed)
	if err != nil {
		return "", err
	}
	whose := "Calls of all users of this server are made with this login."
	if user != "" {
		whose = "Only your calls, and the calls of your agents, are made with this login."
	}
	what := "The server " + server + " (" + oauthclient.OriginOf(l.row.URL) + ") requires you to log in."
	if wants.NeedsMoreScopes() {
		what = "The server " + server + " (" + oauthclient.OriginOf(l.row.URL) + ") requires a login with more scopes."
	}
	return what + " " + whose, nil
}

// StartLogin returns the authorization page to open and the sealed pending login,
// which the page keeps in a cookie.
func (pages LoginPages) StartLogin(ctx context.Context, p *junctor.Principal, server, sealed string) (address, pending string, err error) {
	l, user, wants, err := pages.openInvitation(ctx, p, server, sealed)
	if err != nil {
		return "", "", err
	}
	pending, address, _, err = l.startLogin(ctx, p, user, pages.Manager.callbackURL(), wants)
	return address, pending, err
}

// EndLogin finishes a login with the query of the callback, and returns the
// server's name. Only the person who started the login can finish it.
func (pages LoginPages) EndLogin(ctx context.Context, p *junctor.Principal, sealed string, answer url.Values) (string, error) {
	pending, err := pages.Manager.openPendingLogin(sealed)
	if err != nil {
		return "", err
	}
	if pending.Tenant != p.Tenant || pending.StartedBy != p.ID() {
		return "", junctor.Errorf(junctor.CodeDenied, "this login was started by another user: start it again")
	}
	_, err = pages.Manager.completeLogin(ctx, p, pending, answer)
	return pending.Server, err
}

// ClientDocumentPath is the path of the OAuth client metadata document.
const ClientDocumentPath = "/oauth/client.json"

// loopbackCallbackURL is the preferred address where the command line waits for the
// browser.
const loopbackCallbackURL = "http://127.0.0.1:8719/callback"

// callbackURL is the page of this instance to which browsers are redirected. On loopback it has
// the address, not the name of the console: authorization servers accept loopback addresses
// (RFC 8252) and may refuse other names over plain http. The page leads on to the console.
func (m *Manager) callbackURL() string { return m.URL() + m.CallbackPath }

// ServeClientDocument serves the client metadata document. Authorization servers
// that support Client ID Metadata Documents identify this instance by its URL,
// without a registration.
func (m *Manager) ServeClientDocument(w http.ResponseWriter, _ *http.Request) {
	if m.ClientDocumentURL == "" {
		http.Error(w, "there is none: this instance has no public https address", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	_ = json.NewEncoder(w).Encode(map[string]any{ // an error is that the client has gone away
		"client_id": m.ClientDocumentURL, "client_name": "Junctor", "client_uri": m.URL(),
		"redirect_uris": []string{m.callbackURL(), loopbackCallbackURL, "http://127.0.0.1/callback"},
		"grant_types":   []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
		"token_endpoint_auth_method": "none",
	})
}
