package junctor

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// CallAccess decides which calls a principal may see, and whose payloads it may
// read. It is the only such rule: everything that shows calls, or sums over
// them, takes a CallAccess in place of a tenant. The zero value sees nothing.
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

// ownCalls are the members of a call that identify the principal as its caller.
// Empty members are not compared; with none set, no call matches.
type ownCalls struct{ user, issuer, subject, agent string }

// AllCalls returns the access to every call of a tenant, for admins and for
// work inside the instance.
func AllCalls(tenant TenantID) CallAccess { return CallAccess{tenant: tenant, all: true} }

// NewCallAccess returns the access of a principal. servers maps the ids of the
// servers that the principal may see to the time each was added, because a
// former server with the same id was another one. With nil, the access covers
// only the principal's own calls.
func NewCallAccess(p *Principal, servers map[string]time.Time) CallAccess {
	if p.Has(ScopeAdmin) && p.Agent == "" {
		return AllCalls(p.Tenant)
	}
	a := CallAccess{tenant: p.Tenant, servers: servers}
	switch {
	case p.Issuer == IssuerOpen:
	case p.Agent != "":
		// Compare the user too: an earlier agent of the same name may have had
		// another owner.
		a.own = ownCalls{user: p.User, issuer: p.Issuer, subject: p.Subject, agent: p.Agent}
	case p.User != "":
		a.own = ownCalls{user: p.User}
	default:
		a.own = ownCalls{issuer: p.Issuer, subject: p.Subject}
	}
	return a
}

// WithRooms returns the access of a member of exactly these rooms, by id.
func (a CallAccess) WithRooms(ids ...string) CallAccess {
	a.rooms = make(map[string]bool, len(ids))
	for _, id := range ids {
		if id != "" {
			a.rooms[id] = true
		}
	}
	return a
}

// Tenant returns the tenant that the access is limited to.
func (a *CallAccess) Tenant() TenantID { return a.tenant }

// All reports whether the access covers every call of the tenant.
func (a *CallAccess) All() bool { return a.all }

// Reads reports whether the payload of a call may be read.
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

// owns reports whether a call of the tenant is the principal's own, inside or
// outside a room.
func (a *CallAccess) owns(c *Call) bool {
	if a.own == (ownCalls{}) {
		return false
	}
	if a.own.agent != "" || a.own.user == "" {
		return c.Issuer == a.own.issuer && c.Subject == a.own.subject && c.Agent == a.own.agent && c.User == a.own.user
	}
	return c.User == a.own.user
}

// Sees reports whether the existence of a call may be known.
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

// Limit removes what belongs to the payload from a call whose payload may not
// be read: error texts and the errors of rules quote arguments, the URI of a
// resource is an argument, and facts are about the caller.
func (a *CallAccess) Limit(c *Call) {
	if a.Reads(c) {
		return
	}
	c.Restricted, c.Reason, c.View = true, "", ""
	c.Facts, c.Policy = CallFacts{}, nil
	if !NamesItem(c.Kind) {
		c.Name = ""
	}
}

// NamesItem reports whether the names of calls of a kind were chosen by the
// server. The names of other kinds come from the caller and count as payload.
func NamesItem(kind Kind) bool { return slices.Contains(itemKinds(), kind) }

func itemKinds() []Kind { return []Kind{KindTool, KindPrompt} }

// Condition returns Sees as an SQL condition over the columns tenant_id,
// issuer, subject, user_id, agent, room_id and server. moment is the column
// with the start of a call; from converts the time a server was added to the
// least value that counts.
func (a *CallAccess) Condition(moment string, from func(added time.Time) int64) (cond string, args []any) {
	cond, args = a.SumCondition(moment, from)
	if rooms, of := a.roomCondition(); rooms != "" && !a.all && a.tenant != "" {
		return "(" + cond + ") OR tenant_id = ? AND " + rooms, append(append(args, string(a.tenant)), of...)
	}
	return cond, args
}

// Parts returns pairs of a column and a value, over the columns of Condition: each call that
// may be seen has at least one of them. There are none if all calls may be seen, or none
// at all.
func (a *CallAccess) Parts() [][2]string {
	if a.all || a.tenant == "" {
		return nil
	}
	var parts [][2]string
	switch {
	case a.own == (ownCalls{}):
	case a.own.agent != "" || a.own.user == "":
		parts = append(parts, [2]string{"subject", a.own.subject})
	default:
		parts = append(parts, [2]string{"user_id", a.own.user})
	}
	for _, id := range slices.Sorted(maps.Keys(a.rooms)) {
		parts = append(parts, [2]string{"room_id", id})
	}
	for _, id := range slices.Sorted(maps.Keys(a.servers)) {
		if id != "" {
			parts = append(parts, [2]string{"server", id})
		}
	}
	return parts
}

// SumCondition is Condition for sums over calls, which have no room column: a
// room member sees calls of the room in them only if the calls are the member's
// own or on a visible server.
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

// ReadCondition returns Reads as an SQL condition.
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

// roomCondition matches calls that were made in one of the rooms; "" if there
// are none.
func (a *CallAccess) roomCondition() (cond string, args []any) {
	if len(a.rooms) == 0 {
		return "", nil
	}
	for _, id := range slices.Sorted(maps.Keys(a.rooms)) {
		args = append(args, id)
	}
	return "room_id IN (?" + strings.Repeat(", ?", len(args)-1) + ")", args
}

// ownCondition returns owns as an SQL condition. With access to all calls it
// matches every call.
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
