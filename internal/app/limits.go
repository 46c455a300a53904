package app

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/limit"
	"github.com/junctor-mcp/junctor/internal/store"
)

// settingLimits is where a tenant's policy is kept.
const settingLimits = "limits"

// quotas keeps the book of limits in step with the policies, users and agents
// that are stored.
type quotas struct {
	book  *limit.Book
	store *store.Store

	mu     sync.Mutex
	people map[junctor.TenantID]*people
}

// people is what the limits of a tenant are made from.
type people struct {
	policy junctor.LimitPolicy
	users  []junctor.User
	agents []junctor.Agent
}

// openLimits reads the policies, and what was used of today's limits. shared is
// what is shared with other replicas; nil where nothing is.
func openLimits(ctx context.Context, s *store.Store, shared limit.Pool) (*quotas, error) {
	q := &quotas{book: limit.NewBook(shared), store: s, people: map[junctor.TenantID]*people{}}
	counts, err := s.DayCounts(ctx, limit.Day(time.Now()))
	if err != nil {
		return nil, err
	}
	used := make([]limit.DayCount, len(counts))
	for i, c := range counts {
		used[i] = limit.DayCount(c)
	}
	q.book.Restore(used)
	return q, q.load(ctx)
}

// load reads the policies of all tenants.
func (q *quotas) load(ctx context.Context) error {
	tenants, err := q.store.Tenants(ctx)
	if err != nil {
		return err
	}
	for _, t := range tenants {
		policy, err := q.Limits(ctx, t.ID)
		if err != nil {
			return err
		}
		q.change(t.ID, func(p *people) { p.policy = policy })
	}
	return nil
}

// change changes what a tenant's limits are made from.
func (q *quotas) change(tenant junctor.TenantID, do func(*people)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.people[tenant]
	if p == nil {
		p = &people{policy: junctor.DefaultLimits()} // a new tenant has set none
		q.people[tenant] = p
	}
	do(p)
	q.book.Set(tenant, &p.policy, p.users, p.agents)
}

// usersChanged is told all users of all tenants.
func (q *quotas) usersChanged(users []junctor.User) {
	by := map[junctor.TenantID][]junctor.User{}
	q.mu.Lock()
	for tenant := range q.people {
		by[tenant] = nil // its last user may be gone
	}
	q.mu.Unlock()
	for _, u := range users {
		by[u.Tenant] = append(by[u.Tenant], u)
	}
	for tenant, list := range by {
		q.change(tenant, func(p *people) { p.users = list })
	}
}

// agentsChanged is told all agents of a tenant.
func (q *quotas) agentsChanged(tenant junctor.TenantID, agents []junctor.Agent) {
	q.change(tenant, func(p *people) { p.agents = slices.Clone(agents) })
}

// knownTier refuses a tier that the tenant has not: nobody would be bound by it.
func (q *quotas) knownTier(ctx context.Context, tenant junctor.TenantID, tier string) error {
	policy, err := q.Limits(ctx, tenant)
	if err != nil {
		return err
	}
	if _, ok := policy.Tier(tier); !ok {
		return junctor.Errorf(junctor.CodeInvalid, "unknown tier %q; there are %s", tier, strings.Join(slices.Sorted(maps.Keys(policy.Tiers)), ", "))
	}
	return nil
}

// Limits gives a tenant's policy: what it set, over the defaults.
func (q *quotas) Limits(ctx context.Context, tenant junctor.TenantID) (junctor.LimitPolicy, error) {
	policy := junctor.DefaultLimits()
	set, err := q.store.For(tenant).Setting(ctx, settingLimits)
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		return policy, nil
	}
	if err != nil {
		return policy, err
	}
	// What is set stands over the defaults, tier by tier.
	if err := json.Unmarshal(set.Value, &policy); err != nil {
		return policy, &junctor.Error{Code: junctor.CodeInternal, Cause: err, Message: "the stored limits cannot be read"}
	}
	return policy, nil
}

// SetLimits puts a policy in place of the tenant's.
func (q *quotas) SetLimits(ctx context.Context, tenant junctor.TenantID, policy junctor.LimitPolicy) error {
	if err := policy.Check(); err != nil {
		return err
	}
	value, err := json.Marshal(policy)
	if err != nil {
		return err
	}
	if err := q.store.For(tenant).PutSetting(ctx, settingLimits, value); err != nil {
		return err
	}
	q.change(tenant, func(p *people) { p.policy = policy })
	return nil
}

// flush keeps what was used today, so that a restart does not give it back.
func (q *quotas) flush(ctx context.Context) error {
	days := q.book.Days()
	counts := make([]store.DayCount, len(days))
	for i, d := range days {
		counts[i] = store.DayCount(d)
	}
	return q.store.PutDayCounts(ctx, counts, limit.Day(time.Now()))
}
