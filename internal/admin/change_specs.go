package admin

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agui"
	"github.com/junctor-mcp/junctor/internal/queue"
)

// errNoSuchObject is the answer of readers that search a list.
var errNoSuchObject = errors.New("no such object")

// findIn returns the item of a list that matches, for readers of objects that the API only
// lists.
func findIn[T any](list []T, err error, matches func(*T) bool) (found T, _ error) {
	if err != nil {
		return found, err
	}
	i := slices.IndexFunc(list, func(v T) bool { return matches(&v) })
	if i < 0 {
		return found, errNoSuchObject
	}
	return list[i], nil
}

// changeSpecs returns the operations that change the instance, and what their records have. An
// operation that is no GET is here or in unrecordedOperations; otherwise a test fails.
func changeSpecs() map[string]changeSpec {
	id, name := []string{"id"}, []string{"name"}
	server := func(ctx context.Context, a *api, id string) (any, error) {
		return a.Servers.Server(ctx, callerOf(ctx), id)
	}
	suggestions := func(ctx context.Context, a *api, id string) (any, error) {
		return a.Servers.Suggestions(ctx, callerOf(ctx), id)
	}
	login := func(ctx context.Context, a *api, id string) (any, error) {
		return a.ServerLogins.ServerLogin(ctx, callerOf(ctx), id, requestOf(ctx).URL.Query().Get("shared") == "true")
	}
	credential := func(ctx context.Context, a *api, id string) (any, error) {
		return a.Credentials.MyCredential(ctx, callerOf(ctx), id)
	}
	agent := func(ctx context.Context, a *api, id string) (any, error) {
		return a.Agents.Agent(ctx, callerOf(ctx), id)
	}
	model := func(ctx context.Context, a *api, id string) (any, error) {
		return a.Models.Model(ctx, callerOf(ctx), id)
	}
	catalog := func(ctx context.Context, a *api, id string) (any, error) { return a.componentCatalog(ctx, id) }
	app := func(ctx context.Context, a *api, id string) (any, error) {
		list, err := a.Apps.ListApps(ctx, callerOf(ctx), junctor.AppFilter{Name: id}) // GetApp would read the page
		found, err := findIn(list, err, func(app *junctor.App) bool { return app.Name == id })
		if err != nil {
			return nil, err
		}
		return found.Approval, nil
	}
	tag := func(ctx context.Context, a *api, id string) (any, error) {
		tool, err := a.Tools.Tool(ctx, callerOf(ctx), id)
		if tag := tagOf(&tool); err == nil && tag != nil {
			return tag, nil
		}
		return nil, err
	}
	role := func(ctx context.Context, a *api, id string) (any, error) {
		list, err := a.Tags.Roles(ctx, callerOf(ctx))
		return findIn(list, err, func(r *RoleInfo) bool { return string(r.Name) == id })
	}
	key := func(ctx context.Context, a *api, id string) (any, error) {
		k, err := a.findManagedKey(ctx, id)
		return k, err
	}
	user := func(ctx context.Context, a *api, id string) (any, error) {
		return a.Users.User(ctx, callerOf(ctx).Tenant, id)
	}
	session := func(ctx context.Context, a *api, id string) (any, error) {
		list, err := a.listLogins(ctx, "")
		return findIn(list, err, func(l *junctor.Login) bool { return l.ID == id })
	}
	consent := func(ctx context.Context, a *api, id string) (any, error) {
		list, err := a.listConsents(ctx, "")
		return findIn(list, err, func(c *junctor.Consent) bool { return c.ID == id })
	}
	tenant := func(ctx context.Context, a *api, id string) (any, error) {
		list, err := a.Tenants.ListTenants(ctx)
		return findIn(list, err, func(t *junctor.Tenant) bool { return string(t.ID) == id })
	}
	trigger := func(ctx context.Context, a *api, id string) (any, error) {
		return a.Events.Trigger(ctx, callerOf(ctx), id)
	}
	source := func(ctx context.Context, a *api, id string) (any, error) {
		return a.Events.Source(ctx, callerOf(ctx), id)
	}
	schedule := func(ctx context.Context, a *api, id string) (any, error) {
		list, err := a.Events.Schedules(ctx, callerOf(ctx))
		return findIn(list, err, func(s *junctor.Schedule) bool { return s.Name == id })
	}
	room := func(ctx context.Context, a *api, id string) (any, error) {
		d, err := a.Rooms.Get(ctx, callerOf(ctx), id)
		return d.Room, err
	}
	secret := func(ctx context.Context, a *api, _ string) (any, error) {
		r := requestOf(ctx)
		if err := a.Secrets.Keeps(ctx, callerOf(ctx), r.PathValue("owner")); err != nil {
			return nil, err
		}
		return a.Secrets.Info(ctx, callerOf(ctx).Tenant, r.PathValue("owner"), r.PathValue("name"))
	}
	limits := func(ctx context.Context, a *api, _ string) (any, error) {
		return a.Limits.LimitState(ctx, callerOf(ctx).Tenant)
	}
	policy := func(ctx context.Context, a *api, id string) (any, error) { return a.policyRule(ctx, id) }
	policies := func(ctx context.Context, a *api, _ string) (any, error) {
		list, _, err := a.Policies.PolicyRules(ctx, callerOf(ctx))
		return list, err
	}
	endpoints := func(ctx context.Context, a *api, id string) (any, error) {
		list, err := a.Deliveries.AgentEndpoints(ctx, callerOf(ctx).Tenant, id)
		if len(list) == 0 && err == nil {
			err = errNoSuchObject
		}
		return list, err
	}
	// Only what the operation changes: the rest changes with every delivery and block.
	endpoint := func(ctx context.Context, a *api, id string) (any, error) {
		list, err := a.Deliveries.Lanes(ctx, callerOf(ctx))
		lane, err := findIn(list, err, func(l *queue.Lane) bool { return l.Name == id })
		return endpointState{id, lane.State}, err
	}
	chain := func(ctx context.Context, a *api, id string) (any, error) {
		list, err := a.Chains.Chains(ctx, callerOf(ctx).Tenant)
		found, err := findIn(list, err, func(c *junctor.ChainStatus) bool { return c.Name == id })
		return chainPosition{id, found.Read}, err
	}
	return map[string]changeSpec{
		"create-server":       {object: "server", named: "id", read: server},
		"patch-server":        {object: "server", path: id, read: server},
		"enable-server":       {object: "server", path: id, read: server},
		"disable-server":      {object: "server", path: id, read: server},
		"delete-server":       {object: "server", path: id, read: server},
		"import-document":     {object: "server", path: id, read: server},
		"approve-suggestions": {object: "server", path: id, read: server},
		"reject-suggestions":  {object: "server", path: id, read: suggestions},

		"finish-server-login":  {object: "server-login", path: id, readFor: readFinishedLogin},
		"delete-server-login":  {object: "server-login", path: id, read: login},
		"put-my-credential":    {object: "credential", path: id, read: credential},
		"delete-my-credential": {object: "credential", path: id, read: credential},

		"create-agent":             {object: "agent", named: "name", read: agent},
		"patch-agent":              {object: "agent", path: name, read: agent},
		"delete-agent":             {object: "agent", path: name, read: agent},
		"create-model":             {object: "model", named: "name", read: model},
		"patch-model":              {object: "model", path: name, read: model},
		"delete-model":             {object: "model", path: name, read: model},
		"put-component-catalog":    {object: "component-catalog", path: name, read: catalog},
		"delete-component-catalog": {object: "component-catalog", path: name, read: catalog},
		"approve-app":              {object: "app", path: name, read: app},
		"revoke-app":               {object: "app", path: name, read: app},
		"put-tool-tag":             {object: "tool", path: name, read: tag},
		"delete-tool-tag":          {object: "tool", path: name, read: tag},
		"put-role":                 {object: "role", path: name, read: role},
		"delete-role":              {object: "role", path: name, read: role},

		"create-key":         {object: "key", created: "id", alias: "id", read: key},
		"rotate-key":         {object: "key", path: id, alias: "id", read: key},
		"delete-key":         {object: "key", path: id, alias: "id", read: key},
		"create-user":        {object: "user", created: "id", alias: "id", read: user},
		"patch-user":         {object: "user", path: []string{"user"}, alias: "id", read: user},
		"delete-user":        {object: "user", path: []string{"user"}, alias: "id", read: user},
		"put-user-password":  {object: "user", path: []string{"user"}, alias: "id", read: user},
		"create-user-link":   {object: "user", path: []string{"user"}, alias: "id", read: user},
		"put-my-sources":     {object: "user", self: true, read: user},
		"put-my-password":    {object: "user", self: true, read: user},
		"delete-login":       {object: "login", path: id, read: session},
		"delete-consent":     {object: "consent", path: id, read: consent},
		"create-tenant":      {object: "tenant", named: "id", read: tenant},
		"replace-tenant-key": {object: "tenant", path: id, read: tenant},

		"create-trigger":     {object: "trigger", named: "name", read: trigger},
		"patch-trigger":      {object: "trigger", path: name, read: trigger},
		"delete-trigger":     {object: "trigger", path: name, read: trigger},
		"create-source":      {object: "source", named: "id", read: source},
		"patch-source":       {object: "source", path: id, read: source},
		"delete-source":      {object: "source", path: id, read: source},
		"put-schedule":       {object: "schedule", path: name, read: schedule},
		"delete-schedule":    {object: "schedule", path: name, read: schedule},
		"replay-event":       {object: "event", path: id},
		"change-deliveries":  {object: "deliveries", requested: bodyOf},
		"stop-endpoint":      {object: "endpoint", named: "endpoint", read: endpoint},
		"start-endpoint":     {object: "endpoint", named: "endpoint", read: endpoint},
		"put-agent-token":    {object: "agent-endpoint", path: []string{"agent"}, read: endpoints},
		"delete-agent-token": {object: "agent-endpoint", path: []string{"agent"}, read: endpoints},
		"rewind-chain":       {object: "chain", path: name, read: chain, requested: rewindTarget},

		"create-room": {object: "room", created: "id", read: room},
		"patch-room":  {object: "room", path: id, read: room},
		"delete-room": {object: "room", path: id, read: room},
		"run-room":    {object: "approval", path: id, only: decidesOnCalls, requested: decisionsOf},

		"put-secret":    {object: "secret", path: []string{"owner", "name"}, read: secret},
		"delete-secret": {object: "secret", path: []string{"owner", "name"}, read: secret},
		"rotate-secret": {object: "secrets"},
		"patch-limits":  {object: "limits", read: limits},

		"put-policy":       {object: "policy", path: name, read: policy},
		"delete-policy":    {object: "policy", path: name, read: policy},
		"replace-policies": {object: "policies", read: policies},

		"apply":    {steps: true},
		"add-pack": {steps: true},
	}
}

// endpointState is a delivery endpoint in the record of a change.
type endpointState struct {
	Endpoint string          `json:"endpoint"`
	State    queue.LaneState `json:"state"`
}

// chainPosition is a chain in the record of a change.
type chainPosition struct {
	Name string `json:"name"`
	Read uint64 `json:"read"`
}

// rewindTarget returns where a chain is read again from, which its watcher does later.
func rewindTarget(in any) any {
	request, _ := in.(*rewindChainInput)
	if request == nil {
		return nil
	}
	return chainPosition{request.Name, request.Body.To}
}

// readFinishedLogin returns the reader of the login that a request finishes.
func readFinishedLogin(in any) objectReader {
	return func(ctx context.Context, a *api, id string) (any, error) {
		request, _ := in.(*finishLogin)
		if request == nil {
			return nil, errNoSuchObject
		}
		_, shared, err := a.ServerLogins.StartedLogin(callerOf(ctx), request.Body.Login)
		if err != nil {
			return nil, err
		}
		return a.ServerLogins.ServerLogin(ctx, callerOf(ctx), id, shared)
	}
}

// decision is what a user decided on a waiting call, as the record of a change has it.
type decision struct {
	ID       string `json:"id"` // of the interrupt
	Allow    bool   `json:"allow"`
	Remember bool   `json:"remember,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// decidesOnCalls reports whether a run of a room decides on waiting calls.
func decidesOnCalls(in any) bool { return decisionsOf(in) != nil }

// decisionsOf returns the decisions in a request to run a room; nil if it has none.
func decisionsOf(in any) any {
	body, _ := bodyOf(in).(json.RawMessage)
	input, err := agui.ReadInput(body)
	if err != nil || len(input.Resume) == 0 {
		return nil
	}
	list := make([]decision, len(input.Resume))
	for i, one := range input.Resume {
		list[i] = decision{one.InterruptID, one.Allow, one.Remember, one.Reason}
	}
	return list
}

// unrecordedOperations returns the operations that are no GET and change nothing of the
// instance, with the reason.
func unrecordedOperations() map[string]string {
	const (
		call    = "a call: the journal has its records"
		message = "a message: the room keeps it, and the journal has the calls that follow"
		view    = "the caller's own open view, which ends with the session"
		try     = "it stores nothing"
		suggest = "a suggestion has no effect until it is approved"
	)
	return map[string]string{
		"call-tool": call, "run": call, "call-view-tool": call, "view-rpc": call,
		"run-agent": message, "stop-run": message, "report-surface": message,
		"open-view": view, "close-view": view, "answer-view-mail": view, "add-view-log": view,
		"probe-server": try, "follow-probe": try, "test-server": try, "follow-test": try, "preview-server": try, "follow-preview": try, "fetch-document": try,
		"test-model": try, "try-trigger": try, "plan-pack": try, "find-chain-agent": try, "verify-journal": try,
		"check-policies": try, "simulate-policies": try, "test-policies": try,
		"start-server-login": "the login is stored when it is finished",
		"make-suggestions":   suggest, "follow-suggestions": suggest,
		"send-event": "an event: it is kept with its deliveries",
	}
}
