package junctor

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// CallAccess says which calls a principal may know of, and whose payloads it may
// read. It is the only such rule: everything that shows calls, or sums over
// them, takes one in the place of a tenant. The zero value sees nothing.
//
//   - Admins see every call of their tenant, with its payload.
//   - Everybody sees their own calls with the payload: a user those that were
//     made for them, by their agents and programs too; an agent and a service
//     those that they made themselves. Callers without a credential are not told
//     apart, so that none of them reads a payload.
//   - What an agent calls in a room belongs to the room: its members see it with
//     the payload, the agent and its owner without, unless the owner is a member.
//   - Of calls by others, those on servers that the principal may know of are
//     seen without the payload, if the access was made with servers.
//   - Nothing else is seen: not calls on private servers of others, on servers
//     that are gone, and not requests for what does not exist.
type CallAccess struct {
	tenant  TenantID
	all     bool
	own     ownCalls
	servers map[string]time.Time
	rooms   map[string]bool
}

// ownCalls is what a call says of whoever made it, where it is the principal's
// own. Texts that are empty do not count; with none set no call is.
type ownCalls struct{ user, issuer, subject, agent string }

// AllCalls is the access to every call of a tenant, for admins and for what runs
// inside the instance.
func AllCalls(tenant TenantID) CallAccess { return CallAccess{tenant: tenant, all: true} }

// NewCallAccess is the access of a principal. servers are those that it may know
// of, by id, and when each was added: a former server of the same id was another
// one. With nil it is about the principal's own calls alone.
func NewCallAccess(p *Principal, servers map[string]time.Time) CallAccess {
	if p.Has(ScopeAdmin) && p.Agent == "" {
		return AllCalls(p.Tenant)
	}
	a := CallAccess{tenant: p.Tenant, servers: servers}
	switch {
	case p.Issuer == IssuerOpen:
	case p.Agent != "":
		// The user too: an agent of the same name may have been somebody else's.
		a.own = ownCalls{user: p.User, issuer: p.Issuer, subject: p.Subject, agent: p.Agent}
	case p.User != "":
		a.own = ownCalls{user: p.User}
	default:
		a.own = ownCalls{issuer: p.Issuer, subject: p.Subject}
	}
	return a
}

// WithRooms is the access of a member of these rooms, by their ids, and of no
// others.
func (a CallAccess) WithRooms(ids ...string) CallAccess {
	a.rooms = make(map[string]bool, len(ids))
	for _, id := range ids {
		if id != "" {
			a.rooms[id] = true
		}
	}
	return a
}

// Tenant is whose calls it is about.
func (a *CallAccess) Tenant() TenantID { return a.tenant }

// All says whether it is to every call of the tenant.
func (a *CallAccess) All() bool { return a.all }

// Reads says whether the payload of a call may be read.
func (a *CallAccess) Reads(c *Call) bool {
	if a.tenant == "" || c.Tenant != a.tenant {
		return false
	}
	if a.all {
		return true
	}
	if c.Room != "" {
		return a.rooms[c.Room]
	}
	return a.owns(c)
}

// owns says whether a call of the tenant is the principal's own, in a room or not.
func (a *CallAccess) owns(c *Call) bool {
	if a.own == (ownCalls{}) {
		return false
	}
	if a.own.agent != "" || a.own.user == "" {
		return c.Issuer == a.own.issuer && c.Subject == a.own.subject && c.Agent == a.own.agent && c.User == a.own.user
	}
	return c.User == a.own.user
}

// Sees says whether a call may be known of.
func (a *CallAccess) Sees(c *Call) bool {
	if a.tenant == "" || c.Tenant != a.tenant {
		return false
	}
	if a.Reads(c) || a.owns(c) {
		return true
	}
	since, ok := a.servers[c.Server]
	return ok && c.Server != "" && !c.Start.Before(since)
}

// Limit leaves out of a call that may be known of whatever belongs to its
// payload: error texts quote arguments, a resource's address is one.
func (a *CallAccess) Limit(c *Call) {
	if a.Reads(c) {
		return
	}
	c.Restricted, c.Reason, c.View = true, "", ""
	if !NamesItem(c.Kind) {
		c.Name = ""
	}
}

// NamesItem says whether the name of a call of a kind is one that its server
// gave, and so no part of what the caller sent.
func NamesItem(kind Kind) bool { return slices.Contains(itemKinds(), kind) }

func itemKinds() []Kind { return []Kind{KindTool, KindPrompt} }

// Condition is Sees for a database with the columns tenant_id, issuer, subject,
// user_id, agent, room_id and server. moment is the column that says when a call
// started and from gives its least value that counts for a server that was added
// then.
func (a *CallAccess) Condition(moment string, from func(added time.Time) int64) (cond string, args []any) {
	cond, args = a.SumCondition(moment, from)
	if rooms, of := a.roomCondition(); rooms != "" && !a.all && a.tenant != "" {
		return "(" + cond + ") OR tenant_id = ? AND " + rooms, append(append(args, string(a.tenant)), of...)
	}
	return cond, args
}

// SumCondition is Condition for sums over calls, which are not kept by room: a
// member of a room finds its calls in them where they are their own or on a server
// that they may know of.
func (a *CallAccess) SumCondition(moment string, from func(added time.Time) int64) (cond string, args []any) {
	cond, args = a.ownCondition()
	if a.all || a.tenant == "" {
		return cond, args
	}
	either := []string{"(" + cond + ")"}
	ids := make([]string, 0, len(a.servers))
	for id := range a.servers {
		if id != "" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		either = append(either, "(server = ? AND "+moment+" >= ?)")
		args = append(args, id, from(a.servers[id]))
	}
	return "tenant_id = ? AND (" + strings.Join(either, " OR ") + ")", append([]any{string(a.tenant)}, args...)
}

// ReadCondition is Reads for a database, as Condition is Sees.
func (a *CallAccess) ReadCondition() (cond string, args []any) {
	cond, args = a.ownCondition()
	if a.all || a.tenant == "" {
		return cond, args
	}
	cond = "(" + cond + ") AND room_id = ''"
	if rooms, of := a.roomCondition(); rooms != "" {
		cond, args = cond+" OR tenant_id = ? AND "+rooms, append(append(args, string(a.tenant)), of...)
	}
	return "(" + cond + ")", args
}

// roomCondition says that a call was made in one of the rooms; "" where there are
// none.
func (a *CallAccess) roomCondition() (cond string, args []any) {
	if len(a.rooms) == 0 {
		return "", nil
	}
	for _, id := range slices.Sorted(maps.Keys(a.rooms)) {
		args = append(args, id)
	}
	return "room_id IN (?" + strings.Repeat(", ?", len(args)-1) + ")", args
}

// ownCondition is owns for a database, and holds for all calls with access to all.
func (a *CallAccess) ownCondition() (cond string, args []any) {
	own := a.own
	switch {
	case a.tenant == "", !a.all && own == (ownCalls{}):
		return "1 = 0", nil
	case a.all:
		return "tenant_id = ?", []any{string(a.tenant)}
	case own.agent != "" || own.user == "":
		return "tenant_id = ? AND issuer = ? AND subject = ? AND agent = ? AND user_id = ?", []any{string(a.tenant), own.issuer, own.subject, own.agent, own.user}
	}
	return "tenant_id = ? AND user_id = ?", []any{string(a.tenant), own.user}
}
