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
	"github.com/junctor-mcp/junctor/internal/admin"
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

	changing sync.Mutex // held over each change of limits, so that memory has what was stored last

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
	state, err := q.LimitState(ctx, tenant)
	return state.LimitPolicy, err
}

// LimitState implements admin.Limits.
func (q *quotas) LimitState(ctx context.Context, tenant junctor.TenantID) (admin.LimitState, error) {
	set, err := q.store.For(tenant).Setting(ctx, settingLimits)
	if err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
		return admin.LimitState{LimitPolicy: junctor.DefaultLimits()}, err
	}
	return limitState(set)
}

// limitState reads the setting of a tenant's limits.
func limitState(set store.Setting) (admin.LimitState, error) {
	policy, err := limitPolicy(set.Value)
	return admin.LimitState{LimitPolicy: policy, UpdatedAt: set.UpdatedAt, UpdatedBy: set.UpdatedBy}, err
}

// limitPolicy is what a tenant set, over the defaults; nil is nothing.
func limitPolicy(set json.RawMessage) (junctor.LimitPolicy, error) {
	policy := junctor.DefaultLimits()
	if set == nil {
		return policy, nil
	}
	// What is set stands over the defaults, tier by tier.
	if err := json.Unmarshal(set, &policy); err != nil {
		return policy, &junctor.Error{Code: junctor.CodeInternal, Cause: err, Message: "the stored limits cannot be read"}
	}
	return policy, nil
}

// ChangeLimits changes what change changes of the tenant's policy. Nobody else changes
// it meanwhile.
func (q *quotas) ChangeLimits(ctx context.Context, p *junctor.Principal, change func(*admin.LimitState) error) (admin.LimitState, error) {
	q.changing.Lock()
	defer q.changing.Unlock()
	set, err := q.store.For(p.Tenant).By(p.ID()).ChangeSetting(ctx, settingLimits, func(now store.Setting) (json.RawMessage, error) {
		state, err := limitState(now)
		if err == nil {
			err = change(&state)
		}
		if err == nil {
			err = state.Check()
		}
		if err != nil {
			return nil, err
		}
		return json.Marshal(state.LimitPolicy)
	})
	if err != nil {
		return admin.LimitState{}, err
	}
	state, err := limitState(set)
	if err == nil {
		q.change(p.Tenant, func(people *people) { people.policy = state.LimitPolicy })
	}
	return state, err
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
