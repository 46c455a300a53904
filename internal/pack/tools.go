package pack

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// ToolRoles are the roles that the author of a pack gives to one tool of its
// servers. It takes the place of what the classification rules would find.
type ToolRoles struct {
	Server   string         `json:"server"`
	Tool     string         `json:"tool" doc:"The tool's name at the server."`
	Roles    []junctor.Role `json:"roles,omitempty" nullable:"false" doc:"Roles of the agents that the tool is offered to. If empty, the rules decide."`
	Category string         `json:"category,omitempty"`
}

// fileToolRoles is ToolRoles as a file has it, below the key server/tool.
type fileToolRoles struct {
	Roles    []junctor.Role `yaml:"roles,omitempty,flow"`
	Category string         `yaml:"category,omitempty"`
}

// makeFileTools returns the roles of tools in the form of a file; nil if there are
// none.
func makeFileTools(tools []ToolRoles) map[string]fileToolRoles {
	if len(tools) == 0 {
		return nil
	}
	out := map[string]fileToolRoles{}
	for _, t := range tools {
		out[t.Server+"/"+t.Tool] = fileToolRoles{t.Roles, t.Category}
	}
	return out
}

// readTools returns the roles of tools of a file, sorted by server/tool. It checks the
// names, roles and categories.
func readTools(written map[string]fileToolRoles) ([]ToolRoles, error) {
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

// renameTools gives the tools the new ids of their servers. Tools of servers that were
// left out are dropped.
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
