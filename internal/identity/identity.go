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

// Config configures an Identity.
type Config struct {
	Store  *store.Store     // required
	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: no log

	// Open admits requests without any credential as the anonymous principal. The caller
	// ensures that only loopback can reach an open instance.
	Open bool

	// Changed, if set, receives all users whenever a user or a user's settings may have
	// changed. It must not call back into the Identity, which holds its lock.
	OnUsersChanged func([]junctor.User)

	// OnSignedIn, if set, is called after somebody has signed in on this replica. It must
	// not call back into the Identity, which holds its lock.
	OnSignedIn func(junctor.TenantID)

	// Missed, if set, receives the hash of a token or cookie that has our format but is
	// unknown here: another replica may have issued it a moment ago. It returns true if
	// the snapshot was reloaded and is worth a second look.
	OnUnknownToken func(sum [32]byte) bool
}

// Identity authenticates callers and manages keys, users and logins. It is safe for
// concurrent use.
type Identity struct {
	store          *store.Store
	now            func() time.Time
	log            *slog.Logger
	onUsersChanged func([]junctor.User)
	onUnknownToken func(sum [32]byte) bool
	onSignedIn     func(junctor.TenantID)

	anonymousPrincipal *junctor.Principal // nil unless the instance is open
	operatorPrincipal  *junctor.Principal // of the operator's socket
	passwordCost       hashCost           // of new password hashes
	hashSlots          chan struct{}      // bounds the password hashes that are computed at a time

	// mu is held for the whole of a change, its database part included. Otherwise
	// a reload that read before a revocation could be published after it, and
	// bring the revoked key back.
	mu            sync.Mutex
	adminKeyFixed bool // SetAdminKey has set the default tenant's admin key
	snapshot      atomic.Pointer[snapshot]
}

// New makes an Identity and loads all keys, users and logins. It fails if the store
// cannot be read.
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
	if c.OnUsersChanged == nil {
		c.OnUsersChanged = func([]junctor.User) {}
	}
	if c.OnUnknownToken == nil {
		c.OnUnknownToken = func([32]byte) bool { return false }
	}
	if c.OnSignedIn == nil {
		c.OnSignedIn = func(junctor.TenantID) {}
	}
	i := &Identity{
		store: c.Store, now: c.Now, log: c.Logger, onUsersChanged: c.OnUsersChanged, onUnknownToken: c.OnUnknownToken, onSignedIn: c.OnSignedIn, passwordCost: defaultHashCost(), hashSlots: make(chan struct{}, maxConcurrentHashes),
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

// Reload reads everything again. Call it after changes that another replica made, and
// after a change of agents. If it fails, the previous snapshot stays.
func (i *Identity) Reload(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.reloadLocked(ctx)
}

// ReloadRotated is Reload. It also returns the keys whose token another replica has rotated
// since the last load. FormerUntil of such a key is the time until which the token that
// was known here still works; it is zero if that token has stopped working.
func (i *Identity) ReloadRotated(ctx context.Context) (rotated []junctor.Key, err error) {
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
		if known != k.Former { // rotated more than once: the known token is not the former one
			k.FormerUntil = time.Time{}
		}
		rotated = append(rotated, k)
	}
	return rotated, nil
}

// reloadLocked is Reload for callers that hold i.mu.
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

// applyChange publishes a change that has just been stored, so that the next check sees
// it. The caller holds i.mu. If the store cannot be read again, drop makes the same
// change to the previous rows: a revocation must take effect even while the database is
// unavailable. Without drop, that error is returned.
func (i *Identity) applyChange(ctx context.Context, drop func(*rowSet)) error {
	err := i.reloadLocked(context.WithoutCancel(ctx))
	if err != nil && drop != nil {
		r := i.snapshot.Load().clone()
		drop(&r)
		i.publishRows(r)
		i.log.LogAttrs(ctx, slog.LevelWarn, "cannot reload users and keys; retrying in a minute", slog.String("error", err.Error()))
		return nil
	}
	return err
}

// publishRows replaces the snapshot by one built from r. The caller holds i.mu.
func (i *Identity) publishRows(r rowSet) {
	i.snapshot.Store(buildSnapshot(r, i.snapshot.Load()))
	i.onUsersChanged(r.users)
}

// OperatorPrincipal returns the principal of the operator's socket: an admin of the default tenant.
func (i *Identity) OperatorPrincipal() *junctor.Principal { return i.operatorPrincipal }
