package junctor

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// Role is the work that an agent does, and that a tool is for.
type Role string

// RoleGeneral is the role of tools that nothing says more about: they are
// offered to agents of every role.
const RoleGeneral Role = "General"

// Roles lists the roles that every tenant has. A tenant may have more of its
// own.
func Roles() []Role {
	return []Role{"Dev", "QA", "Product", "Analytics", "Ops", "Finance", "Support", "Marketing", "Security", RoleGeneral}
}

// AgentScopes lists what a key of an agent may carry: what its list of grants
// can bound, and nothing that could change the list.
func AgentScopes() []Scope { return []Scope{ScopeToolsRead, ScopeToolsCall, ScopeEventsSend} }

// Agent is an identity with a role and a list of what it may use.
type Agent struct {
	Tenant    TenantID  `json:"-"`
	Name      string    `json:"name"` // its id too
	Title     string    `json:"title,omitempty"`
	Role      Role      `json:"role"`
	Tools     []Grant   `json:"tools" nullable:"false"`
	Resources []Grant   `json:"resources" nullable:"false"`
	Prompts   []Grant   `json:"prompts" nullable:"false"`
	Tier      string    `json:"tier,omitempty"`      // "" is its owner's
	Limits    *Limits   `json:"limits,omitempty"`    // in place of the tier's
	Brain     *Brain    `json:"brain,omitempty"`     // what it thinks with when somebody talks to it; nil where it cannot
	Owner     string    `json:"owner,omitempty"`     // who made it, as Principal.ID says
	Published bool      `json:"published,omitempty"` // other agents reach it by A2A, under its name
	Disabled  bool      `json:"disabled,omitempty"`
	Declared  string    `json:"declared,omitempty"` // the file that declares it, where alone it can be changed
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	UpdatedBy string    `json:"updated_by,omitempty"` // who changed it last, as Principal.ID says; "" is unknown
}

// OwnerUser is the user that made the agent, by id; "" where no user did.
func (a *Agent) OwnerUser() string {
	id, ok := strings.CutPrefix(a.Owner, IssuerUser+":")
	if !ok {
		return ""
	}
	return id
}

// CheckPublished refuses to publish an agent that could not answer.
func (a *Agent) CheckPublished() error {
	if a.Published && a.Brain == nil {
		return Errorf(CodeInvalid, "the agent %q cannot be published: it has nothing to answer with; give it a model or rules", a.Name)
	}
	return nil
}

// AgentNamePattern is what an agent's name looks like.
const AgentNamePattern = `^[a-z][a-z0-9-]{0,31}$`

// CheckAgentName refuses what is not an agent's name, and says what one is.
func CheckAgentName(name string) error {
	if ok, _ := regexp.MatchString(AgentNamePattern, name); !ok {
		return Errorf(CodeInvalid, "%q is not an agent's name: use a lower-case letter, then up to 31 lower-case letters, digits or hyphens", name)
	}
	return nil
}

// CheckRole refuses what cannot name a role. Whether a tenant has it is not
// judged here.
func CheckRole(r Role) error {
	if !nameFits(string(r), 40) {
		return Errorf(CodeInvalid, "a role has 1 to 40 characters, no control characters, no slash and no space at its ends, not %q", string(r))
	}
	return nil
}

// Grant names what an agent may use: server/item in the server's own names, or
// server/* for whatever the server has of that kind, now and later.
type Grant struct {
	Server string
	Item   string // AnyItem, or a tool's or prompt's name, or a resource's URI
}

// AnyItem is the item of a grant for a whole server.
const AnyItem = "*"

// ParseGrant reads server/item. A URI as item may hold further slashes.
func ParseGrant(text string) (Grant, error) {
	server, item, ok := strings.Cut(text, "/")
	if !ok || item == "" {
		return Grant{}, Errorf(CodeInvalid, "%q does not name what an agent may use: write server/name, or server/* for all that the server has", text)
	}
	if err := CheckServerID(server); err != nil {
		return Grant{}, err
	}
	return Grant{Server: server, Item: item}, nil
}

func (g Grant) String() string { return g.Server + "/" + g.Item }

// Compare orders grants by their text.
func (g Grant) Compare(h Grant) int { return strings.Compare(g.String(), h.String()) }

// AgentOwner is how rows name an agent as their owner, the same as Principal.ID.
func AgentOwner(name string) string { return IssuerAgent + ":" + name }

// MarshalText writes server/item.
func (g Grant) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText reads what ParseGrant reads.
func (g *Grant) UnmarshalText(text []byte) (err error) {
	*g, err = ParseGrant(string(text))
	return err
}

// Grants gives the list for a kind of call.
func (a *Agent) Grants(k Kind) []Grant {
	switch k {
	case KindTool:
		return a.Tools
	case KindPrompt, KindCompletion:
		return a.Prompts
	case KindResource, KindSubscription:
		return a.Resources
	case KindTask, KindTaskUpdate, KindTaskCancel, KindServer, KindAgent:
	}
	return nil
}

// Allows says whether the list for the kind holds the item, by name or by its
// server.
func (a *Agent) Allows(k Kind, server, item string) bool {
	return slices.ContainsFunc(a.Grants(k), func(g Grant) bool {
		return g.Server == server && (g.Item == AnyItem || g.Item == item)
	})
}
