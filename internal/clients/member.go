package clients

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// memberReader reads the members of one entry. Clients name the same thing differently,
// so readServer asks for all names that are in use. The reader remembers which members
// it was asked for; listUnread reports the others to the user, because they are lost by
// an import.
type memberReader struct {
	members map[string]any
	// inputs are the values that the file says the client prompts for, by their ids.
	inputs    map[string]Input
	readNames map[string]bool
	// wrongType is the name of the first member with an unexpected type. One is enough
	// to skip the entry.
	wrongType string
	// requestedInputs are the inputs that members of this entry refer to.
	requestedInputs []Input
	vars            Variables
	seconds         bool // the member timeout is in seconds
	// ownEnv are the variables that the entry gives its command. The command replaces
	// them itself where they are in its words (mcp-remote does).
	ownEnv map[string]string
}

// takeMember returns a member, or nil, and marks it as read.
func (r *memberReader) takeMember(name string) any {
	r.readNames[name] = true
	return r.members[name]
}

// noteWrongType notes that a member has an unexpected type. A member that is missing or
// null (v is nil) has none.
func (r *memberReader) noteWrongType(name string, v any) {
	if v != nil && r.wrongType == "" {
		r.wrongType = name
	}
}

// readText returns a member that must be a string; "" if it is missing.
func (r *memberReader) readText(name string) string {
	v := r.takeMember(name)
	s, ok := v.(string)
	if !ok {
		r.noteWrongType(name, v)
	}
	return s
}

// readBool returns a member that must be true or false, and whether it is there.
func (r *memberReader) readBool(name string) (value, there bool) {
	v := r.takeMember(name)
	b, ok := v.(bool)
	if !ok {
		r.noteWrongType(name, v)
	}
	return b, ok
}

// scalarText returns a string as it is, and a number or a boolean as it is written. The
// result is false for anything else.
func scalarText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool, json.Number, int64, float64:
		return fmt.Sprint(v), true
	}
	return "", false
}

// readTexts returns a member that must be a list of scalars.
func (r *memberReader) readTexts(name string) (out []string) {
	v := r.takeMember(name)
	items, ok := v.([]any)
	if !ok {
		r.noteWrongType(name, v)
	}
	for _, item := range items {
		text, ok := scalarText(item)
		if !ok {
			r.noteWrongType(name, items)
		}
		out = append(out, text)
	}
	return out
}

// readTextMap returns a member that must be a map of scalars. A value of null is left
// out: for some clients it means "inherit the variable from my environment".
func (r *memberReader) readTextMap(name string) map[string]string {
	out := map[string]string{}
	v := r.takeMember(name)
	items, ok := v.(map[string]any)
	if !ok {
		r.noteWrongType(name, v)
	}
	for key, item := range items {
		if item == nil {
			continue
		}
		text, ok := scalarText(item)
		if !ok {
			r.noteWrongType(name, items)
		}
		out[key] = text
	}
	return out
}

// listUnread returns the names of the members that nothing has read, sorted.
func (r *memberReader) listUnread() (names []string) {
	for name := range r.members {
		if !r.readNames[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// readServer returns how the server of the entry is reached. skip says why the entry
// cannot be imported; it is "" if it can. A skipped entry may still have a partly
// filled Server, which is shown to the user.
func (r *memberReader) readServer() (s Server, skip string) {
	kind := strings.ToLower(cmp.Or(r.readText("type"), r.readText("transport")))
	s = Server{Headers: r.readTextMap("headers"), Env: r.readTextMap("env"), Hidden: r.readTexts("excludeTools")}
	command := r.readCommand(&s)
	// Gemini: Streamable HTTP, where url is HTTP+SSE. Windsurf: serverUrl. Goose: uri.
	address := cmp.Or(r.readText("httpUrl"), r.readText("serverUrl"), r.readText("url"), r.readText("uri"))
	s.Cwd = r.readText("cwd")
	s.Hidden = append(s.Hidden, r.readTexts("disabledTools")...) // Roo Code
	disabled, _ := r.readBool("disabled")
	enabled, switched := r.readBool("enabled")
	r.takeMember("source") // Zed: who added the entry
	r.readOpencodeAndGooseMembers(&s)
	r.readCodexMembers(&s)
	switch {
	case r.wrongType != "":
		return Server{}, "its " + r.wrongType + " is not of the usual type"
	case len(command) > 0:
		s.Transport, s.Command = junctor.TransportStdio, command
	case address == "" && r.takeMember("settings") != nil:
		return s, "the client installs it as an extension"
	case address == "":
		return s, "it has neither a command nor a url"
	case slices.Contains([]string{"", "http", "streamable-http", "streamablehttp", "streamable_http", "sse", "remote"}, kind):
		s.Transport, s.URL = junctor.TransportHTTP, address
		if kind == "sse" {
			s.Transport = junctor.TransportSSE
		}
	default:
		return s, "its type " + kind + " is not supported"
	}
	if skip := r.resolveVariables(&s); skip != "" {
		return s, skip
	}
	unwrapBridge(&s)
	if skip := r.resolveCredentials(&s); skip != "" {
		return s, skip
	}
	if s.URL != "" {
		if u, err := url.Parse(s.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" {
			return s, "its url is not http or https"
		}
	}
	if disabled || switched && !enabled {
		return s, "it is disabled in the client"
	}
	return s, ""
}

// readCommand returns the words of the command. Most clients have a text command and a
// list args; opencode has one list, and Zed had an object with path, args and env.
func (r *memberReader) readCommand(s *Server) []string {
	args := r.readTexts("args")
	var words []string //nolint:prealloc // most clients have one word here
	switch v := r.takeMember("command").(type) {
	case nil:
	case string:
		words = []string{v}
	case []any:
		words = r.readTexts("command")
	case map[string]any:
		inner := memberReader{members: v, readNames: map[string]bool{}}
		words = append([]string{inner.readText("path")}, inner.readTexts("args")...)
		maps.Copy(s.Env, inner.readTextMap("env"))
		if inner.wrongType != "" || words[0] == "" {
			r.noteWrongType("command", v)
		}
	default:
		r.noteWrongType("command", v)
	}
	if cmd := r.readText("cmd"); cmd != "" && len(words) == 0 { // Goose
		words = []string{cmd}
	}
	if len(words) == 0 || words[0] == "" {
		return nil
	}
	return append(words, args...)
}

// readOpencodeAndGooseMembers reads the members that only these clients have.
func (r *memberReader) readOpencodeAndGooseMembers(s *Server) {
	maps.Copy(s.Env, r.readTextMap("environment"))
	maps.Copy(s.Env, r.readTextMap("envs"))
	// Goose keeps these variables in the keyring of the system. The instance reads them
	// from its environment instead.
	for _, variable := range r.readTexts("env_keys") {
		s.Env[variable] = "${" + variable + "}"
	}
	if !r.seconds {
		return
	}
	if text, ok := scalarText(r.takeMember("timeout")); ok {
		if seconds, err := strconv.ParseFloat(text, 64); err == nil {
			s.TimeoutMS = int(min(max(seconds, 0), 24*60*60) * 1000)
		}
	}
}

// readCodexMembers reads the members that only Codex has. Codex names environment
// variables where other clients write ${NAME}; they get that form here, so that
// resolveVariables handles all clients alike.
func (r *memberReader) readCodexMembers(s *Server) {
	maps.Copy(s.Headers, r.readTextMap("http_headers"))
	for name, variable := range r.readTextMap("env_http_headers") {
		s.Headers[name] = "${" + variable + "}"
	}
	// Codex passes these variables on from its own environment.
	for _, variable := range r.readTexts("env_vars") {
		s.Env[variable] = "${" + variable + "}"
	}
	if variable := r.readText("bearer_token_env_var"); variable != "" {
		s.Headers["Authorization"] = "Bearer ${" + variable + "}"
	}
	s.Hidden = append(s.Hidden, r.readTexts("disabled_tools")...)
	switch seconds := r.takeMember("tool_timeout_sec").(type) {
	case int64:
		s.TimeoutMS = int(min(max(seconds, 0), 24*60*60)) * 1000
	case float64:
		s.TimeoutMS = int(min(max(seconds, 0), 24*60*60) * 1000)
	case nil:
	default:
		r.noteWrongType("tool_timeout_sec", seconds)
	}
}

// resolveVariables replaces the variables in the command, the address and the working
// directory, where no reference can stand. skip names a variable that has no value.
func (r *memberReader) resolveVariables(s *Server) (skip string) {
	r.ownEnv = s.Env
	defer func() { r.ownEnv = nil }()
	for i, word := range s.Command {
		if s.Command[i], skip = r.expandVariables(word, fmt.Sprintf("word %d of its command", i+1)); skip != "" {
			return skip
		}
	}
	if s.URL, skip = r.expandVariables(s.URL, "its url"); skip != "" {
		return skip
	}
	s.Cwd, skip = r.expandVariables(s.Cwd, "its working directory")
	return skip
}

// resolveCredentials handles the variables in headers and environment variables. A text
// that is one variable becomes a reference such as env:NAME, which the instance reads
// whenever it uses the credential. In a longer text, variables are replaced by their
// values.
func (r *memberReader) resolveCredentials(s *Server) (skip string) {
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		if token, ok := cutBearer(name, s.Headers[name]); ok && s.Bearer == "" {
			s.Bearer = token
			delete(s.Headers, name)
		}
	}
	if s.Bearer, skip = r.resolveCredential(s.Bearer, "the header Authorization"); skip != "" {
		return skip
	}
	for _, m := range []struct {
		what  string
		texts map[string]string
	}{{"header", s.Headers}, {"variable", s.Env}} {
		for _, name := range slices.Sorted(maps.Keys(m.texts)) {
			if m.texts[name], skip = r.resolveCredential(m.texts[name], "the "+m.what+" "+name); skip != "" {
				return skip
			}
		}
	}
	return ""
}

// resolveCredential returns a reference or the value of one credential. what names its
// place in skip.
func (r *memberReader) resolveCredential(text, what string) (out, skip string) {
	reference := r.toReference(text)
	if name, ok := strings.CutPrefix(reference, "env:"); ok && reference != text && r.vars.Values && r.vars.Lookup != nil {
		if value, set := r.vars.Lookup(name); set {
			return value, ""
		}
	}
	if reference != text {
		return reference, ""
	}
	return r.expandVariables(text, what)
}

// expandVariables replaces ${NAME}, ${env:NAME}, ${NAME:-default} and the variables of
// editors in a text. skip says which variable has no value; what names its place there.
func (r *memberReader) expandVariables(text, what string) (out, skip string) {
	out = regexp.MustCompile(`\$\{([^{}]*)\}`).ReplaceAllStringFunc(text, func(match string) string {
		name := strings.TrimPrefix(match[2:len(match)-1], "env:")
		name, fallback, hasFallback := strings.Cut(name, ":-")
		if value, ok := r.editorVariable(name); ok {
			return value
		}
		if _, own := r.ownEnv[name]; own {
			return match
		}
		if r.vars.Lookup != nil {
			// As in a shell, an empty variable counts as not set if there is a default.
			if value, set := r.vars.Lookup(name); set && (value != "" || !hasFallback) {
				return value
			}
		}
		if hasFallback {
			return fallback
		}
		if skip == "" {
			skip = fmt.Sprintf("%s needs the variable %s, which is not set: set it, or add the server by hand", what, name)
		}
		return match
	})
	return out, skip
}

// editorVariable returns the value of a variable that editors define themselves.
func (r *memberReader) editorVariable(name string) (string, bool) {
	switch name {
	case "workspaceFolder":
		return r.vars.Project, r.vars.Project != ""
	case "workspaceFolderBasename":
		return filepath.Base(r.vars.Project), r.vars.Project != ""
	case "userHome":
		if r.vars.Lookup != nil {
			return r.vars.Lookup("HOME")
		}
	case "pathSeparator", "/":
		return string(filepath.Separator), true
	}
	return "", false
}

// cutBearer returns the token of a header Authorization: Bearer TOKEN.
func cutBearer(name, text string) (string, bool) {
	if !strings.EqualFold(name, "Authorization") || len(text) < 8 || !strings.EqualFold(text[:7], "Bearer ") {
		return "", false
	}
	return strings.TrimSpace(text[7:]), true
}

// toReference returns the reference for a text that consists of one variable (${NAME},
// ${env:NAME}, $NAME) or one input (${input:ID}). It returns any other text unchanged.
func (r *memberReader) toReference(text string) string {
	if m := regexp.MustCompile(`^\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}$|^\$([A-Z_][A-Z0-9_]*)$`).FindStringSubmatch(text); m != nil {
		return "env:" + m[1] + m[2]
	}
	m := regexp.MustCompile(`^\$\{input:([^}]+)\}$`).FindStringSubmatch(text)
	if m == nil {
		return text
	}
	in, ok := r.inputs[m[1]]
	if !ok {
		in = Input{ID: m[1], Reference: "env:" + inputVariable(m[1])}
	}
	if !slices.Contains(r.requestedInputs, in) {
		r.requestedInputs = append(r.requestedInputs, in)
	}
	return in.Reference
}

// inputVariable returns the name of the environment variable that stands for an input.
// A prefix keeps the name valid and apart from Junctor's own variables.
func inputVariable(id string) string {
	name := regexp.MustCompile(`[^A-Z0-9]+`).ReplaceAllString(strings.ToUpper(id), "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' || strings.HasPrefix(name, "JUNCTOR_") {
		name = "MCP_" + name
	}
	return name
}
