package app

import (
	"context"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/audit"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/cluster"
	"github.com/junctor-mcp/junctor/internal/declare"
	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/instance"
	"github.com/junctor-mcp/junctor/internal/series"
	"github.com/junctor-mcp/junctor/internal/servers"
)

// admin makes the handler of the admin API.
func (a *App) admin() (*admin.Handler, error) {
	return a.newAdmin(admin.Options{
		Authenticate: a.authenticatePerson, TryPassword: a.signIn.TryPassword, Keys: a.people, Users: a.people, Logins: a.people, Consents: a.authority, Chains: a.chains, Tenants: tenantAPI{a.people, a.policies}, Servers: servers.AdminAPI{Registry: a.servers}, Credentials: servers.CredentialAPI{Manager: a.servers.Auth}, ServerLogins: servers.CredentialAPI{Manager: a.servers.Auth}, Tools: a.servers, Tags: a.agents, Agents: a.agents, Models: a.agents.Models, ComponentCatalogs: a.agents.Components, Talker: a.agents.Turns, Runner: a.servers, Apps: a.apps, Views: a.apps, Calls: callAPI{a.calls}, Secrets: a.servers.SecretAPI(), History: a.history, Series: seriesAPI{series.NewReader(series.ReaderOptions{DB: a.store.Database(), Servers: a.servers, Now: a.clock.Now}), a.series},
		Limits: a.limits, Policies: a.policies, Attention: a.attention, Events: a.events.EventAPI(), Deliveries: a.events.DeliveryAPI(), Rooms: a.rooms, Applier: declare.Applier{Sources: &a.sources, Settings: a.file}, Changes: changeAPI{a.changes, a.store}, ClientAddress: gateway.TrustedProxies(a.cfg.TrustedProxy).Client, Journal: &instance.JournalVerifier{Config: a.cfg, Store: a.store, Journal: a.journal, Replica: a.replica}, Cluster: cluster.Status{Store: a.store, Replicas: a.replicas, Name: a.replica, Version: a.version, ReadState: a.replicaState}, Settings: a.settings, RunsCommands: a.servers.Judge.RunsCommands, WatchCatalog: a.watchCatalog, ListFeed: &a.listFeed, Version: a.version, Log: a.log,
	})
}

// settings lists the settings in force. If the system chose the port (--listen host:0),
// the setting listen has that port.
func (a *App) settings() []admin.Setting {
	values := a.cfg.Values()
	problems := map[string]string{}
	for _, u := range instance.FindUnreadableSecrets(context.Background(), a.cfg) { // reads variables and files
		problems[u.Setting] = u.Problem
	}
	out := make([]admin.Setting, len(values))
	for i, v := range values {
		out[i] = admin.Setting{Name: v.Name, Value: v.Value, Source: v.Source, Problem: problems[v.Name]}
		if strings.HasSuffix(v.Value, ":0") && v.Name == "listen" && a.Addr() != "" {
			out[i].Value = a.Addr()
		}
	}
	return out
}

// callAPI joins audit.CallReader to the types of the admin API.
type callAPI struct{ *audit.CallReader }

// RecentCalls implements admin.Calls.
func (c callAPI) RecentCalls(ctx context.Context, p *junctor.Principal, f admin.CallFilter) (calls []junctor.Call, more bool, err error) {
	return c.Calls(ctx, p, &audit.CallFilter{
		Tool: f.Tool, Server: f.Server, User: f.User, Agent: f.Agent, Caller: f.Caller, EntryPoint: f.EntryPoint, View: f.View, Key: f.Key, Kind: f.Kind, Status: f.Status,
		Since: f.Since, Until: f.Until, Text: f.Text, Limit: f.Limit, Before: f.Before,
	})
}

// Tail implements admin.Calls.
func (c callAPI) Tail(p *junctor.Principal, match func(*junctor.Call) bool) admin.Tail {
	return c.Follow(p, match)
}

// catalogChanges joins catalog.Watcher to the types of the admin API.
type catalogChanges struct {
	*catalog.Watcher
	catalog *catalog.Catalog
}

// watchCatalog begins to collect changes of the catalog.
func (a *App) watchCatalog() admin.CatalogChanges {
	return catalogChanges{a.catalog.Watch(), a.catalog}
}

// Take implements admin.CatalogChanges. New content of a resource and states of tasks change
// no list.
func (c catalogChanges) Take(p *junctor.Principal) (changed bool) {
	anySource := *p
	anySource.User = "" // the user's choice of shown sources does not restrict the lists of the API
	shelf := c.catalog.Snapshot().For(p.Tenant)
	for _, ch := range c.Watcher.Take() {
		if ch.Tenant == p.Tenant && ch.URI == "" && ch.Task.ID == "" {
			changed = changed || shelf.Concerns(p, catalog.Scope{}, ch) || shelf.Concerns(&anySource, catalog.Scope{}, ch)
		}
	}
	return changed
}
