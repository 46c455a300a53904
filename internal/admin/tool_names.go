package admin

import (
	"context"
	"maps"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/config"
)

// maxNamedTools bounds how many tools an error lists.
const maxNamedTools = 20

// CheckToolName returns an invalid error if a server has no tool with a name; names are
// those of its tools. Without names they are unknown, and any name is accepted. place says
// where in the request the name was.
func CheckToolName(place, server, tool string, names []string) error {
	if len(names) == 0 || slices.Contains(names, tool) {
		return nil
	}
	names = slices.Sorted(slices.Values(names))
	hint := "its tools are " + strings.Join(names[:min(maxNamedTools, len(names))], ", ")
	if i, _ := config.FindNearest(tool, names); i >= 0 {
		hint = "did you mean " + names[i] + "?"
	} else if len(names) > maxNamedTools {
		hint = "junctor tool ls --server " + server + " lists its tools"
	}
	return junctor.Errorf(junctor.CodeInvalid, "%s: the server %s has no tool %q; %s", place, server, junctor.ShortenText(tool, 64), hint)
}

// checkLimitedTools refuses new limits of a tool that does not exist. Limits of a tool that
// its server has no longer may still be changed.
func (a *api) checkLimitedTools(ctx context.Context, p *junctor.Principal, limits map[string]junctor.LimitsPatch) error {
	if len(limits) == 0 {
		return nil
	}
	now, err := a.Limits.LimitState(ctx, p.Tenant)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		server, tool, ok := strings.Cut(name, "/")
		if _, had := now.Tools[name]; had || !ok {
			continue // a name without a server is refused with the limits
		}
		_, err := a.Servers.Server(ctx, p, server)
		switch {
		case junctor.CodeOf(err) == junctor.CodeNotFound:
			return junctor.Errorf(junctor.CodeInvalid, "tools: %s: there is no server %q; junctor server ls lists servers", junctor.ShortenText(name, 128), junctor.ShortenText(server, 64))
		case err != nil:
			return err
		}
		var names []string
		for _, t := range a.Tools.Tools(p, server, "", "") {
			names = append(names, t.Name)
		}
		if err := CheckToolName("tools: "+junctor.ShortenText(name, 128), server, tool, names); err != nil {
			return err
		}
	}
	return nil
}
