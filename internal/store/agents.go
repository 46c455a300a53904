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

const agentColumns = `tenant_id, name, role, tier, owner, disabled, config, created_at, updated_at, updated_by`

// agentConfig is what the column config holds: all of an agent that is not asked
// for by queries.
type agentConfig struct {
	Title    string          `json:"title,omitempty"`
	Limits   *junctor.Limits `json:"limits,omitempty"`
	Declared string          `json:"declared,omitempty"`
	Brain    *junctor.Brain  `json:"brain,omitempty"`
	// Published is told by a row of published_agents too, for those who know
	// nothing but the name.
	Published bool `json:"published,omitempty"`
}

// Agents lists the tenant's agents by name, with what they may use.
func (t *Tenant) Agents(ctx context.Context) ([]junctor.Agent, error) {
	list, err := all(ctx, t.s, scanAgent, `SELECT `+agentColumns+` FROM agents WHERE tenant_id = ? ORDER BY name`, string(t.id))
	if err == nil {
		err = t.fillGrants(ctx, list, "")
	}
	if err != nil {
		return nil, t.s.fail(ctx, err, "list the agents")
	}
	return list, nil
}

// Agent gives one agent; not_found when the tenant has none of that name.
func (t *Tenant) Agent(ctx context.Context, name string) (junctor.Agent, error) {
	a, err := one(ctx, t.s, scanAgent, `SELECT `+agentColumns+` FROM agents WHERE tenant_id = ? AND name = ?`, string(t.id), name)
	if errors.Is(err, sql.ErrNoRows) {
		return junctor.Agent{}, noAgent(name)
	}
	list := []junctor.Agent{a}
	if err == nil {
		err = t.fillGrants(ctx, list, name)
	}
	if err != nil {
		return junctor.Agent{}, t.s.fail(ctx, err, "read the agent %q", name)
	}
	return list[0], nil
}

// grantRow is one row of agent_grants.
type grantRow struct {
	agent, kind string
	grant       junctor.Grant
}

// fillGrants reads what the agents may use; name is the only one of them, or "".
// A list is in the order of its text.
func (t *Tenant) fillGrants(ctx context.Context, list []junctor.Agent, name string) error {
	query, args := `SELECT agent, kind, server, item FROM agent_grants WHERE tenant_id = ?`, []any{string(t.id)}
	if name != "" {
		query, args = query+` AND agent = ?`, append(args, name)
	}
	rows, err := all(ctx, t.s, func(row scanner) (r grantRow, err error) {
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

// AddAgent stores a new agent with what it may use, under this tenant, and gives
// it back as stored: its times are set here. Conflict when the name is taken,
// not_found when a grant names a server that is not there.
func (t *Tenant) AddAgent(ctx context.Context, a junctor.Agent) (junctor.Agent, error) {
	config, err := agentConfigOf(&a)
	if err != nil {
		return junctor.Agent{}, err
	}
	now := micros(time.Now())
	err = t.s.tx(ctx, func(tx *sql.Tx) error {
		if err := t.hold(ctx, tx); err != nil {
			return err
		}
		if _, err := t.s.exec(ctx, tx, `INSERT INTO agents (`+agentColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			string(t.id), a.Name, string(a.Role), a.Tier, a.Owner, flag(a.Disabled), config, now, now, t.by); err != nil {
			return err
		}
		if err := t.publish(ctx, tx, &a, now); err != nil {
			return err
		}
		return t.insertGrants(ctx, tx, &a)
	})
	if err != nil {
		return junctor.Agent{}, t.s.fail(ctx, err, "add the agent %q", a.Name)
	}
	return t.Agent(ctx, a.Name)
}

// UpdateAgent stores what a says of an agent other than its name and when it was
// made, and gives it back as stored. a is what Agent gave, changed: precondition
// where somebody else changed it meanwhile, and nothing is stored. not_found
// when there is no such agent, or a grant names a server that is not there.
func (t *Tenant) UpdateAgent(ctx context.Context, a junctor.Agent) (junctor.Agent, error) {
	config, err := agentConfigOf(&a)
	if err != nil {
		return junctor.Agent{}, err
	}
	err = t.s.tx(ctx, func(tx *sql.Tx) error {
		if err := t.hold(ctx, tx); err != nil {
			return err
		}
		row := &versionedRow{table: "agents", where: "name = ?", key: []any{a.Name}, version: a.UpdatedAt, called: fmt.Sprintf("the agent %q", a.Name), missing: noAgent(a.Name)}
		next, err := t.updateRow(ctx, tx, row, `role = ?, tier = ?, owner = ?, disabled = ?, config = ?`, string(a.Role), a.Tier, a.Owner, flag(a.Disabled), config)
		if err != nil {
			return err
		}
		if _, err := t.s.exec(ctx, tx, `DELETE FROM agent_grants WHERE tenant_id = ? AND agent = ?`, string(t.id), a.Name); err != nil {
			return err
		}
		if err := t.publish(ctx, tx, &a, micros(next)); err != nil {
			return err
		}
		return t.insertGrants(ctx, tx, &a)
	})
	if err != nil {
		return junctor.Agent{}, t.s.fail(ctx, err, "change the agent %q", a.Name)
	}
	return t.Agent(ctx, a.Name)
}

func (t *Tenant) insertGrants(ctx context.Context, tx *sql.Tx, a *junctor.Agent) error {
	for _, of := range []struct {
		kind junctor.Kind
		list []junctor.Grant
	}{{junctor.KindTool, a.Tools}, {junctor.KindResource, a.Resources}, {junctor.KindPrompt, a.Prompts}} {
		for _, g := range of.list {
			_, err := t.s.exec(ctx, tx, `INSERT INTO agent_grants (tenant_id, agent, kind, server, item) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
				string(t.id), a.Name, string(of.kind), g.Server, g.Item)
			if err != nil && t.s.dialect.Code(err) == junctor.CodeNotFound {
				return missing("there is no server %q; junctor server ls lists them", g.Server)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// DeleteAgent deletes an agent in one transaction: its keys are revoked, its
// lists and secrets go, its records stay. not_found when the tenant has none of
// that name.
func (t *Tenant) DeleteAgent(ctx context.Context, name string, at time.Time) error {
	err := t.s.tx(ctx, func(tx *sql.Tx) error {
		if err := t.hold(ctx, tx); err != nil {
			return err
		}
		if _, err := t.s.exec(ctx, tx, `UPDATE keys SET revoked_at = COALESCE(revoked_at, ?) WHERE tenant_id = ? AND agent = ?`,
			micros(at), string(t.id), name); err != nil {
			return err
		}
		if _, err := t.s.exec(ctx, tx, `DELETE FROM secrets WHERE tenant_id = ? AND owner = ?`, string(t.id), junctor.AgentOwner(name)); err != nil {
			return err
		}
		if err := t.leaveWorkspaces(ctx, tx, "agent", name); err != nil {
			return err
		}
		n, err := t.s.exec(ctx, tx, `DELETE FROM agents WHERE tenant_id = ? AND name = ?`, string(t.id), name)
		if err == nil && n == 0 {
			return noAgent(name)
		}
		return err
	})
	if err != nil {
		return t.s.fail(ctx, err, "delete the agent %q", name)
	}
	return nil
}

func noAgent(name string) error {
	return missing("there is no agent %q; junctor agent ls lists them", name)
}

func agentConfigOf(a *junctor.Agent) (string, error) {
	config, err := json.Marshal(agentConfig{Title: a.Title, Limits: a.Limits, Declared: a.Declared, Brain: a.Brain, Published: a.Published})
	if err != nil {
		return "", junctor.Errorf(junctor.CodeInvalid, "the agent %q cannot be stored: %w", a.Name, err)
	}
	return string(config), nil
}

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
		return a, fmt.Errorf("the config of the agent %q cannot be read: %w", a.Name, err)
	}
	a.Title, a.Limits, a.Declared, a.Brain, a.Published = config.Title, config.Limits, config.Declared, config.Brain, config.Published
	return a, nil
}
