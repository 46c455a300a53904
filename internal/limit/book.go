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

// Book knows the limits of everybody, and what they have used of them. A check
// reads an immutable page; a change of a tenant's people or policy makes a new
// one, and what was used stays.
type Book struct {
	pool     Pool // nil: this replica counts for itself
	mu       sync.Mutex
	accounts map[accountKey]*Account
	limits    atomic.Pointer[map[junctor.TenantID]*tenantLimits]
}

// accountKey names an account.
type accountKey struct {
	tenant junctor.TenantID
	kind    string // whoAgent, whoUser or whoTool
	name   string
}

const (
	kindAgent = "agent"
	kindUser  = "user"
	kindTool  = "tool"
)

// tenantLimits is a tenant's limits at one moment.
type tenantLimits struct {
	agents map[string][]Bound // the agent's own, and its owner's where that is a user
	users  map[string][]Bound
	tools  map[toolKey]Bound
}

type toolKey struct{ server, name string }

// NewBook makes a book without limits. pool is what replicas share; nil where
// there is but one.
func NewBook(pool Pool) *Book {
	b := &Book{pool: pool, accounts: map[accountKey]*Account{}}
	b.limits.Store(&map[junctor.TenantID]*tenantLimits{})
	return b
}

// Enter counts a call of a tool (or of what else a server has) by p against the
// limits of its agent, its user and the tool. Errors as for the function Enter.
func (b *Book) Enter(ctx context.Context, p *junctor.Principal, server, name string, now time.Time) (Pass, error) {
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

// Set puts a tenant's policy and people in place of what they were.
func (b *Book) Set(tenant junctor.TenantID, policy *junctor.LimitPolicy, users []junctor.User, agents []junctor.Agent) {
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

// resolveAgentLimits are an agent's own, or those of its tier, or of its owner's.
func resolveAgentLimits(policy *junctor.LimitPolicy, a *junctor.Agent, owners string) (junctor.Limits, bool) {
	if a.Limits != nil {
		return *a.Limits, true
	}
	if a.Tier != "" {
		return policy.Tier(a.Tier)
	}
	return policy.Tier(owners)
}

func (b *Book) newBound(p accountKey, l junctor.Limits) Bound {
	return Bound{Who: p.kind, Account: b.accountFor(p), Limits: &l}
}

func (b *Book) accountFor(p accountKey) *Account {
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

// DayCount is how many calls a party made on a day.
type DayCount struct {
	Tenant junctor.TenantID
	Party  string // such as agent/qa-bot
	Day    int64  // since 1970, in UTC
	Calls  int64
}

// Days gives the counts of the current day, to be kept.
func (b *Book) Days() []DayCount {
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

// Restore goes on with counts that were kept.
func (b *Book) Restore(counts []DayCount) {
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

func splitParty(text string) (who, name string, ok bool) {
	who, name, ok = strings.Cut(text, "/")
	return who, name, ok && (who == kindAgent || who == kindUser || who == kindTool)
}
