package upstreamauth

import (
	"cmp"
	"context"
	"net/http"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	oauthclient "github.com/junctor-mcp/junctor/internal/oauth/client"
)

// userCredentials holds the credentials that users entered for one server,
// decrypted on first use. Every lookup names the user, so no code path leads from
// one user's credentials to another's or to the server's own.
type userCredentials struct {
	manager *Manager
	row     junctor.Server

	mu    sync.Mutex
	users map[string]*userCredential
}

// userCredential is the state of one user. The fields are guarded by
// userCredentials.mu.
type userCredential struct {
	changes uint64       // counts changes of the stored credential
	source  *Source      // nil until it is opened
	former  *Source      // the source before the last change, for Scrub
	client  *http.Client // with the user's own connections; nil before the first call
	stream  *http.Client
}

// newUserCredentials returns the credentials of a server's users. It reads nothing
// before the first call.
func newUserCredentials(m *Manager, row *junctor.Server) *userCredentials {
	return &userCredentials{manager: m, row: *row, users: map[string]*userCredential{}}
}

// ensureUser returns the state of a user and creates it if needed. The caller holds
// mu.
func (c *userCredentials) ensureUser(user string) *userCredential {
	entry := c.users[user]
	if entry == nil {
		entry = &userCredential{}
		c.users[user] = entry
	}
	return entry
}

// headerFor returns the headers for the calls of p: the credentials of the user
// that p is, or for whom p acts.
func (c *userCredentials) headerFor(ctx context.Context, p *junctor.Principal) (http.Header, error) {
	if p.User == "" {
		return nil, c.missingError(p)
	}
	source, err := c.sourceFor(ctx, p)
	if err != nil {
		return nil, err
	}
	return source.Header(ctx)
}

// sourceFor returns the opened credentials of p's user. The vault is read without
// the lock. If the credential changes during that read, the result may be outdated
// and the loop reads again.
func (c *userCredentials) sourceFor(ctx context.Context, p *junctor.Principal) (*Source, error) {
	for {
		c.mu.Lock()
		var source *Source
		var changes uint64
		if entry := c.users[p.User]; entry != nil {
			source, changes = entry.source, entry.changes
		}
		c.mu.Unlock()
		if source != nil {
			return source, nil
		}
		source, err := c.openSource(ctx, p)
		if err != nil {
			return nil, err
		}
		c.mu.Lock()
		entry := c.ensureUser(p.User)
		switch {
		case entry.changes != changes: // the credential that was read may be the former one
			c.mu.Unlock()
			continue
		case entry.source == nil:
			if entry.former != nil {
				source.InheritSecrets(entry.former)
			}
			entry.source, entry.former = source, nil
		}
		source = entry.source
		c.mu.Unlock()
		return source, nil
	}
}

// openSource reads the stored credentials of p's user. A missing or unusable
// credential is an unauthenticated error that says where to enter it.
func (c *userCredentials) openSource(ctx context.Context, p *junctor.Principal) (*Source, error) {
	packed, ok, err := c.manager.Vault.Get(ctx, c.row.Tenant, junctor.UserOwner(p.User), junctor.UserSecret(c.row.ID))
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, c.missingError(p)
	}
	conn, set, err := UnpackUserCredential(packed, &c.row.Connection)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeUnauthenticated, "server %s: %s, %s", c.row.ID, junctor.AsError(err).Message, c.entryInstructions())
	}
	// The user named the token endpoint and must not reach the operator's network
	// with it. The server's own origin is allowed, since calls go there anyway.
	asks := c.manager.HTTPClients.ForPublicAddress()
	if conn.Auth != nil && conn.Auth.IDPTokenURL == "" && oauthclient.OriginOf(conn.Auth.TokenURL) == oauthclient.OriginOf(c.row.URL) {
		asks = c.manager.HTTPClients.ForServer(&c.row)
	}
	admitted, err := admission.LiteralConnection(conn)
	if err != nil {
		return nil, err
	}
	return NewSource(admitted, StaticLiterals(set), c.manager.Reader, c.manager.newTokenRequester(&c.row, p.User, asks)), nil
}

// missingError explains that p has no credentials for the server, and who can enter
// them where.
func (c *userCredentials) missingError(p *junctor.Principal) error {
	switch {
	case p.User == "" && p.Issuer == junctor.IssuerAgent:
		return junctor.Errorf(junctor.CodeUnauthenticated, "server %s is called with the credentials of users, but the agent %s has no active owner: let a user create the agent", c.row.ID, p.Agent)
	case p.User == "":
		return junctor.Errorf(junctor.CodeUnauthenticated, "server %s is called with the credentials of users, but this key belongs to no user: use a key from junctor key create --user", c.row.ID)
	case p.Issuer == junctor.IssuerAgent:
		return junctor.Errorf(junctor.CodeUnauthenticated, "server %s is called with the credentials of the owner of the agent %s, who has entered none: %s", c.row.ID, p.Agent, c.entryInstructions())
	}
	return junctor.Errorf(junctor.CodeUnauthenticated, "server %s is called with your own credentials, and you have entered none: %s", c.row.ID, c.entryInstructions())
}

// entryInstructions returns how a user enters credentials.
func (c *userCredentials) entryInstructions() string {
	return "enter them with junctor server credential set " + c.row.ID + ", or PUT " + c.manager.URL() + "/api/v1/servers/" + c.row.ID + "/credentials/me"
}

// clientsOf returns the HTTP clients of a user, created on first use.
func (c *userCredentials) clientsOf(user string) (client, stream *http.Client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry := c.ensureUser(user)
	if entry.client == nil {
		entry.client, entry.stream = c.manager.HTTPClients.ForUser(&c.row)
	}
	return entry.client, entry.stream
}

// forgetRefused makes the next call of a user read their credentials and token
// again.
func (c *userCredentials) forgetRefused(user string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if entry := c.users[user]; entry != nil && entry.source != nil {
		entry.source.Forget()
	}
}

// canRenew reports whether another token can be requested for a user.
func (c *userCredentials) canRenew(user string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry := c.users[user]
	return entry != nil && entry.source != nil && entry.source.CanRenew()
}

// invalidate makes the next call of a user read the vault again, and closes the
// idle connections that were opened with the former credentials.
func (c *userCredentials) invalidate(user string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry := c.ensureUser(user)
	entry.changes++
	if entry.source != nil {
		entry.source, entry.former = nil, entry.source
	}
	entry.closeIdleConnections()
}

// closeIdleConnections closes the user's connections that no call uses.
func (entry *userCredential) closeIdleConnections() {
	if entry.client != nil {
		entry.client.CloseIdleConnections()
		entry.stream.CloseIdleConnections()
	}
}

// inheritSecrets takes over the secrets that former sent, so that scrubText removes
// them from answers of calls in progress. Both may be nil.
func (c *userCredentials) inheritSecrets(former *userCredentials) {
	if c == nil || former == nil || c == former {
		return
	}
	former.mu.Lock()
	defer former.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	for user, had := range former.users {
		if entry := c.ensureUser(user); entry.source == nil && entry.former == nil {
			entry.former = cmp.Or(had.source, had.former)
		}
	}
}

// close closes the idle connections of all users.
func (c *userCredentials) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, entry := range c.users {
		entry.closeIdleConnections()
	}
}

// keeperFor returns the secrets that the calls of p are made with, or nil if there
// are none.
func (c *userCredentials) keeperFor(p *junctor.Principal) junctor.Keeper {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch entry := c.users[p.User]; {
	case entry == nil:
	case entry.source != nil:
		return entry.source
	case entry.former != nil:
		return entry.former
	}
	return nil
}

// scrubText removes the credentials of all users from a text.
func (c *userCredentials) scrubText(text string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, entry := range c.users {
		for _, source := range []*Source{entry.source, entry.former} {
			if source != nil {
				text = source.Scrub(text)
			}
		}
	}
	return text
}
