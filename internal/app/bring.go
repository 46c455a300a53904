package app

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/telemetry"
	"github.com/junctor-mcp/junctor/internal/upstream"
)

// bringAll attaches the servers that people brought, as they were last seen. No
// server is waited for, and one that cannot be attached keeps no other away.
func (s *servers) bringAll(ctx context.Context) error {
	tenants, err := s.app.store.Tenants(ctx)
	if err != nil {
		return err
	}
	for _, tenant := range tenants {
		rows, err := s.app.store.For(tenant.ID).Servers(ctx)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if row.Mode != junctor.ModeBYO || row.State == junctor.StateInactive {
				continue
			}
			_ = s.bring(ctx, row, nil, false) // dress says what went wrong
		}
	}
	return nil
}

// bring attaches a server, or puts its new connection in place of the one it
// has. offer is what it is known to offer; nil is what it was last seen with. anew
// attaches it again, for who sees it is decided then.
func (s *servers) bring(ctx context.Context, row junctor.Server, offer *catalog.Offer, anew bool) error {
	key := serverKey{row.Tenant, row.ID}
	err := s.attachRow(ctx, key, row, offer, anew)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.broken, key)
	if err != nil {
		s.broken[key] = junctor.AsError(err).Message
		s.app.log.Warn("a server could not be attached", slog.String("server", row.ID), telemetry.Err(err))
	}
	return err
}

func (s *servers) attachRow(ctx context.Context, key serverKey, row junctor.Server, offer *catalog.Offer, anew bool) error {
	fresh := offer != nil
	isolated := "" // of another connection nothing is known
	var kept [sha256.Size]byte
	if seen, err := s.app.store.For(row.Tenant).SeenServer(ctx, row.ID); err == nil && !fresh {
		isolated = seen.Isolated
		kept = markOf(seen.Offer, isolated)
		offer, _ = catalog.DecodeOffer(seen.Offer) // what cannot be read is asked for again
	}
	if offer == nil {
		offer = &catalog.Offer{}
	}
	up, err := s.connect(ctx, &row, s.stored(row), offer, isolated)
	if err != nil {
		return err
	}
	next := newConnected(up, &row)

	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		up.Close()
		return junctor.Errorf(junctor.CodeUnavailable, "the instance is stopping")
	}
	b := s.live[key]
	if b != nil && !anew {
		s.retire(b.put(next))
		s.mu.Unlock()
		return nil
	}
	if b != nil {
		s.app.catalog.Detach(key.tenant, key.id)
		s.retire(b.current())
	}
	b = &brought{id: row.ID, keep: s.keeper(row.Tenant, row.ID), now: next, kept: kept}
	s.live[key] = b
	s.mu.Unlock()

	if fresh {
		if data, err := catalog.EncodeOffer(offer); err == nil {
			b.keep(ctx, data, isolated)
		}
	}
	var opts []catalog.AttachOption
	if row.Private {
		opts = append(opts, catalog.OwnedBy(row.Owner))
	}
	if err := s.app.catalog.Attach(ctx, row.Tenant, row.ID, row.Mode, b, opts...); err != nil {
		s.mu.Lock()
		delete(s.live, key)
		s.retire(next)
		s.mu.Unlock()
		return err
	}
	return nil
}

// isolated stores that the clients of a server no longer share its connections.
func (s *servers) isolated(key serverKey) {
	s.mu.Lock()
	b := s.live[key]
	s.mu.Unlock()
	if b == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeFor)
	defer cancel()
	b.remember(ctx, b.current())
}

// endSession ends what the servers of a tenant keep for a client that is gone.
func (s *servers) endSession(tenant junctor.TenantID, session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, b := range s.live {
		if key.tenant == tenant {
			b.current().up.EndSession(session)
		}
	}
}

// retire closes a connection once its calls have ended. The caller holds mu.
func (s *servers) retire(c *connected) {
	s.retiring[c] = struct{}{}
	s.work.Go(func() {
		c.retire()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.retiring, c)
	})
}

// detach takes a server out of the catalogue. Calls that run go on to their end.
func (s *servers) detach(tenant junctor.TenantID, id string) {
	s.app.catalog.Detach(tenant, id)
	s.mu.Lock()
	defer s.mu.Unlock()
	key := serverKey{tenant, id}
	if b := s.live[key]; b != nil {
		delete(s.live, key)
		s.retire(b.current())
	}
	delete(s.broken, key)
}

// close ends every connection, and the calls on them.
func (s *servers) close() {
	s.mu.Lock()
	s.closed = true
	all := make([]*connected, 0, len(s.live)+len(s.retiring))
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

// dress shows a row with how its server is doing now.
func (s *servers) dress(row *junctor.Server) {
	if row.Mode != junctor.ModeBYO || row.State == junctor.StateInactive {
		return
	}
	key := serverKey{row.Tenant, row.ID}
	s.mu.Lock()
	b, why := s.live[key], s.broken[key]
	s.mu.Unlock()
	if b != nil {
		up := b.current().up
		if st := up.State(); !st.Connected {
			why = up.source.Scrub(st.LastError)
		}
	}
	if why != "" {
		row.State, row.LastError = junctor.StateError, why
	}
}

// ServerStatus says how a server is doing; nil for one that is not connected to
// anything.
func (s *servers) ServerStatus(p *junctor.Principal, id string) *junctor.ServerStatus {
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

func statusOf(up reached, st upstream.State) junctor.ServerStatus {
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
func (s *servers) TestServer(ctx context.Context, p *junctor.Principal, id string) (junctor.Probe, error) {
	row, err := s.mine(ctx, p, id)
	if err != nil {
		return junctor.Probe{}, err
	}
	if row.Mode != junctor.ModeBYO {
		return junctor.Probe{}, junctor.Errorf(junctor.CodeInvalid, "the server %q is %s: there is nothing to reach", id, row.Mode)
	}
	s.mu.Lock()
	b := s.live[serverKey{p.Tenant, id}]
	s.mu.Unlock()
	if b != nil {
		c := b.take()
		defer c.calls.Done()
		probe, _, _ := s.reach(ctx, c.up)
		return probe, nil
	}
	up, err := s.connect(ctx, &row, s.stored(row), nil, "")
	if err != nil {
		return junctor.Probe{}, err
	}
	defer up.Close()
	probe, _, _ := s.reach(ctx, up)
	return probe, nil
}

// reach probes an upstream and gives what it offers. The error is a ProbeError.
func (s *servers) reach(ctx context.Context, up reached) (junctor.Probe, *catalog.Offer, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	report, err := up.Probe(ctx)
	probe := junctor.Probe{Passed: []string{}, Failed: string(report.Failed), Reason: up.source.Scrub(report.Reason), Hint: report.Hint, Status: statusOf(up, report.State)}
	for _, step := range report.Passed {
		probe.Passed = append(probe.Passed, string(step))
	}
	var offer *catalog.Offer
	if err == nil {
		if offer, err = up.Offer(ctx); err != nil {
			probe.Failed, probe.Reason = string(upstream.StepList), up.source.Scrub(junctor.AsError(err).Message)
		}
	}
	if err != nil {
		return probe, nil, &junctor.ProbeError{Err: unreached(err, &probe), Probe: probe}
	}
	for i, t := range offer.Tools {
		if i == 0 || offer.Tools[i-1].Name != t.Name {
			probe.Tools = append(probe.Tools, t.Name)
		}
	}
	return probe, offer, nil
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
	return &junctor.Error{Code: code, Message: message, RetryAfter: e.RetryAfter}
}
