package agents

import (
	"context"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// grantCheck decides whether a principal may grant something to an agent. Grants that
// the agent has already are not checked again, because their server may be unavailable
// for a while.
type grantCheck struct {
	*Registry
	p             *junctor.Principal
	allowUnlisted bool // accept names of a server whose lists are not known
}

// checkList replaces the grants at *at by those that given names, if all of them are
// allowed. If given is nil, the grants stay.
func (j *grantCheck) checkList(ctx context.Context, kind junctor.Kind, at *[]junctor.Grant, given *[]string) error {
	had := *at
	next := had
	if given != nil {
		next = make([]junctor.Grant, 0, len(*given))
		for _, text := range *given {
			g, err := j.parseGrant(kind, text)
			if err != nil {
				return err
			}
			next = append(next, g)
		}
		slices.SortFunc(next, junctor.Grant.Compare)
		next = slices.Compact(next)
	}
	for _, g := range next {
		if slices.Contains(had, g) {
			continue
		}
		if err := j.checkGrant(ctx, kind, g); err != nil {
			return err
		}
	}
	*at = next
	return nil
}

// viewer is the principal without its choice of sources, which limits what endpoints
// show but not what may be granted.
func (j *grantCheck) viewer() *junctor.Principal {
	q := *j.p
	q.User = ""
	return &q
}

// parseGrant parses server/item, or a name as endpoints show it.
func (j *grantCheck) parseGrant(kind junctor.Kind, text string) (junctor.Grant, error) {
	before, _, slash := strings.Cut(text, "/")
	if slash && junctor.CheckServerID(before) == nil {
		return junctor.ParseGrant(text)
	}
	var item catalog.Item
	var err error
	sh := j.shelf(j.p)
	switch kind {
	case junctor.KindPrompt:
		item, err = sh.Prompt(j.viewer(), catalog.Scope{}, text)
	case junctor.KindResource:
		item, err = sh.Resource(j.viewer(), catalog.Scope{}, text)
	default:
		item, err = sh.Tool(j.viewer(), catalog.Scope{Audience: catalog.AudienceHost}, text, "")
	}
	if err != nil {
		return junctor.Grant{}, junctor.Errorf(junctor.CodeInvalid, "%q cannot be given to an agent: %s; write server/name, or server/* for all that the server has", text, junctor.AsError(err).Message)
	}
	return junctor.Grant{Server: item.Server.ID, Item: item.Name}, nil
}

// checkGrant checks one new grant. The roles of a tool are no reason to refuse it.
func (j *grantCheck) checkGrant(ctx context.Context, kind junctor.Kind, g junctor.Grant) error {
	sh, p := j.shelf(j.p), j.viewer()
	s, err := sh.Server(p, g.Server)
	switch {
	case err != nil:
		return j.checkUnattached(ctx, g)
	case g.Item == junctor.AnyItem:
		return nil
	case j.allowUnlisted && len(s.Offer.Tools)+len(s.Offer.Prompts)+len(s.Offer.Resources)+len(s.Offer.Templates) == 0: // it has not answered yet
		return nil
	}
	view := catalog.Scope{Server: g.Server, Audience: catalog.AudienceHost}
	fault := func(err error) error {
		return junctor.Errorf(junctor.CodeInvalid, "%s cannot be given to an agent: %s", g, junctor.AsError(err).Message)
	}
	switch kind {
	case junctor.KindPrompt:
		if _, err := sh.Prompt(p, view, g.Item); err != nil {
			return fault(err)
		}
	case junctor.KindResource:
		if len(s.Offer.Resources)+len(s.Offer.Templates) == 0 {
			return junctor.Errorf(junctor.CodeInvalid, "%s cannot be given to an agent: the server has no resources", g)
		}
	default:
		if _, err := sh.Tool(p, view, g.Item, ""); err != nil {
			return fault(err)
		}
	}
	return nil
}

// checkUnattached checks a grant of a server that is not attached: the server may be
// switched off, or may not exist.
func (j *grantCheck) checkUnattached(ctx context.Context, g junctor.Grant) error {
	servers, err := j.parts.Servers.Servers(ctx, j.p)
	if err != nil {
		return err
	}
	near := make([]string, 0, len(servers))
	for _, row := range servers {
		switch {
		case row.ID == g.Server && (j.allowUnlisted || g.Item == junctor.AnyItem):
			return nil
		case row.ID == g.Server:
			return junctor.Errorf(junctor.CodeInvalid, "%s cannot be given to an agent while its server is %s: make the server available first, or give %s/*", g, row.State, g.Server)
		case isSimilarID(row.ID, g.Server):
			near = append(near, row.ID)
		}
	}
	hint := "junctor server ls lists them"
	if len(near) > 0 {
		hint = "did you mean " + strings.Join(near[:min(3, len(near))], ", ") + "?"
	}
	return junctor.Errorf(junctor.CodeInvalid, "%s cannot be given to an agent: unknown server %q; %s", g, g.Server, hint)
}

// isSimilarID reports whether two ids could be mistaken for each other.
func isSimilarID(a, b string) bool {
	return catalog.Distance(a, b, 2) <= 2 || strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// joinRoles lists roles for a message.
func joinRoles(roles []junctor.Role) string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	return strings.Join(names, ", ")
}
