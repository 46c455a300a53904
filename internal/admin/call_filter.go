package admin

import (
	"context"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/series"
)

// resolveCallsOf replaces the names in f by what the records have, and refuses what names
// nothing: a list that is empty because of a typing error looks like one without calls.
// What is gone may still be in the records, and is accepted if the caller sees a call of
// it. So nobody learns more of servers, agents and users than from an unfiltered list.
func (a *api) resolveCallsOf(ctx context.Context, f *CallsOf) error {
	for _, resolve := range []func(context.Context, *CallsOf) error{a.resolveUser, a.resolveAgent, a.resolveCaller, a.resolveServer, a.resolveTool} {
		if err := resolve(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// resolveHistoryFilter is resolveCallsOf for the filters that only the list and the export
// of calls have, too.
func (a *api) resolveHistoryFilter(ctx context.Context, f *HistoryFilter) error {
	if err := a.resolveKey(ctx, f); err != nil {
		return err
	}
	return a.resolveCallsOf(ctx, &f.CallsOf)
}

// resolveKey replaces the name or the prefix of a key by its id. It takes revoked keys,
// too: calls with a key that leaked are looked for after it was revoked.
func (a *api) resolveKey(ctx context.Context, f *HistoryFilter) error {
	if f.Key == "" {
		return nil
	}
	keys, err := a.findKeys(ctx, f.Key)
	switch {
	case err != nil:
		return err
	case len(keys) == 0:
		return junctor.Errorf(junctor.CodeInvalid, "unknown key %q; junctor key ls lists keys", f.Key)
	case len(keys) > 1:
		return errSeveralKeys(f.Key, keys)
	}
	f.Key = keys[0].ID
	return nil
}

// resolveUser replaces a user's name by the user's id.
func (a *api) resolveUser(ctx context.Context, f *CallsOf) error {
	if f.User == "" {
		return nil
	}
	p := callerOf(ctx)
	u, err := a.Users.User(ctx, p.Tenant, f.User)
	switch {
	case err == nil:
		f.User = u.ID
		if p.Has(junctor.ScopeAdmin) || p.User == u.ID {
			return nil
		}
	case junctor.CodeOf(err) != junctor.CodeNotFound:
		return err
	}
	// Only an admin may know which users there are.
	return a.requireRecorded(ctx, &CallsOf{User: f.User}, "user", "junctor user ls lists users")
}

// resolveAgent refuses the name of an agent that the caller cannot know.
func (a *api) resolveAgent(ctx context.Context, f *CallsOf) error {
	if f.Agent == "" {
		return nil
	}
	_, err := a.Agents.Agent(ctx, callerOf(ctx), f.Agent)
	if junctor.CodeOf(err) != junctor.CodeNotFound {
		return err
	}
	return a.requireRecorded(ctx, &CallsOf{Agent: f.Agent}, "agent", "junctor agent ls lists agents")
}

// resolveServer refuses the id of a server that the caller cannot know.
func (a *api) resolveServer(ctx context.Context, f *CallsOf) error {
	if f.Server == "" || f.Server == junctor.AdhocServer {
		return nil
	}
	err := a.requireServer(ctx, f.Server)
	if junctor.CodeOf(err) != junctor.CodeInvalid {
		return err
	}
	return a.requireRecorded(ctx, &CallsOf{Server: f.Server}, "server", "junctor server ls lists servers")
}

// requireServer refuses a filter that names no server which the caller sees.
func (a *api) requireServer(ctx context.Context, id string) error {
	if id == "" {
		return nil
	}
	list, err := a.Servers.Servers(ctx, callerOf(ctx))
	if err != nil || slices.ContainsFunc(list, func(s junctor.Server) bool { return s.ID == id }) {
		return err
	}
	return unknownFilter("server", id, "junctor server ls lists servers")
}

// resolveTool refuses the name of a tool that the caller cannot know.
func (a *api) resolveTool(ctx context.Context, f *CallsOf) error {
	if f.Tool == "" {
		return nil
	}
	isNamed := func(t junctor.Tool) bool { return t.Exposed == f.Tool || t.Name == f.Tool }
	tools := a.Tools.Tools(callerOf(ctx), "", "", "")
	if i := slices.IndexFunc(tools, isNamed); i >= 0 {
		// Records have server and name. Lists of calls join them in one way only.
		if t := tools[i]; t.Exposed == f.Tool && t.Exposed != t.Server+"__"+t.Name && (f.Server == "" || f.Server == t.Server) {
			f.Server, f.Tool = t.Server, t.Name
		}
		return nil
	}
	// Lists of calls and grants name a tool as server/tool.
	server, name, both := strings.Cut(f.Tool, "/")
	if both && f.Server == "" && slices.ContainsFunc(tools, func(t junctor.Tool) bool { return t.Server == server && t.Name == name }) {
		f.Server, f.Tool = server, name
		return nil
	}
	return a.requireRecorded(ctx, &CallsOf{Tool: f.Tool}, "tool", "junctor tool ls lists tools")
}

// resolveCaller replaces the name of a key or a user by the subject that records have. An
// id wins over a name.
func (a *api) resolveCaller(ctx context.Context, f *CallsOf) error {
	if f.Caller == "" {
		return nil
	}
	p := callerOf(ctx)
	users, err := a.visibleUsers(ctx, p)
	if err != nil {
		return err
	}
	agents, err := a.Agents.Agents(ctx, p)
	if err != nil {
		return err
	}
	isID := func(u junctor.User) bool { return u.ID == f.Caller }
	isAgent := func(g junctor.Agent) bool { return g.Name == f.Caller }
	if slices.ContainsFunc(users, isID) {
		return nil
	}
	keys, err := a.findKeys(ctx, f.Caller)
	if err != nil {
		return err
	}
	if len(keys) == 1 && keys[0].ID == f.Caller {
		return useKeyAsCaller(f, &keys[0])
	}
	var named []string // ids of what has the name
	for _, u := range users {
		if u.Name == f.Caller {
			named = append(named, u.ID)
		}
	}
	if slices.ContainsFunc(agents, isAgent) {
		named = append(named, f.Caller)
	}
	for _, k := range keys {
		if k.Agent != f.Caller { // the first key of an agent has its name
			named = append(named, k.ID)
		}
	}
	switch {
	case len(named) > 1:
		return junctor.Errorf(junctor.CodeInvalid, "the caller %q is ambiguous: %s have that name; use one of these ids", f.Caller, strings.Join(named, ", "))
	case len(named) == 1 && len(keys) == 1 && named[0] == keys[0].ID:
		return useKeyAsCaller(f, &keys[0])
	case len(named) == 1:
		f.Caller = named[0]
		return nil
	}
	return a.requireRecorded(ctx, &CallsOf{Caller: f.Caller}, "caller", "junctor key ls, junctor user ls and junctor agent ls list names")
}

// useKeyAsCaller replaces the caller of f by the subject of a key. The caller of calls with
// the key of a user or an agent is that user or agent.
func useKeyAsCaller(f *CallsOf, k *junctor.Key) error {
	switch {
	case k.User != "":
		return junctor.Errorf(junctor.CodeInvalid, "the key %s (%s) belongs to a user, and its calls are recorded under that user; filter by the key, or by the caller or user %s", k.ID, k.Name, k.User)
	case k.Agent != "":
		return junctor.Errorf(junctor.CodeInvalid, "the key %s (%s) belongs to an agent, and its calls are recorded under that agent; filter by the key, or by the caller or agent %s", k.ID, k.Name, k.Agent)
	}
	f.Caller = k.ID
	return nil
}

// visibleUsers lists the users that the caller may know: an admin all, others themselves.
func (a *api) visibleUsers(ctx context.Context, p *junctor.Principal) ([]junctor.User, error) {
	if p.Has(junctor.ScopeAdmin) {
		return a.Users.ListUsers(ctx, p.Tenant)
	}
	if p.User == "" {
		return nil, nil
	}
	u, err := a.Users.User(ctx, p.Tenant, p.User)
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		return nil, nil
	}
	return []junctor.User{u}, err
}

// requireRecorded refuses a filter with one member unless the caller sees a call that it
// selects, or a sum over such calls.
func (a *api) requireRecorded(ctx context.Context, f *CallsOf, what, hint string) error {
	p := callerOf(ctx)
	past, sums := HistoryFilter{CallsOf: *f}, usageQuery{CallsOf: *f}
	calls, _, err := a.Calls.RecentCalls(ctx, p, CallFilter{HistoryFilter: past, Limit: 1})
	if err != nil || len(calls) > 0 {
		return err
	}
	access, err := a.Calls.CallAccess(ctx, p)
	if err != nil {
		return err
	}
	one := past.toFilter()
	one.Limit, one.WithoutPayloads = 1, true
	page, err := a.History.Query(ctx, access, one)
	if err != nil || len(page.Calls) > 0 {
		return err
	}
	usage, err := a.Series.Usage(ctx, access, sums.toFilter(), series.UsageByServer)
	if err != nil || len(usage) > 0 {
		return err
	}
	return unknownFilter(what, f.Tool+f.Server+f.User+f.Agent+f.Caller, hint)
}

// unknownFilter returns the error of a filter whose value names nothing.
func unknownFilter(what, value, hint string) error {
	return junctor.Errorf(junctor.CodeInvalid, "unknown %s %q; %s", what, value, hint)
}
