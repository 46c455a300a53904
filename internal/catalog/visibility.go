package catalog

import (
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/mcpapps"
)

// Reason is why a principal may not see an item, for the record of a refusal;
// "" means that it may. Callers never get the reason: an item that they may not
// see looks as if it did not exist.
type Reason string

// Reasons.
const (
	ReasonScope    Reason = "the credential has neither tools:read nor tools:call"
	ReasonPrivate  Reason = "the server is private and belongs to another user"
	ReasonSources  Reason = "the user's tool sources do not include the server"
	ReasonAgent    Reason = "the agent was removed"
	ReasonDisabled Reason = "the agent is disabled"
	ReasonGrant    Reason = "not in the agent's allowed tools"
	ReasonOwner    Reason = "the agent belongs to another user"
	ReasonAudience Reason = "the definition of the tool hides it from this caller (_meta.ui.visibility)"
)

// Visible decides whether a principal may see and use an item. It is the only
// such decision: lists, search, descriptions, suggestions, change notifications
// and calls on every endpoint use it. item is the server's own name of a tool
// or prompt, or the URI or template of a resource. If kind is "", the question
// is about the server itself. Visible takes no lock and allocates nothing.
//
// Users and services see all servers of their tenant, except servers that are
// private to another party. A user's choice of sources counts in scopes that
// join servers. An agent sees the items that its grants name, whatever its role
// and the roles of the tools are: those only suggest what to grant. It also sees
// the ui:// page of a tool that it sees. A tool that is limited to an audience is
// shown to that audience alone.
func (sh *Shelf) Visible(p *junctor.Principal, scope Scope, s *Server, kind junctor.Kind, item string) Reason {
	switch {
	case !canReadCatalog(p):
		return ReasonScope
	case kind == junctor.KindTool && !s.showsTool(scope.Audience, item):
		return ReasonAudience
	// An agent is judged by its own grants, not by the rights of its owner.
	case p.Agent != "":
		return sh.visibleToAgent(sh.access.agents[p.Agent], s, kind, item)
	case s.Owner != "" && !p.Is(s.Owner) && !p.Has(junctor.ScopeAdmin):
		return ReasonPrivate
	case scope.Server == "" && p.User != "" && !sh.access.sources[p.User].Shows(s.Mode):
		return ReasonSources
	}
	return ""
}

// showsTool reports whether an audience is shown a tool. An unknown tool
// passes: the caller reports it.
func (s *Server) showsTool(a Audience, tool string) bool {
	t := s.toolsByName[tool]
	return t == nil || t.isShownTo(a)
}

// canReadCatalog reports whether a principal has a scope to see anything at
// all.
func canReadCatalog(p *junctor.Principal) bool {
	return p.Has(junctor.ScopeToolsRead) || p.Has(junctor.ScopeToolsCall)
}

// visibleToAgent is Visible for an agent; a is nil if the agent does not exist.
func (sh *Shelf) visibleToAgent(a *agentAccess, s *Server, kind junctor.Kind, item string) Reason {
	switch {
	case a == nil:
		return ReasonAgent
	case a.Disabled:
		return ReasonDisabled
	case s.Owner != "" && s.Owner != a.Owner:
		return ReasonPrivate
	}
	switch kind {
	case junctor.KindTool:
		if !a.tools.allowsItem(s.ID, item) {
			return ReasonGrant
		}
		return ""
	case junctor.KindPrompt, junctor.KindCompletion:
		if a.prompts.allowsItem(s.ID, item) {
			return ""
		}
	case junctor.KindResource, junctor.KindSubscription:
		if a.resources.allowsURI(s.ID, item) || sh.seesPage(a, s, item) {
			return ""
		}
	default:
		if a.tools[s.ID] != nil || a.prompts[s.ID] != nil || a.resources[s.ID] != nil {
			return ""
		}
	}
	return ReasonGrant
}

// seesPage reports whether a tool that the agent sees names the ui:// page.
func (sh *Shelf) seesPage(a *agentAccess, s *Server, uri string) bool {
	if !strings.HasPrefix(uri, mcpapps.URIScheme) {
		return false
	}
	for _, t := range s.toolsByPage[uri] {
		if sh.visibleToAgent(a, s, junctor.KindTool, t.Name) == "" {
			return true
		}
	}
	return false
}

// permissionSet returns a key that is equal for principals that see the same
// items. Lists are rendered once for each key, so every rule of Visible that
// depends on the principal must be part of it: otherwise one principal would
// get the list of another.
func (sh *Shelf) permissionSet(p *junctor.Principal) string {
	if !canReadCatalog(p) {
		return ""
	}
	set := "all"
	var a *agentAccess
	if p.Agent != "" {
		if a = sh.access.agents[p.Agent]; a == nil || a.Disabled {
			return ""
		}
		set = a.permissionSet
	} else if p.User != "" {
		set = sourcesSet(sh.access.sources[p.User])
	}
	// Private servers are seen by few: the key names those that this principal
	// sees.
	for _, s := range sh.privateServers {
		if a != nil && s.Owner == a.Owner || a == nil && (p.Is(s.Owner) || p.Has(junctor.ScopeAdmin)) {
			set += "+" + s.ID
		}
	}
	if sh.access.policy != nil {
		set += "|" + sh.access.policy.ListKey(p)
	}
	return set
}

// sourcesSet is the part of a permission set for a user's choice of sources.
func sourcesSet(s junctor.Sources) string {
	switch s {
	case junctor.SourcesGenerated:
		return "all of auto-generated"
	case junctor.SourcesBYO:
		return "all of bring-your-own"
	case junctor.SourcesBoth:
	}
	return "all"
}

// HiddenError is the cause of a not_found error for an item that exists and may
// not be seen. The guard records it; callers see only the not_found.
type HiddenError struct{ Reason Reason }

// Error implements error.
func (h *HiddenError) Error() string { return string(h.Reason) }

// withReason attaches the true cause to a not_found error.
func withReason(why Reason, unknown *junctor.Error) error {
	unknown.Cause = &HiddenError{why}
	return unknown
}

// Acting returns p as the agent of that name, for endpoints that name one. The
// agent itself may use it, and so may its owner and admins; they then act as
// the agent, with the agent's permissions. For everybody else the error is
// not_found.
func (sh *Shelf) Acting(p *junctor.Principal, name string) (*junctor.Principal, error) {
	unknown := func() *junctor.Error { return junctor.Errorf(junctor.CodeNotFound, "unknown agent %q", clipText(name)) }
	a := sh.access.agents[name]
	switch {
	case a == nil:
		return nil, unknown()
	case a.Disabled:
		return nil, withReason(ReasonDisabled, unknown())
	case p.Agent == name:
		return p, nil
	case p.Agent != "" || !p.Is(a.Owner) && !p.Has(junctor.ScopeAdmin):
		return nil, withReason(ReasonOwner, unknown())
	}
	// The scopes are reduced to those of calls: an admin who acts as an agent
	// is no admin.
	as := *p
	as.Agent, as.Scopes = name, nil
	for _, scope := range []junctor.Scope{junctor.ScopeToolsRead, junctor.ScopeToolsCall} {
		if p.Has(scope) {
			as.Scopes = append(as.Scopes, scope)
		}
	}
	return &as, nil
}
