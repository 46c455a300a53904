// Package quota keeps the limits of callers in step with the stored policies, users and
// agents. Package limit enforces them on each call; admin changes them through
// LimitState and ChangeLimits; app reports changes of users and agents.
package quota

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

// settingLimits is the setting that holds a tenant's policy.
const settingLimits = "limits"

// Quotas gives a limit.Enforcer the limits of all tenants. It implements admin.Limits
// and is safe for concurrent use.
type Quotas struct {
	enforcer *limit.Enforcer
	store    *store.Store

	changing sync.Mutex // held during each change of a policy, so that memory ends with the stored one

	mu      sync.Mutex
	tenants map[junctor.TenantID]*tenantInputs
}

// tenantInputs are the inputs for the limits of a tenant.
type tenantInputs struct {
	policy junctor.LimitPolicy
	users  []junctor.User
	agents []junctor.Agent
}

// Open reads the policies and today's use of the daily limits. shared is the pool that
// replicas share; nil if there is none.
func Open(ctx context.Context, s *store.Store, shared limit.Pool) (*Quotas, error) {
	q := &Quotas{enforcer: limit.NewEnforcer(shared), store: s, tenants: map[junctor.TenantID]*tenantInputs{}}
	counts, err := s.DayCounts(ctx, limit.Day(time.Now()))
	if err != nil {
		return nil, err
	}
	used := make([]limit.DayCount, len(counts))
	for i, c := range counts {
		used[i] = limit.DayCount(c)
	}
	q.enforcer.RestoreDayCounts(used)
	return q, q.Reload(ctx)
}

// Enforcer returns the enforcer of the limits.
func (q *Quotas) Enforcer() *limit.Enforcer { return q.enforcer }

// Reload reads the policies of all tenants.
func (q *Quotas) Reload(ctx context.Context) error {
	tenants, err := q.store.Tenants(ctx)
	if err != nil {
		return err
	}
	for _, t := range tenants {
		policy, err := q.Limits(ctx, t.ID)
		if err != nil {
			return err
		}
		q.update(t.ID, func(p *tenantInputs) { p.policy = policy })
	}
	return nil
}

// update changes the inputs of a tenant and sets its limits.
func (q *Quotas) update(tenant junctor.TenantID, do func(*tenantInputs)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.tenants[tenant]
	if p == nil {
		p = &tenantInputs{policy: junctor.DefaultLimits()} // a new tenant has no policy
		q.tenants[tenant] = p
	}
	do(p)
	q.enforcer.SetTenantLimits(tenant, &p.policy, p.users, p.agents)
}

// SetUsers sets the users of all tenants.
func (q *Quotas) SetUsers(users []junctor.User) {
	by := map[junctor.TenantID][]junctor.User{}
	q.mu.Lock()
	for tenant := range q.tenants {
		by[tenant] = nil // a tenant may have lost its last user
	}
	q.mu.Unlock()
	for _, u := range users {
		by[u.Tenant] = append(by[u.Tenant], u)
	}
	for tenant, list := range by {
		q.update(tenant, func(p *tenantInputs) { p.users = list })
	}
}

// SetAgents sets the agents of a tenant.
func (q *Quotas) SetAgents(tenant junctor.TenantID, agents []junctor.Agent) {
	q.update(tenant, func(p *tenantInputs) { p.agents = slices.Clone(agents) })
}

// CheckTier returns an error if the tenant has no such tier: it would limit nobody.
func (q *Quotas) CheckTier(ctx context.Context, tenant junctor.TenantID, tier string) error {
	policy, err := q.Limits(ctx, tenant)
	if err != nil {
		return err
	}
	if _, ok := policy.Tier(tier); !ok {
		return junctor.Errorf(junctor.CodeInvalid, "unknown tier %q; there are %s", tier, strings.Join(slices.Sorted(maps.Keys(policy.Tiers)), ", "))
	}
	return nil
}

// Limits returns the policy of a tenant: its own settings over the defaults.
func (q *Quotas) Limits(ctx context.Context, tenant junctor.TenantID) (junctor.LimitPolicy, error) {
	state, err := q.LimitState(ctx, tenant)
	return state.LimitPolicy, err
}

// LimitState implements admin.Limits.
func (q *Quotas) LimitState(ctx context.Context, tenant junctor.TenantID) (admin.LimitState, error) {
	set, err := q.store.For(tenant).Setting(ctx, settingLimits)
	if err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
		return admin.LimitState{LimitPolicy: junctor.DefaultLimits()}, err
	}
	return parseState(set)
}

// parseState reads the setting of a tenant's limits.
func parseState(set store.Setting) (admin.LimitState, error) {
	policy, err := parsePolicy(set.Value)
	return admin.LimitState{LimitPolicy: policy, UpdatedAt: set.UpdatedAt, UpdatedBy: set.UpdatedBy}, err
}

// parsePolicy returns the policy of a tenant over the defaults. A nil set means that
// the tenant has none.
func parsePolicy(set json.RawMessage) (junctor.LimitPolicy, error) {
	policy := junctor.DefaultLimits()
	if set == nil {
		return policy, nil
	}
	// Decoding into the defaults keeps the tiers that the tenant did not set.
	if err := json.Unmarshal(set, &policy); err != nil {
		return policy, &junctor.Error{Code: junctor.CodeInternal, Cause: err, Message: "the stored limits cannot be read"}
	}
	return policy, nil
}

// ChangeLimits applies change to the policy of the principal's tenant and stores the
// result, in one transaction.
func (q *Quotas) ChangeLimits(ctx context.Context, p *junctor.Principal, change func(*admin.LimitState) error) (admin.LimitState, error) {
	q.changing.Lock()
	defer q.changing.Unlock()
	set, err := q.store.For(p.Tenant).By(p.ID()).ChangeSetting(ctx, settingLimits, func(now store.Setting) (json.RawMessage, error) {
		state, err := parseState(now)
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
	state, err := parseState(set)
	if err == nil {
		q.update(p.Tenant, func(p *tenantInputs) { p.policy = state.LimitPolicy })
	}
	return state, err
}

// Flush stores today's use of the daily limits, so that a restart does not reset it.
func (q *Quotas) Flush(ctx context.Context) error {
	days := q.enforcer.DayCounts()
	counts := make([]store.DayCount, len(days))
	for i, d := range days {
		counts[i] = store.DayCount(d)
	}
	return q.store.PutDayCounts(ctx, counts, limit.Day(time.Now()))
}
