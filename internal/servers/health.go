package servers

import (
	"context"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/attention"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// Health implements admin.Servers. A caller who may not read how a server is reached sees only
// problems with credentials of their own.
func (v AdminAPI) Health(ctx context.Context, p *junctor.Principal, id string) ([]junctor.ServerHealth, error) {
	rows, err := v.Registry.Servers(ctx, p)
	if err != nil {
		return nil, err
	}
	out := []junctor.ServerHealth{}
	for i := range rows {
		row := &rows[i]
		if id != "" && row.ID != id {
			continue
		}
		h, err := v.healthOf(ctx, p, row)
		if err != nil {
			return nil, err
		}
		h.Problem = upstreamauth.MaskSecretsInTexts(row.Command, h.Problem)[0]
		if !readsConnection(p, row) {
			if h.Problem != "" && !h.ofCredentials {
				h.Problem, h.Fix = hiddenReason, ""
			}
			h.Missing = nil
		}
		out = append(out, h.ServerHealth)
	}
	return out, nil
}

// serverHealth is the health of a server before it is judged what the principal may read.
type serverHealth struct {
	junctor.ServerHealth
	ofCredentials bool // the problem is that a login or the principal's credentials are missing
}

// healthOf returns the health of a server whose row has its current status. What must be
// mended first is the problem that is named.
func (s *Registry) healthOf(ctx context.Context, p *junctor.Principal, row *junctor.Server) (serverHealth, error) {
	h := serverHealth{ServerHealth: junctor.ServerHealth{Server: row.ID, State: junctor.HealthOK}}
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
	broken := func(problem, fix string) (serverHealth, error) {
		h.State, h.Problem, h.Fix = junctor.HealthBroken, problem, fix
		return h, nil
	}
	switch {
	case row.State == junctor.StateInactive:
		h.State = junctor.HealthOff
	case len(h.Missing) > 0:
		return broken("it needs "+strings.Join(h.Missing, ", "), "set each variable, and provide each file, where the instance runs, and restart the instance; or change the server: junctor server set "+row.ID)
	case state.Problem != "":
		h.ofCredentials = true
		return broken(state.Problem, state.Fix)
	case row.LastError != "":
		fix := "junctor server test " + row.ID + " shows each step"
		if len(row.Command) > 0 {
			fix += "; junctor server show " + row.ID + " shows what its command wrote"
		}
		return broken(row.LastError, fix)
	default:
		s.addTested(p, row, &h.ServerHealth)
	}
	return h, nil
}

// FindBroken returns the servers of a tenant that are switched on and not healthy, or of which
// nothing is known yet, as the tenant's admins see them. Servers that were discovered for
// deliveries are left out: their deliveries tell.
func (s *Registry) FindBroken(ctx context.Context, tenant junctor.TenantID) ([]attention.BrokenServer, error) {
	p := &junctor.Principal{Tenant: tenant, Issuer: junctor.IssuerLocal, Scopes: []junctor.Scope{junctor.ScopeAdmin}}
	rows, err := s.Servers(ctx, p)
	if err != nil {
		return nil, err
	}
	var out []attention.BrokenServer
	for i := range rows {
		row := &rows[i]
		if row.Mode == junctor.ModeDiscovered {
			continue
		}
		h, err := s.healthOf(ctx, p, row)
		if err != nil {
			return nil, err
		}
		if h.State != junctor.HealthBroken && h.State != junctor.HealthUnknown {
			continue
		}
		h.Problem = upstreamauth.MaskSecretsInTexts(row.Command, h.Problem)[0]
		out = append(out, attention.BrokenServer{ServerHealth: h.ServerHealth, Title: row.Title, Owner: row.Owner, LoggedOut: h.ofCredentials})
	}
	return out, nil
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

// forgetTest forgets the result of the last test.
func (s *Registry) forgetTest(key serverKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tested, key)
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
