package identity

import (
	"context"
	"errors"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// FlushUsage stores the last-used times of keys and logins that have changed since the last
// call. Call it periodically, and before the process ends. Times that could not be stored
// are tried again at the next call.
func (i *Identity) FlushUsage(ctx context.Context) error {
	s := i.snapshot.Load()
	return errors.Join(
		flushUsage(s.keyUsage, func(tenant junctor.TenantID, used map[string]time.Time) error {
			return i.store.For(tenant).TouchKeys(ctx, used)
		}),
		flushUsage(s.loginUsage, func(tenant junctor.TenantID, used map[string]time.Time) error {
			return i.store.For(tenant).TouchLogins(ctx, used)
		}),
	)
}

// flushUsage stores the changed times of all, one call of touch per tenant. It joins the
// errors of the tenants; one that fails keeps no other from being stored.
func flushUsage(all map[tenantRef]*usage, touch func(junctor.TenantID, map[string]time.Time) error) error {
	type pending struct {
		usage *usage
		last  int64
	}
	times := make(map[junctor.TenantID]map[string]time.Time)
	marks := make(map[junctor.TenantID][]pending)
	for r, u := range all {
		last := u.lastUsed.Load()
		if last == u.storedLastUsed.Load() {
			continue
		}
		if times[r.tenant] == nil {
			times[r.tenant] = make(map[string]time.Time)
		}
		times[r.tenant][r.id] = time.UnixMicro(last)
		marks[r.tenant] = append(marks[r.tenant], pending{u, last})
	}
	var failed error
	for tenant, used := range times {
		if err := touch(tenant, used); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		for _, p := range marks[tenant] {
			p.usage.storedLastUsed.Store(p.last)
		}
	}
	return failed
}
