package identity

import (
	"slices"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// snapshot is all keys at one moment. It is never changed, only replaced.
type snapshot struct {
	keys   []junctor.Key       // all of them
	byHash map[[32]byte]*entry // those that were not revoked; expiry is judged at use
	used   map[ref]*usage      // of all of them
}

// ref names a key.
type ref struct {
	tenant junctor.TenantID
	id     string
}

// entry is what a check needs of one key.
type entry struct {
	principal *junctor.Principal // shared by all requests
	expires   time.Time          // zero: never
	usage     *usage
}

// usage is when a key was last used. It outlives snapshots: a check that still
// runs on the former one counts too.
type usage struct {
	last    atomic.Int64 // microseconds since 1970; 0: not since the start
	flushed atomic.Int64 // the value of last that is stored
}

// build makes a snapshot of keys, which it owns from then on.
func build(keys []junctor.Key, former *snapshot) *snapshot {
	s := &snapshot{keys: keys, byHash: make(map[[32]byte]*entry, len(keys)), used: make(map[ref]*usage, len(keys))}
	for n := range keys {
		k := &keys[n]
		r := ref{k.Tenant, k.ID}
		var u *usage
		if former != nil {
			u = former.used[r]
		}
		if u == nil {
			u = new(usage)
		}
		s.used[r] = u
		if !k.RevokedAt.IsZero() {
			continue
		}
		s.byHash[k.Hash] = &entry{
			principal: &junctor.Principal{
				Tenant: k.Tenant, Issuer: junctor.IssuerKey, Subject: k.ID, Name: k.Name, Scopes: slices.Clone(k.Scopes),
			},
			expires: k.ExpiresAt,
			usage:   u,
		}
	}
	return s
}

// index is where the key stands in keys, or -1.
func (s *snapshot) index(tenant junctor.TenantID, id string) int {
	return slices.IndexFunc(s.keys, func(k junctor.Key) bool { return k.Tenant == tenant && k.ID == id })
}
