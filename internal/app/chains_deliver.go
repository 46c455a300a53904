package app

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/erc8004"
	"github.com/junctor-mcp/junctor/internal/worker"
)

// ResolveERC8004 is how a trigger's action says that the endpoint is the one in
// the agent's registration on its chain.
const ResolveERC8004 = "erc8004"

// Resolve implements worker.Targets: it finds the endpoint of the agent that an
// order concerns. A server that the operator set up for the agent counts before
// all that a registration says. The token that is sent is the agent's on its
// chain, whatever the order calls it.
func (c *chains) Resolve(ctx context.Context, tenant junctor.TenantID, o *junctor.Order) (worker.Recipient, error) {
	var to worker.Recipient
	if o.Target.Resolve != ResolveERC8004 {
		return to, junctor.Errorf(junctor.CodeInvalid, "endpoints are not found by %q: use %s", o.Target.Resolve, ResolveERC8004)
	}
	agent, err := c.agentOf(ctx, tenant, o)
	if err != nil {
		return to, err
	}
	if tenant != c.records.Tenant || c.records.Names[agent.Chain] == "" {
		return to, junctor.Errorf(junctor.CodeNotFound, "the chain of %s is not followed: declare it below chains in the settings file", agent)
	}
	to.Whose = agent.String()
	if to.Server = c.bound[agent]; to.Server != "" {
		return to, nil
	}
	found, row, err := c.locate(ctx, agent)
	if err != nil {
		return to, err
	}
	if row.State == junctor.StateInactive {
		return to, junctor.Errorf(junctor.CodeDenied, "the server %s, which was found for %s, is switched off: junctor server enable %s", row.ID, agent, row.ID)
	}
	to.As, to.URL, to.Transport, to.Header = row.ID, row.URL, row.Transport, found.Endpoint.Header
	return to, nil
}

// agentOf is the agent that an order concerns. Jobs of other systems name it in
// parts, in their event's data.
func (c *chains) agentOf(ctx context.Context, tenant junctor.TenantID, o *junctor.Order) (erc8004.Agent, error) {
	agent, err := erc8004.ParseAgent(o.Agent)
	if err == nil {
		return agent, nil
	}
	e, missing := c.event(ctx, tenant, o.Event)
	if missing != nil {
		return agent, missing
	}
	var parts struct {
		Chain    json.Number     `json:"chain_id"`
		Registry string          `json:"registry"`
		Agent    json.RawMessage `json:"agent_id"`
	}
	if json.Unmarshal(e.Data, &parts) == nil && parts.Chain != "" && parts.Registry != "" {
		if agent, err := erc8004.ParseAgent("eip155:" + parts.Chain.String() + ":" + parts.Registry + "/" + strings.Trim(string(parts.Agent), `"`)); err == nil {
			return agent, nil
		}
	}
	return agent, junctor.Errorf(junctor.CodeInvalid, "%w, and its event has no chain_id, registry and agent_id", err)
}

// refused gives an error of the chain's the code by which deliveries are judged:
// what another time may tell otherwise is tried again, the rest is not.
func refused(err error) error {
	switch {
	case errors.Is(err, erc8004.ErrUnreachable):
		return junctor.Errorf(junctor.CodeUnreachable, "%w", err)
	case errors.Is(err, erc8004.ErrNoMCP), errors.Is(err, erc8004.ErrOnlyCommand), errors.Is(err, erc8004.ErrInactive):
		return junctor.Errorf(junctor.CodeNotFound, "%w", err)
	}
	return junctor.Errorf(junctor.CodeInvalid, "%w", err)
}

// Content implements worker.Files: the content of the file that an event points
// to, proved. A file that nothing proves is left out where it was to be verified.
func (c *chains) Content(ctx context.Context, tenant junctor.TenantID, o *junctor.Order) (json.RawMessage, string, error) {
	hash, err := fileHash(o.File)
	if err != nil {
		return nil, "", err
	}
	file, err := c.files.Get(ctx, o.File.URI, hash)
	if err == nil {
		err = c.agrees(ctx, tenant, o, file)
	}
	if err != nil {
		c.failed(err)
		if errors.Is(err, erc8004.ErrUnusable) { // nobody can have it: the event is told without it
			return nil, "", junctor.Errorf(junctor.CodeNotFound, "%w", err)
		}
		return nil, "", refused(err)
	}
	if o.File.Verify && !file.Proved() {
		return nil, worker.Unproved, nil
	}
	return file.Value(), string(file.Proof), nil // of which none is worker.Unproved
}

// fileHash is the hash that the content must have; zero where it is not to be
// looked at.
func fileHash(f *junctor.File) (hash erc8004.Word, err error) {
	if !f.Verify || f.Hash == "" {
		return hash, nil
	}
	text := f.Hash
	if !strings.HasPrefix(text, "0x") {
		text = "0x" + text
	}
	if err := hash.UnmarshalText([]byte(text)); err != nil {
		return hash, junctor.Errorf(junctor.CodeInvalid, "the hash of the file: %w", err)
	}
	return hash, nil
}

// agrees holds a file against the event of a chain that it belongs to.
func (c *chains) agrees(ctx context.Context, tenant junctor.TenantID, o *junctor.Order, f erc8004.File) error {
	if !strings.HasPrefix(o.Source, "chain:") || tenant != c.records.Tenant {
		return nil
	}
	e, err := c.event(ctx, tenant, o.Event)
	if err != nil {
		return err
	}
	seen, ok, err := c.records.ByID(ctx, e.DedupeKey)
	if err != nil || !ok {
		return err
	}
	return f.Agrees(seen.Seen)
}

// failed counts a file that was not believed.
func (c *chains) failed(err error) {
	kind := "unreachable"
	switch {
	case errors.Is(err, erc8004.ErrMismatch):
		kind = "hash"
	case errors.Is(err, erc8004.ErrContradicts):
		kind = "contradiction"
	case errors.Is(err, erc8004.ErrUnusable):
		kind = "unusable"
	}
	c.meter(kind)
}
