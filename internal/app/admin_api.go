package app

import (
	"sync"

	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/servers"
)

// admin makes the admin API's handler.
func (a *App) admin() (*admin.Handler, error) {
	people := directory{a.identity, a}
	return a.newAdmin(admin.Options{
		Authenticate: a.authenticatePerson, TryPassword: a.signIn.TryPassword, Keys: people, Users: people, Logins: people, Consents: a.authority, Chains: a.chains, Tenants: people, Servers: servers.AdminView{Registry: a.servers}, Credentials: servers.CredentialAPI{Desk: a.servers.Auth}, ServerLogins: servers.CredentialAPI{Desk: a.servers.Auth}, Tools: a.servers, Tags: agents{a}, Agents: agents{a}, Models: a.models, ComponentCatalogs: a.components, Talker: minds{a}, Runner: a.servers, Apps: a.apps, Views: a.apps, Calls: callView{a}, Secrets: entrusted{a.vault, a.store, a.servers}, History: a.history,
		Limits: a.limits, Events: happenings{a}, Deliveries: couriers{a.worker, a}, Rooms: a.rooms, Applier: applier{a}, Journal: proof{a, &sync.Mutex{}}, Cluster: cluster{a}, Settings: a.settings, Version: a.version, Log: a.log,
	})
}

func (a *App) settings() []admin.Setting {
	values := a.cfg.Values()
	out := make([]admin.Setting, len(values))
	for i, v := range values {
		out[i] = admin.Setting(v)
	}
	return out
}
