package pack

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// ToolRoles is what the maker of a pack says a tool of one of its servers is for.
type ToolRoles struct {
	Server   string         `json:"server"`
	Tool     string         `json:"tool" doc:"The server's own name of it."`
	Roles    []junctor.Role `json:"roles,omitempty" nullable:"false" doc:"Which agents it is offered to; none leaves that to the rules."`
	Category string         `json:"category,omitempty"`
}

// writtenRoles is ToolRoles as a file has it, below server/tool.
type writtenRoles struct {
	Roles    []junctor.Role `yaml:"roles,omitempty,flow"`
	Category string         `yaml:"category,omitempty"`
}

func writtenTools(tools []ToolRoles) map[string]writtenRoles {
	if len(tools) == 0 {
		return nil
	}
	out := map[string]writtenRoles{}
	for _, t := range tools {
		out[t.Server+"/"+t.Tool] = writtenRoles{t.Roles, t.Category}
	}
	return out
}

// readTools reads what stands below tools, in the order of the names.
func readTools(written map[string]writtenRoles) ([]ToolRoles, error) {
	var out []ToolRoles
	for _, name := range slices.Sorted(maps.Keys(written)) {
		t := written[name]
		server, tool, ok := strings.Cut(name, "/")
		switch {
		case !ok || server == "" || tool == "":
			return nil, fmt.Errorf("tools.%s: name a tool as server/tool", name)
		case len(t.Roles) == 0 && t.Category == "":
			return nil, fmt.Errorf("tools.%s has neither roles nor a category", name)
		}
		for _, role := range t.Roles {
			if err := junctor.CheckRole(role); err != nil {
				return nil, fmt.Errorf("tools.%s: %w", name, err)
			}
		}
		if t.Category != "" {
			if err := junctor.CheckCategory(t.Category); err != nil {
				return nil, fmt.Errorf("tools.%s: %w", name, err)
			}
		}
		out = append(out, ToolRoles{Server: server, Tool: tool, Roles: t.Roles, Category: t.Category})
	}
	return out, nil
}

// renameTools gives the tools of servers that are there the names that those have
// now.
func renameTools(tools []ToolRoles, servers map[string]string) []ToolRoles {
	var out []ToolRoles
	for _, t := range tools {
		if id, ok := servers[t.Server]; ok {
			t.Server = id
			out = append(out, t)
		}
	}
	return out
}
