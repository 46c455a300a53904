package junctor

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// Role is the kind of work that an agent does or a tool is for. It filters the
// tools that an agent sees.
type Role string

// RoleGeneral is the role of tools without a more specific one. Agents of every
// role see them.
const RoleGeneral Role = "General"

// Roles lists the predefined roles. A tenant may add roles of its own.
func Roles() []Role {
	return []Role{"Dev", "QA", "Product", "Analytics", "Ops", "Finance", "Support", "Marketing", "Security", RoleGeneral}
}

// AgentScopes lists the scopes that a key of an agent may carry: rights that
// the agent's grants bound, and none that could change the grants.
func AgentScopes() []Scope { return []Scope{ScopeToolsRead, ScopeToolsCall, ScopeEventsSend} }

// Agent is an identity with a role and allowed tools.
type Agent struct {
	Tenant    TenantID  `json:"-"`
	Name      string    `json:"name" file:"key"` // its id too
	Title     string    `json:"title,omitempty"`
	Role      Role      `json:"role"`
	Tools     []Grant   `json:"tools" nullable:"false"`
	Resources []Grant   `json:"resources" nullable:"false"`
	Prompts   []Grant   `json:"prompts" nullable:"false"`
	Tier      string    `json:"tier,omitempty"`            // "" is the tier of its owner
	Limits    *Limits   `json:"limits,omitempty"`          // replaces the limits of the tier
	Brain     *Brain    `json:"brain,omitempty"`           // what it answers users with; nil if it cannot answer
	Owner     string    `json:"owner,omitempty" file:"no"` // Principal.ID of the creator
	Exposure  Exposure  `json:"exposure,omitempty"`        // how lists show its tools to MCP clients; "" follows the servers and the instance
	Published bool      `json:"published,omitempty"`       // other agents can reach it by A2A, under its name
	Disabled  bool      `json:"disabled,omitempty"`
	Declared  string    `json:"declared,omitempty" file:"no"` // the settings file that declares it, and the only place to change it
	CreatedAt time.Time `json:"created_at" file:"no"`
	UpdatedAt time.Time `json:"updated_at" file:"no"`
	UpdatedBy string    `json:"updated_by,omitempty" file:"no"` // Principal.ID of the last change; "" if unknown
}

// OwnerUser returns the id of the user that owns the agent; "" if no user does.
func (a *Agent) OwnerUser() string {
	id, ok := strings.CutPrefix(a.Owner, IssuerUser+":")
	if !ok {
		return ""
	}
	return id
}

// CheckPublished returns an error if the agent is published and has no brain to
// answer with.
func (a *Agent) CheckPublished() error {
	if a.Published && a.Brain == nil {
		return Errorf(CodeInvalid, "the agent %q cannot be published because it has no brain; set a model or rules", a.Name)
	}
	return nil
}

// AgentNamePattern matches the names of agents.
const AgentNamePattern = `^[a-z][a-z0-9-]{0,31}$`

// CheckAgentName returns an error that explains the allowed form if name is not
// valid.
func CheckAgentName(name string) error {
	if ok, _ := regexp.MatchString(AgentNamePattern, name); !ok {
		return Errorf(CodeInvalid, "%q is not a valid agent name; use a lower-case letter, then up to 31 lower-case letters, digits or hyphens", name)
	}
	return nil
}

// CheckRole returns an error if r is not a valid role name. It does not check
// that the tenant has the role.
func CheckRole(r Role) error {
	if !nameFits(string(r), 40) {
		return Errorf(CodeInvalid, "%q is not a valid role; use 1 to 40 characters without control characters, slashes or leading and trailing spaces", string(r))
	}
	return nil
}

// Grant names what an agent may use: server/item with the item's name at the
// server, or server/* for all items of a kind that the server has, now and
// later.
type Grant struct {
	Server string
	Item   string // AnyItem, the name of a tool or prompt, or the URI of a resource
}

// WithheldTool is a tool that a grant of an agent names and that the agent
// cannot call all the same.
type WithheldTool struct {
	Server string `json:"server"`
	Tool   string `json:"tool" doc:"The tool's name at the server; * means all tools of the server."`
	Reason string `json:"reason" doc:"Why the tool is withheld and, if possible, how to fix it."`
}

// String returns the tool in the form of a grant.
func (w WithheldTool) String() string { return w.Server + "/" + w.Tool }

// AnyItem is the item of a grant for a whole server.
const AnyItem = "*"

// ParseGrant parses server/item. Only the first slash separates, because a URI
// contains more.
func ParseGrant(text string) (Grant, error) {
	server, item, ok := strings.Cut(text, "/")
	if !ok || item == "" {
		return Grant{}, Errorf(CodeInvalid, "%q is not a valid allow rule; use server/name, or server/* for everything on the server", text)
	}
	if err := CheckServerID(server); err != nil {
		return Grant{}, err
	}
	return Grant{Server: server, Item: item}, nil
}

// String returns the form that ParseGrant reads.
func (g Grant) String() string { return g.Server + "/" + g.Item }

// Compare orders grants by their text.
func (g Grant) Compare(h Grant) int { return strings.Compare(g.String(), h.String()) }

// AgentOwner returns the owner text of an agent in rows. It equals
// Principal.ID.
func AgentOwner(name string) string { return IssuerAgent + ":" + name }

// MarshalText implements encoding.TextMarshaler.
func (g Grant) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler with ParseGrant.
func (g *Grant) UnmarshalText(text []byte) (err error) {
	*g, err = ParseGrant(string(text))
	return err
}

// Grants returns the grants for a kind of call.
func (a *Agent) Grants(k Kind) []Grant {
	switch k {
	case KindTool:
		return a.Tools
	case KindPrompt, KindCompletion:
		return a.Prompts
	case KindResource, KindSubscription:
		return a.Resources
	case KindTask, KindTaskUpdate, KindTaskCancel, KindServer, KindAgent, KindToolList:
	}
	return nil
}

// Allows reports whether a grant for the kind covers the item, by name or with
// AnyItem.
func (a *Agent) Allows(k Kind, server, item string) bool {
	return slices.ContainsFunc(a.Grants(k), func(g Grant) bool {
		return g.Server == server && (g.Item == AnyItem || g.Item == item)
	})
}
