package app

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/credential"
	"github.com/junctor-mcp/junctor/internal/oauth"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/upstream"
)

// visits are the logins at one server: everybody's, or each user's own. There is
// no way from one user's to another's.
type visits struct {
	s      *servers
	row    junctor.Server
	source *credential.Source
	client *oauth.Client

	mu     sync.Mutex
	logins map[string]*oauth.Login // by user; "" is everybody's
	wanted oauth.Challenge         // what the server said last, when it refused a call
}

func (s *servers) newVisits(row *junctor.Server, source *credential.Source) *visits {
	v := &visits{s: s, row: *row, source: source, logins: map[string]*oauth.Login{}}
	v.client = s.oauthClient(s.clientsFor(row).plain)
	return v
}

func (s *servers) oauthClient(out *http.Client) *oauth.Client {
	return &oauth.Client{HTTP: out, Name: "Junctor", MetadataURL: s.app.documentURL(), Now: time.Now}
}

// asker gets the tokens of a server's OAuth client, for the server itself or for
// a user who has one of their own.
func (s *servers) asker(row *junctor.Server, user string, out *http.Client) credential.Asker {
	address, _, _ := strings.Cut(row.URL, "?")
	return s.oauthClient(out).Machine(address, func(t *junctor.Trace) { s.traced(row, user, t) })
}

// of gives the login of a user; of "" everybody's.
func (v *visits) of(user string) *oauth.Login {
	v.mu.Lock()
	defer v.mu.Unlock()
	l := v.logins[user]
	if l == nil {
		l = oauth.NewLogin(v.client, v.keep(user), v.server, func(t *junctor.Trace) { v.s.traced(&v.row, user, t) })
		v.logins[user] = l
	}
	return l
}

// user says whose login the calls of p are made with; ok is false where p is
// nobody who could have one.
func (v *visits) user(p *junctor.Principal) (user string, ok bool) {
	if p == nil || !v.row.PerUser() {
		return "", true
	}
	return p.User, p.User != ""
}

// server is what the row says about logging in.
func (v *visits) server(ctx context.Context) (oauth.Server, error) {
	address, _, _ := strings.Cut(v.row.URL, "?") // the query is kept like a credential
	out := oauth.Server{URL: address, Issuer: v.row.Auth.Issuer, ClientID: v.row.Auth.ClientID, Scopes: strings.Fields(v.row.Auth.Scope), ClientAuth: oauth.ProofOf(v.row.Auth.ClientAuth)}
	var err error
	if v.row.Auth.Secret != "" {
		out.Secret, err = v.source.Secret(ctx)
	}
	return out, err
}

// header gives what a request carries: the token of the login, and where that is
// everybody's, or nobody's, the server's own headers.
func (v *visits) header(ctx context.Context, p *junctor.Principal) (http.Header, error) {
	h := http.Header{}
	if !v.row.PerUser() || p == nil {
		own, err := v.source.Header(ctx)
		if err != nil {
			return nil, err
		}
		h = own.Clone()
	}
	user, ok := v.user(p)
	if !ok {
		return h, nil
	}
	token, _, err := v.of(user).Token(ctx)
	if err != nil {
		return nil, err
	}
	if token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	return h, nil
}

// challengeOf reads what a server said when it refused a request.
func challengeOf(err error) (oauth.Challenge, bool) {
	r := upstream.RefusalOf(err)
	if r == nil {
		return oauth.Challenge{}, false
	}
	c := oauth.ParseChallenge(r.Status, []string{r.Challenge})
	c.Date = r.Date
	return c, true
}

// do runs an operation with the login of its caller. Where there is none that
// the server takes, the caller is told how to log in.
func (v *visits) do(ctx context.Context, up *upstream.Server, req *catalog.Request, sink catalog.Sink) (catalog.Result, error) {
	user, ok := v.user(req.Principal)
	if !ok {
		res, err := up.Do(ctx, req, sink)
		if _, refused := challengeOf(err); refused {
			return catalog.Result{}, v.nobody(req.Principal)
		}
		return res, err
	}
	if strings.HasPrefix(req.Input.State, stateLogin) {
		if err := v.returned(ctx, req, user); err != nil {
			return catalog.Result{}, err
		}
		again := *req
		again.Input = catalog.Input{}
		req = &again
	}
	var res catalog.Result
	wants, err := v.of(user).Through(ctx, challengeOf, func() (err error) {
		res, err = up.Do(ctx, req, sink)
		return err
	})
	if wants == nil {
		return res, err
	}
	return v.required(ctx, req, user, *wants)
}

// changed has the login of a user read anew.
func (v *visits) changed(user string) { v.of(user).Changed() }

// tokens are those that were given out last, of one user.
func (v *visits) tokens(user string) []string {
	v.mu.Lock()
	l := v.logins[user]
	v.mu.Unlock()
	if l == nil {
		return nil
	}
	return l.Secrets()
}

// scrub takes the tokens of all users away from a text.
func (v *visits) scrub(text string) string {
	v.mu.Lock()
	var all []string
	for _, l := range v.logins {
		all = append(all, l.Secrets()...)
	}
	v.mu.Unlock()
	if len(all) == 0 {
		return text
	}
	return credential.NewScrubber(all...).Scrub(text)
}

// carried is what the calls of somebody are made with.
type carried []string

// Secrets implements junctor.Keeper.
func (c carried) Secrets() []string { return c }

func (v *visits) keeperOf(p *junctor.Principal) junctor.Keeper {
	user, ok := v.user(p)
	if !ok {
		return nil
	}
	all := v.tokens(user)
	if user == "" {
		all = append(all, v.source.Secrets()...)
	}
	return carried(all)
}

// loginSecret names what is sealed of the server's own login, and clientsSecret
// the clients that were registered for it.
const (
	loginSecret   = credentialPrefix + "login"
	clientsSecret = credentialPrefix + "clients"
)

// keep is where the login of a user is kept.
func (v *visits) keep(user string) oauth.Keep {
	k := kept{v: v, owner: v.row.ID, name: loginSecret}
	if user != "" {
		k.owner, k.name = junctor.UserOwner(user), junctor.UserSecret(v.row.ID)
	}
	return k
}

// kept keeps one login in the vault.
type kept struct {
	v           *visits
	owner, name string
}

// Load implements oauth.Keep. A login is good for the origin that it was got
// for.
func (k kept) Load(ctx context.Context) (*oauth.Grant, error) {
	packed, ok, err := k.v.s.app.vault.Get(ctx, k.v.row.Tenant, k.owner, k.name)
	if err != nil || !ok {
		return nil, err
	}
	g := &oauth.Grant{}
	if json.Unmarshal([]byte(packed.Reveal()), g) != nil || g.Origin != oauth.OriginOf(k.v.row.URL) || g.Since.IsZero() {
		return nil, nil //nolint:nilerr // it is not a login at this server
	}
	return g, nil
}

// Save implements oauth.Keep.
func (k kept) Save(ctx context.Context, g *oauth.Grant) error {
	text, err := json.Marshal(g)
	if err != nil {
		return junctor.Errorf(junctor.CodeInternal, "a login cannot be stored: %w", err)
	}
	return k.v.s.app.vault.Put(ctx, k.v.row.Tenant, k.owner, k.name, seal.NewSecret(string(text)))
}

func (k kept) forget(ctx context.Context) error {
	err := k.v.s.app.vault.Delete(ctx, k.v.row.Tenant, k.owner, k.name)
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		return nil
	}
	return err
}
