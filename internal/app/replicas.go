package app

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/cluster"
	"github.com/junctor-mcp/junctor/internal/gateway"
	"github.com/junctor-mcp/junctor/internal/instance"
	"github.com/junctor-mcp/junctor/internal/servers"
	"github.com/junctor-mcp/junctor/internal/store/postgres"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// leases are the leader leases of the instance.
type leases struct {
	schedules *cluster.Lease // places scheduled events and forgets old ones
	documents *cluster.Lease // reads the documents of generated servers again
	retention *cluster.Lease // removes what has expired
	chains    *cluster.Lease // follows the chains
	attention *cluster.Lease // looks for what needs attention
}

// run takes and keeps the leases until ctx ends.
func (l leases) run(ctx context.Context) {
	var work sync.WaitGroup
	for _, one := range []*cluster.Lease{l.schedules, l.documents, l.retention, l.chains, l.attention} {
		work.Go(func() { one.Run(ctx) })
	}
	work.Wait()
}

// openReplicas makes what an instance with a shared database needs, and the leases,
// which a process that is alone always holds.
func (a *App) openReplicas() (err error) {
	if a.cfg.DB != nil {
		a.replicas, err = cluster.New(cluster.Options{
			Store: a.store, Ring: a.ring, Clock: a.clock, Name: a.replica, Version: a.version, ClientAddress: gateway.TrustedProxies(a.cfg.TrustedProxy).Client, Log: a.log,
		})
		if err != nil {
			return err
		}
		a.onClose(func(context.Context) { a.replicas.Close() })
	}
	if a.cfg.DB != nil && a.cfg.Redis != nil {
		if a.streams, err = cluster.NewStreamStore(a.cfg.Redis, a.ring, a.log); err != nil {
			return err
		}
		a.onClose(func(context.Context) { _ = a.streams.Close() })
	}
	lease := func(name string) *cluster.Lease { return cluster.NewLease(name, a.replicas, a.log) }
	a.leases = leases{schedules: lease("schedules"), documents: lease("documents"), retention: lease("retention"), chains: lease("chains"), attention: lease("attention")}
	return nil
}

// attachReplicas connects the parts that act on what other replicas send.
func (a *App) attachReplicas() {
	a.replicas.Attach(cluster.Parts{
		Catalog: a.catalog, Servers: a.servers, ReplicaPath: servers.ReplicaPath, HandleSessionEvent: a.gateway.HandleSessionEvent, Views: a.apps, ReadState: a.replicaState,
		ReloadRules:        a.policies.Reload,
		ForgetRegistration: a.chains.ForgetRegistration,
		AuthenticatePerson: a.authenticatePerson,
		IsLocal:            isLocal,
	})
}

// replicaState returns the state of this replica.
func (a *App) replicaState(ctx context.Context) (cluster.State, error) {
	s := cluster.State{ID: a.replicas.Self(), Journal: a.journal.State()}
	var err error
	if s.SealKey, s.SealKeys, err = a.vault.Keys(ctx); err != nil {
		return s, err
	}
	if a.pool != nil {
		if s.Redis = "ok"; !a.pool.Answers(ctx) {
			s.Redis = "away"
		}
	}
	s.Time = time.Now() // last: the asking replica compares it with its own time at the response
	return s, nil
}

// replicaURL returns where other replicas reach this one, or "" if it is
// unknown.
func (a *App) replicaURL() string {
	if a.cfg.ReplicaURL != nil {
		return a.cfg.ReplicaURL.String()
	}
	addr, err := netip.ParseAddrPort(a.Addr())
	if err != nil || addr.Addr().IsUnspecified() {
		return ""
	}
	u := url.URL{Scheme: "http", Host: addr.String()}
	if a.cfg.TLSCert != "" {
		u.Scheme = "https"
	}
	return u.String()
}

// allowedHosts returns the names that the instance answers to beside its own.
func (a *App) allowedHosts() []string {
	if a.cfg.ReplicaURL == nil {
		return a.cfg.AllowedHosts
	}
	return append(slices.Clone(a.cfg.AllowedHosts), a.cfg.ReplicaURL.Host)
}

// reload reads again what other replicas have changed. The order matters: the grants
// of a server are read before the server is attached.
func (a *App) reload(ctx context.Context, changed func(tables ...string) bool) error {
	var errs []error
	if changed("ring_keys") {
		errs = append(errs, a.ring.Rotate(ctx))
	}
	if changed("settings", "tenants") {
		errs = append(errs, a.limits.Reload(ctx))
	}
	if changed("settings", "tenants") {
		errs = append(errs, a.policies.Reload(ctx))
	}
	if changed("agents", "agent_grants", "tool_tags", "tenants") {
		errs = append(errs, a.agents.Load(ctx))
	}
	if changed("keys", "users", "logins", "agents", "tenants") {
		errs = append(errs, a.reloadIdentities(ctx))
	}
	if changed("consents", "consent_tokens") {
		errs = append(errs, a.followConsents(ctx))
	}
	if changed("attention_items") {
		errs = append(errs, a.attention.Reload(ctx))
	}
	if changed("replicas") {
		errs = append(errs, a.replicas.Refresh(ctx))
	}
	if changed() { // everything: messages about sessions may have been missed
		errs = append(errs, a.gateway.RecheckSessions(ctx))
	}
	if changed("servers", "api_documents", "tenants") {
		errs = append(errs, a.servers.Follow(ctx, changed("api_documents")))
	}
	return errors.Join(errs...)
}

// reloadIdentities reads users, keys and logins again, and ends the streams whose
// credentials are no longer valid.
func (a *App) reloadIdentities(ctx context.Context) error {
	rotated, err := a.identity.ReloadRotated(ctx)
	if err != nil {
		return err
	}
	for n := range rotated {
		a.gateway.EndRotatedStreams(&rotated[n])
	}
	a.gateway.EndStreams(func(q *junctor.Principal) bool {
		if !a.identity.IsStillValid(q) {
			return true
		}
		if q.Agent == "" {
			return false
		}
		_, err := a.catalog.Snapshot().For(q.Tenant).Acting(q, q.Agent)
		return err != nil
	})
	return nil
}

// followDatabase handles the notifications of the database until ctx ends.
func (a *App) followDatabase(ctx context.Context) {
	follower := cluster.NewFollower(a.reload, a.log)
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() { follower.Run(ctx) })
	work.Go(func() { a.replicas.HandleReceived(ctx) })
	postgres.Listen(ctx, a.cfg.DB.String(), postgres.Listener{Jobs: a.queue.WakeWorkers, Changed: follower.MarkChanged, Said: func(text string) {
		if !a.replicas.Receive(text) {
			follower.MarkChanged("") // too many messages wait: everything is reloaded instead
		}
	}})
}

// announceJournal tells the other replicas how far the journal of this replica is copied.
// A failure is repeated with the next housekeeping.
func (a *App) announceJournal(ctx context.Context) {
	if a.replicas == nil {
		return
	}
	if err := instance.AnnounceJournal(ctx, a.store, a.journal); err != nil && ctx.Err() == nil {
		a.log.Warn("cannot tell the other replicas how far the journal is copied; retrying", telemetry.ErrorAttr(err))
	}
}

// JournalProblems returns what is wrong with the journal while it is being written: a
// broken chain, or records that the database knows and the journal lacks.
func (a *App) JournalProblems() []string { return a.journal.State().Problems }
