package policies

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/history"
	"github.com/junctor-mcp/junctor/internal/policy"
	"github.com/junctor-mcp/junctor/internal/store"
)

// Setting is the setting that holds the rules of a tenant.
const Setting = "policies"

const (
	// Lease is how long a replica judges by what it has read without asking the database
	// whether it is still the latest. A change waits longer than that for a replica that
	// cannot be reached.
	Lease = 5 * time.Second
	// confirmInterval is how often a replica asks.
	confirmInterval = 2 * time.Second
	// confirmTimeout bounds how long a call waits for the answer.
	confirmTimeout = time.Second
)

// Options configures Open. All fields but Filter and Replicas are required.
type Options struct {
	Store *store.Store
	// Tools returns the tools of a tenant, each version by itself, and the ids of servers
	// that have not listed their tools yet.
	Tools func(tenant junctor.TenantID) (tools []policy.Tool, awaited []string)
	// ToolsVersion returns a number that grows when Tools may answer otherwise.
	ToolsVersion func() uint64
	// AgentRole returns the role of an agent; "" if there is none of that name.
	AgentRole func(tenant junctor.TenantID, agent string) string
	// CheckReference refuses the reference to a secret that the principal may not use.
	CheckReference func(ctx context.Context, p *junctor.Principal, text string) error
	// CheckNotDeclared refuses to change a rule that a settings file in force declares.
	CheckNotDeclared func(noun, id, file string) error
	// History reads recorded calls.
	History History
	// CountCalls returns how many calls access allows that were made in a time.
	CountCalls func(ctx context.Context, p *junctor.Principal, since, until time.Time) (int, error)
	// Filter asks webhooks; nil if the process makes no calls.
	Filter policy.Filter
	// Apply puts the rules of all tenants into effect; a tenant that is absent has none.
	// When it returns, calls are judged by them.
	Apply func(sets map[junctor.TenantID]*policy.Set)
	// Announce returns when no other replica judges by former rules; nil without others.
	Announce func(ctx context.Context)
	// Shared says that other replicas may change the rules.
	Shared bool
	Now    func() time.Time
	Log    *slog.Logger
}

// History reads recorded calls. *history.History implements it.
type History interface {
	Query(ctx context.Context, access junctor.CallAccess, f history.Filter) (history.Page, error)
}

// Policies holds the rules of all tenants. It implements admin.Policies and is safe for
// concurrent use.
type Policies struct {
	o        Options
	compiler *policy.Compiler

	current   atomic.Pointer[rules]
	confirmed atomic.Pointer[time.Time] // when the database was last asked for versions, successfully
	users     atomic.Pointer[map[userKey]junctor.User]

	mu      sync.Mutex // held while current is replaced
	asking  sync.Mutex // held by the one call that asks the database
	checked checkCache
	tools   toolIndex
}

// userKey identifies a user by id.
type userKey struct {
	tenant junctor.TenantID
	id     string
}

// rules are the rules of all tenants at one moment. They never change.
type rules struct {
	tenants   []junctor.TenantID
	documents map[junctor.TenantID]*document
	sets      map[junctor.TenantID]*policy.Set // of tenants with rules
	rest      *policy.Set                      // of tenants without rules of their own: the operators' rules
	version   uint64                           // grows with each change
}

// Open reads the rules of all tenants.
func Open(ctx context.Context, o Options) (*Policies, error) {
	compiler, err := policy.NewCompiler()
	if err != nil {
		return nil, err
	}
	s := &Policies{o: o, compiler: compiler}
	s.users.Store(&map[userKey]junctor.User{})
	s.current.Store(&rules{rest: compiler.Compile(nil, nil, nil)})
	return s, s.Reload(ctx)
}

// SetUsers sets the users of all tenants, whose names and roles conditions read.
func (s *Policies) SetUsers(users []junctor.User) {
	next := make(map[userKey]junctor.User, len(users))
	for _, u := range users {
		next[userKey{u.Tenant, u.ID}] = u
	}
	s.users.Store(&next)
}

// Set returns the rules for the calls of a tenant as this replica has read them.
func (s *Policies) Set(tenant junctor.TenantID) *policy.Set {
	now := s.current.Load()
	if set, ok := now.sets[tenant]; ok {
		return set
	}
	return now.rest
}

// Confirm returns nil if the rules in effect are those that are stored. If the database
// does not say so, the error is unavailable, unless the tenant had no rules: then calls
// continue without a database.
func (s *Policies) Confirm(ctx context.Context, tenant junctor.TenantID) error {
	if s.isFresh() {
		return nil
	}
	err := s.confirmOnce(ctx)
	if err == nil || s.Set(tenant).Empty() {
		return nil
	}
	return junctor.Errorf(junctor.CodeUnavailable, "the rules about calls cannot be confirmed, because the database does not answer; try again later: %w", err)
}

// Holds reports whether a set of rules is still what calls of a tenant are judged by, and
// Confirm has nothing to ask.
func (s *Policies) Holds(tenant junctor.TenantID, set *policy.Set) bool {
	return s.Set(tenant) == set && (s.isFresh() || set.Empty())
}

// isFresh reports whether the rules in memory can be relied on.
func (s *Policies) isFresh() bool {
	if !s.o.Shared {
		return true
	}
	at := s.confirmed.Load()
	return at != nil && time.Since(*at) < Lease
}

// confirmOnce asks the database, once for all calls that wait at the same time.
func (s *Policies) confirmOnce(ctx context.Context) error {
	s.asking.Lock()
	defer s.asking.Unlock()
	if s.isFresh() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), confirmTimeout)
	defer cancel()
	return s.confirm(ctx)
}

// confirm compares the versions in memory with those of the database, and reads what
// changed.
func (s *Policies) confirm(ctx context.Context) error {
	asked := time.Now()
	stored, err := s.o.Store.SettingVersions(ctx, Setting)
	if err != nil {
		return err
	}
	now := s.current.Load()
	for tenant, at := range stored {
		if d := now.documents[tenant]; d == nil || d.version.Before(at) {
			return s.Reload(ctx)
		}
	}
	s.confirmed.Store(&asked)
	return nil
}

// Follow asks the database regularly, until ctx ends, so that calls need not wait for it.
func (s *Policies) Follow(ctx context.Context) {
	if !s.o.Shared {
		return
	}
	tick := time.NewTicker(confirmInterval)
	defer tick.Stop()
	for failed := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		within, cancel := context.WithTimeout(ctx, confirmInterval)
		err := s.confirm(within)
		cancel()
		if err != nil && !failed && ctx.Err() == nil {
			s.o.Log.Warn("cannot confirm the rules about calls; retrying", "error", err)
		}
		failed = err != nil
	}
}

// Reload reads the rules of all tenants. A list that cannot be read denies all calls of
// its tenant, which is logged; the others are in effect.
func (s *Policies) Reload(ctx context.Context) error {
	asked := time.Now()
	tenants, err := s.tenants(ctx)
	if err != nil {
		return err
	}
	stored, err := s.o.Store.SettingsNamed(ctx, Setting)
	if err != nil {
		return err
	}
	read := map[junctor.TenantID]*document{}
	for i := range stored {
		d, err := parseDocument(&stored[i].Setting)
		if err != nil {
			s.o.Log.Error("cannot read rules about calls", "tenant", stored[i].Tenant, "error", err)
		}
		read[stored[i].Tenant] = d
	}
	s.install(read, tenants)
	s.confirmed.Store(&asked)
	return nil
}

// install puts documents into effect, except those that are older than what is in effect.
// tenants are all tenants; nil if they are those that were known.
func (s *Policies) install(read map[junctor.TenantID]*document, tenants []junctor.TenantID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.current.Load()
	next := &rules{tenants: tenants, documents: maps.Clone(now.documents), sets: map[junctor.TenantID]*policy.Set{}, version: now.version}
	if tenants == nil {
		next.tenants = now.tenants
	}
	if next.documents == nil {
		next.documents = map[junctor.TenantID]*document{}
	}
	changed := map[junctor.TenantID]bool{}
	for tenant, d := range read {
		if former := next.documents[tenant]; former == nil || former.version.Before(d.version) {
			next.documents[tenant], changed[tenant] = d, true
		}
	}
	if len(changed) == 0 && slices.Equal(now.tenants, next.tenants) {
		return
	}
	next.version++
	operators := next.operatorRules()
	all := changed[junctor.DefaultTenant]
	next.rest = now.rest
	if all {
		next.rest = s.compiler.Compile(operators, nil, s.o.Filter)
	}
	for _, tenant := range next.tenants {
		switch own := next.documents[tenant].ownRules(); {
		case len(own) == 0 && len(operators) > 0:
			next.sets[tenant] = next.rest
		case len(own) == 0:
		case now.sets[tenant] != nil && !all && !changed[tenant]:
			next.sets[tenant] = now.sets[tenant]
		default:
			next.sets[tenant] = s.compiler.Compile(operators, own, s.o.Filter)
		}
	}
	s.current.Store(next)
	s.o.Apply(next.sets)
}

// AddTenant puts the operators' rules into effect for a tenant that was created a moment
// ago, on all replicas.
func (s *Policies) AddTenant(ctx context.Context) error {
	if err := s.Reload(ctx); err != nil {
		return err
	}
	if s.o.Announce != nil && len(s.current.Load().operatorRules()) > 0 {
		s.o.Announce(ctx)
	}
	return nil
}

// operatorRules returns the operators' rules, in order.
func (r *rules) operatorRules() (out []junctor.PolicyRule) {
	if d := r.documents[junctor.DefaultTenant]; d != nil {
		for i := range d.Rules {
			if d.Rules[i].IsOperators() {
				out = append(out, d.Rules[i].PolicyRule)
			}
		}
	}
	return out
}

// SubjectOf returns a caller as conditions see it.
func (s *Policies) SubjectOf(p *junctor.Principal) policy.Subject {
	return s.subject(p.Tenant, p.User, p.Agent, p.Client, junctor.CallFacts{Key: p.Key, Groups: p.Groups})
}

// subject returns the caller of a call. user is an id.
func (s *Policies) subject(tenant junctor.TenantID, user, agent, client string, facts junctor.CallFacts) policy.Subject {
	out := policy.Subject{Tenant: tenant, Agent: agent, Client: client, Groups: facts.Groups, Key: facts.Key}
	if u, ok := (*s.users.Load())[userKey{tenant, user}]; ok && user != "" {
		out.User, out.Role = u.Name, string(u.Role)
	}
	if agent != "" {
		out.Role = s.o.AgentRole(tenant, agent)
	}
	return out
}

// matchesTenant reports whether an operators' rule is about a tenant.
func matchesTenant(r *junctor.PolicyRule, tenant junctor.TenantID) bool {
	return slices.ContainsFunc(r.Target.Tenants, func(pattern string) bool { return policy.MatchPattern(pattern, string(tenant)) })
}
