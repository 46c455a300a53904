package clients

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// reader reads the members of one entry. Names that differ between clients stand
// side by side; what is read by nobody is reported.
type reader struct {
	members map[string]any
	inputs  map[string]Input
	used    map[string]bool
	odd     string // the first member that is not of its usual type
	asked   []Input
}

func (r *reader) get(name string) any {
	r.used[name] = true
	return r.members[name]
}

// wrong notes a member that is there and not what it should be.
func (r *reader) wrong(name string, v any) {
	if v != nil && r.odd == "" {
		r.odd = name
	}
}

func (r *reader) text(name string) string {
	v := r.get(name)
	s, ok := v.(string)
	if !ok {
		r.wrong(name, v)
	}
	return s
}

func (r *reader) truth(name string) (value, there bool) {
	v := r.get(name)
	b, ok := v.(bool)
	if !ok {
		r.wrong(name, v)
	}
	return b, ok
}

// scalar is a text, or a number or truth as it is written.
func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool, json.Number, int64, float64:
		return fmt.Sprint(v), true
	}
	return "", false
}

func (r *reader) list(name string) (out []string) {
	v := r.get(name)
	items, ok := v.([]any)
	if !ok {
		r.wrong(name, v)
	}
	for _, item := range items {
		text, ok := scalar(item)
		if !ok {
			r.wrong(name, items)
		}
		out = append(out, text)
	}
	return out
}

// names reads a map of texts. null is nothing: some clients take it for "as it
// is where I run".
func (r *reader) names(name string) map[string]string {
	out := map[string]string{}
	v := r.get(name)
	items, ok := v.(map[string]any)
	if !ok {
		r.wrong(name, v)
	}
	for key, item := range items {
		if item == nil {
			continue
		}
		text, ok := scalar(item)
		if !ok {
			r.wrong(name, items)
		}
		out[key] = text
	}
	return out
}

func (r *reader) ignored() (names []string) {
	for name := range r.members {
		if !r.used[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// server reads how the entry is reached, or says why it cannot be brought in.
func (r *reader) server() (s Server, skip string) {
	kind := strings.ToLower(cmp.Or(r.text("type"), r.text("transport")))
	command, args := r.text("command"), r.list("args")
	// Gemini: Streamable HTTP, where url is HTTP+SSE. Windsurf: serverUrl.
	address := cmp.Or(r.text("httpUrl"), r.text("serverUrl"), r.text("url"))
	s = Server{Cwd: r.text("cwd"), Env: r.names("env"), Headers: r.names("headers"), Hidden: r.list("excludeTools")}
	disabled, _ := r.truth("disabled")
	enabled, said := r.truth("enabled")
	r.codex(&s)
	switch {
	case r.odd != "":
		return Server{}, "its " + r.odd + " is not of the usual type"
	case command != "":
		s.Transport, s.Command = junctor.TransportStdio, append([]string{command}, args...)
	case address == "":
		return s, "it has neither a command nor a url"
	case slices.Contains([]string{"", "http", "streamable-http", "streamablehttp", "streamable_http", "sse"}, kind):
		s.Transport, s.URL = junctor.TransportHTTP, address
		if kind == "sse" {
			s.Transport = junctor.TransportSSE
		}
	default:
		return s, "its type " + kind + " is not spoken here"
	}
	if skip := r.resolve(&s); skip != "" {
		return s, skip
	}
	if s.URL != "" {
		if u, err := url.Parse(s.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" {
			return s, "its url is not http or https"
		}
	}
	if disabled || said && !enabled {
		return s, "it is disabled there"
	}
	return s, ""
}

// codex reads what Codex alone has.
func (r *reader) codex(s *Server) {
	maps.Copy(s.Headers, r.names("http_headers"))
	for name, variable := range r.names("env_http_headers") {
		s.Headers[name] = "${" + variable + "}"
	}
	for _, variable := range r.list("env_vars") { // passed on from where Codex runs
		s.Env[variable] = "${" + variable + "}"
	}
	if variable := r.text("bearer_token_env_var"); variable != "" {
		s.Headers["Authorization"] = "Bearer ${" + variable + "}"
	}
	s.Hidden = append(s.Hidden, r.list("disabled_tools")...)
	switch seconds := r.get("tool_timeout_sec").(type) {
	case int64:
		s.TimeoutMS = int(min(max(seconds, 0), 24*60*60)) * 1000
	case float64:
		s.TimeoutMS = int(min(max(seconds, 0), 24*60*60) * 1000)
	case nil:
	default:
		r.wrong("tool_timeout_sec", seconds)
	}
}

// resolve turns the clients' ways of naming a variable into references, which
// are read when they are used. A text with a variable in its middle cannot be
// one.
func (r *reader) resolve(s *Server) (skip string) {
	for i, word := range s.Command {
		if hasVariable(word) {
			return fmt.Sprintf("word %d of its command holds a variable: add it by hand", i+1)
		}
	}
	if hasVariable(s.URL) || hasVariable(s.Cwd) {
		return "its url or working directory holds a variable: add it by hand"
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		if token, ok := cutBearer(name, s.Headers[name]); ok {
			s.Bearer = token
			delete(s.Headers, name)
		}
	}
	if s.Bearer = r.reference(s.Bearer); hasVariable(s.Bearer) {
		return "the header Authorization holds a variable: add it by hand"
	}
	for _, m := range []struct {
		what  string
		texts map[string]string
	}{{"header", s.Headers}, {"variable", s.Env}} {
		for _, name := range slices.Sorted(maps.Keys(m.texts)) {
			if m.texts[name] = r.reference(m.texts[name]); hasVariable(m.texts[name]) {
				return "the " + m.what + " " + name + " holds a variable: add it by hand"
			}
		}
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

// reference gives the reference for a text that is one variable, or one thing
// that the client asks for, and nothing else; any other text as it is.
func (r *reader) reference(text string) string {
	if m := regexp.MustCompile(`^\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}$|^\$([A-Z_][A-Z0-9_]*)$`).FindStringSubmatch(text); m != nil {
		return "env:" + m[1] + m[2]
	}
	m := regexp.MustCompile(`^\$\{input:([^}]+)\}$`).FindStringSubmatch(text)
	if m == nil {
		return text
	}
	in, ok := r.inputs[m[1]]
	if !ok {
		in = Input{ID: m[1], Reference: "env:" + variableOf(m[1])}
	}
	if !slices.Contains(r.asked, in) {
		r.asked = append(r.asked, in)
	}
	return in.Reference
}

// variableOf makes the name of a variable of something that a client asks for.
func variableOf(id string) string {
	name := regexp.MustCompile(`[^A-Z0-9]+`).ReplaceAllString(strings.ToUpper(id), "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' || strings.HasPrefix(name, "JUNCTOR_") {
		name = "MCP_" + name
	}
	return name
}
