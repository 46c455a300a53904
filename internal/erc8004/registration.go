package erc8004

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/ipfs"
)

// Registration is the content of an agent's registration file. Anybody can mint
// a token and write such a file, so its content is shown but not trusted.
type Registration struct {
	Name        string    `json:"name,omitempty"`
	Description string    `json:"description,omitempty"`
	Active      bool      `json:"active"`
	Claimed     bool      `json:"claimed"` // it names the agent whose token refers to it
	MCP         []Service `json:"mcp"`
	Blocked     []Blocked `json:"blocked"`
	Problems    []string  `json:"problems"`
}

// Service is an MCP endpoint that a registration names.
type Service struct {
	URL       string `json:"url"`
	Transport string `json:"transport"` // http or sse
	Version   string `json:"version,omitempty"`
	Header    string `json:"header,omitempty"` // the header that it requires for its token
	Where     string `json:"where"`            // its JSON pointer in the file
}

// Blocked is a command that a registration names. It is shown and never run,
// since the file comes from a stranger.
type Blocked struct {
	Text  string `json:"text"`
	Where string `json:"where"`
}

// Reasons why an agent has no usable endpoint.
var (
	ErrAnotherAgent = errors.New("the file names another agent")
	ErrInactive     = errors.New("the agent's registration says that it is not active")
	ErrNoMCP        = errors.New("the agent does not expose MCP")
	ErrOnlyCommand  = errors.New("the agent exposes MCP only as a command, which is never run")
	ErrMalformed    = errors.New("the registration is malformed")
)

// ParseRegistration parses the file of an agent, in the current form
// (services), the previous one (endpoints) and the first one
// (capabilities.mcp). An invalid part is noted under Problems. An error means
// that the whole file is unusable.
func ParseRegistration(raw []byte, of Agent) (Registration, error) {
	top, err := parseObject(raw, "")
	if err != nil {
		return Registration{}, err
	}
	r := Registration{Active: true, MCP: []Service{}, Blocked: []Blocked{}, Problems: []string{}}
	r.Name, r.Description = r.readText(top, "", "name"), r.readText(top, "", "description")
	if v, ok := top["active"]; ok {
		if err := json.Unmarshal(v, &r.Active); err != nil {
			return Registration{}, fmt.Errorf("%w: /active is neither true nor false", ErrMalformed)
		}
	}
	if r.Claimed, err = claimsAgent(top, of); err != nil {
		return r, err
	}
	r.readServices(top, "services")
	r.readServices(top, "endpoints")
	r.readCapabilities(top)
	return r, nil
}

// Endpoint returns the endpoint to use, which is the first, or the reason why
// there is none.
func (r Registration) Endpoint() (Service, error) {
	switch {
	case !r.Active:
		return Service{}, ErrInactive
	case len(r.MCP) > 0:
		return r.MCP[0], nil
	case len(r.Blocked) > 0:
		return Service{}, ErrOnlyCommand
	}
	return Service{}, ErrNoMCP
}

// claimsAgent reports whether the file lists the agent among those that it
// belongs to. A file with a list that does not name the agent is an error; a
// file without a list claims nobody.
func claimsAgent(top map[string]json.RawMessage, of Agent) (bool, error) {
	v, ok := top["registrations"]
	if !ok || isNull(v) {
		return false, nil
	}
	all, err := parseList(v, "/registrations")
	if err != nil {
		return false, err
	}
	if len(all) == 0 {
		return false, nil
	}
	for i, one := range all {
		where := fmt.Sprintf("/registrations/%d", i)
		o, err := parseObject(one, where)
		if err != nil {
			return false, err
		}
		var registry string
		if err := json.Unmarshal(o["agentRegistry"], &registry); err != nil {
			return false, fmt.Errorf("%w: %s/agentRegistry is not a text", ErrMalformed, where)
		}
		id, err := parseID(strings.Trim(string(bytes.TrimSpace(o["agentId"])), `"`))
		if err != nil {
			return false, fmt.Errorf("%w: %s/agentId: %w", ErrMalformed, where, err)
		}
		chain, at, err := parseAccount(registry)
		if err == nil && (Agent{Chain: chain, Registry: at, ID: id}) == of {
			return true, nil
		}
	}
	return false, fmt.Errorf("%w: /registrations does not name %s", ErrAnotherAgent, of)
}

// readServices reads a list of {name, endpoint, version}.
func (r *Registration) readServices(top map[string]json.RawMessage, key string) {
	v, ok := top[key]
	if !ok || isNull(v) {
		return
	}
	all, err := parseList(v, "/"+key)
	if err != nil {
		r.addProblem(err)
		return
	}
	for i, one := range all {
		where := fmt.Sprintf("/%s/%d", key, i)
		o, err := parseObject(one, where)
		if err != nil {
			r.addProblem(err)
			continue
		}
		if strings.EqualFold(r.readText(o, where, "name"), "mcp") {
			r.readEndpoint(o, where)
		}
	}
}

// readCapabilities reads capabilities.mcp.
func (r *Registration) readCapabilities(top map[string]json.RawMessage) {
	v, ok := top["capabilities"]
	if !ok || isNull(v) {
		return
	}
	all, err := parseObject(v, "/capabilities")
	if err != nil {
		r.addProblem(err)
		return
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if !strings.EqualFold(key, "mcp") {
			continue
		}
		where := "/capabilities/" + key
		o, err := parseObject(all[key], where)
		if err != nil {
			r.addProblem(err)
			continue
		}
		r.readEndpoint(o, where)
	}
}

// readEndpoint reads one endpoint. If anything in the entry could be a command,
// the whole entry is blocked, even if it has a URL too.
func (r *Registration) readEndpoint(o map[string]json.RawMessage, where string) {
	// Names are compared without regard to case, so that Command does not slip
	// through.
	for _, key := range slices.Sorted(maps.Keys(o)) {
		switch strings.ToLower(key) {
		case "command", "cmd", "args", "arguments", "env", "exec", "executable", "script", "shell", "package":
			if !isNull(o[key]) {
				r.addBlocked(o, where)
				return
			}
		}
	}
	transport := strings.ToLower(r.readText(o, where, "transport"))
	target := ""
	for _, key := range []string{"endpoint", "url"} {
		if target == "" {
			target = r.readText(o, where, key)
		}
	}
	u, err := url.Parse(strings.TrimSpace(target))
	web := err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http")
	switch {
	case transport == "stdio", target != "" && !web:
		r.addBlocked(o, where)
		return
	case target == "":
		r.addProblem(fmt.Errorf("%s names no endpoint", where))
		return
	// Credentials of a stranger's URL are never sent.
	case u.User != nil || u.Fragment != "":
		r.addProblem(fmt.Errorf("%s: an endpoint must not have a password or a fragment", where))
		return
	}
	s := Service{URL: u.String(), Transport: "http", Version: r.readText(o, where, "version"), Where: where}
	switch transport {
	case "", "http", "https", "streamable-http", "streamable_http", "streamablehttp":
	case "sse":
		s.Transport = "sse"
	default:
		r.addProblem(fmt.Errorf("%s: unknown transport %q", where, ipfs.Shorten(transport)))
		return
	}
	s.Header = r.readTokenHeader(o, where)
	r.MCP = append(r.MCP, s)
}

// readTokenHeader returns the header that the endpoint requires for its token,
// if it is an allowed one.
func (r *Registration) readTokenHeader(o map[string]json.RawMessage, where string) string {
	v, ok := o["authentication"]
	if !ok || isNull(v) {
		return ""
	}
	auth, err := parseObject(v, where+"/authentication")
	if err != nil {
		r.addProblem(err)
		return ""
	}
	want := r.readText(auth, where+"/authentication", "tokenHeader")
	if want == "" {
		return ""
	}
	for _, h := range junctor.TokenHeaders() {
		if strings.EqualFold(h, want) {
			return h
		}
	}
	r.addProblem(fmt.Errorf("%s/authentication/tokenHeader: the header %q is not supported; use one of %s", where, ipfs.Shorten(want), strings.Join(junctor.TokenHeaders(), ", ")))
	return ""
}

// addBlocked notes an entry that is never used.
func (r *Registration) addBlocked(o map[string]json.RawMessage, where string) {
	raw, err := json.Marshal(o)
	if err != nil {
		raw = []byte("{}")
	}
	r.Blocked = append(r.Blocked, Blocked{Text: ipfs.Shorten(string(raw)), Where: where})
}

// maxProblems bounds the problems of a registration.
const maxProblems = 20

// addProblem notes a problem.
func (r *Registration) addProblem(err error) {
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, err.Error())
	}
}

// readText returns a member that should be a string, and notes a problem if it
// is not. Long texts are cut.
func (r *Registration) readText(o map[string]json.RawMessage, where, key string) string {
	v, ok := o[key]
	if !ok || isNull(v) {
		return ""
	}
	var s string
	if err := json.Unmarshal(v, &s); err != nil {
		r.addProblem(fmt.Errorf("%s/%s is not a text", where, key))
		return ""
	}
	const most = 4096
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// isNull reports whether a value is null.
func isNull(v json.RawMessage) bool { return string(bytes.TrimSpace(v)) == "null" }

// parseObject parses one level of an object. Members are looked up by their
// exact names: decoding into a struct would ignore case, and could pick another
// member.
func parseObject(raw []byte, where string) (map[string]json.RawMessage, error) {
	var o map[string]json.RawMessage
	if err := json.Unmarshal(raw, &o); err != nil || o == nil {
		return nil, newMalformedError(raw, where, "an object", err)
	}
	return o, nil
}

// parseList parses one level of a list, of at most 1000 entries.
func parseList(raw []byte, where string) ([]json.RawMessage, error) {
	var l []json.RawMessage
	if err := json.Unmarshal(raw, &l); err != nil {
		return nil, newMalformedError(raw, where, "a list", err)
	}
	const most = 1000
	if len(l) > most {
		return nil, fmt.Errorf("%w: %s has more than %d entries", ErrMalformed, where, most)
	}
	return l, nil
}

// newMalformedError makes the error for a value of another type, with the line
// of a syntax error.
func newMalformedError(raw []byte, where, want string, err error) error {
	if where == "" {
		where = "the file"
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		line := 1 + bytes.Count(raw[:min(int(syntax.Offset), len(raw))], []byte("\n"))
		return fmt.Errorf("%w: %s, line %d: %w", ErrMalformed, where, line, err)
	}
	return fmt.Errorf("%w: %s is not %s", ErrMalformed, where, want)
}
