package app

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/attention"
	"github.com/junctor-mcp/junctor/internal/proc"
	"github.com/junctor-mcp/junctor/internal/queue"
	"github.com/junctor-mcp/junctor/internal/worker"
)

// openAttention makes what keeps the list of what needs attention. Run starts it.
func (a *App) openAttention() (err error) {
	a.attention, err = attention.New(attention.Options{
		DB: a.store.Database(), Shared: a.sharedSources(), Local: a.localSources(), IsLeader: a.leases.attention.Held, Visible: a.visibleAttention,
		Write: func(ctx context.Context, fn func(context.Context, attention.Transaction) error) error {
			return a.queue.Write(ctx, func(ctx context.Context, tx *queue.Tx) error { return fn(ctx, attentionTx{tx, a}) })
		},
		Replica: a.replica, Now: a.clock.Now, Log: a.log,
	})
	return err
}

// attentionTx is a transaction in which items and their events are stored together.
type attentionTx struct {
	*queue.Tx
	app *App
}

// Raise implements attention.Transaction.
func (t attentionTx) Raise(ctx context.Context, tenant junctor.TenantID, e junctor.RaisedEvent) error {
	return t.app.events.Raise(ctx, t.Tx, tenant, e)
}

// sharedSources returns the sources that one replica asks for all.
func (a *App) sharedSources() []attention.Source {
	now := a.clock.Now
	out := []attention.Source{
		attention.Servers(a.store, a.servers.FindBroken), attention.Keys(a.store, now), attention.Approvals(a.store), attention.Suggestions(a.store), attention.ChangedTools(a.store, now), attention.SuspendedTokens(a.store),
		attention.DeadDeliveries(func(ctx context.Context) ([]queue.DeadJobs, error) { return a.queue.CountDead(ctx, worker.Deliveries) }),
	}
	out = append(out, attention.BrokenRules(a.brokenRules))
	if a.replicas != nil {
		out = append(out, attention.Replicas(a.store, now))
	}
	return out
}

// localSources returns the sources that each replica asks for itself.
func (a *App) localSources() []attention.Source {
	out := []attention.Source{
		attention.Journal(a.journal.State), attention.Settings(a.settingsState),
		attention.Disk(a.store.Database(), a.replica, a.cfg.DataDir, proc.FreeBytes, a.clock.Now),
	}
	if a.cfg.TLSCert != "" {
		out = append(out, attention.Certificate(a.cfg.TLSCert, func() (time.Time, error) { return a.cert.Check() }, a.clock.Now))
	}
	if a.pool != nil {
		out = append(out, attention.Redis(a.pool.Answers))
	}
	return out
}

// settingsState returns the state of the settings file.
func (a *App) settingsState() attention.SettingsState {
	state := a.file.State()
	out := attention.SettingsState{Path: state.Path, OK: state.OK}
	for _, p := range state.Problems {
		text := p.Message
		if p.Where != "" {
			text = p.Where + ": " + text
		}
		out.Problems = append(out.Problems, text)
	}
	return out
}

// visibleAttention returns which items a principal may see who is no admin: of servers that
// the principal may know of, of rooms of which it is a member, and of what it owns.
func (a *App) visibleAttention(ctx context.Context, p *junctor.Principal) (func(owner, server string, item *junctor.AttentionItem) bool, error) {
	known, err := a.servers.KnownServers(ctx, p)
	if err != nil {
		return nil, err
	}
	rooms, err := a.rooms.List(ctx, p)
	if err != nil {
		return nil, err
	}
	member := map[string]bool{}
	for i := range rooms {
		member[rooms[i].ID] = true
	}
	return func(owner, server string, item *junctor.AttentionItem) bool {
		switch {
		case server != "":
			// The server of a former item may have been another one with the same ID. Replicas
			// do not have quite the same time.
			since, ok := known[server]
			return ok && (item.Kind != junctor.AttentionServer || !item.Since.Before(since.Add(-time.Minute)))
		case item.Object.Kind == "room":
			return member[item.Object.ID]
		}
		return owner != "" && p.Agent == "" && p.Is(owner)
	}, nil
}
