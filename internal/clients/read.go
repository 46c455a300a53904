package clients

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// Entry is one server in a client's file.
type Entry struct {
	Name    string // in the file
	ID      string // the server id that an import uses; unique among the entries of a file
	Project string // the folder that Claude Code uses it in; "" for all folders
	Place   Place  // in the file
	// Repeated are the places of equal entries, for other projects.
	Repeated []Place
	Server   Server
	Skip     string   // why it cannot be imported; "" if it can
	Ignored  []string // names of members that an import does not use
	Inputs   []Input  // values that the client prompts its user for
}

// Server is how the server of an entry is reached. Its texts may be credentials: pass
// it to an instance, and never print it.
type Server struct {
	Transport junctor.Transport
	URL       string
	Command   []string
	Cwd       string
	Env       map[string]string
	Headers   map[string]string
	Bearer    string // token of the header Authorization, which is not in Headers
	TimeoutMS int
	Hidden    []string // names of tools that the client excludes
}

// Input is a value that VS Code prompts its user for. An import cannot prompt, so the
// texts that use the input refer to an environment variable of the instance.
type Input struct {
	ID, Description string
	Reference       string // env:NAME
}

// Variables says what becomes of the variables in a file, such as ${TOKEN}. The zero
// value replaces none.
type Variables struct {
	// Lookup returns the value of an environment variable. It replaces variables inside
	// longer texts and everywhere a reference cannot stand: in a command, an address or
	// a working directory.
	Lookup func(name string) (string, bool)
	// Values says to replace a credential that is one variable by its value, too, if the
	// variable is set. Otherwise it becomes a reference such as env:TOKEN, which the
	// instance reads whenever it uses the credential.
	Values bool
	// Project is the value of ${workspaceFolder}; "" if the file is for no project.
	Project string
}

// Read returns the servers of a client's file, sorted by name. name is the file's name:
// one that ends in .toml has the format of Codex, and one that ends in .yaml or .yml that
// of Goose or Continue. Any other file is JSON, with comments allowed. It has a map
// mcpServers as most clients write it, further such maps by project as Claude Code writes
// them, or the maps of VS Code, Zed, opencode or Amp.
//
// A file that cannot be decoded is CodeInvalid, and a file without servers is
// CodeNotFound. No error repeats a value of the file, because it may be a credential.
func Read(name string, text []byte, vars Variables) ([]Entry, error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	var found []rawEntry
	var err error
	switch strings.ToLower(filepath.Ext(name)) {
	case ".toml":
		found, err = readTOML(text)
	case ".yaml", ".yml":
		found, err = readYAML(text)
	default:
		found, err = readJSON(text)
	}
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, junctor.Errorf(junctor.CodeNotFound, "the file declares no servers; it must have one of mcpServers, servers, context_servers, mcp, amp.mcpServers, mcp_servers and extensions")
	}
	return readEntries(found, vars), nil
}

// rawEntry is an entry as it was decoded, before its members are read.
type rawEntry struct {
	name, project string
	container     []string // names of the members around it
	members       map[string]any
	notObject     bool // the value is something else, so there are no members
	seconds       bool // the member timeout is in seconds, not in milliseconds
	inputs        map[string]Input
}

// serverMap is a map from names to servers as it is in a file.
type serverMap map[string]json.RawMessage

// readJSON decodes the entries of a JSON file. If a name is in several of its maps, the
// first of the maps below wins.
func readJSON(text []byte) ([]rawEntry, error) {
	var file struct {
		MCPServers     serverMap `json:"mcpServers"`
		Servers        serverMap `json:"servers"`         // VS Code
		ContextServers serverMap `json:"context_servers"` // Zed
		AmpServers     serverMap `json:"amp.mcpServers"`  // Amp
		Inputs         []struct {
			ID          string `json:"id"`
			Description string `json:"description"`
		} `json:"inputs"`
		// MCP is in the files of opencode and in the settings.json of VS Code. Other
		// clients use the name for something else.
		MCP json.RawMessage `json:"mcp"`
		// Projects is in the file of Claude Code. Other clients may use the name for
		// something else, so a project of another form is ignored.
		Projects map[string]json.RawMessage `json:"projects"`
	}
	if err := json.Unmarshal(blankComments(text), &file); err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the file is not valid JSON, or its servers are not a map")
	}
	inputs := map[string]Input{}
	for _, in := range file.Inputs {
		inputs[in.ID] = Input{ID: in.ID, Description: in.Description, Reference: "env:" + inputVariable(in.ID)}
	}
	var found []rawEntry
	add := func(servers serverMap, container ...string) {
		for _, e := range decodeEntries(servers, inputs) {
			if !slices.ContainsFunc(found, func(o rawEntry) bool { return o.name == e.name }) {
				e.container = container
				found = append(found, e)
			}
		}
	}
	add(file.MCPServers, "mcpServers")
	add(file.Servers, "servers")
	add(file.ContextServers, "context_servers")
	add(file.AmpServers, "amp.mcpServers")
	direct, nested := splitMCPMember(file.MCP)
	add(nested, "mcp", "servers")
	add(direct, "mcp")
	slices.SortStableFunc(found, func(a, b rawEntry) int { return strings.Compare(a.name, b.name) })
	for _, folder := range slices.Sorted(maps.Keys(file.Projects)) {
		var project struct {
			MCPServers serverMap `json:"mcpServers"`
		}
		if json.Unmarshal(file.Projects[folder], &project) != nil {
			continue
		}
		for _, e := range decodeEntries(project.MCPServers, nil) {
			e.project, e.container = folder, []string{"projects", folder, "mcpServers"}
			found = append(found, e)
		}
	}
	return found, nil
}

// splitMCPMember returns the servers of the member mcp: those that it has directly, as
// opencode version 1 writes them, and those of its member servers, as version 2 and VS
// Code write them. Anything else in it is a setting of the client.
func splitMCPMember(text json.RawMessage) (direct, nested serverMap) {
	var members serverMap
	if json.Unmarshal(text, &members) != nil {
		return nil, nil
	}
	isServer := func(value json.RawMessage) bool {
		var m serverMap
		return json.Unmarshal(value, &m) == nil && (m["command"] != nil || m["url"] != nil)
	}
	direct = serverMap{}
	for name, value := range members {
		switch {
		case isServer(value):
			direct[name] = value
		case name == "servers" && json.Unmarshal(value, &nested) != nil:
			nested = nil
		}
	}
	return direct, nested
}

// decodeEntries decodes a map of servers, in the order of their names. Numbers keep
// their text, since an argument such as 1.0 must not become 1.
func decodeEntries(servers serverMap, inputs map[string]Input) (found []rawEntry) {
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		e := rawEntry{name: name, inputs: inputs}
		dec := json.NewDecoder(bytes.NewReader(servers[name]))
		dec.UseNumber()
		e.notObject = dec.Decode(&e.members) != nil || e.members == nil
		found = append(found, e)
	}
	return found
}

// readEntries reads the members of each entry and gives it an id. Equal entries of
// several projects become one.
func readEntries(found []rawEntry, vars Variables) []Entry {
	var out []Entry
	taken := map[string]bool{}
	for _, f := range found {
		e := Entry{Name: f.name, Project: f.project, Place: Place{f.container, f.name}, Skip: "it is not a map"}
		if !f.notObject {
			v := vars
			v.Project = cmp.Or(f.project, vars.Project)
			r := memberReader{members: f.members, inputs: f.inputs, readNames: map[string]bool{}, vars: v, seconds: f.seconds}
			e.Server, e.Skip = r.readServer()
			e.Ignored, e.Inputs = r.listUnread(), r.requestedInputs
		}
		if same := slices.IndexFunc(out, func(o Entry) bool { return o.Name == e.Name && reflect.DeepEqual(o.Server, e.Server) }); same >= 0 {
			out[same].Repeated = append(out[same].Repeated, e.Place)
			continue
		}
		e.ID = makeID(f.name, taken)
		out = append(out, e)
	}
	return out
}

// makeID returns a valid server id for a name, and adds it to taken. A number at the
// end makes it unique. 28 bytes of the name leave room for that number within the 32
// that an id may have.
func makeID(name string, taken map[string]bool) string {
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
