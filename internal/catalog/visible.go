package catalog

import (
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/mcpapps"
)

// Reason is why something may not be seen, for the record of a refusal; "" is
// that it may. Callers never hear it: what they may not see does not exist.
type Reason string

// The reasons.
const (
	ReasonScope    Reason = "the credential has neither tools:read nor tools:call"
	ReasonPrivate  Reason = "the server is private, and another party's"
	ReasonSources  Reason = "the server is not of the sources that the user has chosen"
	ReasonAgent    Reason = "there is no such agent any more"
	ReasonDisabled Reason = "the agent is switched off"
	ReasonGrant    Reason = "not on the agent's list"
	ReasonRole     Reason = "not for the agent's role"
	ReasonOwner    Reason = "the agent is another party's"
	ReasonAudience Reason = "the tool says that it is for others: for models, for pages, or for nobody"
)

// Visible decides whether a principal may see something, and use it: the only
// such decision. Lists, search, descriptions, suggestions, notes of changes and
// calls of every door ask here. Kind and item are of the server's own names: a
// tool, a prompt, or a resource by its URI or template; without a kind it is
// the server itself that is asked for. It locks and allocates nothing.
//
// People and services see all servers of their tenant but those that are
// private to another party; a person's choice of sources counts where a view
// joins servers. An agent sees what its lists name, and of tools only those that
// are for its role or for all; a ui:// page comes with a tool that names it. A
// tool that says whom it is for is shown to them alone, whoever asks.
func (sh *Shelf) Visible(p *junctor.Principal, v View, s *Server, kind junctor.Kind, item string) Reason {
	switch {
	case !mayLook(p):
		return ReasonScope
	case kind == junctor.KindTool && !s.shows(v.Audience, item):
		return ReasonAudience
	case p.Agent != "":
		return sh.visibleTo(sh.access.agents[p.Agent], s, kind, item)
	case s.Owner != "" && !p.Is(s.Owner) && !p.Has(junctor.ScopeAdmin):
		return ReasonPrivate
	case v.Server == "" && p.User != "" && !sh.access.sources[p.User].Shows(s.Mode):
		return ReasonSources
	}
	return ""
}

// shows says whether the server's tool, where it has it, is for an audience.
func (s *Server) shows(a Audience, tool string) bool {
	t := s.toolsBy[tool]
	return t == nil || t.seen(a)
}

// mayLook says whether a principal may see anything at all.
func mayLook(p *junctor.Principal) bool {
	return p.Has(junctor.ScopeToolsRead) || p.Has(junctor.ScopeToolsCall)
}

func (sh *Shelf) visibleTo(a *agent, s *Server, kind junctor.Kind, item string) Reason {
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
		if !a.tools.hold(s.ID, item) {
			return ReasonGrant
		}
		if !fits(sh.rolesOf(s, item), a.Role) {
			return ReasonRole
		}
		return ""
	case junctor.KindPrompt, junctor.KindCompletion:
		if a.prompts.hold(s.ID, item) {
			return ""
		}
	case junctor.KindResource, junctor.KindSubscription:
		if a.resources.holdURI(s.ID, item) || sh.bringsPage(a, s, item) {
			return ""
		}
	default:
		if a.tools[s.ID] != nil || a.prompts[s.ID] != nil || a.resources[s.ID] != nil {
			return ""
		}
	}
	return ReasonGrant
}

// bringsPage says whether a tool that the agent sees names the ui:// page.
func (sh *Shelf) bringsPage(a *agent, s *Server, uri string) bool {
	if !strings.HasPrefix(uri, mcpapps.Scheme) {
		return false
	}
	for _, t := range s.pages[uri] {
		if sh.visibleTo(a, s, junctor.KindTool, t.Name) == "" {
			return true
		}
	}
	return false
}

// permissionSet is equal for principals that see the same: lists are rendered
// once for each.
func (sh *Shelf) permissionSet(p *junctor.Principal) string {
	if !mayLook(p) {
		return ""
	}
	set := "all"
	var a *agent
	if p.Agent != "" {
		if a = sh.access.agents[p.Agent]; a == nil || a.Disabled {
			return ""
		}
		set = a.set
	} else if p.User != "" {
		set = sourcesSet(sh.access.sources[p.User])
	}
	for _, s := range sh.private {
		if a != nil && s.Owner == a.Owner || a == nil && (p.Is(s.Owner) || p.Has(junctor.ScopeAdmin)) {
			set += "+" + s.ID
		}
	}
	return set
}

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

// HiddenError is the cause of an error that says that something does not exist, where
// it does and may not be seen.
type HiddenError struct{ Reason Reason }

func (h *HiddenError) Error() string { return string(h.Reason) }

// hide gives the error for what does not exist its true cause.
func hide(why Reason, unknown *junctor.Error) error {
	unknown.Cause = &HiddenError{why}
	return unknown
}

// Acting gives p as the agent of that name, for doors that name one: the agent
// itself, or its owner or an admin, who then are and may no more than it. To
// everybody else there is no such agent.
func (sh *Shelf) Acting(p *junctor.Principal, name string) (*junctor.Principal, error) {
	unknown := func() *junctor.Error { return junctor.Errorf(junctor.CodeNotFound, "unknown agent %q", clip(name)) }
	a := sh.access.agents[name]
	switch {
	case a == nil:
		return nil, unknown()
	case a.Disabled:
		return nil, hide(ReasonDisabled, unknown())
	case p.Agent == name:
		return p, nil
	case p.Agent != "" || !p.Is(a.Owner) && !p.Has(junctor.ScopeAdmin):
		return nil, hide(ReasonOwner, unknown())
	}
	as := *p
	as.Agent, as.Scopes = name, nil
	for _, scope := range []junctor.Scope{junctor.ScopeToolsRead, junctor.ScopeToolsCall} {
		if p.Has(scope) {
			as.Scopes = append(as.Scopes, scope)
		}
	}
	return &as, nil
}
