package apigen

import (
	"bytes"
	"fmt"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/tool"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// Compare returns the changes between the tools of two versions of a document.
// A change that may break callers is marked as breaking: a removed tool, a
// removed argument, a newly required argument, another host, or less
// authentication.
func Compare(before, after []tool.Tool) []junctor.APIChange {
	former := map[string]*tool.Tool{}
	for i := range before {
		former[before[i].Key] = &before[i]
	}
	out := []junctor.APIChange{}
	for i := range after {
		now := &after[i]
		was := former[now.Key]
		delete(former, now.Key)
		if was == nil {
			out = append(out, junctor.APIChange{Kind: "added", Key: now.Key, Tool: now.Name})
			continue
		}
		if c := compareTool(was, now); len(c.What) > 0 {
			out = append(out, c)
		}
	}
	for i := range before {
		// Tools that are left in former have no successor. One that could not
		// be called breaks nobody.
		if gone := former[before[i].Key]; gone != nil {
			out = append(out, junctor.APIChange{Kind: "removed", Key: gone.Key, Tool: gone.Name, Breaking: len(gone.Incomplete) == 0})
		}
	}
	return out
}

// compareTool returns the changes of one tool. Its What is empty if nothing
// changed.
func compareTool(was, now *tool.Tool) junctor.APIChange {
	c := junctor.APIChange{Kind: "changed", Key: now.Key, Tool: now.Name}
	note := func(breaking bool, format string, args ...any) {
		c.What = append(c.What, fmt.Sprintf(format, args...))
		c.Breaking = c.Breaking || breaking
	}
	if was.Name != now.Name {
		note(true, "its name was %s", was.Name)
	}
	if len(was.Incomplete) == 0 && len(now.Incomplete) > 0 {
		note(true, "it cannot be called anymore: %s", now.Incomplete[0])
	} else if len(was.Incomplete) > 0 && len(now.Incomplete) == 0 {
		note(false, "it can now be called")
	}
	compareArguments(was, now, note)
	if was.Plan.Base != now.Plan.Base {
		note(true, "it is called at another host")
	}
	if needed, needs := requiresAuth(was), requiresAuth(now); needed && !needs {
		note(true, "it no longer requires authentication")
	} else if needed != needs {
		note(false, "it requires authentication")
	}
	if was.Description != now.Description || was.Title != now.Title {
		note(false, "its description")
	}
	if !bytes.Equal(was.Output, now.Output) {
		note(false, "the schema of its answer")
	}
	if !was.Deprecated && now.Deprecated {
		note(false, "it is deprecated")
	}
	// A change of the plan that nothing above names.
	if len(c.What) == 0 && was.Digest() != now.Digest() {
		note(false, "the form of its request")
	}
	return c
}

// compareArguments calls note for each change of the arguments; its first
// parameter reports whether the change is breaking.
func compareArguments(was, now *tool.Tool, note func(bool, string, ...any)) {
	before, after := wire.Get(was.Input, "properties"), wire.Get(now.Input, "properties")
	needed, needs := requiredArguments(was), requiredArguments(now)
	for key := range wire.Members(before) {
		if name := wire.Unescape(key); wire.Get(after, name) == nil {
			note(true, "the argument %s was removed", name)
		}
	}
	for key, schema := range wire.Members(after) {
		name := wire.Unescape(key)
		former := wire.Get(before, name)
		must := slices.Contains(needs, name) && !slices.Contains(needed, name)
		switch {
		case former == nil:
			note(must, "a new argument %s%s", name, map[bool]string{true: ", which is required"}[must])
		case must:
			note(true, "the argument %s is now required", name)
		case !bytes.Equal(former, schema):
			note(false, "the schema of the argument %s", name)
		}
	}
}

// requiredArguments returns the names of the required arguments.
func requiredArguments(t *tool.Tool) (names []string) {
	for item := range wire.Elements(wire.Get(t.Input, "required")) {
		if name, ok := wire.String(item); ok {
			names = append(names, name)
		}
	}
	return names
}

// requiresAuth reports whether every alternative requires authentication.
func requiresAuth(t *tool.Tool) bool {
	for _, needs := range t.Plan.Security {
		if len(needs) == 0 {
			return false
		}
	}
	return len(t.Plan.Security) > 0
}
