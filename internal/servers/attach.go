package servers

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/telemetry"
	"github.com/junctor-mcp/junctor/internal/upstream"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// attachUpstreams attaches every active upstream server with the offer that was
// stored last. It waits for no server, and a server that cannot be attached
// does not stop the others.
func (s *Registry) attachUpstreams(ctx context.Context) error {
	tenants, err := s.o.Store.Tenants(ctx)
	if err != nil {
		return err
	}
	for _, tenant := range tenants {
		rows, err := s.o.Store.For(tenant.ID).AdmittedServers(ctx)
		if err != nil {
			return err
		}
		for _, admitted := range rows {
			row := admitted.Row()
			if row.State == junctor.StateInactive {
				continue
			}
			if row.Mode == junctor.ModeGenerated {
				_ = s.attachGenerated(ctx, admitted) // addStatus shows the error
				continue
			}
			if row.Mode != junctor.ModeBYO {
				continue
			}
			if s.runsOnOneReplica(&row) {
				s.trackHome(&row) // its home is looked up once the other replicas know this one
				continue
			}
			_ = s.attachUpstream(ctx, admitted, nil) // addStatus shows the error
		}
	}
	return nil
}

// reconnect attaches a server whose connection may have changed, in the
// background: the former connection serves until the new one answers or fails.
func (s *Registry) reconnect(ctx context.Context, admitted admission.Server) {
	row := admitted.Row()
	revision := s.nextRevision(serverKey{row.Tenant, row.ID})
	s.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTime)
		defer cancel()
		stop := context.AfterFunc(s.ending, cancel) //nolint:contextcheck // ends with the instance too
		defer stop()
		var begun *authenticatedRoute
		if !s.runsOnOneReplica(&row) && !s.isCurrent(&row) { // a server that must run only once is not started a second time for a probe
			if up, err := s.newRoute(ctx, admitted, s.Auth.StoredLiterals(row), nil, ""); err == nil {
				if _, err := s.probeRoute(ctx, up, up.Connect); err == nil {
					begun, _ = s.detachProcess(ctx, admitted, s.Auth.StoredLiterals(row), up)
				} else {
					up.Close()
				}
			}
		}
		defer s.lockServer(row.Tenant, row.ID)()
		_ = s.attachRevision(ctx, revision, admitted, begun)
	})
}

// nextRevision returns the next revision for changes under a key. A caller
// whose number is no longer the newest must not install its result.
func (s *Registry) nextRevision(key serverKey) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revisions[key]++
	return s.revisions[key]
}

// attachUpstream attaches a server, or replaces its connection. up is an open
// connection, or nil to connect at the first use.
func (s *Registry) attachUpstream(ctx context.Context, admitted admission.Server, up *authenticatedRoute) error {
	row := admitted.Row()
	return s.attachRevision(ctx, s.nextRevision(serverKey{row.Tenant, row.ID}), admitted, up)
}

// attachRevision attaches a row under the given revision and notes the
// error for addStatus. If a later change has begun in the meantime, its result
// counts and this one is dropped.
func (s *Registry) attachRevision(ctx context.Context, revision uint64, admitted admission.Server, up *authenticatedRoute) error {
	row := admitted.Row()
	key := serverKey{row.Tenant, row.ID}
	s.trackHome(&row)
	err := s.attachRow(ctx, key, revision, admitted, up)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revisions[key] != revision {
		return nil
	}
	delete(s.broken, key)
	if err != nil {
		s.broken[key] = junctor.AsError(err).Message
		s.o.Log.Warn("cannot attach a server", slog.String("server", row.ID), telemetry.ErrorAttr(err))
	}
	return err
}

// isCurrent reports whether the attached connection was made from this row,
// unchanged.
func (s *Registry) isCurrent(row *junctor.Server) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.live[serverKey{row.Tenant, row.ID}]
	return b != nil && b.currentConnection().leadsWhere(row)
}

// prepareConnection returns the connection to attach: the given one, the attached one if
// the row leads to the same place, or a new one that serves the stored offer
// until the server answers.
func (s *Registry) prepareConnection(ctx context.Context, admitted admission.Server, up *authenticatedRoute) (*serverConnection, error) {
	of := admitted.Row()
	row := &of
	home, err := s.homeOf(ctx, row)
	if err != nil || home != "" {
		return s.prepareRemote(ctx, admitted, up, home, err)
	}
	if up != nil {
		return newConnected(*up, admitted), nil
	}
	if b := s.findAttached(serverKey{row.Tenant, row.ID}); b != nil {
		if now := b.currentConnection(); now.leadsWhere(row) && now.home == "" {
			next := now.withRow(admitted)
			_, _ = next.backend.Offer(ctx) // load the names of the tools before the first call
			return next, nil
		}
	}
	offer, isolated := &catalog.Offer{Awaited: true}, ""
	var kept [sha256.Size]byte
	if seen, err := s.o.Store.For(row.Tenant).SeenServer(ctx, row.ID); err == nil {
		isolated, kept = seen.Isolated, digestOffer(seen.Offer, seen.Isolated)
		if known, err := catalog.DecodeOffer(seen.Offer); err == nil { // an unreadable offer is requested again
			offer = known
		}
	}
	fresh, err := s.newRoute(ctx, admitted, s.Auth.StoredLiterals(*row), offer, isolated)
	if err != nil {
		return nil, err
	}
	next := newConnected(fresh, admitted)
	next.kept = kept
	return next, nil
}

// prepareRemote is prepareConnection for a server whose home is another
// replica, or unknown because of why. It closes up, because that connection was
// only for a probe here.
func (s *Registry) prepareRemote(ctx context.Context, admitted admission.Server, up *authenticatedRoute, home string, why error) (*serverConnection, error) {
	of := admitted.Row()
	row := &of
	if up != nil {
		defer up.Close()
	}
	if why != nil {
		return nil, why
	}
	key := serverKey{row.Tenant, row.ID}
	var known *catalog.Offer
	if b := s.findAttached(key); b != nil {
		now := b.currentConnection()
		if now.leadsWhere(row) && now.home == home {
			return now.withRow(admitted), nil
		}
		known, _ = now.up.Offer(ctx)
	} else if up != nil {
		known, _ = up.Offer(ctx)
	} else if seen, err := s.o.Store.For(row.Tenant).SeenServer(ctx, row.ID); err == nil {
		known, _ = catalog.DecodeOffer(seen.Offer)
	}
	if known == nil {
		known = &catalog.Offer{Awaited: true}
	}
	next := newConnected(authenticatedRoute{serverRoute: s.newRemoteBackend(key, home, known), with: s.Auth.NewServerAuth(admitted, s.Auth.StoredLiterals(*row))}, admitted)
	next.home = home
	return next, nil
}

// attachRow makes the connection of a row, installs it and shows it in the
// catalog. The connection must be in place before the catalog shows it, so that
// no call finds a server without one.
func (s *Registry) attachRow(ctx context.Context, key serverKey, revision uint64, admitted admission.Server, up *authenticatedRoute) error {
	row := admitted.Row()
	next, err := s.prepareConnection(ctx, admitted, up)
	if err != nil {
		return err
	}
	b, attached, err := s.installConnection(key, revision, next)
	if b != nil && up != nil && next.home == "" {
		b.storeOffer(ctx, next) // the server answered; store it now in case of a restart
	}
	if err != nil {
		return err
	}
	if b != nil && next.home != "" {
		defer b.announceLists() // read the offer from the home in the background
	}
	if attached { // hidden tools must be hidden when this function returns
		return s.o.Catalog.Refresh(ctx, row.Tenant, row.ID)
	}
	var opts []catalog.AttachOption
	if row.Private {
		opts = append(opts, catalog.OwnedBy(row.Owner))
	}
	if err := s.o.Catalog.Attach(ctx, row.Tenant, row.ID, row.Mode, b, opts...); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.live[key] == b {
			delete(s.live, key)
			s.retireConnection(b.currentConnection(), nil)
		}
		return err
	}
	return nil
}

// storeIsolation stores that the clients of a server no longer share its connections.
func (s *Registry) storeIsolation(key serverKey) {
	s.mu.Lock()
	b := s.live[key]
	s.mu.Unlock()
	if b == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	b.storeOffer(ctx, b.currentConnection())
}

// EndSession ends the state that servers of a tenant keep for a client session
// that has ended.
func (s *Registry) EndSession(tenant junctor.TenantID, session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, b := range s.live {
		if key.tenant == tenant {
			b.currentConnection().up.EndSession(session)
		}
	}
}

// RootsChanged notifies the servers of a tenant that the roots of a client
// changed.
func (s *Registry) RootsChanged(p *junctor.Principal, session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, b := range s.live {
		if key.tenant == p.Tenant {
			b.currentConnection().up.MarkRootsChanged(p, session)
		}
	}
}

// installConnection puts a connection in its place. attached reports whether the catalog
// has the server already. The catalog decides visibility when a server is
// attached, so a change of visibility attaches it again.
func (s *Registry) installConnection(key serverKey, revision uint64, next *serverConnection) (b *attachedServer, attached bool, err error) {
	s.mu.Lock()
	b = s.live[key]
	if s.closed || s.revisions[key] != revision {
		closed := s.closed
		s.mu.Unlock()
		if !next.borrowed {
			next.up.Close() // no call uses it yet
		}
		if closed {
			return nil, false, junctor.Errorf(junctor.CodeUnavailable, "the instance is stopping")
		}
		return nil, true, nil // a later change won
	}
	defer s.mu.Unlock()
	var former *serverConnection
	if b != nil {
		former = b.currentConnection()
	}
	if former != nil && former.row.Private == next.row.Private {
		b.swapConnection(next)
		attached = true
	} else {
		b = &attachedServer{id: key.id, keep: s.offerKeeper(key.tenant, key.id), now: next, kept: next.kept}
		if former != nil {
			next.up.with.InheritSecrets(former.up.with)
		}
		b.with.Store(next.up.with)
		if former != nil {
			s.o.Catalog.Detach(key.tenant, key.id)
		}
		if former != nil && former.up.serverRoute != next.up.serverRoute {
			b.former = []*serverConnection{former}
		}
		s.live[key] = b
	}
	if former != nil && former.up.serverRoute != next.up.serverRoute {
		s.retireConnection(former, b)
	}
	return b, attached, nil
}

// retireConnection closes a connection once its calls have ended. by is the server that
// replaces it; nil if the server was removed, so that calls that wait for input
// cannot continue. The caller holds mu.
func (s *Registry) retireConnection(c *serverConnection, by *attachedServer) {
	s.retiring[c] = struct{}{}
	s.work.Go(func() {
		c.closeWhenIdle(s.ending, by != nil)
		if by != nil {
			by.dropRetired(c)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.retiring, c)
	})
}

// detachServer removes a server from the catalog. Running calls continue to their
// end.
func (s *Registry) detachServer(tenant junctor.TenantID, id string) {
	s.o.Catalog.Detach(tenant, id)
	s.mu.Lock()
	defer s.mu.Unlock()
	key := serverKey{tenant, id}
	s.revisions[key]++
	if b := s.live[key]; b != nil {
		delete(s.live, key)
		s.retireConnection(b.currentConnection(), nil)
	}
	s.dropGenerated(key)
	delete(s.inside, key)
	delete(s.broken, key)
	delete(s.tested, key)
	delete(s.homes, key)
}

// Close ends every connection and the calls on them.
func (s *Registry) Close() {
	s.end()
	s.mu.Lock()
	s.closed = true
	all := make([]*serverConnection, 0, len(s.live)+len(s.retiring))
	for _, b := range s.live {
		all = append(all, b.currentConnection())
	}
	for c := range s.retiring {
		all = append(all, c)
	}
	s.mu.Unlock()
	for _, c := range all {
		c.up.Close()
	}
	s.work.Wait()
	s.public.close()
	s.local.close()
}

// addStatus adds the current status of its server to a row.
func (s *Registry) addStatus(row *junctor.Server) {
	if row.Mode == junctor.ModeBuiltin || row.State == junctor.StateInactive {
		return
	}
	key := serverKey{row.Tenant, row.ID}
	s.mu.Lock()
	b, why := s.live[key], s.broken[key]
	s.mu.Unlock()
	if b != nil {
		up := b.currentConnection().up
		if st := up.State(); !st.Connected {
			why = up.with.Scrub(st.LastError)
		}
	}
	if why != "" {
		row.State, row.LastError = junctor.StateError, why
	}
}

// ServerStatus returns the status of a server's connection; nil if there is
// none.
func (s *Registry) ServerStatus(p *junctor.Principal, id string) *junctor.ServerStatus {
	s.mu.Lock()
	b := s.live[serverKey{p.Tenant, id}]
	s.mu.Unlock()
	if b == nil {
		return nil
	}
	up := b.currentConnection().up
	status := serverStatus(up, up.State())
	return &status
}

func serverStatus(up authenticatedRoute, st upstream.State) junctor.ServerStatus {
	status := junctor.ServerStatus{
		Connected: st.Connected, Era: st.Era, Protocol: st.ProtocolVersion, Name: st.ServerName, Release: st.ServerVersion,
		LatencyMS: float64(st.Latency.Microseconds()) / 1000, Tools: st.Tools, Resources: st.Resources, Templates: st.Templates, Prompts: st.Prompts,
		Sessions: st.Sessions, Parked: st.ParkedCalls, Processes: st.Processes, Isolation: st.Isolation, IsolationReason: st.IsolationReason, Stderr: up.lastErrorLines(),
	}
	if !st.LastSeen.IsZero() {
		status.LastSeen = st.LastSeen.UTC().Format(time.RFC3339Nano) // health compares it with the time of a test
	}
	return status
}

// TestServer probes a stored server with its stored definition. A generated server is
// sent a request that changes nothing, if its API has one.
func (s *Registry) TestServer(ctx context.Context, p *junctor.Principal, id string) (junctor.Probe, error) {
	probe, err := s.testServer(ctx, p, id)
	if err == nil {
		s.noteTest(serverKey{p.Tenant, id}, &probe)
	}
	return probe, err
}

// testServer is TestServer without noting the result.
func (s *Registry) testServer(ctx context.Context, p *junctor.Principal, id string) (junctor.Probe, error) {
	row, err := s.VisibleServer(ctx, p, id)
	if err != nil {
		return junctor.Probe{}, err
	}
	if row.Mode == junctor.ModeGenerated {
		return s.testGenerated(ctx, p, &row)
	}
	if row.Mode != junctor.ModeBYO && row.Mode != junctor.ModeDiscovered {
		return junctor.Probe{}, junctor.Errorf(junctor.CodeInvalid, "the server %q is %s: it has no connection to test", id, row.Mode)
	}
	s.mu.Lock()
	b := s.live[serverKey{p.Tenant, id}]
	s.mu.Unlock()
	if b != nil {
		c := b.acquireConnection()
		defer c.calls.Add(-1)
		probe, _ := s.probeRoute(ctx, c.up, c.up.Probe)
		adviseLogin(&row, &probe)
		return probe, nil
	}
	admitted, err := s.o.Store.For(p.Tenant).AdmittedServer(ctx, id)
	if err != nil {
		return junctor.Probe{}, err
	}
	up, err := s.newRoute(ctx, admitted, s.Auth.StoredLiterals(admitted.Row()), nil, "")
	if err != nil {
		return junctor.Probe{}, err
	}
	defer up.Close()
	probe, err := s.probeRoute(ctx, up, up.Connect)
	adviseLogin(&row, &probe)
	if err == nil && admitted.Row().State != junctor.StateInactive && admitted.Row().Mode == junctor.ModeBYO {
		_ = s.attachUpstream(ctx, admitted, nil) // what kept it from being attached is over; addStatus shows a new error
	}
	return probe, nil
}

// adviseLogin replaces the hint of a test that fails for want of a login: what the server
// requires is known, since it was added for logins.
func adviseLogin(row *junctor.Server, probe *junctor.Probe) {
	if row.LogsIn() && probe.Failed == string(upstream.StepAuthentication) {
		probe.Hint = "log in: junctor server login " + row.ID
	}
}

// probeRoute probes an upstream with examine and lists its tools. The error is a
// ProbeError.
func (s *Registry) probeRoute(ctx context.Context, up authenticatedRoute, examine func(context.Context) (upstream.Report, error)) (junctor.Probe, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	report, err := examine(ctx)
	probe := junctor.Probe{Passed: []string{}, Failed: string(report.Failed), Reason: up.with.Scrub(report.Reason), Hint: report.Hint, Status: serverStatus(up, report.State)}
	for _, step := range report.Passed {
		probe.Passed = append(probe.Passed, string(step))
	}
	var offer *catalog.Offer
	if err == nil {
		if offer, err = up.Offer(ctx); err != nil {
			probe.Failed, probe.Reason = string(upstream.StepList), up.with.Scrub(junctor.AsError(err).Message)
		}
	}
	if err != nil {
		return probe, &junctor.ProbeError{Err: probeFailure(err, &probe), Probe: probe}
	}
	for i, t := range offer.Tools {
		if i == 0 || offer.Tools[i-1].Name != t.Name {
			probe.Tools = append(probe.Tools, t.Name)
			probe.Preview = append(probe.Preview, previewTool(&offer.Tools[i]))
		}
	}
	return probe, nil
}

// previewTool returns what a user wants to know about a tool before adding it.
// Models count about one token per four bytes of JSON.
func previewTool(t *catalog.ToolDef) junctor.ToolPreview {
	description, _ := wire.String(wire.Get(t.JSON, "description"))
	return junctor.ToolPreview{Name: t.Name, Description: description, Tokens: junctor.EstimateTokens(len(t.JSON))}
}

// probeFailure converts the error of a probe for the caller: a credential that the
// server refused must not look like a refused credential of the caller.
func probeFailure(err error, probe *junctor.Probe) *junctor.Error {
	e := junctor.AsError(err)
	code := e.Code
	switch code {
	case junctor.CodeDenied, junctor.CodeUnreachable, junctor.CodeTimeout, junctor.CodeCanceled, junctor.CodeInvalid, junctor.CodeUpstream, junctor.CodeTooLarge:
	case junctor.CodeNotFound: // the command does not exist
		code = junctor.CodeUnreachable
	default:
		code = junctor.CodeUpstream
	}
	message := "the server was not added or changed: "
	if probe.Failed != "" {
		message += probe.Failed + ": "
	}
	message += probe.Reason
	if probe.Hint != "" {
		message += "; " + probe.Hint
	}
	return &junctor.Error{Code: code, Message: message, RetryAfter: e.RetryAfter, Cause: e}
}
