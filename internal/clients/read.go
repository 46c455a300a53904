package clients

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// Entry is a server that stands in a client's file.
type Entry struct {
	Name   string // as the file has it
	ID     string // what it would be called here
	Server Server
	Skip   string // why it cannot be brought in; "" when it can
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
}

// raw is what clients write. Names that differ between them stand side by side.
type raw struct {
	Type      string            `json:"type"`
	Transport string            `json:"transport"`
	Command   string            `json:"command"`
	Args      []string          `json:"args"`
	Env       map[string]any    `json:"env"`
	Cwd       string            `json:"cwd"`
	URL       string            `json:"url"`
	HTTPURL   string            `json:"httpUrl"`   // Gemini: Streamable HTTP, where url is HTTP+SSE
	ServerURL string            `json:"serverUrl"` // Windsurf
	Headers   map[string]string `json:"headers"`
	Disabled  bool              `json:"disabled"`
}

// Read reads the servers of a client's file, in the order of their names:
// mcpServers as most clients have it, or servers as VS Code has it.
func Read(text []byte) ([]Entry, error) {
	var file struct {
		MCPServers map[string]json.RawMessage `json:"mcpServers"`
		Servers    map[string]json.RawMessage `json:"servers"`
		MCP        struct {                   // VS Code's settings.json
			Servers map[string]json.RawMessage `json:"servers"`
		} `json:"mcp"`
	}
	if err := json.Unmarshal(plain(text), &file); err != nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "the file is not JSON, or its servers are no map")
	}
	all := map[string]json.RawMessage{}
	for _, m := range []map[string]json.RawMessage{file.MCP.Servers, file.Servers, file.MCPServers} {
		maps.Copy(all, m)
	}
	if len(all) == 0 {
		return nil, junctor.Errorf(junctor.CodeNotFound, "the file has no servers: neither mcpServers nor servers")
	}
	var entries []Entry
	taken := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		e := Entry{Name: name, ID: idOf(name, taken)}
		var r raw
		if err := json.Unmarshal(all[name], &r); err != nil {
			e.Skip = "its members are not of the usual types"
		} else {
			e.Server, e.Skip = r.server()
		}
		entries = append(entries, e)
	}
	return entries, nil
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

func (r *raw) server() (Server, string) {
	s := Server{Cwd: r.Cwd, Env: map[string]string{}, Headers: map[string]string{}}
	kind := strings.ToLower(r.Type + r.Transport)
	switch {
	case r.Command != "":
		s.Transport, s.Command = junctor.TransportStdio, append([]string{r.Command}, r.Args...)
	case r.HTTPURL != "" || r.ServerURL != "" || r.URL != "":
		s.Transport, s.URL = junctor.TransportHTTP, r.HTTPURL+r.ServerURL
		if s.URL == "" {
			s.URL = r.URL
		}
		if kind == "sse" {
			s.Transport = junctor.TransportSSE
		}
	default:
		return s, "it has neither a command nor a url"
	}
	for name, value := range r.Env {
		switch v := value.(type) {
		case nil:
		case string:
			s.Env[name] = v
		default:
			s.Env[name] = fmt.Sprint(v)
		}
	}
	maps.Copy(s.Headers, r.Headers)
	if skip := s.resolve(); skip != "" {
		return s, skip
	}
	if s.URL != "" {
		if u, err := url.Parse(s.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" {
			return s, "its url is not http or https"
		}
	}
	if r.Disabled {
		return s, "it is disabled there"
	}
	return s, ""
}

// resolve turns the clients' ways of naming a variable into references, which
// are read when they are used. A text with a variable in its middle cannot be
// one.
func (s *Server) resolve() (skip string) {
	for i, word := range s.Command {
		if hasVariable(word) {
			return fmt.Sprintf("word %d of its command holds a variable: add it by hand", i+1)
		}
	}
	if hasVariable(s.URL) || hasVariable(s.Cwd) {
		return "its url or working directory holds a variable: add it by hand"
	}
	for name, text := range s.Headers {
		if token, ok := cutBearer(name, text); ok {
			s.Bearer = token
			delete(s.Headers, name)
		}
	}
	if ref, ok := reference(s.Bearer); ok {
		s.Bearer = ref
	}
	for what, m := range map[string]map[string]string{"header": s.Headers, "variable": s.Env} {
		for name, text := range m {
			if ref, ok := reference(text); ok {
				m[name] = ref
			} else if hasVariable(text) {
				return "the " + what + " " + name + " holds a variable: add it by hand"
			}
		}
	}
	if hasVariable(s.Bearer) {
		return "the header Authorization holds a variable: add it by hand"
	}
	return ""
}

func cutBearer(name, text string) (string, bool) {
	if !strings.EqualFold(name, "Authorization") || len(text) < 8 || !strings.EqualFold(text[:7], "Bearer ") {
		return "", false
	}
	return strings.TrimSpace(text[7:]), true
}

func hasVariable(text string) bool { return strings.Contains(text, "${") }

// reference reads a text that is one variable and nothing else.
func reference(text string) (string, bool) {
	m := regexp.MustCompile(`^\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}$`).FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	return "env:" + m[1], true
}
