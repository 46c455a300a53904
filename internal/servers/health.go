package servers

import (
	"context"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// Health returns the health of the servers that the principal sees, without reaching
// them. id names one server; "" is all.
func (s *Registry) Health(ctx context.Context, p *junctor.Principal, id string) ([]junctor.ServerHealth, error) {
	rows, err := s.Servers(ctx, p)
	if err != nil {
		return nil, err
	}
	out := []junctor.ServerHealth{}
	for i := range rows {
		if id != "" && rows[i].ID != id {
			continue
		}
		one, err := s.healthOf(ctx, p, &rows[i])
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// healthOf returns the health of a server whose row has its current status. What must be
// mended first is the problem that is named.
func (s *Registry) healthOf(ctx context.Context, p *junctor.Principal, row *junctor.Server) (junctor.ServerHealth, error) {
	h := junctor.ServerHealth{Server: row.ID, State: junctor.HealthOK}
	h.Tools, h.Tokens = s.o.Catalog.Snapshot().For(p.Tenant).CountTokens(p, row.ID)
	for _, reference := range row.References() {
		if !s.o.Reader.Has(reference) {
			h.Missing = append(h.Missing, reference)
		}
	}
	state, err := s.Auth.CredentialState(ctx, p, row)
	if err != nil {
		return h, err
	}
	h.Login, h.CredentialsAt = state.Login, state.At
	broken := func(problem, fix string) (junctor.ServerHealth, error) {
		h.State, h.Problem, h.Fix = junctor.HealthBroken, problem, fix
		return h, nil
	}
	switch {
	case row.State == junctor.StateInactive:
		h.State = junctor.HealthOff
	case len(h.Missing) > 0:
		return broken("it needs "+strings.Join(h.Missing, ", "), "set each variable, and provide each file, where the instance runs, and restart the instance; or change the server: junctor server set "+row.ID)
	case state.Problem != "":
		return broken(state.Problem, state.Fix)
	case row.LastError != "":
		return broken(row.LastError, "junctor server test "+row.ID+" shows each step; junctor server show "+row.ID+" shows what its command wrote")
	default:
		s.addTested(p, row, &h)
	}
	return h, nil
}

// serverTest is the result of the last test of a server.
type serverTest struct {
	at     time.Time
	failed string // the reason; "" if it passed
}

// noteTest remembers the result of a test, so that the health of the server tells it.
func (s *Registry) noteTest(key serverKey, probe *junctor.Probe) {
	if probe.Skipped != "" {
		return
	}
	test := serverTest{at: time.Now()}
	if probe.Failed != "" {
		test.failed = probe.Failed + ": " + probe.Reason
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tested[key] = test
}

// addTested adds what the last answer of the server or its last test says, whichever is
// later. A server is unknown if there is neither.
func (s *Registry) addTested(p *junctor.Principal, row *junctor.Server, h *junctor.ServerHealth) {
	if row.Mode == junctor.ModeBuiltin {
		return
	}
	s.mu.Lock()
	test := s.tested[serverKey{row.Tenant, row.ID}]
	s.mu.Unlock()
	status := s.ServerStatus(p, row.ID)
	var seen time.Time
	if status != nil {
		seen, _ = time.Parse(time.RFC3339, status.LastSeen)
	}
	switch {
	case test.failed != "" && test.at.After(seen):
		h.State, h.Problem, h.Fix = junctor.HealthBroken, test.failed, "junctor server test "+row.ID+" shows each step"
	case test.at.IsZero() && seen.IsZero():
		h.State = junctor.HealthUnknown
	}
}

// Health implements admin.Servers. Whoever may not read how a server is reached does not
// see which references are missing.
func (v AdminAPI) Health(ctx context.Context, p *junctor.Principal, id string) ([]junctor.ServerHealth, error) {
	all, err := v.Registry.Health(ctx, p, id)
	if err != nil {
		return nil, err
	}
	for i := range all {
		h := &all[i]
		row, err := v.VisibleServer(ctx, p, h.Server)
		if err != nil {
			return nil, err
		}
		h.Problem = upstreamauth.MaskSecretsInTexts(row.Command, h.Problem)[0]
		if !readsConnection(p, &row) {
			if h.Problem != "" && h.Login == "" {
				h.Problem, h.Fix = hiddenReason, ""
			}
			h.Missing = nil
		}
	}
	return all, nil
}
