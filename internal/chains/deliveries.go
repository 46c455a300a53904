package chains

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/erc8004"
	"github.com/junctor-mcp/junctor/internal/worker"
)

// ResolveERC8004 is the value of a target's resolve field for an endpoint that the
// agent's registration on its chain names.
const ResolveERC8004 = "erc8004"

// Resolve implements worker.Targets: it finds the endpoint of the agent that an order
// concerns. A server that the operator set up for the agent takes precedence over the
// registration. The token that is sent is the one of the agent on its chain, whatever
// name the order has for it.
func (f *Follower) Resolve(ctx context.Context, tenant junctor.TenantID, o *junctor.Order) (worker.Recipient, error) {
	var to worker.Recipient
	if o.Target.Resolve != ResolveERC8004 {
		return to, junctor.Errorf(junctor.CodeInvalid, "unknown resolve method %q; use %s", o.Target.Resolve, ResolveERC8004)
	}
	agent, err := f.agentOf(ctx, tenant, o)
	if err != nil {
		return to, err
	}
	if tenant != f.tenant || f.records.Names[agent.Chain] == "" {
		return to, junctor.Errorf(junctor.CodeNotFound, "the chain of %s is not followed; declare it under chains in the settings file", agent)
	}
	to.Whose = agent.String()
	if to.Server = f.bound[agent]; to.Server != "" {
		return to, nil
	}
	found, row, err := f.findAgentServer(ctx, agent)
	if err != nil {
		return to, err
	}
	if row.State == junctor.StateInactive {
		return to, junctor.Errorf(junctor.CodeDenied, "the discovered server %s of %s is disabled; enable it with junctor server enable %s", row.ID, agent, row.ID)
	}
	to.As, to.URL, to.Transport, to.Header = row.ID, row.URL, row.Transport, found.Endpoint.Header
	return to, nil
}

// agentOf returns the agent that an order concerns. Jobs of other systems name the
// agent in the data of their event, in parts.
func (f *Follower) agentOf(ctx context.Context, tenant junctor.TenantID, o *junctor.Order) (erc8004.Agent, error) {
	agent, err := erc8004.ParseAgent(o.Agent)
	if err == nil {
		return agent, nil
	}
	e, missing := f.Store.For(tenant).Event(ctx, o.Event)
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
	return agent, junctor.Errorf(junctor.CodeInvalid, "%w, and the event has no chain_id, registry and agent_id", err)
}

// classifyError gives an error of package erc8004 the code by which the worker decides
// on a delivery: an unreachable chain or file is tried again, all else is not.
func classifyError(err error) error {
	switch {
	case errors.Is(err, erc8004.ErrUnreachable):
		return junctor.Errorf(junctor.CodeUnreachable, "%w", err)
	case errors.Is(err, erc8004.ErrNoMCP), errors.Is(err, erc8004.ErrOnlyCommand), errors.Is(err, erc8004.ErrInactive):
		return junctor.Errorf(junctor.CodeNotFound, "%w", err)
	}
	return junctor.Errorf(junctor.CodeInvalid, "%w", err)
}

// Content implements worker.Files: it reads the file that an event points to, and
// proves it. If the file is to be verified and nothing proves it, it is left out.
func (f *Follower) Content(ctx context.Context, tenant junctor.TenantID, o *junctor.Order) (json.RawMessage, string, error) {
	hash, err := fileHash(o.File)
	if err != nil {
		return nil, "", err
	}
	file, err := f.files.Get(ctx, o.File.URI, hash)
	if err == nil {
		err = f.checkFile(ctx, tenant, o, file)
	}
	if err != nil {
		f.countFileFailure(err)
		if errors.Is(err, erc8004.ErrUnusable) { // nobody can read it: the event is delivered without it
			return nil, "", junctor.Errorf(junctor.CodeNotFound, "%w", err)
		}
		return nil, "", classifyError(err)
	}
	if o.File.Verify && !file.Proved() {
		return nil, worker.Unproved, nil
	}
	return file.Value(), string(file.Proof), nil // of which none is worker.Unproved
}

// fileHash returns the hash that the content must have; zero if it is not checked.
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

// checkFile compares a file with the event of a chain that it belongs to.
func (f *Follower) checkFile(ctx context.Context, tenant junctor.TenantID, o *junctor.Order, file erc8004.File) error {
	if !strings.HasPrefix(o.Source, "chain:") || tenant != f.tenant {
		return nil
	}
	e, err := f.Store.For(tenant).Event(ctx, o.Event)
	if err != nil {
		return err
	}
	seen, ok, err := f.records.ByID(ctx, e.DedupeKey)
	if err != nil || !ok {
		return err
	}
	return file.Agrees(seen.Seen)
}

// countFileFailure counts a file that could not be read or proved.
func (f *Follower) countFileFailure(err error) {
	kind := "unreachable"
	switch {
	case errors.Is(err, erc8004.ErrMismatch):
		kind = "hash"
	case errors.Is(err, erc8004.ErrContradicts):
		kind = "contradiction"
	case errors.Is(err, erc8004.ErrUnusable):
		kind = "unusable"
	}
	f.CountFileFailure(kind)
}
