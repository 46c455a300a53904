package app

import (
	"context"
	"errors"
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/chains"
	"github.com/junctor-mcp/junctor/internal/erc8004"
	"github.com/junctor-mcp/junctor/internal/events"
	"github.com/junctor-mcp/junctor/internal/instance"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// openEvents makes the queue, the follower of chains, and the service that takes events
// in and delivers them.
func (a *App) openEvents(ctx context.Context) (err error) {
	readSetting := func(ctx context.Context, text string) (seal.Secret, error) {
		return instance.ReadSetting(ctx, a.cfg, text)
	}
	if a.queue, err = queue.New(queue.Options{DB: a.store.Database(), Owner: a.replica, Logger: a.log, Now: a.clock.Now, OnChange: a.noteEvents}); err != nil { //nolint:contextcheck // what writes lives as long as the queue
		return err
	}
	a.onClose(func(context.Context) { a.queue.Close() })
	a.chains, err = chains.New(ctx, chains.Options{
		Declared: a.cfg.Chains, IPFSGateways: a.cfg.IPFSGateways, AgentDomains: erc8004.DomainPolicy(a.cfg.AgentDomains),
		Store: a.store, Queue: a.queue, Egress: a.egress, ReadSetting: readSetting, DeleteServer: a.servers.DeleteServer, IsLeader: a.leases.chains.Held,
		BroadcastAgentChange: a.replicas.BroadcastAgentChange, CountFileFailure: a.metrics.CountFileFailure, KeepUnused: events.KeepDead, Now: a.clock.Now, Log: a.log,
	})
	if err != nil {
		return err
	}
	a.onClose(func(context.Context) { a.chains.Close() })
	a.events, err = events.New(events.Options{
		Store: a.store, Vault: a.vault, Catalog: a.catalog, Queue: a.queue, Pipeline: a.guard, Servers: a.servers, Judge: a.servers.Judge, Reader: instance.NewReferenceReader(a.cfg),
		Targets: a.chains, Files: a.chains, Meter: a.metrics, ReadSetting: readSetting, CheckNotDeclared: a.file.CheckNotDeclared,
		IsLeader: a.leases.schedules.Held, Loopback: a.cfg.Loopback(), Replica: a.replica, Now: a.clock.Now, NewID: newID, Log: a.log,
	})
	if err != nil {
		return err
	}
	a.onClose(func(context.Context) { a.events.Close() })
	a.chains.SetRaiser(a.events)
	return nil
}

// noteEvents tells the streams of admins that events and deliveries of tenants have changed.
func (a *App) noteEvents(tenants map[junctor.TenantID]bool) {
	for tenant := range tenants {
		a.listFeed.NoteForAdmins(tenant, "deliveries", "endpoints", "events")
	}
}

// deliver works on deliveries until work ends, and follows the database and the chains
// until ctx ends.
func (a *App) deliver(ctx, work context.Context) {
	a.events.TakeBackLeases(ctx)
	var followers sync.WaitGroup
	defer followers.Wait()
	if a.cfg.DB != nil {
		followers.Go(func() { a.followDatabase(ctx) })
	}
	followers.Go(func() { a.chains.Run(ctx) })
	a.events.Worker.Run(work)
	<-ctx.Done()
}

// pruneDeliveries removes deliveries that ended long ago, and servers that were
// discovered for them.
func (a *App) pruneDeliveries(ctx context.Context) error {
	return errors.Join(a.events.PruneDeliveries(ctx), a.chains.SweepServers(ctx))
}
