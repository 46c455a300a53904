package visit

import (
	"cmp"
	"context"
	"net/http"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/credential"
)

// purse holds the credentials that users have entered for one server, as they
// come to be used. There is no way from one user's to another's, nor to the
// server's own.
type purse struct {
	d   *Desk
	row junctor.Server

	mu    sync.Mutex
	users map[string]*wallet
}

// wallet is what a purse has of one user.
type wallet struct {
	changes uint64             // how often what is stored has changed
	source  *credential.Source // nil where it has to be opened first
	former  *credential.Source // the one before
	client  *http.Client       // with connections of their own; nil before the first call
	stream  *http.Client
}

func newPurse(d *Desk, row *junctor.Server) *purse {
	return &purse{d: d, row: *row, users: map[string]*wallet{}}
}

// of gives a user's wallet; mu is held.
func (b *purse) of(user string) *wallet {
	w := b.users[user]
	if w == nil {
		w = &wallet{}
		b.users[user] = w
	}
	return w
}

// header gives what the calls of a principal carry: the credentials of the user
// that it is or acts for.
func (b *purse) header(ctx context.Context, p *junctor.Principal) (http.Header, error) {
	if p.User == "" {
		return nil, b.missing(p)
	}
	source, err := b.source(ctx, p)
	if err != nil {
		return nil, err
	}
	return source.Header(ctx)
}

func (b *purse) source(ctx context.Context, p *junctor.Principal) (*credential.Source, error) {
	for {
		b.mu.Lock()
		var source *credential.Source
		var changes uint64
		if w := b.users[p.User]; w != nil {
			source, changes = w.source, w.changes
		}
		b.mu.Unlock()
		if source != nil {
			return source, nil
		}
		source, err := b.open(ctx, p)
		if err != nil {
			return nil, err
		}
		b.mu.Lock()
		w := b.of(p.User)
		switch {
		case w.changes != changes: // what was read may be what was before
			b.mu.Unlock()
			continue
		case w.source == nil:
			if w.former != nil {
				source.After(w.former)
			}
			w.source, w.former = source, nil
		}
		source = w.source
		b.mu.Unlock()
		return source, nil
	}
}

// open reads what is stored of a user.
func (b *purse) open(ctx context.Context, p *junctor.Principal) (*credential.Source, error) {
	packed, ok, err := b.d.Vault.Get(ctx, b.row.Tenant, junctor.UserOwner(p.User), junctor.UserSecret(b.row.ID))
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, b.missing(p)
	}
	conn, set, err := credential.UnpackUser(packed, &b.row.Connection)
	if err != nil {
		return nil, junctor.Errorf(junctor.CodeUnauthenticated, "server %s: %s, %s", b.row.ID, junctor.AsError(err).Message, b.where())
	}
	// Where a token comes from was named by the user, who may not name this machine.
	asks := b.d.Web.Public()
	if conn.Auth != nil && conn.Auth.IDPTokenURL == "" && sameOrigin(conn.Auth.TokenURL, b.row.URL) {
		asks = b.d.Web.For(&b.row)
	}
	admitted, err := admission.LiteralConnection(conn)
	if err != nil {
		return nil, err
	}
	return credential.NewSource(admitted, credential.Literal(set), b.d.Reader, b.d.asker(&b.row, p.User, asks)), nil
}

func sameOrigin(a, b string) bool {
	at := func(text string) string {
		return (&junctor.Connection{Transport: junctor.TransportHTTP, URL: text}).Origin()
	}
	return at(a) == at(b)
}

// missing says that there is nothing to call the server with, and where to enter
// it.
func (b *purse) missing(p *junctor.Principal) error {
	switch {
	case p.User == "" && p.Issuer == junctor.IssuerAgent:
		return junctor.Errorf(junctor.CodeUnauthenticated, "server %s is called with the credentials of users, and no user made the agent %s, or may act: have one make it", b.row.ID, p.Agent)
	case p.User == "":
		return junctor.Errorf(junctor.CodeUnauthenticated, "server %s is called with the credentials of users, and this key belongs to none: use one that junctor key create --user made", b.row.ID)
	case p.Issuer == junctor.IssuerAgent:
		return junctor.Errorf(junctor.CodeUnauthenticated, "server %s is called with the credentials of the user who made the agent %s, and they have entered none: %s", b.row.ID, p.Agent, b.where())
	}
	return junctor.Errorf(junctor.CodeUnauthenticated, "server %s is called with credentials of your own, and you have entered none: %s", b.row.ID, b.where())
}

func (b *purse) where() string {
	return "enter them with junctor server credential set " + b.row.ID + ", or PUT " + b.d.URL() + "/api/v1/servers/" + b.row.ID + "/credentials/me"
}

// own gives the HTTP clients of a user.
func (b *purse) own(user string) (client, stream *http.Client) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.of(user)
	if w.client == nil {
		w.client, w.stream = b.d.Web.Own(&b.row)
	}
	return w.client, w.stream
}

// refused has a user's credentials read anew, tokens too.
func (b *purse) refused(user string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w := b.users[user]; w != nil && w.source != nil {
		w.source.Forget()
	}
}

// renews says whether there may be another token for a user.
func (b *purse) renews(user string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.users[user]
	return w != nil && w.source != nil && w.source.Renews()
}

// changed is called when what is stored of a user has changed.
func (b *purse) changed(user string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.of(user)
	w.changes++
	if w.source != nil {
		w.source, w.former = nil, w.source
	}
	w.disconnect()
}

// disconnect closes the connections that nobody uses.
func (w *wallet) disconnect() {
	if w.client != nil {
		w.client.CloseIdleConnections()
		w.stream.CloseIdleConnections()
	}
}

// after makes the purse know what the one before it gave out: calls with that
// may be under way.
func (b *purse) after(former *purse) {
	if b == nil || former == nil || b == former {
		return
	}
	former.mu.Lock()
	defer former.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	for user, had := range former.users {
		if w := b.of(user); w.source == nil && w.former == nil {
			w.former = cmp.Or(had.source, had.former)
		}
	}
}

// close ends the connections of all users.
func (b *purse) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.users {
		w.disconnect()
	}
}

// keeperOf knows what the calls of a principal are made with; nil where there is
// nothing.
func (b *purse) keeperOf(p *junctor.Principal) junctor.Keeper {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch w := b.users[p.User]; {
	case w == nil:
	case w.source != nil:
		return w.source
	case w.former != nil:
		return w.former
	}
	return nil
}

// scrub takes the credentials of all users away from a text.
func (b *purse) scrub(text string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.users {
		for _, source := range []*credential.Source{w.source, w.former} {
			if source != nil {
				text = source.Scrub(text)
			}
		}
	}
	return text
}
