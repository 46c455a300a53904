package identity

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Keys is where keys are kept. Stored makes one of a *store.Store. Errors are
// *junctor.Error.
type Keys interface {
	// All lists the keys of all tenants, revoked and expired ones included.
	All(ctx context.Context) ([]junctor.Key, error)
	// Create stores a new key under k.Tenant; conflict when its id, its hash
	// or the tenant's admin name is taken, not_found when there is no such
	// tenant.
	Create(ctx context.Context, k junctor.Key) error
	// Revoke marks a key as revoked; not_found when the tenant has none.
	Revoke(ctx context.Context, tenant junctor.TenantID, id string, at time.Time) error
	// ReplaceAdmin makes k the admin key of k.Tenant under the id of the
	// former one, and returns it as stored; conflict when another key has that
	// hash.
	ReplaceAdmin(ctx context.Context, k junctor.Key) (junctor.Key, error)
	// Touch notes when keys of a tenant were last used.
	Touch(ctx context.Context, tenant junctor.TenantID, used map[string]time.Time) error
}

// Config is what an Identity is made of.
type Config struct {
	Keys   Keys             // required
	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: nothing is logged

	// Open lets requests without any credential in as the anonymous
	// principal. The caller makes sure that only loopback can reach it.
	Open bool
}

// Identity knows the keys. It is safe for concurrent use.
type Identity struct {
	keys Keys
	now  func() time.Time
	log  *slog.Logger

	anonymous *junctor.Principal // nil unless open
	local     *junctor.Principal

	// mu is held over each change, its database part included, so that a
	// reload that read before a revocation cannot be published after it.
	mu       sync.Mutex
	snapshot atomic.Pointer[snapshot]
}

// New loads all keys.
func New(ctx context.Context, c Config) (*Identity, error) {
	if c.Keys == nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "identity needs a place where keys are kept")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	i := &Identity{
		keys: c.Keys, now: c.Now, log: c.Logger,
		local: &junctor.Principal{
			Tenant: junctor.DefaultTenant, Issuer: junctor.IssuerLocal, Subject: "operator", Name: "operator",
			Scopes: []junctor.Scope{junctor.ScopeAdmin},
		},
	}
	if c.Open {
		i.anonymous = &junctor.Principal{
			Tenant: junctor.DefaultTenant, Issuer: junctor.IssuerOpen, Subject: "anonymous", Name: "anonymous",
			Scopes: []junctor.Scope{junctor.ScopeToolsRead, junctor.ScopeToolsCall},
		}
	}
	i.snapshot.Store(build(nil, nil))
	if err := i.Reload(ctx); err != nil {
		return nil, err
	}
	return i, nil
}

// Reload reads all keys anew: for changes that another process made. On an
// error the former snapshot stays.
func (i *Identity) Reload(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.reload(ctx)
}

func (i *Identity) reload(ctx context.Context) error {
	keys, err := i.keys.All(ctx)
	if err != nil {
		return err
	}
	i.publish(keys)
	return nil
}

// publish makes keys what the next check sees. The caller holds mu.
func (i *Identity) publish(keys []junctor.Key) {
	i.snapshot.Store(build(keys, i.snapshot.Load()))
}

// Local is the principal of the operator's own socket.
func (i *Identity) Local() *junctor.Principal { return i.local }
