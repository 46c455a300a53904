package admin

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// staff is one agent in memory, and what was said of one tool; what is judged
// behind these interfaces is shown by whole instances.
type staff struct {
	mu    sync.Mutex
	agent junctor.Agent
	in    AgentBody // of the last AddAgent or ChangeAgent
	tag   junctor.ToolTag
}

func newStaff() *staff {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return &staff{agent: junctor.Agent{
		Name: "demo__echo", Role: "QA", Tools: []junctor.Grant{{Server: "demo", Item: "*"}}, Resources: []junctor.Grant{}, Prompts: []junctor.Grant{},
		Limits: &junctor.Limits{PerSecond: 1.5, OverLimit: junctor.OverLimitQueue}, Owner: "user:u2", CreatedAt: at, UpdatedAt: at,
	}}
}

func (s *staff) Agents(context.Context, *junctor.Principal) ([]junctor.Agent, error) {
	return []junctor.Agent{s.agent}, nil
}

func (s *staff) Agent(_ context.Context, _ *junctor.Principal, name string) (junctor.Agent, error) {
	if name != s.agent.Name {
		return junctor.Agent{}, junctor.Errorf(junctor.CodeNotFound, "no agent %s", name)
	}
	return s.agent, nil
}

func (s *staff) AddAgent(_ context.Context, _ *junctor.Principal, name string, in AgentBody) (junctor.Agent, junctor.Key, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.in = in
	agent := s.agent
	agent.Name = name
	return agent, junctor.Key{ID: "k1"}, "jn_agent", nil
}

func (s *staff) ChangeAgent(ctx context.Context, p *junctor.Principal, name string, in AgentBody, version time.Time) (junctor.Agent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.in = in
	if err := junctor.CheckVersion(version, s.agent.UpdatedAt); err != nil {
		return junctor.Agent{}, err
	}
	return s.Agent(ctx, p, name)
}

func (s *staff) RemoveAgent(ctx context.Context, p *junctor.Principal, name string) error {
	_, err := s.Agent(ctx, p, name)
	return err
}

func (s *staff) AgentTools(ctx context.Context, p *junctor.Principal, name string) ([]junctor.Tool, error) {
	_, err := s.Agent(ctx, p, name)
	return []junctor.Tool{echoTool()}, err
}

func (s *staff) WithheldTools(ctx context.Context, p *junctor.Principal, name string) ([]junctor.WithheldTool, error) {
	_, err := s.Agent(ctx, p, name)
	return []junctor.WithheldTool{{Server: "demo", Tool: "add", Reason: "hidden"}}, err
}

func (s *staff) TagTool(_ context.Context, _ *junctor.Principal, name string, roles []junctor.Role, category string, version time.Time) (junctor.Tool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := junctor.CheckVersion(version, s.tag.At); err != nil {
		return junctor.Tool{}, err
	}
	s.tag = junctor.ToolTag{Tool: name, Roles: roles, Category: category, At: s.tag.At}
	tool := echoTool()
	tool.Class = &junctor.Class{Tag: &s.tag}
	return tool, nil
}

func (s *staff) UntagTool(context.Context, *junctor.Principal, string) (junctor.Tool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tag = junctor.ToolTag{}
	return echoTool(), nil
}

func (s *staff) LoadToolChanges(context.Context, *junctor.Principal, []junctor.ToolChange) error {
	return nil
}

func (s *staff) ToolChanges(_ context.Context, _ *junctor.Principal, server, tool string) ([]junctor.ToolChange, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []junctor.ToolChange{{
		ID: "c1", Server: "demo", Tool: server + tool, What: []string{"description"}, BeforeDigest: "a", AfterDigest: "b",
		Before: []byte(`{"name":"x"}`), After: []byte(`{"name":"x"}`), SeenAt: s.agent.CreatedAt,
	}}, nil
}

func (s *staff) Roles(context.Context, *junctor.Principal) ([]RoleInfo, error) {
	return []RoleInfo{{Name: "QA"}, {Name: "Legal team", Own: true}}, nil
}

func (s *staff) AddRole(_ context.Context, _ *junctor.Principal, role junctor.Role) error {
	return junctor.CheckRole(role)
}

func (s *staff) RemoveRole(_ context.Context, _ *junctor.Principal, role junctor.Role) error {
	if role != "Legal team" {
		return junctor.Errorf(junctor.CodeNotFound, "no role %s", role)
	}
	return nil
}

func TestAgentRoutes(t *testing.T) {
	t.Parallel()
	const agent = `"role":"QA","tools":["demo/*"],"resources":[],"prompts":[],"limits":{"per_second":1.5,"over_limit":"queue"},"owner":"user:u2"`
	for _, tt := range []struct {
		name, scopes, method, path, body string
		status                           int
		says                             string
	}{
		{"agents", "tools:read", "GET", "/agents", "", 200, agent},
		{"not without looking", "agents:write", "GET", "/agents", "", 403, "tools:read"},
		{"agent", "tools:read", "GET", "/agents/demo__echo", "", 200, agent},
		{"no agent", "tools:read", "GET", "/agents/nobody", "", 404, "nobody"},
		{"add", "agents:write", "POST", "/agents", `{"name":"qa-bot","role":"QA","tools":["notes/search","pets/*"],"limits":{"per_day":3}}`, 201, `{"name":"qa-bot",` + agent},
		{"what is withheld", "tools:read", "GET", "/agents/demo__echo", "", 200, `"withheld":[{"server":"demo","tool":"add","reason":"hidden"}]`},
		{"what is withheld from a new one", "agents:write", "POST", "/agents", `{"name":"qa-bot"}`, 201, `"withheld":[{"server":"demo"`},
		{"what is withheld after a change", "agents:write", "PATCH", "/agents/demo__echo", `{"tools":["demo/*"]}`, 200, `"withheld":[{"server":"demo"`},
		{"its key, once", "agents:write", "POST", "/agents", `{"name":"qa-bot"}`, 201, `"key_id":"k1","key":"jn_agent"}`},
		{"unknown member", "agents:write", "POST", "/agents", `{"name":"qa-bot","tool":[]}`, 422, "tool"},
		{"tools are texts", "agents:write", "POST", "/agents", `{"name":"qa-bot","tools":[1]}`, 422, "tools"},
		{"limits", "agents:write", "POST", "/agents", `{"name":"qa-bot","limits":{"over_limit":"pray"}}`, 422, "queue"},
		{"not with another scope", "tools:read,keys:write", "POST", "/agents", `{"name":"qa-bot"}`, 403, "agents:write"},
		{"change", "agents:write", "PATCH", "/agents/demo__echo", `{"tools":[]}`, 200, agent},
		{"change nothing", "agents:write", "PATCH", "/agents/demo__echo", `{}`, 422, "empty"},
		{"switch off", "agents:write", "PATCH", "/agents/demo__echo", `{"disabled":true}`, 200, agent},
		{"delete", "agents:write", "DELETE", "/agents/demo__echo", "", 204, ""},
		{"its tools", "tools:read", "GET", "/agents/demo__echo/tools", "", 200, `"exposed":"demo__echo"`},
		{"tools of a role", "tools:read", "GET", "/tools?role=QA", "", 200, `"exposed":"demo__echo"`},
		{"of another", "tools:read", "GET", "/tools?role=Legal%20team", "", 200, `{"items":[],"total":0}`},
		{"of no role", "tools:read", "GET", "/tools?role=Ops", "", 422, "junctor role ls"},
		{"tag", "servers:write", "PUT", "/tools/demo__echo/tag", `{"roles":["QA","Legal team"],"category":"Talk"}`, 200, `"exposed":"demo__echo"`},
		{"untag", "servers:write", "DELETE", "/tools/demo__echo/tag", "", 200, `"exposed":"demo__echo"`},
		{"tag is for who brings servers", "tools:call,agents:write", "PUT", "/tools/demo__echo/tag", `{"roles":["QA"]}`, 403, "servers:write"},
		{"changes", "tools:read", "GET", "/tools/changes?server=demo", "", 200, `{"items":[{"id":"c1","server":"demo","tool":"demo","what":["description"],"before_digest":"a","after_digest":"b","before":{"name":"x"},"after":{"name":"x"}`},
		{"too many changes", "tools:read", "GET", "/tools/changes?limit=1001", "", 422, "limit"},
		{"roles", "tools:read", "GET", "/roles", "", 200, `{"items":[{"name":"QA"},{"name":"Legal team","own":true}],"total":2}`},
		{"add a role", "admin", "PUT", "/roles/Legal%20team", "", 200, `{"name":"Legal team","own":true}`},
		{"a role that is none", "admin", "PUT", "/roles/%20x", "", 422, "role"},
		{"roles are for admins", "agents:write", "PUT", "/roles/x", "", 403, "admin"},
		{"remove a role", "admin", "DELETE", "/roles/Legal%20team", "", 204, ""},
		{"remove none", "admin", "DELETE", "/roles/QA", "", 404, "QA"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rec := ask(newWorld().handler(t), tt.scopes, tt.method, tt.path, tt.body)
			if rec.Code != tt.status || !strings.Contains(rec.Body.String(), tt.says) {
				t.Errorf("%d, want %d with %s:\n%s", rec.Code, tt.status, tt.says, rec.Body)
			}
		})
	}
}

// A list that is absent stays; an empty one is empty.
func TestAgentBody(t *testing.T) {
	t.Parallel()
	w := newWorld()
	h := w.handler(t)
	ask(h, "admin", "PATCH", "/agents/demo__echo", `{"tools":[],"role":"Ops"}`)
	if in := w.staff.in; in.Tools == nil || len(*in.Tools) != 0 || in.Resources != nil || in.Prompts != nil || in.Role == nil || *in.Role != "Ops" || in.Title != nil {
		t.Errorf("%+v", in)
	}
	ask(h, "admin", "PUT", "/tools/demo__echo/tag", `{"roles":["QA"],"category":"Talk"}`)
	if tag := w.staff.tag; tag.Tool != "demo__echo" || len(tag.Roles) != 1 || tag.Category != "Talk" {
		t.Errorf("%+v", tag)
	}
}
