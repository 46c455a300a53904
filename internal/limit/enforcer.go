package limit

import (
	"context"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Enforcer holds the limits of all tenants and the accounts that count against them. Enter
// reads an immutable copy of the limits without a lock. Set replaces the limits of one
// tenant; the accounts stay, so that a change of policy forgives nothing.
type Enforcer struct {
	pool     Pool       // counts shared with other replicas; nil if this replica counts alone
	mu       sync.Mutex // guards accounts, and orders the writers of limits
	accounts map[accountKey]*Account
	limits   atomic.Pointer[map[junctor.TenantID]*tenantLimits] // by tenant; replaced as a whole, never changed
}

// accountKey names an account.
type accountKey struct {
	tenant junctor.TenantID
	kind   string // kindAgent, kindUser or kindTool
	name   string
}

const (
	// The kinds of accounts. They are part of stored day counts and of pool keys.
	kindAgent = "agent"
	kindUser  = "user"
	kindTool  = "tool"
)

// tenantLimits is the limits of one tenant at one moment. It is immutable.
type tenantLimits struct {
	agents map[string][]Bound // by name: the agent's own, and those of its owner if that is a user
	users  map[string][]Bound // by id
	tools  map[toolKey]Bound
}

// toolKey names a tool by its server's id and its own name.
type toolKey struct{ server, name string }

// NewEnforcer makes an Enforcer without limits. pool holds the counts that replicas share; it is
// nil if there is only one replica.
func NewEnforcer(pool Pool) *Enforcer {
	b := &Enforcer{pool: pool, accounts: map[accountKey]*Account{}}
	b.limits.Store(&map[junctor.TenantID]*tenantLimits{})
	return b
}

// Enter counts one call of p against the limits of its agent, its user and the tool.
// server and name identify the tool, or another item of the server. The caller must call
// Leave on the Pass when the call has ended. Errors are those of the function Enter.
func (b *Enforcer) Enter(ctx context.Context, p *junctor.Principal, server, name string, now time.Time) (Pass, error) {
	pg := (*b.limits.Load())[p.Tenant]
	if pg == nil {
		return Pass{}, nil
	}
	var list [maxBounds]Bound
	bounds := list[:0]
	if p.Agent != "" {
		bounds = append(bounds, pg.agents[p.Agent]...)
	} else if p.User != "" {
		bounds = append(bounds, pg.users[p.User]...)
	}
	if t, ok := pg.tools[toolKey{server, name}]; ok {
		bounds = append(bounds, t)
	}
	if len(bounds) == 0 {
		return Pass{}, nil
	}
	return Enter(ctx, bounds, now)
}

// SetTenantLimits replaces the limits of a tenant by those that follow from its policy, users and
// agents. Parties without limits get no account.
func (b *Enforcer) SetTenantLimits(tenant junctor.TenantID, policy *junctor.LimitPolicy, users []junctor.User, agents []junctor.Agent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	pg := &tenantLimits{agents: map[string][]Bound{}, users: map[string][]Bound{}, tools: map[toolKey]Bound{}}
	tiers := map[string]string{}
	for _, u := range users {
		tiers[u.ID] = u.Tier
		if l, ok := policy.Tier(u.Tier); ok && l != (junctor.Limits{}) {
			pg.users[u.ID] = []Bound{b.newBound(accountKey{tenant, kindUser, u.ID}, l)}
		}
	}
	for i := range agents {
		a := &agents[i]
		owner := a.OwnerUser()
		l, ok := resolveAgentLimits(policy, a, tiers[owner])
		if ok && l != (junctor.Limits{}) {
			pg.agents[a.Name] = append(pg.agents[a.Name], b.newBound(accountKey{tenant, kindAgent, a.Name}, l))
		}
		pg.agents[a.Name] = append(pg.agents[a.Name], pg.users[owner]...)
	}
	for text, l := range policy.Tools {
		if g, err := junctor.ParseGrant(text); err == nil && l != (junctor.Limits{}) {
			pg.tools[toolKey{g.Server, g.Item}] = b.newBound(accountKey{tenant, kindTool, text}, l)
		}
	}
	next := maps.Clone(*b.limits.Load())
	next[tenant] = pg
	b.limits.Store(&next)
}

// resolveAgentLimits returns the limits that apply to an agent: its own, else those of
// its tier, else those of its owner's tier, which is owners.
func resolveAgentLimits(policy *junctor.LimitPolicy, a *junctor.Agent, owners string) (junctor.Limits, bool) {
	if a.Limits != nil {
		return *a.Limits, true
	}
	if a.Tier != "" {
		return policy.Tier(a.Tier)
	}
	return policy.Tier(owners)
}

// newBound joins the account of k with its limits. The caller holds b.mu.
func (b *Enforcer) newBound(p accountKey, l junctor.Limits) Bound {
	return Bound{Kind: p.kind, Account: b.accountFor(p), Limits: &l}
}

// accountFor returns the account of k and makes it if there is none. The caller holds
// b.mu.
func (b *Enforcer) accountFor(p accountKey) *Account {
	a := b.accounts[p]
	if a == nil {
		a = &Account{}
		if b.pool != nil {
			a.lease = &poolLease{pool: b.pool, key: string(p.tenant) + "/" + p.kind + "/" + p.name}
		}
		b.accounts[p] = a
	}
	return a
}

// DayCount is the number of calls that a party made on one day. It is what is stored, so
// that a restart does not reset daily limits.
type DayCount struct {
	Tenant junctor.TenantID
	Party  string // kind and name, such as agent/qa-bot
	Day    int64  // days since 1970, in UTC
	Calls  int64
}

// DayCounts returns the day counts of all accounts that counted a call, for the caller to
// store.
func (b *Enforcer) DayCounts() []DayCount {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []DayCount
	for p, a := range b.accounts {
		if v := a.dayCalls.Load(); v&dayMask > 0 {
			list = append(list, DayCount{Tenant: p.tenant, Party: p.kind + "/" + p.name, Day: v >> dayShift, Calls: v & dayMask})
		}
	}
	return list
}

// RestoreDayCounts sets the day counts of accounts to values that Days returned before a restart.
// It skips parties of unknown kinds.
func (b *Enforcer) RestoreDayCounts(counts []DayCount) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range counts {
		who, name, ok := splitParty(c.Party)
		if !ok {
			continue
		}
		b.accountFor(accountKey{c.Tenant, who, name}).dayCalls.Store(c.Day<<dayShift | c.Calls&dayMask)
	}
}

// splitParty splits the Party of a DayCount. ok is false for an unknown kind.
func splitParty(text string) (who, name string, ok bool) {
	who, name, ok = strings.Cut(text, "/")
	return who, name, ok && (who == kindAgent || who == kindUser || who == kindTool)
}
