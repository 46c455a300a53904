package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// agentColumns are the columns that scanAgent reads.
const agentColumns = `tenant_id, name, role, tier, owner, disabled, config, created_at, updated_at, updated_by`

// agentConfig is the JSON of the column config: the members of an agent that no query
// filters by.
type agentConfig struct {
	Title    string           `json:"title,omitempty"`
	Limits   *junctor.Limits  `json:"limits,omitempty"`
	Declared string           `json:"declared,omitempty"`
	Exposure junctor.Exposure `json:"exposure,omitempty"`
	Brain    *junctor.Brain   `json:"brain,omitempty"`
	// Published is also a row of published_agents, for requests that know nothing but the
	// name.
	Published bool `json:"published,omitempty"`
}

// Agents lists the tenant's agents by name, with their grants.
func (t *Tenant) Agents(ctx context.Context) ([]junctor.Agent, error) {
	list, err := readAll(ctx, t.s, scanAgent, `SELECT `+agentColumns+` FROM agents WHERE tenant_id = ? ORDER BY name`, string(t.id))
	if err == nil {
		err = t.fillGrants(ctx, list, "")
	}
	if err != nil {
		return nil, t.s.wrapError(ctx, err, "list the agents")
	}
	return list, nil
}

// Agent returns one agent with its grants; not_found if the tenant has none of that name.
func (t *Tenant) Agent(ctx context.Context, name string) (junctor.Agent, error) {
	a, err := readOne(ctx, t.s, scanAgent, `SELECT `+agentColumns+` FROM agents WHERE tenant_id = ? AND name = ?`, string(t.id), name)
	if errors.Is(err, sql.ErrNoRows) {
		return junctor.Agent{}, agentNotFound(name)
	}
	list := []junctor.Agent{a}
	if err == nil {
		err = t.fillGrants(ctx, list, name)
	}
	if err != nil {
		return junctor.Agent{}, t.s.wrapError(ctx, err, "read the agent %q", name)
	}
	return list[0], nil
}

// grantRow is one row of agent_grants.
type grantRow struct {
	agent, kind string
	grant       junctor.Grant
}

// fillGrants reads the grants of the agents in list. name is the only agent in it, or ""
// for all of the tenant. Grants are sorted by their text.
func (t *Tenant) fillGrants(ctx context.Context, list []junctor.Agent, name string) error {
	query, args := `SELECT agent, kind, server, item FROM agent_grants WHERE tenant_id = ?`, []any{string(t.id)}
	if name != "" {
		query, args = query+` AND agent = ?`, append(args, name)
	}
	rows, err := readAll(ctx, t.s, func(row scanner) (r grantRow, err error) {
		err = row.Scan(&r.agent, &r.kind, &r.grant.Server, &r.grant.Item)
		return r, err
	}, query, args...)
	if err != nil {
		return err
	}
	byName := make(map[string]*junctor.Agent, len(list))
	for i := range list {
		byName[list[i].Name] = &list[i]
	}
	for _, r := range rows {
		a := byName[r.agent]
		if a == nil { // made between the two reads
			continue
		}
		switch junctor.Kind(r.kind) { //nolint:exhaustive // the kinds that a grant may have
		case junctor.KindTool:
			a.Tools = append(a.Tools, r.grant)
		case junctor.KindResource:
			a.Resources = append(a.Resources, r.grant)
		case junctor.KindPrompt:
			a.Prompts = append(a.Prompts, r.grant)
		}
	}
	for _, a := range byName {
		for _, grants := range [][]junctor.Grant{a.Tools, a.Resources, a.Prompts} {
			slices.SortFunc(grants, junctor.Grant.Compare)
		}
	}
	return nil
}

// AddAgent stores a new agent with its grants and returns it as stored: its times are set
// here. It is a conflict if the name is taken, and not_found if a grant names a server
// that does not exist.
func (t *Tenant) AddAgent(ctx context.Context, a junctor.Agent) (junctor.Agent, error) {
	config, err := encodeAgentConfig(&a)
	if err != nil {
		return junctor.Agent{}, err
	}
	now := toMicros(time.Now())
	err = t.s.runTx(ctx, func(tx *sql.Tx) error {
		if err := t.lockTenant(ctx, tx); err != nil {
			return err
		}
		if _, err := t.s.exec(ctx, tx, `INSERT INTO agents (`+agentColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			string(t.id), a.Name, string(a.Role), a.Tier, a.Owner, boolToInt(a.Disabled), config, now, now, t.changedBy); err != nil {
			return err
		}
		if err := t.setPublished(ctx, tx, &a, now); err != nil {
			return err
		}
		return t.insertGrants(ctx, tx, &a)
	})
	if err != nil {
		return junctor.Agent{}, t.s.wrapError(ctx, err, "add the agent %q", a.Name)
	}
	return t.Agent(ctx, a.Name)
}

// UpdateAgent stores all members of an agent except its name and CreatedAt, and returns it
// as stored. a is a changed copy of what Agent returned. If somebody else changed the
// agent since then, the error is precondition and nothing is stored. It is not_found if
// there is no such agent, or a grant names a server that does not exist.
func (t *Tenant) UpdateAgent(ctx context.Context, a junctor.Agent) (junctor.Agent, error) {
	config, err := encodeAgentConfig(&a)
	if err != nil {
		return junctor.Agent{}, err
	}
	err = t.s.runTx(ctx, func(tx *sql.Tx) error {
		if err := t.lockTenant(ctx, tx); err != nil {
			return err
		}
		row := &versionedRow{table: "agents", where: "name = ?", key: []any{a.Name}, version: a.UpdatedAt, label: fmt.Sprintf("the agent %q", a.Name), notFound: agentNotFound(a.Name)}
		next, err := t.updateRow(ctx, tx, row, `role = ?, tier = ?, owner = ?, disabled = ?, config = ?`, string(a.Role), a.Tier, a.Owner, boolToInt(a.Disabled), config)
		if err != nil {
			return err
		}
		if _, err := t.s.exec(ctx, tx, `DELETE FROM agent_grants WHERE tenant_id = ? AND agent = ?`, string(t.id), a.Name); err != nil {
			return err
		}
		if err := t.setPublished(ctx, tx, &a, toMicros(next)); err != nil {
			return err
		}
		return t.insertGrants(ctx, tx, &a)
	})
	if err != nil {
		return junctor.Agent{}, t.s.wrapError(ctx, err, "change the agent %q", a.Name)
	}
	return t.Agent(ctx, a.Name)
}

// insertGrants stores the grants of an agent. The caller has deleted the former ones in
// the same transaction.
func (t *Tenant) insertGrants(ctx context.Context, tx *sql.Tx, a *junctor.Agent) error {
	for _, of := range []struct {
		kind junctor.Kind
		list []junctor.Grant
	}{{junctor.KindTool, a.Tools}, {junctor.KindResource, a.Resources}, {junctor.KindPrompt, a.Prompts}} {
		for _, g := range of.list {
			_, err := t.s.exec(ctx, tx, `INSERT INTO agent_grants (tenant_id, agent, kind, server, item) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
				string(t.id), a.Name, string(of.kind), g.Server, g.Item)
			if err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound {
				return notFound("unknown server %q; junctor server ls lists the servers", g.Server)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// DeleteAgent deletes an agent in one transaction: it revokes the keys, deletes grants and
// secrets, and takes the agent out of rooms. Records of calls stay. It is not_found if the
// tenant has no such agent.
func (t *Tenant) DeleteAgent(ctx context.Context, name string, at time.Time) error {
	err := t.s.runTx(ctx, func(tx *sql.Tx) error {
		if err := t.lockTenant(ctx, tx); err != nil {
			return err
		}
		if _, err := t.s.exec(ctx, tx, `UPDATE keys SET revoked_at = COALESCE(revoked_at, ?) WHERE tenant_id = ? AND agent = ?`,
			toMicros(at), string(t.id), name); err != nil {
			return err
		}
		if _, err := t.s.exec(ctx, tx, `DELETE FROM secrets WHERE tenant_id = ? AND owner = ?`, string(t.id), junctor.AgentOwner(name)); err != nil {
			return err
		}
		if err := t.leaveRooms(ctx, tx, "agent", name); err != nil {
			return err
		}
		n, err := t.s.exec(ctx, tx, `DELETE FROM agents WHERE tenant_id = ? AND name = ?`, string(t.id), name)
		if err == nil && n == 0 {
			return agentNotFound(name)
		}
		return err
	})
	if err != nil {
		return t.s.wrapError(ctx, err, "delete the agent %q", name)
	}
	return nil
}

// agentNotFound is the error for an agent that the tenant does not have.
func agentNotFound(name string) error {
	return notFound("unknown agent %q; junctor agent ls lists the agents", name)
}

// encodeAgentConfig returns the column config of an agent.
func encodeAgentConfig(a *junctor.Agent) (string, error) {
	config, err := json.Marshal(agentConfig{Title: a.Title, Limits: a.Limits, Declared: a.Declared, Brain: a.Brain, Exposure: a.Exposure, Published: a.Published})
	if err != nil {
		return "", junctor.Errorf(junctor.CodeInvalid, "cannot store the agent %q: %w", a.Name, err)
	}
	return string(config), nil
}

// scanAgent reads the columns of agentColumns. The grants are empty and not nil;
// fillGrants reads them.
func scanAgent(row scanner) (junctor.Agent, error) {
	a := junctor.Agent{Tools: []junctor.Grant{}, Resources: []junctor.Grant{}, Prompts: []junctor.Grant{}}
	var disabled, created, updated int64
	var text string
	if err := row.Scan(&a.Tenant, &a.Name, &a.Role, &a.Tier, &a.Owner, &disabled, &text, &created, &updated, &a.UpdatedBy); err != nil {
		return a, err
	}
	a.Disabled, a.CreatedAt, a.UpdatedAt = disabled != 0, fromMicros(created), fromMicros(updated)
	var config agentConfig
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return a, fmt.Errorf("cannot read the config of the agent %q: %w", a.Name, err)
	}
	a.Title, a.Limits, a.Declared, a.Brain, a.Exposure, a.Published = config.Title, config.Limits, config.Declared, config.Brain, config.Exposure, config.Published
	return a, nil
}
