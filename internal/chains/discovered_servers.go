package chains

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

// A discovered server is the row of an endpoint that the registration of an agent
// names, so that calls to it are limited, recorded and switched off like those to any
// other server. Its tools are listed nowhere: otherwise everybody who mints a token
// could put tools before every model.

const (
	maxStoreTries = 4              // to store a row that others change as well
	maxServerIDs  = 8              // ids that the server of an agent may have
	touchInterval = 24 * time.Hour // how often a server in use is stored again, for SweepServers
)

// discoveredID returns the n-th id to try for the server of an agent: one that people
// are unlikely to have chosen for theirs.
func discoveredID(a erc8004.Agent, chain string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s#%d", a, n))
	return strings.TrimRight(chain[:min(len(chain), 12)], "-") + "-" + a.ID[:min(len(a.ID), 9)] + "-" + hex.EncodeToString(sum[:4])
}

// discoveredTitle returns the title of an agent's server. The agent's name is a
// stranger's: it never stands alone, and characters that hide or turn others are left
// out of it.
func discoveredTitle(found *erc8004.DiscoveredAgent, chain string) string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return -1
	}, found.Registration.Name)
	const most = 60
	if all := []rune(name); len(all) > most {
		name = string(all[:most]) + "…"
	}
	title := "agent " + found.Agent.ID + " on " + chain
	if name = strings.TrimSpace(name); name != "" {
		title += ": " + name
	}
	return title
}

// discoveredServer returns the server of an agent. If it has none, the error is
// not_found and the row has a free id.
func (f *Follower) discoveredServer(ctx context.Context, a erc8004.Agent, chain string) (junctor.Server, error) {
	for n := range maxServerIDs {
		id := discoveredID(a, chain, n)
		row, err := f.Store.For(f.tenant).Server(ctx, id)
		if err != nil {
			return junctor.Server{ID: id}, err
		}
		if row.Mode == junctor.ModeDiscovered && row.Discovered == a.String() {
			return row, nil
		}
	}
	return junctor.Server{}, junctor.Errorf(junctor.CodeInternal, "all possible server ids for %s are taken", a)
}

// putDiscovered returns the server of an agent's endpoint. It adds or changes the row
// if that differs from the registration.
func (f *Follower) putDiscovered(ctx context.Context, found *erc8004.DiscoveredAgent, chain string) (row junctor.Server, err error) {
	rows := f.Store.For(f.tenant)
	title := discoveredTitle(found, chain)
	at := junctor.Connection{Transport: junctor.TransportHTTP, URL: found.Endpoint.URL}
	if found.Endpoint.Transport == "sse" {
		at.Transport = junctor.TransportSSE
	}
	for range maxStoreTries {
		row, err = f.discoveredServer(ctx, found.Agent, chain)
		switch {
		case junctor.CodeOf(err) == junctor.CodeNotFound:
			row, err = storeDiscovered(ctx, rows.AddServer, junctor.Server{Tenant: f.tenant, ID: row.ID, Mode: junctor.ModeDiscovered, Title: title, Discovered: found.Agent.String(), Connection: at})
		case err != nil:
			return row, err
		case row.State == junctor.StateError: // the reason is gone
			if err = rows.SetServerState(ctx, row.ID, junctor.StateActive, ""); err == nil {
				continue
			}
		case row.Title == title && row.URL == at.URL && row.Transport == at.Transport && time.Since(row.UpdatedAt) < touchInterval:
			return row, nil
		default:
			row.Title, row.Connection = title, at
			row, err = storeDiscovered(ctx, rows.UpdateServer, row)
		}
		if code := junctor.CodeOf(err); err == nil || code != junctor.CodeConflict && code != junctor.CodePrecondition && code != junctor.CodeNotFound {
			return row, err
		}
	}
	return row, err
}

// storeDiscovered writes the row of an endpoint that a registration names.
func storeDiscovered(ctx context.Context, write func(context.Context, admission.Server) (admission.Server, error), row junctor.Server) (junctor.Server, error) {
	admitted, err := admission.Discovered(row)
	if err != nil {
		return junctor.Server{}, err
	}
	stored, err := write(ctx, admitted)
	return stored.Row(), err
}

// suspendDiscovered stores why the endpoint of an agent cannot be used, if the agent has
// a server. A server that was switched off stays so.
func (f *Follower) suspendDiscovered(ctx context.Context, a erc8004.Agent, chain, why string) error {
	row, err := f.discoveredServer(ctx, a, chain)
	switch {
	case junctor.CodeOf(err) == junctor.CodeNotFound:
		return nil
	case err != nil:
		return err
	case row.State == junctor.StateInactive, row.State == junctor.StateError && row.LastError == why:
		return nil
	}
	return f.Store.For(f.tenant).SetServerState(ctx, row.ID, junctor.StateError, why)
}

// removeDiscovered removes the server of an agent that nobody owns any more. A server
// that was switched off stays: it would come back switched on.
func (f *Follower) removeDiscovered(ctx context.Context, a erc8004.Agent, chain string) error {
	row, err := f.discoveredServer(ctx, a, chain)
	if junctor.CodeOf(err) == junctor.CodeNotFound || err == nil && row.State == junctor.StateInactive {
		return nil
	}
	if err != nil {
		return err
	}
	return f.DeleteServer(ctx, f.tenant, row.ID)
}

// SweepServers removes discovered servers that nobody needs: those of chains that are
// no longer followed, those of agents that the operator has set a server up for, and
// those without a delivery for Options.KeepUnused.
func (f *Follower) SweepServers(ctx context.Context) error {
	all, err := f.Store.For(f.tenant).Servers(ctx)
	if err != nil {
		return err
	}
	for _, row := range all {
		if row.Mode != junctor.ModeDiscovered || row.State == junctor.StateInactive {
			continue
		}
		agent, err := erc8004.ParseAgent(row.Discovered)
		if err == nil && f.records.Names[agent.Chain] != "" && f.bound[agent] == "" && time.Since(row.UpdatedAt) < f.KeepUnused {
			continue
		}
		if err := f.DeleteServer(ctx, f.tenant, row.ID); err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
			return err
		}
	}
	return nil
}

// findAgentServer finds the endpoint of an agent, and updates its server to what the
// registration says now.
func (f *Follower) findAgentServer(ctx context.Context, a erc8004.Agent) (erc8004.DiscoveredAgent, junctor.Server, error) {
	found, err := f.resolver.Resolve(ctx, a)
	if err == nil {
		row, err := f.putDiscovered(ctx, &found, f.chainName(a.Chain))
		return found, row, err
	}
	if !errors.Is(err, erc8004.ErrUnreachable) && ctx.Err() == nil {
		if serr := f.suspendDiscovered(ctx, a, f.chainName(a.Chain), found.Reason); serr != nil {
			return found, junctor.Server{}, serr
		}
	}
	return found, junctor.Server{}, classifyError(err)
}

// changeTimeout bounds the work on one changed registration.
const changeTimeout = 30 * time.Second

// followChanges updates the servers of agents when the chain reports a change of their
// registration, and not only with their next delivery, until ctx ends.
func (f *Follower) followChanges(ctx context.Context) {
	if err := f.SweepServers(ctx); err != nil && ctx.Err() == nil {
		f.Log.Warn("cannot remove servers of agents that are no longer discovered", telemetry.ErrorAttr(err))
	}
	for {
		select {
		case <-ctx.Done():
			return
		case c := <-f.changes:
			if err := f.applyChange(ctx, c); err != nil && ctx.Err() == nil {
				f.Log.Warn("cannot update the server of a discovered agent", slog.String("agent_id", c.agent.String()), telemetry.ErrorAttr(err))
			}
		}
	}
}

// agentChange is an agent whose registration the chain reports to have changed.
type agentChange struct {
	agent  erc8004.Agent
	burned bool // nobody owns the agent any more
}

// addChange hands a change to followChanges. If too many wait, the change is dropped:
// the next delivery to the agent makes up for it.
func (f *Follower) addChange(c agentChange) {
	select {
	case f.changes <- c:
	default:
	}
}

// applyChange updates or removes the server of a changed agent, if it has one.
func (f *Follower) applyChange(ctx context.Context, c agentChange) error {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	chain := f.chainName(c.agent.Chain)
	if c.burned {
		return f.removeDiscovered(ctx, c.agent, chain)
	}
	if _, err := f.discoveredServer(ctx, c.agent, chain); err != nil {
		if junctor.CodeOf(err) == junctor.CodeNotFound {
			return nil // there was no delivery to it
		}
		return err
	}
	if _, _, err := f.findAgentServer(ctx, c.agent); junctor.CodeOf(err) == junctor.CodeInternal {
		return err // the state of the server shows all others
	}
	return nil
}
