package identity

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/store"
)

// Config is what an Identity is made of.
type Config struct {
	Store  *store.Store     // required
	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: nothing is logged

	// Open lets requests without any credential in as the anonymous
	// principal. The caller makes sure that only loopback can reach it.
	Open bool

	// Changed, where it is set, is told all users whenever one of them, or
	// what they chose, may have changed. It must not call back.
	Changed func([]junctor.User)

	// Missed, where it is set, is told the hash of a token or cookie that has the form
	// of ours and is not known here: another process may just have given it. It says
	// whether to look once more.
	Missed func(sum [32]byte) bool
}

// Identity knows the keys, the users and their logins. It is safe for
// concurrent use.
type Identity struct {
	store          *store.Store
	now            func() time.Time
	log            *slog.Logger
	onUsersChanged func([]junctor.User)
	onUnknownToken func(sum [32]byte) bool

	anonymousPrincipal *junctor.Principal // nil unless open
	operatorPrincipal  *junctor.Principal
	passwordCost       hashCost      // of hashing a password
	hashSlots          chan struct{} // bounds how many passwords are hashed at a time

	// mu is held over each change, its database part included, so that a
	// reload that read before a revocation cannot be published after it.
	mu            sync.Mutex
	adminKeyFixed bool // the admin key of the default tenant is set from outside
	snapshot      atomic.Pointer[snapshot]
}

// New loads all keys, users and logins.
func New(ctx context.Context, c Config) (*Identity, error) {
	if c.Store == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "identity needs the store where keys and users are kept")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Changed == nil {
		c.Changed = func([]junctor.User) {}
	}
	if c.Missed == nil {
		c.Missed = func([32]byte) bool { return false }
	}
	i := &Identity{
		store: c.Store, now: c.Now, log: c.Logger, onUsersChanged: c.Changed, onUnknownToken: c.Missed, passwordCost: defaultHashCost(), hashSlots: make(chan struct{}, maxConcurrentHashes),
		operatorPrincipal: &junctor.Principal{
			Tenant: junctor.DefaultTenant, Issuer: junctor.IssuerLocal, Subject: "operator", Name: "operator",
			Scopes: []junctor.Scope{junctor.ScopeAdmin},
		},
	}
	if c.Open {
		i.anonymousPrincipal = &junctor.Principal{
			Tenant: junctor.DefaultTenant, Issuer: junctor.IssuerOpen, Subject: "anonymous", Name: "anonymous",
			Scopes: []junctor.Scope{junctor.ScopeToolsRead, junctor.ScopeToolsCall},
		}
	}
	i.snapshot.Store(buildSnapshot(rowSet{}, nil))
	if err := i.Reload(ctx); err != nil {
		return nil, err
	}
	return i, nil
}

// Reload reads everything anew: for changes that another process made, and
// after a change of agents. On an error the former snapshot stays.
func (i *Identity) Reload(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.reloadLocked(ctx)
}

// Follow is Reload, and gives the keys that have a new token since the last time, as
// another process gave it to them. FormerUntil says how long that is taken which was
// known here.
func (i *Identity) Follow(ctx context.Context) (rotated []junctor.Key, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	former := i.snapshot.Load()
	if err := i.reloadLocked(ctx); err != nil {
		return nil, err
	}
	had := make(map[tenantRef][32]byte, len(former.keys))
	for n := range former.keys {
		had[tenantRef{former.keys[n].Tenant, former.keys[n].ID}] = former.keys[n].Hash
	}
	for _, k := range i.snapshot.Load().keys {
		known, ok := had[tenantRef{k.Tenant, k.ID}]
		if !ok || known == k.Hash {
			continue
		}
		if known != k.Former { // it was rotated more than once
			k.FormerUntil = time.Time{}
		}
		rotated = append(rotated, k)
	}
	return rotated, nil
}

func (i *Identity) reloadLocked(ctx context.Context) (err error) {
	var r rowSet
	if r.keys, err = i.store.Keys(ctx); err != nil {
		return err
	}
	if r.users, err = i.store.Users(ctx); err != nil {
		return err
	}
	if r.agents, err = i.store.KeyAgents(ctx); err != nil {
		return err
	}
	if r.logins, err = i.store.Logins(ctx, i.now()); err != nil {
		return err
	}
	i.publishRows(r)
	return nil
}

// applyChange makes a change that is stored one that the next check sees. The
// caller holds mu. Where the new state cannot be read, drop takes out of the
// former one what must not be found in it any more.
func (i *Identity) applyChange(ctx context.Context, drop func(*rowSet)) error {
	err := i.reloadLocked(context.WithoutCancel(ctx))
	if err != nil && drop != nil {
		r := i.snapshot.Load().clone()
		drop(&r)
		i.publishRows(r)
		i.log.LogAttrs(ctx, slog.LevelWarn, "what was stored could not be read again; it is tried in a minute", slog.String("error", err.Error()))
		return nil
	}
	return err
}

// publishRows makes rows what the next check sees. The caller holds mu.
func (i *Identity) publishRows(r rowSet) {
	i.snapshot.Store(buildSnapshot(r, i.snapshot.Load()))
	i.onUsersChanged(r.users)
}

// Local is the principal of the operator's own socket.
func (i *Identity) Local() *junctor.Principal { return i.operatorPrincipal }
