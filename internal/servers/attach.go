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

// attachUpstreams attaches every active upstream server with the offer it was last seen with. No
// server is waited for, and one that cannot be attached keeps no other away.
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
				_ = s.attachGenerated(ctx, admitted) // dress says what went wrong
				continue
			}
			if row.Mode != junctor.ModeBYO {
				continue
			}
			if s.runsOnOneReplica(&row) {
				s.trackHome(&row) // its home is found once others know this process
				continue
			}
			_ = s.attachUpstream(ctx, admitted, nil) // dress says what went wrong
		}
	}
	return nil
}

// reconnect attaches a server whose connection may be new, beside everything else:
// the former one serves until the new one has answered, or has failed to.
func (s *Registry) reconnect(ctx context.Context, admitted admission.Server) {
	row := admitted.Row()
	turn := s.takeTurn(serverKey{row.Tenant, row.ID})
	s.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTime)
		defer cancel()
		stop := context.AfterFunc(s.ending, cancel) //nolint:contextcheck // ends with the instance too
		defer stop()
		var begun *authenticatedRoute
		if !s.runsOnOneReplica(&row) && !s.isCurrent(&row) { // one that is to run once is not tried beside itself
			if up, err := s.connect(ctx, admitted, s.Auth.Stored(row), nil, ""); err == nil {
				if _, err := s.reach(ctx, up, up.Begin); err == nil {
					begun, _ = s.detachProcess(ctx, admitted, s.Auth.Stored(row), up)
				} else {
					up.Close()
				}
			}
		}
		defer s.lockServer(row.Tenant, row.ID)()
		_ = s.attachInTurn(ctx, turn, admitted, begun)
	})
}

// takeTurn gives the newest turn to change what is attached under a key. A caller
// with an older one comes too late.
func (s *Registry) takeTurn(key serverKey) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns[key]++
	return s.turns[key]
}

// attachUpstream attaches a server, or puts its new connection in place of the one it
// has. up is the connection where there is one already; else there is one when
// it is needed.
func (s *Registry) attachUpstream(ctx context.Context, admitted admission.Server, up *authenticatedRoute) error {
	row := admitted.Row()
	return s.attachInTurn(ctx, s.takeTurn(serverKey{row.Tenant, row.ID}), admitted, up)
}

func (s *Registry) attachInTurn(ctx context.Context, turn uint64, admitted admission.Server, up *authenticatedRoute) error {
	row := admitted.Row()
	key := serverKey{row.Tenant, row.ID}
	s.trackHome(&row)
	err := s.attachRow(ctx, key, turn, admitted, up)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turns[key] != turn {
		return nil
	}
	delete(s.broken, key)
	if err != nil {
		s.broken[key] = junctor.AsError(err).Message
		s.o.Log.Warn("a server could not be attached", slog.String("server", row.ID), telemetry.Err(err))
	}
	return err
}

// isCurrent says whether a row's connection is attached as it is.
func (s *Registry) isCurrent(row *junctor.Server) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.live[serverKey{row.Tenant, row.ID}]
	return b != nil && b.current().serves(row)
}

// prepare makes what is to be attached: of the connection that is given, of the
// one that is attached where the row leads to the same place, or of a new one,
// which offers what the server was last seen with until it has answered.
func (s *Registry) prepare(ctx context.Context, admitted admission.Server, up *authenticatedRoute) (*serverConnection, error) {
	of := admitted.Row()
	row := &of
	home, err := s.homeOf(ctx, row)
	if err != nil || home != "" {
		return s.prepareRemote(ctx, admitted, up, home, err)
	}
	if up != nil {
		return newConnected(*up, admitted), nil
	}
	if b := s.attached(serverKey{row.Tenant, row.ID}); b != nil {
		if now := b.current(); now.serves(row) && now.home == "" {
			next := now.like(admitted)
			_, _ = next.backend.Offer(ctx) // it knows its tools' names before the first call
			return next, nil
		}
	}
	offer, isolated := &catalog.Offer{Awaited: true}, ""
	var kept [sha256.Size]byte
	if seen, err := s.o.Store.For(row.Tenant).SeenServer(ctx, row.ID); err == nil {
		isolated, kept = seen.Isolated, markOf(seen.Offer, seen.Isolated)
		if known, err := catalog.DecodeOffer(seen.Offer); err == nil { // what cannot be read is asked for again
			offer = known
		}
	}
	fresh, err := s.connect(ctx, admitted, s.Auth.Stored(*row), offer, isolated)
	if err != nil {
		return nil, err
	}
	next := newConnected(fresh, admitted)
	next.kept = kept
	return next, nil
}

// prepareRemote is prepare for a server whose home is another process, or is not known,
// for a reason. up is closed: it was tried here, and runs elsewhere.
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
	if b := s.attached(key); b != nil {
		now := b.current()
		if now.serves(row) && now.home == home {
			return now.like(admitted), nil
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
	next := newConnected(authenticatedRoute{serverRoute: s.newRemoteBackend(key, home, known), with: s.Auth.Server(admitted, s.Auth.Stored(*row))}, admitted)
	next.home = home
	return next, nil
}

func (s *Registry) attachRow(ctx context.Context, key serverKey, turn uint64, admitted admission.Server, up *authenticatedRoute) error {
	row := admitted.Row()
	next, err := s.prepare(ctx, admitted, up)
	if err != nil {
		return err
	}
	b, attached, err := s.install(key, turn, next)
	if b != nil && up != nil && next.home == "" {
		b.remember(ctx, next) // it has been reached, and a restart may come before the next time
	}
	if err != nil {
		return err
	}
	if b != nil && next.home != "" {
		defer b.announce() // its home is asked what it offers, once nobody waits for that
	}
	if attached { // a tool that was hidden is so when this returns
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
			s.retire(b.current(), nil)
		}
		return err
	}
	return nil
}

// isolated stores that the clients of a server no longer share its connections.
func (s *Registry) isolated(key serverKey) {
	s.mu.Lock()
	b := s.live[key]
	s.mu.Unlock()
	if b == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	b.remember(ctx, b.current())
}

// EndSession ends what the servers of a tenant keep for a client that is gone.
func (s *Registry) EndSession(tenant junctor.TenantID, session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, b := range s.live {
		if key.tenant == tenant {
			b.current().up.EndSession(session)
		}
	}
}

// RootsChanged tells the servers of a tenant that a client has other roots now.
func (s *Registry) RootsChanged(p *junctor.Principal, session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, b := range s.live {
		if key.tenant == p.Tenant {
			b.current().up.RootsChanged(p, session)
		}
	}
}

// install puts a connection in its place. attached says that the catalogue has
// the server already; who sees it is decided when it is attached, so a change of
// that attaches it again.
func (s *Registry) install(key serverKey, turn uint64, next *serverConnection) (b *attachedServer, attached bool, err error) {
	s.mu.Lock()
	b = s.live[key]
	if s.closed || s.turns[key] != turn {
		closed := s.closed
		s.mu.Unlock()
		if !next.borrowed {
			next.up.Close() // nothing was called on it yet
		}
		if closed {
			return nil, false, junctor.Errorf(junctor.CodeUnavailable, "the instance is stopping")
		}
		return nil, true, nil // somebody else came later, and has it
	}
	defer s.mu.Unlock()
	var former *serverConnection
	if b != nil {
		former = b.current()
	}
	if former != nil && former.row.Private == next.row.Private {
		b.put(next)
		attached = true
	} else {
		b = &attachedServer{id: key.id, keep: s.keeper(key.tenant, key.id), now: next, kept: next.kept}
		if former != nil {
			next.up.with.After(former.up.with)
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
		s.retire(former, b)
	}
	return b, attached, nil
}

// retire closes a connection once its calls have ended. by is the server where
// another has taken its place; nil where the server is gone, and nobody can
// continue a call that waits for input. The caller holds mu.
func (s *Registry) retire(c *serverConnection, by *attachedServer) {
	s.retiring[c] = struct{}{}
	s.work.Go(func() {
		c.retire(s.ending, by != nil)
		if by != nil {
			by.retired(c)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.retiring, c)
	})
}

// detach takes a server out of the catalogue. Calls that run go on to their end.
func (s *Registry) detach(tenant junctor.TenantID, id string) {
	s.o.Catalog.Detach(tenant, id)
	s.mu.Lock()
	defer s.mu.Unlock()
	key := serverKey{tenant, id}
	s.turns[key]++
	if b := s.live[key]; b != nil {
		delete(s.live, key)
		s.retire(b.current(), nil)
	}
	s.dropGenerated(key)
	delete(s.inside, key)
	delete(s.broken, key)
	delete(s.homes, key)
}

// Close ends every connection, and the calls on them.
func (s *Registry) Close() {
	s.end()
	s.mu.Lock()
	s.closed = true
	all := make([]*serverConnection, 0, len(s.live)+len(s.retiring))
	for _, b := range s.live {
		all = append(all, b.current())
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

// addStatus shows a row with how its server is doing now.
func (s *Registry) addStatus(row *junctor.Server) {
	if row.Mode == junctor.ModeBuiltin || row.State == junctor.StateInactive {
		return
	}
	key := serverKey{row.Tenant, row.ID}
	s.mu.Lock()
	b, why := s.live[key], s.broken[key]
	s.mu.Unlock()
	if b != nil {
		up := b.current().up
		if st := up.State(); !st.Connected {
			why = up.with.Scrub(st.LastError)
		}
	}
	if why != "" {
		row.State, row.LastError = junctor.StateError, why
	}
}

// ServerStatus says how a server is doing; nil for one that is not connected to
// anything.
func (s *Registry) ServerStatus(p *junctor.Principal, id string) *junctor.ServerStatus {
	s.mu.Lock()
	b := s.live[serverKey{p.Tenant, id}]
	s.mu.Unlock()
	if b == nil {
		return nil
	}
	up := b.current().up
	status := statusOf(up, up.State())
	return &status
}

func statusOf(up authenticatedRoute, st upstream.State) junctor.ServerStatus {
	status := junctor.ServerStatus{
		Connected: st.Connected, Era: st.Era, Protocol: st.Version, Name: st.Name, Release: st.Release,
		LatencyMS: float64(st.Latency.Microseconds()) / 1000, Tools: st.Tools, Resources: st.Resources, Templates: st.Templates, Prompts: st.Prompts,
		Sessions: st.Sessions, Parked: st.Parked, Processes: st.Processes, Isolation: st.Isolation, IsolationReason: st.Isolated, Stderr: up.said(),
	}
	if !st.LastSeen.IsZero() {
		status.LastSeen = st.LastSeen.UTC().Format(time.RFC3339)
	}
	return status
}

// TestServer reaches a server that is stored, as it is stored.
func (s *Registry) TestServer(ctx context.Context, p *junctor.Principal, id string) (junctor.Probe, error) {
	row, err := s.VisibleServer(ctx, p, id)
	if err != nil {
		return junctor.Probe{}, err
	}
	if row.Mode != junctor.ModeBYO && row.Mode != junctor.ModeFound {
		return junctor.Probe{}, junctor.Errorf(junctor.CodeInvalid, "the server %q is %s: there is nothing to reach", id, row.Mode)
	}
	s.mu.Lock()
	b := s.live[serverKey{p.Tenant, id}]
	s.mu.Unlock()
	if b != nil {
		c := b.take()
		defer c.calls.Add(-1)
		probe, _ := s.reach(ctx, c.up, c.up.Probe)
		return probe, nil
	}
	admitted, err := s.o.Store.For(p.Tenant).AdmittedServer(ctx, id)
	if err != nil {
		return junctor.Probe{}, err
	}
	up, err := s.connect(ctx, admitted, s.Auth.Stored(admitted.Row()), nil, "")
	if err != nil {
		return junctor.Probe{}, err
	}
	defer up.Close()
	probe, _ := s.reach(ctx, up, up.Begin)
	return probe, nil
}

// reach has an upstream examined, and lists its tools. The error is a
// ProbeError.
func (s *Registry) reach(ctx context.Context, up authenticatedRoute, examine func(context.Context) (upstream.Report, error)) (junctor.Probe, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	report, err := examine(ctx)
	probe := junctor.Probe{Passed: []string{}, Failed: string(report.Failed), Reason: up.with.Scrub(report.Reason), Hint: report.Hint, Status: statusOf(up, report.State)}
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
		return probe, &junctor.ProbeError{Err: unreached(err, &probe), Probe: probe}
	}
	for i, t := range offer.Tools {
		if i == 0 || offer.Tools[i-1].Name != t.Name {
			probe.Tools = append(probe.Tools, t.Name)
			probe.Preview = append(probe.Preview, preview(&offer.Tools[i]))
		}
	}
	return probe, nil
}

// preview says of a tool what people want to know before they add it. A model
// counts about four bytes of JSON as a token.
func preview(t *catalog.ToolDef) junctor.ToolPreview {
	description, _ := wire.String(wire.Get(t.JSON, "description"))
	return junctor.ToolPreview{Name: t.Name, Description: description, Tokens: (len(t.JSON) + 3) / 4}
}

// unreached is the error of a probe for the caller of ours: that the other side
// refused our credential is not that we refuse theirs.
func unreached(err error, probe *junctor.Probe) *junctor.Error {
	e := junctor.AsError(err)
	code := e.Code
	switch code {
	case junctor.CodeDenied, junctor.CodeUnreachable, junctor.CodeTimeout, junctor.CodeCanceled, junctor.CodeInvalid, junctor.CodeUpstream, junctor.CodeTooLarge:
	case junctor.CodeNotFound: // a command that is not there
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
