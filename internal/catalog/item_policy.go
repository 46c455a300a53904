package catalog

import junctor "github.com/junctor-mcp/junctor"

// ItemPolicy says which items the rules of operators deny to a principal, whatever
// the arguments. Lists, search and descriptions leave such items out. A call of one
// is not hidden: the guard refuses it with the rule's own message. Implementations
// are safe for concurrent use and never change what they answer: a changed policy
// is another value.
type ItemPolicy interface {
	// Hides reports whether every call of an item of the server would be denied. t is
	// nil for items that are no tools.
	Hides(p *junctor.Principal, s *Server, kind junctor.Kind, item string, t *ToolVersion) bool
	// ListKey returns a text that is equal for principals for whom Hides is equal, and
	// different from those of other policies.
	ListKey(p *junctor.Principal) string
}

// SetPolicy sets the policy of a tenant; nil for none. It announces a change of the
// lists of all servers.
func (c *Catalog) SetPolicy(tenant junctor.TenantID, policy ItemPolicy) {
	c.changeAccess(tenant, func(former, now *accessRules) (changes []Change, differs bool) {
		now.policy = policy
		if former.policy == nil && policy == nil {
			return nil, false
		}
		for _, s := range c.Snapshot().For(tenant).servers {
			changes = append(changes, Change{Server: s.ID, Tools: true, Prompts: true, Resources: true})
		}
		return changes, true
	})
}

// isListed reports whether lists show an item to a principal: if it may see the item,
// and some call of it may be allowed.
func (sh *Shelf) isListed(p *junctor.Principal, scope Scope, s *Server, kind junctor.Kind, item string) bool {
	return sh.Visible(p, scope, s, kind, item) == "" && !sh.deniesAll(p, s, kind, item)
}

// deniesAll reports whether the policy denies every call of an item.
func (sh *Shelf) deniesAll(p *junctor.Principal, s *Server, kind junctor.Kind, item string) bool {
	if sh.access.policy == nil {
		return false
	}
	var version *ToolVersion
	if t := s.toolsByName[item]; t != nil && kind == junctor.KindTool {
		version = t.Default
	}
	return sh.access.policy.Hides(p, s, kind, item, version)
}
