package servers

import (
	"cmp"
	"context"
	"maps"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/apigen"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// checkOverrideNames refuses an override of a tool that the server does not have: it would
// hide, rename or limit nothing. names are the server's own names of its tools; without
// them any name is accepted. So are the overrides of former, because a tool that the server
// has lost may return. former may be nil.
func checkOverrideNames(row, former *junctor.Server, names []string) error {
	for _, tool := range slices.Sorted(maps.Keys(row.Overrides)) {
		if former != nil {
			if _, had := former.Overrides[tool]; had {
				continue
			}
		}
		if err := admin.CheckToolName("overrides", row.ID, tool, names); err != nil {
			return err
		}
	}
	return nil
}

// checkOverridesAt is checkOverrideNames for the tools that a connection lists. Without a
// connection, or if the server does not list its tools, any name is accepted.
func checkOverridesAt(ctx context.Context, row, former *junctor.Server, up *authenticatedRoute) error {
	if up == nil || len(row.Overrides) == 0 {
		return nil
	}
	offer, err := up.Offer(ctx)
	if err != nil {
		return nil //nolint:nilerr // the names cannot be checked: the server answered, and lists no tools now
	}
	return checkOverrideNames(row, former, offeredNames(offer))
}

// offeredNames returns the names of the tools of an offer.
func offeredNames(offer *catalog.Offer) []string {
	names := make([]string, len(offer.Tools))
	for i := range offer.Tools {
		names[i] = offer.Tools[i].Name
	}
	return names
}

// importedNames returns the names of the tools of a document.
func importedNames(made *apigen.ImportedAPI) []string {
	names := make([]string, len(made.Tools))
	for i := range made.Tools {
		names[i] = made.Tools[i].Name
	}
	return names
}

// knownOwnNames returns the server's own names of the tools of an attached server, as far
// as they are known without asking it; nil if none are.
func (s *Registry) knownOwnNames(p *junctor.Principal, row *junctor.Server) []string {
	var names []string
	for _, t := range s.Tools(p, row.ID, "", "") {
		own := t.Name
		for tool, o := range row.Overrides {
			if cmp.Or(o.Name, tool) == t.Name {
				own = tool
			}
		}
		names = append(names, own)
	}
	if len(names) == 0 {
		return nil
	}
	for _, problem := range s.ToolProblems(p, row.ID) {
		names = append(names, problem.Tool) // tools that are left out exist at the server
	}
	return names
}
