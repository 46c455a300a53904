package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/erc8004"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// foundServers keeps a server for each endpoint that was found on a chain, so
// that calls of it are limited, recorded and switched off like those of any
// other. What it offers is listed nowhere, or whoever mints a token could put
// tools before every model.
type foundServers struct {
	app    *App
	tenant junctor.TenantID
}

const (
	foundTries = 4              // to store one that others change as well
	foundIDs   = 8              // ids that an agent's server may have
	foundTouch = 24 * time.Hour // how old the note may be that it is in use
)

// foundID is an id for an agent's server, the n-th that is tried: one that people
// are unlikely to have chosen for theirs.
func foundID(a erc8004.Agent, chain string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s#%d", a, n))
	return strings.TrimRight(chain[:min(len(chain), 12)], "-") + "-" + a.ID[:min(len(a.ID), 9)] + "-" + hex.EncodeToString(sum[:4])
}

// foundTitle is what an agent's server is called. The name is a stranger's, so it
// never stands alone, and has no characters that hide or turn others.
func foundTitle(f *erc8004.Found, chain string) string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return -1
	}, f.Registration.Name)
	const most = 60
	if all := []rune(name); len(all) > most {
		name = string(all[:most]) + "…"
	}
	title := "agent " + f.Agent.ID + " on " + chain
	if name = strings.TrimSpace(name); name != "" {
		title += ": " + name
	}
	return title
}

// get gives the server of an agent; not_found, with an id that is free, where it
// has none.
func (s foundServers) get(ctx context.Context, a erc8004.Agent, chain string) (junctor.Server, error) {
	for n := range foundIDs {
		id := foundID(a, chain, n)
		row, err := s.app.store.For(s.tenant).Server(ctx, id)
		if err != nil {
			return junctor.Server{ID: id}, err
		}
		if row.Mode == junctor.ModeFound && row.Found == a.String() {
			return row, nil
		}
	}
	return junctor.Server{}, junctor.Errorf(junctor.CodeInternal, "all ids that a server of %s may have are taken", a)
}

// put gives the server of an agent's endpoint as it was found: it is made, or
// moved, where it is not as it was.
func (s foundServers) put(ctx context.Context, f *erc8004.Found, chain string) (row junctor.Server, err error) {
	rows := s.app.store.For(s.tenant)
	title := foundTitle(f, chain)
	at := junctor.Connection{Transport: junctor.TransportHTTP, URL: f.Endpoint.URL}
	if f.Endpoint.Transport == "sse" {
		at.Transport = junctor.TransportSSE
	}
	for range foundTries {
		row, err = s.get(ctx, f.Agent, chain)
		switch {
		case junctor.CodeOf(err) == junctor.CodeNotFound:
			row, err = s.store(ctx, rows.AddServer, junctor.Server{Tenant: s.tenant, ID: row.ID, Mode: junctor.ModeFound, Title: title, Found: f.Agent.String(), Connection: at})
		case err != nil:
			return row, err
		case row.State == junctor.StateError: // it was told why; that is over
			if err = rows.SetServerState(ctx, row.ID, junctor.StateActive, ""); err == nil {
				continue
			}
		case row.Title == title && row.URL == at.URL && row.Transport == at.Transport && time.Since(row.UpdatedAt) < foundTouch:
			return row, nil
		default:
			row.Title, row.Connection = title, at
			row, err = s.store(ctx, rows.UpdateServer, row)
		}
		if code := junctor.CodeOf(err); err == nil || code != junctor.CodeConflict && code != junctor.CodePrecondition && code != junctor.CodeNotFound {
			return row, err
		}
	}
	return row, err
}

// store writes the row of an endpoint that a registration names.
func (s foundServers) store(ctx context.Context, write func(context.Context, admission.Server) (admission.Server, error), row junctor.Server) (junctor.Server, error) {
	admitted, err := admission.Discovered(row)
	if err != nil {
		return junctor.Server{}, err
	}
	stored, err := write(ctx, admitted)
	return stored.Row(), err
}

// suspend notes why the endpoint of an agent cannot be used, where it has a
// server. One that was switched off stays so.
func (s foundServers) suspend(ctx context.Context, a erc8004.Agent, chain, why string) error {
	row, err := s.get(ctx, a, chain)
	switch {
	case junctor.CodeOf(err) == junctor.CodeNotFound:
		return nil
	case err != nil:
		return err
	case row.State == junctor.StateInactive, row.State == junctor.StateError && row.LastError == why:
		return nil
	}
	return s.app.store.For(s.tenant).SetServerState(ctx, row.ID, junctor.StateError, why)
}

// remove takes the server of an agent away that is gone from its chain. One that
// was switched off stays, or it would come back switched on.
func (s foundServers) remove(ctx context.Context, a erc8004.Agent, chain string) error {
	row, err := s.get(ctx, a, chain)
	if junctor.CodeOf(err) == junctor.CodeNotFound || err == nil && row.State == junctor.StateInactive {
		return nil
	}
	if err != nil {
		return err
	}
	return s.app.servers.DeleteServer(ctx, s.tenant, row.ID)
}

// sweep removes servers that nobody needs: those of chains that are not followed
// any more, of agents that the operator has set a server up for, and those that
// nothing went to for as long as dead deliveries are kept.
func (s foundServers) sweep(ctx context.Context, c *chains) error {
	all, err := s.app.store.For(s.tenant).Servers(ctx)
	if err != nil {
		return err
	}
	for _, row := range all {
		if row.Mode != junctor.ModeFound || row.State == junctor.StateInactive {
			continue
		}
		agent, err := erc8004.ParseAgent(row.Found)
		if err == nil && c.records.Names[agent.Chain] != "" && c.bound[agent] == "" && time.Since(row.UpdatedAt) < keepDead {
			continue
		}
		if err := s.app.servers.DeleteServer(ctx, s.tenant, row.ID); err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
			return err
		}
	}
	return nil
}

// locate finds an agent's endpoint, and keeps its server as the registration has
// it now.
func (c *chains) locate(ctx context.Context, a erc8004.Agent) (erc8004.Found, junctor.Server, error) {
	f, err := c.resolver.Resolve(ctx, a)
	if err == nil {
		row, err := c.servers.put(ctx, &f, c.name(a.Chain))
		return f, row, err
	}
	if !errors.Is(err, erc8004.ErrUnreachable) && ctx.Err() == nil {
		if serr := c.servers.suspend(ctx, a, c.name(a.Chain), f.Reason); serr != nil {
			return f, junctor.Server{}, serr
		}
	}
	return f, junctor.Server{}, refused(err)
}

// lookTime bounds the look at one registration that changed.
const lookTime = 30 * time.Second

// attend keeps the servers of agents as their registrations have them, until ctx
// ends: an agent whose registration changed, or that is gone, is looked at once
// the chain says so, and not only with its next delivery.
func (c *chains) attend(ctx context.Context, log *slog.Logger) {
	if err := c.servers.sweep(ctx, c); err != nil && ctx.Err() == nil {
		log.Warn("servers that were found on chains and are not needed any more could not be removed", telemetry.Err(err))
	}
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-c.news:
			if err := c.look(ctx, n); err != nil && ctx.Err() == nil {
				log.Warn("an agent's server could not be brought up to date", slog.String("agent_id", n.agent.String()), telemetry.Err(err))
			}
		}
	}
}

// news is an agent that the chain told something of; gone says that nobody owns
// it any more.
type news struct {
	agent erc8004.Agent
	gone  bool
}

// tell has an agent looked at. Where too many wait, its next delivery does that.
func (c *chains) tell(n news) {
	select {
	case c.news <- n:
	default:
	}
}

func (c *chains) look(ctx context.Context, n news) error {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	chain := c.name(n.agent.Chain)
	if n.gone {
		return c.servers.remove(ctx, n.agent, chain)
	}
	if _, err := c.servers.get(ctx, n.agent, chain); err != nil {
		if junctor.CodeOf(err) == junctor.CodeNotFound {
			return nil // nothing ever went there
		}
		return err
	}
	if _, _, err := c.locate(ctx, n.agent); junctor.CodeOf(err) == junctor.CodeInternal {
		return err // others are told by the server's state
	}
	return nil
}
