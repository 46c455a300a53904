package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// Entry is a server that stands in a client's file.
type Entry struct {
	Name    string // as the file has it
	ID      string // what it would be called here
	Project string // the folder that it is for; "" where it is for all
	Server  Server
	Skip    string   // why it cannot be brought in; "" when it can
	Ignored []string // members that mean nothing here, by name
	Inputs  []Input  // what the client asks people for
}

// Server is how an entry is reached. Its texts may be credentials: it is for the
// instance, not for display.
type Server struct {
	Transport junctor.Transport
	URL       string
	Command   []string
	Cwd       string
	Env       map[string]string
	Headers   map[string]string
	Bearer    string // taken out of Headers
	TimeoutMS int
	Hidden    []string // tools that the client leaves out
}

// Input is something that VS Code asks people for. Until somebody says it, the
// texts that want it refer to a variable.
type Input struct {
	ID, Description string
	Reference       string // env:NAME
}

// Read reads the servers of a client's file, in the order of their names. name
// tells the forms apart: TOML as Codex has it; else JSON, with comments: a map
// mcpServers as most clients have it, for each project too as Claude Code has it,
// or servers as VS Code has it.
func Read(name string, text []byte) ([]Entry, error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	var found []entry
	var err error
	if strings.EqualFold(filepath.Ext(name), ".toml") {
		found, err = readTOML(text)
	} else {
		found, err = readJSON(text)
	}
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, junctor.Errorf(junctor.CodeNotFound, "the file has no servers: neither mcpServers, servers nor mcp_servers")
	}
	return finish(found), nil
}

// entry is one before it has an id.
type entry struct {
	name, project string
	members       map[string]any
	odd           bool // it is no map
	inputs        map[string]Input
}

func readJSON(text []byte) ([]entry, error) {
	type servers map[string]json.RawMessage
	var file struct {
		MCPServers servers `json:"mcpServers"`
		Servers    servers `json:"servers"`
		Inputs     []struct {
			ID          string `json:"id"`
			Description string `json:"description"`
		} `json:"inputs"`
		MCP struct { // VS Code's settings.json
			Servers servers `json:"servers"`
		} `json:"mcp"`
		Projects map[string]json.RawMessage `json:"projects"` // Claude Code
	}
	if err := json.Unmarshal(plain(text), &file); err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the file is not JSON, or its servers are no map")
	}
	inputs := map[string]Input{}
	for _, in := range file.Inputs {
		inputs[in.ID] = Input{ID: in.ID, Description: in.Description, Reference: "env:" + variableOf(in.ID)}
	}
	all := servers{}
	for _, m := range []servers{file.MCP.Servers, file.Servers, file.MCPServers} {
		maps.Copy(all, m)
	}
	found := entries(all, "", inputs)
	for _, folder := range slices.Sorted(maps.Keys(file.Projects)) {
		var project struct {
			MCPServers servers `json:"mcpServers"`
		}
		if json.Unmarshal(file.Projects[folder], &project) == nil {
			found = append(found, entries(project.MCPServers, folder, nil)...)
		}
	}
	return found, nil
}

func entries(servers map[string]json.RawMessage, project string, inputs map[string]Input) (found []entry) {
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		e := entry{name: name, project: project, inputs: inputs}
		dec := json.NewDecoder(bytes.NewReader(servers[name]))
		dec.UseNumber()
		e.odd = dec.Decode(&e.members) != nil || e.members == nil
		found = append(found, e)
	}
	return found
}

// finish reads each entry and names it. One that several projects have alike is
// one.
func finish(found []entry) []Entry {
	var out []Entry
	taken := map[string]bool{}
	for _, f := range found {
		e := Entry{Name: f.name, Project: f.project, Skip: "it is not a map of members"}
		if !f.odd {
			r := reader{members: f.members, inputs: f.inputs, used: map[string]bool{}}
			e.Server, e.Skip = r.server()
			e.Ignored, e.Inputs = r.ignored(), r.asked
		}
		if slices.ContainsFunc(out, func(o Entry) bool { return o.Name == e.Name && reflect.DeepEqual(o.Server, e.Server) }) {
			continue
		}
		e.ID = idOf(f.name, taken)
		out = append(out, e)
	}
	return out
}

// idOf makes an id of a name, one that no other entry has.
func idOf(name string, taken map[string]bool) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	id := strings.Trim(b.String(), "-")
	if id == "" || id[0] < 'a' {
		id = "s-" + id
	}
	id = strings.TrimRight(id[:min(len(id), 28)], "-")
	for base, n := id, 2; taken[id] || id == junctor.AdhocServer; n++ {
		id = fmt.Sprintf("%s-%d", base, n)
	}
	taken[id] = true
	return id
}
