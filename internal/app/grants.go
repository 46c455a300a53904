package app

import (
	"context"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// judge says whether an agent may be given something by a principal. What it had
// before is not judged again: a server may be away for a while.
type judge struct {
	agents
	p         *junctor.Principal
	role      junctor.Role
	roleIsNew bool // then its tools have to fit it
	unseen    bool // names of a server whose list is not there are taken as they are written
}

// list reads one list of grants in place of the one that is there. given is nil
// where it stays.
func (j *judge) list(ctx context.Context, kind junctor.Kind, at *[]junctor.Grant, given *[]string) error {
	had := *at
	next := had
	if given != nil {
		next = make([]junctor.Grant, 0, len(*given))
		for _, text := range *given {
			g, err := j.read(kind, text)
			if err != nil {
				return err
			}
			next = append(next, g)
		}
		slices.SortFunc(next, junctor.Grant.Compare)
		next = slices.Compact(next)
	}
	for _, g := range next {
		known := slices.Contains(had, g)
		if known && (!j.roleIsNew || kind != junctor.KindTool) {
			continue
		}
		if err := j.grant(ctx, kind, g, known); err != nil {
			return err
		}
	}
	*at = next
	return nil
}

// looker is the principal without its choice of sources, which is about what a
// door shows and not about what may be given.
func (j *judge) looker() *junctor.Principal {
	q := *j.p
	q.User = ""
	return &q
}

// read reads server/item, or a name as doors show it.
func (j *judge) read(kind junctor.Kind, text string) (junctor.Grant, error) {
	before, _, slash := strings.Cut(text, "/")
	if slash && junctor.CheckServerID(before) == nil {
		return junctor.ParseGrant(text)
	}
	var item catalog.Item
	var err error
	sh := j.shelf(j.p)
	switch kind {
	case junctor.KindPrompt:
		item, err = sh.Prompt(j.looker(), catalog.View{}, text)
	case junctor.KindResource:
		item, err = sh.Resource(j.looker(), catalog.View{}, text)
	default:
		item, err = sh.Tool(j.looker(), catalog.View{Audience: catalog.AudienceHost}, text, "")
	}
	if err != nil {
		return junctor.Grant{}, junctor.Errorf(junctor.CodeInvalid, "%q cannot be given to an agent: %s; write server/name, or server/* for all that the server has", text, junctor.AsError(err).Message)
	}
	return junctor.Grant{Server: item.Server.ID, Item: item.Name}, nil
}

// grant judges one. known is one that the agent had, under another role.
func (j *judge) grant(ctx context.Context, kind junctor.Kind, g junctor.Grant, known bool) error {
	sh, p := j.shelf(j.p), j.looker()
	s, err := sh.Server(p, g.Server)
	switch {
	case err != nil && known:
		return nil
	case err != nil:
		return j.away(ctx, g)
	case g.Item == junctor.AnyItem:
		return nil
	case j.unseen && len(s.Offer.Tools)+len(s.Offer.Prompts)+len(s.Offer.Resources)+len(s.Offer.Templates) == 0: // it has not answered yet
		return nil
	}
	view := catalog.View{Server: g.Server, Audience: catalog.AudienceHost}
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
		item, err := sh.Tool(p, view, g.Item, "")
		if err != nil && known {
			return nil
		}
		if err != nil {
			return fault(err)
		}
		if roles, ok := sh.Fits(item, j.role); !ok {
			return junctor.Errorf(junctor.CodeInvalid, "%s is for %s, not for %s: choose another tool, or say what it is for with: junctor tool tag %s --role %s",
				g, joinRoles(roles), j.role, item.Shown, inShell(j.role))
		}
	}
	return nil
}

// away judges what is of a server that is not attached: it may be switched off,
// or not be there at all.
func (j *judge) away(ctx context.Context, g junctor.Grant) error {
	servers, err := j.app.servers.Servers(ctx, j.p)
	if err != nil {
		return err
	}
	near := make([]string, 0, len(servers))
	for _, row := range servers {
		switch {
		case row.ID == g.Server && (j.unseen || g.Item == junctor.AnyItem):
			return nil
		case row.ID == g.Server:
			return junctor.Errorf(junctor.CodeInvalid, "%s cannot be given to an agent while its server is %s: bring it back first, or give %s/*", g, row.State, g.Server)
		case alike(row.ID, g.Server):
			near = append(near, row.ID)
		}
	}
	hint := "junctor server ls lists them"
	if len(near) > 0 {
		hint = "did you mean " + strings.Join(near[:min(3, len(near))], ", ") + "?"
	}
	return junctor.Errorf(junctor.CodeInvalid, "%s cannot be given to an agent: unknown server %q; %s", g, g.Server, hint)
}

// alike says whether two ids could be taken for each other.
func alike(a, b string) bool {
	return catalog.Distance(a, b, 2) <= 2 || strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

func joinRoles(roles []junctor.Role) string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	return strings.Join(names, ", ")
}

// inShell is a role as a shell reads it.
func inShell(r junctor.Role) string {
	if strings.ContainsAny(string(r), " '\"$`\\") {
		return "'" + strings.ReplaceAll(string(r), "'", `'\''`) + "'"
	}
	return string(r)
}
