package app

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/builtin/demo"
	"github.com/junctor-mcp/junctor/internal/builtin/ocr"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/servers"
)

// newServers makes the servers of the instance. Nothing is attached yet.
func (a *App) newServers() *servers.Registry {
	o := servers.Options{
		Store: a.store, Vault: a.vault, Catalog: a.catalog, Pipeline: a.guard, Journal: a.journal, Egress: a.egress, Bytes: a.bytes,
		Sealer: sealer{a.ring}, States: states{a.store}, Reader: a.reader(), Agents: agents{a}, Models: a.models,
		AgentServer:      a.elsewhere.server,
		CheckNotDeclared: func(noun, id, file string) error { return a.file.CheckNotDeclared(noun, id, file) },
		Discovered: func(ctx context.Context, tenant junctor.TenantID, agent string) error {
			return a.worker.Entered(ctx, tenant, agent)
		},
		Operator:       func() *junctor.Principal { return a.identity.Local() },
		PollsDocuments: a.turns.documents.mine,
		URL:            a.URL, ConsoleURL: a.ConsoleURL, PublicURL: a.cfg.PublicURL, NewID: newID, Version: a.version, Log: a.log,
		AllowCommands: a.cfg.AllowCommands, Loopback: a.cfg.Loopback(), Traced: a.traced(), SharesDatabase: a.cfg.DB != nil,
		ReplicaBeat: beatEvery, ReplicaExpiry: goneAfter, MaxResult: a.cfg.MaxResult, ReservedIDDays: a.cfg.ReservedIDDays,
	}
	if a.peers != nil {
		o.Replicas = a.peers
	}
	return servers.New(o)
}

// attachServers registers the servers of the binary, puts the settings file into force
// and attaches everything that is stored.
func (a *App) attachServers(ctx context.Context) error {
	if a.opts.bare {
		return nil
	}
	demoServer, err := demo.New(a.log)
	if err != nil {
		return err
	}
	ocrServer, err := ocr.New(ocr.Options{
		Roots: a.cfg.OCRRoots, VisionURL: a.cfg.OCRVisionURL, Client: a.egress.Client(egress.ClientOptions{Timeout: time.Minute, MaxBytes: ocr.MaxAnswer}),
		Credentials: credentials{a.vault}, Logger: a.log,
	})
	if err != nil {
		return err
	}
	board, err := a.newDashboard()
	if err != nil {
		return err
	}
	a.servers.AddBuiltin(board)
	inside := append([]*builtin.Server{demoServer, ocrServer}, a.opts.servers...)
	if a.opts.dashboard {
		inside = append(inside, board)
	}
	for _, b := range inside {
		a.servers.AddBuiltin(b)
		if err := a.store.For(junctor.DefaultTenant).EnsureBuiltin(ctx, b.ID(), b.Title()); err != nil {
			return err
		}
	}
	events, err := a.eventsServer()
	if err != nil {
		return err
	}
	a.servers.AddBuiltin(events)
	if !a.opts.undeclared {
		if err := a.file.Start(ctx); err != nil {
			return err
		}
	}
	if err := a.servers.AttachAll(ctx); err != nil {
		return err
	}
	return a.elsewhere.begin(ctx)
}
