package app

import (
	"context"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/cluster"
	"github.com/junctor-mcp/junctor/internal/instance"
	"github.com/junctor-mcp/junctor/internal/servers"
)

// newServers makes the servers of the instance. Nothing is attached yet.
func (a *App) newServers() *servers.Registry {
	o := servers.Options{
		Store: a.store, Vault: a.vault, Catalog: a.catalog, Pipeline: a.guard, Journal: a.journal, Egress: a.egress, Bytes: a.bytes,
		Sealer: a.ring, States: states{a.store}, Reader: instance.NewReferenceReader(a.cfg), Agents: a.agents, Models: a.agents.Models,
		AgentServer:      a.agents.Remote.Server,
		CheckNotDeclared: func(noun, id, file string) error { return a.file.CheckNotDeclared(noun, id, file) },
		Discovered: func(ctx context.Context, tenant junctor.TenantID, agent string) error {
			return a.events.Worker.Entered(ctx, tenant, agent)
		},
		Operator:       func() *junctor.Principal { return a.identity.OperatorPrincipal() },
		PollsDocuments: a.leases.documents.Held,
		URL:            a.URL, ConsoleURL: a.ConsoleURL, PublicURL: a.cfg.PublicURL, NewID: newID, Version: a.version, Log: a.log,
		AllowCommands: a.cfg.AllowCommands, Loopback: a.cfg.Loopback(), ThisMachineOnly: a.cfg.ThisMachineOnly(), Traced: a.traced(), SharesDatabase: a.cfg.DB != nil,
		ReplicaBeat: cluster.HeartbeatInterval, ReplicaExpiry: cluster.ExpiryAfter, MaxResult: a.cfg.MaxResult, ReservedIDDays: a.cfg.ReservedIDDays,
	}
	if a.replicas != nil {
		o.Replicas = a.replicas
	}
	return servers.New(o)
}

// attachServers registers the servers of the binary, puts the settings file into force
// and attaches everything that is stored.
func (a *App) attachServers(ctx context.Context) error {
	if a.opts.bare {
		return nil
	}
	if err := a.servers.AddBinaryServers(ctx, servers.BinaryOptions{
		Calls: a.calls, Events: a.events.EventAPI(), OCRRoots: a.cfg.OCRRoots, OCRVisionURL: a.cfg.OCRVisionURL,
		Extra: a.opts.servers, Offered: a.cfg.Builtin,
	}); err != nil {
		return err
	}
	if !a.opts.undeclared {
		if err := a.file.Start(ctx); err != nil {
			return err
		}
	}
	if err := a.servers.AttachAll(ctx); err != nil {
		return err
	}
	return a.agents.Remote.Start(ctx)
}
