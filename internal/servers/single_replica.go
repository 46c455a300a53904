package servers

import (
	"context"
	"log/slog"
	"maps"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// A server whose command is to run once for all processes has a home: the replica that was
// asked for it first. The home starts the command; the others have it do what they
// are asked for (afar.go), by an endpoint that processes have for each other (errands.go).
// When the home is gone, the replica that looks first is the next.

const (
	heldServer = "server:"
	// unknownHome is the home of a server while this process cannot tell.
	unknownHome = "?"
	// homeLook is how often it is looked whether this process may still be a home.
	homeLook = 250 * time.Millisecond
	// homeLeave is how long calls may take that are under way when it may not, and
	// homeEnd when it ends.
	homeLeave = 250 * time.Millisecond
	homeEnd   = 2 * time.Second
)

// runsOnOneReplica reports whether a server has a home.
func (s *Registry) runsOnOneReplica(row *junctor.Server) bool {
	return s.o.Replicas != nil && row.Mode == junctor.ModeBYO && row.Transport == junctor.TransportStdio && row.Home == junctor.HomeOne
}

// homeOf is the other process that is a server's home; "" where that is this one,
// or the server has none.
func (s *Registry) homeOf(ctx context.Context, row *junctor.Server) (string, error) {
	p := s.o.Replicas
	switch {
	case !s.runsOnOneReplica(row), !p.Begun(): // a process that serves one client over stdio is nobody's home
		return "", nil
	case !p.Sure():
		return unknownHome, nil
	}
	home, err := s.o.Store.For(row.Tenant).Home(ctx, heldServer+row.ID, p.Self(), s.o.ReplicaExpiry)
	if home == p.Self() {
		home = ""
	}
	return home, err
}

// trackHome notes that a server is to be attached, for those that have a home: where
// that is may change.
func (s *Registry) trackHome(row *junctor.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key := (serverKey{row.Tenant, row.ID}); s.runsOnOneReplica(row) {
		s.homes[key] = *row
	} else {
		delete(s.homes, key)
	}
}

// KeepHomes has servers be reached where their homes are now, until ctx ends: it
// looks with every beat, and whenever a process comes or goes. What this process may
// not be sure of any more it ends, before another can begin it.
func (s *Registry) KeepHomes(ctx context.Context) {
	p := s.o.Replicas
	look := time.NewTicker(homeLook)
	defer look.Stop()
	var looked time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			if !p.Sure() {
				s.endLocalHomes(ctx, homeLeave)
				continue
			}
			if time.Since(looked) < s.o.ReplicaBeat {
				continue
			}
		case <-p.Moved():
		}
		looked = time.Now()
		s.FindHomes(ctx)
	}
}

// FindHomes looks once. What fails is tried with the next look.
func (s *Registry) FindHomes(ctx context.Context) {
	s.mu.Lock()
	wanted := maps.Clone(s.homes)
	s.mu.Unlock()
	if len(wanted) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	all, err := s.o.Store.Homes(ctx, heldServer, s.o.ReplicaExpiry)
	if err != nil {
		if ctx.Err() == nil {
			s.o.Log.Warn("cannot read where servers run; retrying", telemetry.ErrorAttr(err))
		}
		return
	}
	homes := map[serverKey]string{}
	for _, one := range all {
		home := one.Replica
		if home == s.o.Replicas.Self() {
			home = ""
		}
		homes[serverKey{one.Tenant, strings.TrimPrefix(one.Name, heldServer)}] = home
	}
	for key := range wanted {
		home, held := homes[key]
		if b := s.findAttached(key); b != nil && held && b.currentConnection().home == home {
			if far, ok := b.currentConnection().up.serverRoute.(*remoteBackend); ok && far.stale.Load() {
				b.announceLists()
			}
			continue
		}
		s.findHome(ctx, key)
	}
}

// findHome attaches a server where its home is now.
func (s *Registry) findHome(ctx context.Context, key serverKey) {
	defer s.lockServer(key.tenant, key.id)()
	admitted, err := s.o.Store.For(key.tenant).AdmittedServer(ctx, key.id)
	row := admitted.Row()
	if err != nil || row.State == junctor.StateInactive || !s.runsOnOneReplica(&row) {
		return // it was changed a moment ago, and the one that did that sees to it
	}
	if err := s.attachUpstream(ctx, admitted, nil); err != nil {
		return // that is said
	}
	if b := s.findAttached(key); b != nil {
		home := b.currentConnection().home
		s.o.Log.Info("home of a server changed", slog.String("server", key.id), slog.Bool("here", home == ""), slog.String("home", home))
	}
}

// endLocalHomes ends what runs here of servers that have a home, once calls have ended or the
// time is up.
func (s *Registry) endLocalHomes(ctx context.Context, within time.Duration) {
	s.mu.Lock()
	here := map[serverKey]*serverConnection{}
	for key := range s.homes {
		if b := s.live[key]; b != nil && b.currentConnection().home == "" {
			here[key] = b.currentConnection()
		}
	}
	s.mu.Unlock()
	if len(here) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	for key, c := range here {
		s.o.Log.Info("this replica is no longer the home of a server: its processes here are stopped", slog.String("server", key.id))
		release := s.lockServer(key.tenant, key.id)
		_ = s.attachUpstream(ctx, c.admitted, nil) // homeOf knows no other for now; dress says what went wrong
		release()
	}
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(retiredLook) {
		busy := false
		for _, c := range here {
			busy = busy || c.calls.Load() > 0
		}
		if !busy {
			break
		}
	}
	for _, c := range here {
		c.up.Close()
	}
}

// atHome gives a server to another process that asks for it; nil where this one is
// not its home.
func (s *Registry) atHome(key serverKey, state string) *serverConnection {
	b := s.findAttached(key)
	if b == nil || !s.o.Replicas.Sure() {
		return nil
	}
	c := b.acquireParked(state)
	if c.home != "" || !s.runsOnOneReplica(&c.row) {
		c.calls.Add(-1)
		return nil
	}
	return c
}

// RunsAlone reports whether others have to hear of a change of a server's lists: they have
// no connection to it.
func (s *Registry) RunsAlone(ch *catalog.Change) bool {
	if ch.Far || !ch.Tools && !ch.Prompts && !ch.Resources {
		return false
	}
	b := s.findAttached(serverKey{ch.Tenant, ch.Server})
	if b == nil {
		return false
	}
	c := b.currentConnection()
	return c.home == "" && s.runsOnOneReplica(&c.row)
}

// RefreshRemote reads the lists of a server again that another process runs.
func (s *Registry) RefreshRemote(tenant junctor.TenantID, id string) {
	if b := s.findAttached(serverKey{tenant, id}); b != nil && b.currentConnection().home != "" {
		b.announceLists()
	}
}

// LeaveHomes ends what runs here of servers that run on one replica, before another
// replica starts them: this one is about to end.
func (s *Registry) LeaveHomes(ctx context.Context) { s.endLocalHomes(ctx, homeEnd) }
