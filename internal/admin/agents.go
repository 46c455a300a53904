package admin

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	strict "github.com/go-json-experiment/json"

	junctor "github.com/junctor-mcp/junctor"
)

// Agents adds, changes and removes a tenant's agents. The implementation judges which
// principal may see and change which agent.
type Agents interface {
	// Agents lists the agents that the principal sees, by name.
	Agents(ctx context.Context, p *junctor.Principal) ([]junctor.Agent, error)
	// Agent returns one agent; not_found if the principal sees none of that name.
	Agent(ctx context.Context, p *junctor.Principal, name string) (junctor.Agent, error)
	// AddAgent returns the agent's first key and its token, which is never shown again.
	AddAgent(ctx context.Context, p *junctor.Principal, name string, in AgentBody) (junctor.Agent, junctor.Key, string, error)
	// ChangeAgent changes the members that in has. If version is not zero, the agent has
	// to have that version; otherwise the error is precondition.
	ChangeAgent(ctx context.Context, p *junctor.Principal, name string, in AgentBody, version time.Time) (junctor.Agent, error)
	// RemoveAgent revokes the agent's keys and ends its sessions. The records of its calls
	// stay.
	RemoveAgent(ctx context.Context, p *junctor.Principal, name string) error
	// AgentTools lists the tools that the agent sees.
	AgentTools(ctx context.Context, p *junctor.Principal, name string) ([]junctor.Tool, error)
	// WithheldTools lists the granted tools that the agent cannot call. It is empty for
	// principals who may not change the agent, and for the agent itself.
	WithheldTools(ctx context.Context, p *junctor.Principal, name string) ([]junctor.WithheldTool, error)
}

// AgentBody describes an agent, whole or as a change. In a change, absent members stay as
// they are.
type AgentBody struct {
	Title     *string           `json:"title,omitempty" maxLength:"200"`
	Role      *junctor.Role     `json:"role,omitempty" doc:"The kind of work that the agent does. It is offered the tools of this role and the tools for all roles. By default, a new agent has the role General."`
	Tools     *[]string         `json:"tools,omitempty" maxItems:"5000" doc:"Tools that the agent may call: server/tool, or server/* for all current and future tools of the server. Exposed names (server__tool) are accepted too."`
	Resources *[]string         `json:"resources,omitempty" maxItems:"5000" doc:"Resources that the agent may read: server/uri, server/template or server/*. A ui:// page is included with each tool that names it."`
	Prompts   *[]string         `json:"prompts,omitempty" maxItems:"5000" doc:"Prompts that the agent may get: server/prompt or server/*."`
	Tier      *string           `json:"tier,omitempty" maxLength:"40" doc:"Tier that sets the agent's limits. If absent or empty, the tier of its owner applies."`
	Limits    LimitsChange      `json:"limits,omitzero" doc:"Limits that replace the limits of the tier. Absent members stay unchanged, 0 removes a limit, and null removes all of them."`
	Brain     BrainChange       `json:"brain,omitzero" doc:"What the agent answers with: the name of a model, or rules. null removes the brain."`
	Exposure  *junctor.Exposure `json:"exposure,omitempty" enum:",auto,all,search" doc:"How endpoints that join servers list the agent's tools to MCP clients: all (every tool), search (three tools that find, describe and call the others) or auto (search above 128 tools or 256 KB, unless the client has its own tool search). If empty, the servers and the setting exposure decide."`
	Published *bool             `json:"published,omitempty" doc:"Whether other agents can reach the agent by A2A, at /a2a/{name}. Requires a brain."`
	Disabled  *bool             `json:"disabled,omitempty" doc:"Whether all endpoints reject the agent's keys."`
}

// BrainChange is a brain in a change. It tells null, which removes the brain, from an
// absent member.
type BrainChange struct {
	// Given reports that the member was present, even as null.
	Given bool
	Brain *junctor.Brain // nil: none
}

// UnmarshalJSON implements json.Unmarshaler. It runs for null too, which is how Given is
// set.
func (c *BrainChange) UnmarshalJSON(text []byte) error {
	c.Given = true
	return strict.Unmarshal(text, &c.Brain, strict.RejectUnknownMembers(true))
}

// Schema implements huma.SchemaProvider with the schema of a brain.
func (BrainChange) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[junctor.Brain](), true, "")
}

// LimitsChange is limits in a change. It tells null, which removes all limits, from an
// absent member.
type LimitsChange struct {
	Given bool
	Patch *junctor.LimitsPatch // nil: none of its own
}

// Apply returns the limits of an agent after the change; nil means that the agent has none
// of its own.
func (c *LimitsChange) Apply(now *junctor.Limits) *junctor.Limits {
	switch {
	case !c.Given:
		return now
	case c.Patch == nil:
		return nil
	case now == nil:
		now = &junctor.Limits{}
	}
	return new(c.Patch.Apply(*now))
}

// UnmarshalJSON implements json.Unmarshaler. It runs for null too, which is how Given is
// set.
func (c *LimitsChange) UnmarshalJSON(text []byte) error {
	c.Given = true
	return strict.Unmarshal(text, &c.Patch, strict.RejectUnknownMembers(true))
}

// Schema implements huma.SchemaProvider with the schema of limits.
func (LimitsChange) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[junctor.LimitsPatch](), true, "")
}

// isEmpty reports whether a change names no member.
func (b *AgentBody) isEmpty() bool {
	return b.Title == nil && b.Role == nil && b.Tools == nil && b.Resources == nil && b.Prompts == nil && b.Tier == nil && !b.Limits.Given && !b.Brain.Given && b.Exposure == nil && b.Published == nil && b.Disabled == nil
}

// toAgent returns the agent that a body describes on its own, for apply. Its grants have
// to be written as server/item: the exposed name of a tool depends on which servers the
// instance has.
func (b *AgentBody) toAgent(name string) (junctor.Agent, error) {
	a := junctor.Agent{Name: name, Role: junctor.RoleGeneral, Limits: b.Limits.Apply(nil), Brain: b.Brain.Brain}
	if err := junctor.CheckAgentName(name); err != nil {
		return a, err
	}
	if b.Role != nil {
		a.Role = *b.Role
	}
	if b.Title != nil {
		a.Title = *b.Title
	}
	if b.Tier != nil {
		a.Tier = *b.Tier
	}
	if b.Exposure != nil {
		a.Exposure = *b.Exposure
	}
	if err := junctor.CheckExposure(a.Exposure); err != nil {
		return a, err
	}
	a.Disabled = b.Disabled != nil && *b.Disabled
	a.Published = b.Published != nil && *b.Published
	for _, of := range []struct {
		to    *[]junctor.Grant
		given *[]string
	}{{&a.Tools, b.Tools}, {&a.Resources, b.Resources}, {&a.Prompts, b.Prompts}} {
		if of.given == nil {
			continue
		}
		for _, text := range *of.given {
			g, err := junctor.ParseGrant(text)
			if err != nil {
				return a, err
			}
			*of.to = append(*of.to, g)
		}
		slices.SortFunc(*of.to, junctor.Grant.Compare)
		*of.to = slices.Compact(*of.to)
	}
	if a.Brain != nil {
		if err := a.Brain.Check(); err != nil {
			return a, err
		}
	}
	if a.Limits != nil {
		return a, a.Limits.Check()
	}
	return a, nil
}

// AgentDetails is an agent with the granted tools that it cannot call.
type AgentDetails struct {
	junctor.Agent
	Withheld []junctor.WithheldTool `json:"withheld,omitempty" doc:"Allowed tools that the agent still cannot call, with the reasons. Shown only to its owner and admins."`
}

// CreatedAgent is a new agent with the token of its first key. This is the only answer
// that shows the token.
type CreatedAgent struct {
	AgentDetails
	KeyID string `json:"key_id" doc:"ID of the agent's key."`
	Token string `json:"key" doc:"The agent's key. It is not shown again."`
}

// agentListQuery is the query of a list of one agent.
type agentListQuery struct {
	ListQuery
	SchemaQuery
	Name string `path:"name" maxLength:"32" doc:"The agent's name."`
}

// agentName is the path of one agent.
type agentName struct {
	Name string `path:"name" maxLength:"32" doc:"The agent's name."`
}

// newAgent is the request that adds an agent.
type newAgent struct {
	Body struct {
		Name string `json:"name" doc:"Lower-case letter, followed by up to 31 lower-case letters, digits or hyphens."`
		AgentBody
	}
}

// agentPatch is the request that changes an agent.
type agentPatch struct {
	Precondition
	Name string `path:"name" maxLength:"32" doc:"The agent's name."`
	Body AgentBody
}

// agentResponse is one agent with its version.
type agentResponse = versionedResponse[AgentDetails]

// createdAgent is the answer to newAgent.
type createdAgent struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     CreatedAgent
}

// agentDetails adds the tools that are withheld from an agent.
func (a *api) agentDetails(ctx context.Context, agent junctor.Agent) (AgentDetails, error) {
	withheld, err := a.Agents.WithheldTools(ctx, callerOf(ctx), agent.Name)
	return AgentDetails{agent, withheld}, err
}

// maxAgentBody bounds the description of an agent, which may have thousands of grants.
const maxAgentBody = 2 << 20

// registerAgentRoutes registers the routes below /agents, except the one that runs an
// agent (agent_runs.go).
func (a *api) registerAgentRoutes() {
	tags := []string{"agents"}
	registerList(a, huma.Operation{
		OperationID: "list-agents", Method: http.MethodGet, Path: "/agents", Summary: "List agents", Tags: tags,
	}, agentList(), func(ctx context.Context, _ *ListQuery) ([]junctor.Agent, error) {
		agents, err := a.Agents.Agents(ctx, callerOf(ctx))
		return agents, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "create-agent", Method: http.MethodPost, Path: "/agents", Summary: "Add an agent, and create its key", Tags: tags,
		DefaultStatus: http.StatusCreated, MaxBodyBytes: maxAgentBody,
	}, func(ctx context.Context, in *newAgent) (*createdAgent, error) {
		agent, key, token, err := a.Agents.AddAgent(ctx, callerOf(ctx), in.Body.Name, in.Body.AgentBody)
		if err != nil {
			return nil, err
		}
		details, _ := a.agentDetails(ctx, agent) // the key is shown this once: nothing may stand in its way
		return &createdAgent{Location: Prefix + "/agents/" + agent.Name, ETag: etagOf(agent.UpdatedAt), Body: CreatedAgent{AgentDetails: details, KeyID: key.ID, Token: token}}, nil
	})
	registerRoute(a, huma.Operation{
		OperationID: "get-agent", Method: http.MethodGet, Path: "/agents/{name}", Summary: "Show an agent", Tags: tags,
	}, func(ctx context.Context, in *agentName) (*agentResponse, error) {
		agent, err := a.Agents.Agent(ctx, callerOf(ctx), in.Name)
		if err != nil {
			return nil, err
		}
		details, err := a.agentDetails(ctx, agent)
		return withVersion(details, agent.UpdatedAt), err
	})
	registerRoute(a, huma.Operation{
		OperationID: "patch-agent", Method: http.MethodPatch, Path: "/agents/{name}", Summary: "Change, enable or disable an agent", Tags: tags,
		MaxBodyBytes: maxAgentBody,
	}, func(ctx context.Context, in *agentPatch) (*agentResponse, error) {
		if in.Body.isEmpty() {
			return nil, junctor.Errorf(junctor.CodeInvalid, "the change is empty; send at least one field to change, such as tools")
		}
		version, err := in.wantedVersion()
		if err != nil {
			return nil, err
		}
		agent, err := a.Agents.ChangeAgent(ctx, callerOf(ctx), in.Name, in.Body, version)
		if err == nil {
			details, err := a.agentDetails(ctx, agent)
			return withVersion(details, agent.UpdatedAt), err
		}
		return nil, a.explainConflict(ctx, err, func() (storedVersion, error) {
			agent, err := a.Agents.Agent(ctx, callerOf(ctx), in.Name)
			return storedVersion{fmt.Sprintf("the agent %q", in.Name), agent, agent.UpdatedAt, agent.UpdatedBy}, err
		})
	})
	registerRoute(a, huma.Operation{
		OperationID: "delete-agent", Method: http.MethodDelete, Path: "/agents/{name}", Summary: "Delete an agent permanently; its records remain", Tags: tags,
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *agentName) (*empty, error) {
		return &empty{}, a.Agents.RemoveAgent(ctx, callerOf(ctx), in.Name)
	})
	registerList(a, huma.Operation{
		OperationID: "list-agent-tools", Method: http.MethodGet, Path: "/agents/{name}/tools", Summary: "List the tools that an agent can call", Tags: tags,
	}, toolList(), func(ctx context.Context, in *agentListQuery) ([]junctor.Tool, error) {
		tools, err := a.Agents.AgentTools(ctx, callerOf(ctx), in.Name)
		return in.omitSchemas(tools), err
	})
}

// agentList is the shape of list-agents.
func agentList() listShape[junctor.Agent] {
	return listShape[junctor.Agent]{
		id: func(v *junctor.Agent) string { return v.Name },
		orders: []listOrder[junctor.Agent]{
			byText("name", func(v *junctor.Agent) string { return v.Name }),
			byText("title", func(v *junctor.Agent) string { return v.Title }),
			byText("role", func(v *junctor.Agent) string { return string(v.Role) }),
			byText("tier", func(v *junctor.Agent) string { return v.Tier }),
			byTime("created_at", func(v *junctor.Agent) time.Time { return v.CreatedAt }),
			byTime("updated_at", func(v *junctor.Agent) time.Time { return v.UpdatedAt }),
		},
		text: func(v *junctor.Agent) []string { return []string{v.Name, v.Title, string(v.Role)} },
	}
}
