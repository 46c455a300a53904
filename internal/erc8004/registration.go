package erc8004

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/ipfs"
)

// Registration is what an agent's file says of it. Whoever mints a token writes
// one, so nothing in it is believed further than it is shown.
type Registration struct {
	Name        string    `json:"name,omitempty"`
	Description string    `json:"description,omitempty"`
	Active      bool      `json:"active"`
	Claimed     bool      `json:"claimed"` // it names the agent that led to it
	MCP         []Service `json:"mcp"`
	Blocked     []Blocked `json:"blocked"`
	Problems    []string  `json:"problems"`
}

// Service is an MCP endpoint that a registration names.
type Service struct {
	URL       string `json:"url"`
	Transport string `json:"transport"` // http or sse
	Version   string `json:"version,omitempty"`
	Header    string `json:"header,omitempty"` // that it wants its token in
	Where     string `json:"where"`            // in the file, as a JSON pointer
}

// Blocked is a command that a registration names. It is shown, and never run:
// the file is a stranger's.
type Blocked struct {
	Text  string `json:"text"`
	Where string `json:"where"`
}

// Reasons for which an agent has no endpoint.
var (
	ErrAnotherAgent = errors.New("the file claims another agent")
	ErrInactive     = errors.New("the agent says that it is not active")
	ErrNoMCP        = errors.New("the agent does not expose MCP")
	ErrOnlyCommand  = errors.New("the agent exposes MCP only as a command, which is never run")
	ErrMalformed    = errors.New("the registration is malformed")
)

// ParseRegistration reads the file of an agent, in the form of today (services),
// the one before (endpoints) and the first (capabilities.mcp). What is wrong with
// a part of it is a problem that is told; an error is about the whole.
func ParseRegistration(raw []byte, of Agent) (Registration, error) {
	top, err := object(raw, "")
	if err != nil {
		return Registration{}, err
	}
	r := Registration{Active: true, MCP: []Service{}, Blocked: []Blocked{}, Problems: []string{}}
	r.Name, r.Description = r.text(top, "", "name"), r.text(top, "", "description")
	if v, ok := top["active"]; ok {
		if err := json.Unmarshal(v, &r.Active); err != nil {
			return Registration{}, fmt.Errorf("%w: /active is neither true nor false", ErrMalformed)
		}
	}
	if r.Claimed, err = claims(top, of); err != nil {
		return r, err
	}
	r.services(top, "services")
	r.services(top, "endpoints")
	r.capabilities(top)
	return r, nil
}

// Endpoint is the one that is used: the first.
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

// claims looks for the agent among those that the file says it belongs to. A
// file without such a list claims nobody.
func claims(top map[string]json.RawMessage, of Agent) (bool, error) {
	v, ok := top["registrations"]
	if !ok || isNull(v) {
		return false, nil
	}
	all, err := list(v, "/registrations")
	if err != nil {
		return false, err
	}
	if len(all) == 0 {
		return false, nil
	}
	for i, one := range all {
		where := fmt.Sprintf("/registrations/%d", i)
		o, err := object(one, where)
		if err != nil {
			return false, err
		}
		var registry string
		if err := json.Unmarshal(o["agentRegistry"], &registry); err != nil {
			return false, fmt.Errorf("%w: %s/agentRegistry is no text", ErrMalformed, where)
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

// services reads a list of {name, endpoint, version}.
func (r *Registration) services(top map[string]json.RawMessage, key string) {
	v, ok := top[key]
	if !ok || isNull(v) {
		return
	}
	all, err := list(v, "/"+key)
	if err != nil {
		r.problem(err)
		return
	}
	for i, one := range all {
		where := fmt.Sprintf("/%s/%d", key, i)
		o, err := object(one, where)
		if err != nil {
			r.problem(err)
			continue
		}
		if strings.EqualFold(r.text(o, where, "name"), "mcp") {
			r.entry(o, where)
		}
	}
}

// capabilities reads capabilities.mcp.
func (r *Registration) capabilities(top map[string]json.RawMessage) {
	v, ok := top["capabilities"]
	if !ok || isNull(v) {
		return
	}
	all, err := object(v, "/capabilities")
	if err != nil {
		r.problem(err)
		return
	}
	for _, key := range slices.Sorted(keys(all)) {
		if !strings.EqualFold(key, "mcp") {
			continue
		}
		where := "/capabilities/" + key
		o, err := object(all[key], where)
		if err != nil {
			r.problem(err)
			continue
		}
		r.entry(o, where)
	}
}

// entry reads one endpoint. Anything that could be a command makes the whole
// entry one, an address beside it included.
func (r *Registration) entry(o map[string]json.RawMessage, where string) {
	for _, key := range slices.Sorted(keys(o)) {
		switch strings.ToLower(key) {
		case "command", "cmd", "args", "arguments", "env", "exec", "executable", "script", "shell", "package":
			if !isNull(o[key]) {
				r.block(o, where)
				return
			}
		}
	}
	transport := strings.ToLower(r.text(o, where, "transport"))
	target := ""
	for _, key := range []string{"endpoint", "url"} {
		if target == "" {
			target = r.text(o, where, key)
		}
	}
	u, err := url.Parse(strings.TrimSpace(target))
	web := err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http")
	switch {
	case transport == "stdio", target != "" && !web:
		r.block(o, where)
		return
	case target == "":
		r.problem(fmt.Errorf("%s names no endpoint", where))
		return
	case u.User != nil || u.Fragment != "":
		r.problem(fmt.Errorf("%s: an endpoint with a password or a fragment is not used", where))
		return
	}
	s := Service{URL: u.String(), Transport: "http", Version: r.text(o, where, "version"), Where: where}
	switch transport {
	case "", "http", "https", "streamable-http", "streamable_http", "streamablehttp":
	case "sse":
		s.Transport = "sse"
	default:
		r.problem(fmt.Errorf("%s: the transport %q is not known", where, ipfs.Brief(transport)))
		return
	}
	s.Header = r.header(o, where)
	r.MCP = append(r.MCP, s)
}

// header is where the endpoint wants its token, if it is one of those that may
// be asked for.
func (r *Registration) header(o map[string]json.RawMessage, where string) string {
	v, ok := o["authentication"]
	if !ok || isNull(v) {
		return ""
	}
	auth, err := object(v, where+"/authentication")
	if err != nil {
		r.problem(err)
		return ""
	}
	want := r.text(auth, where+"/authentication", "tokenHeader")
	if want == "" {
		return ""
	}
	for _, h := range junctor.TokenHeaders() {
		if strings.EqualFold(h, want) {
			return h
		}
	}
	r.problem(fmt.Errorf("%s/authentication/tokenHeader: a token is not sent as %q, only as %s", where, ipfs.Brief(want), strings.Join(junctor.TokenHeaders(), ", ")))
	return ""
}

func (r *Registration) block(o map[string]json.RawMessage, where string) {
	raw, err := json.Marshal(o)
	if err != nil {
		raw = []byte("{}")
	}
	r.Blocked = append(r.Blocked, Blocked{Text: ipfs.Brief(string(raw)), Where: where})
}

const maxProblems = 20

func (r *Registration) problem(err error) {
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, err.Error())
	}
}

// text reads a member that should be text; of another kind it is a problem.
func (r *Registration) text(o map[string]json.RawMessage, where, key string) string {
	v, ok := o[key]
	if !ok || isNull(v) {
		return ""
	}
	var s string
	if err := json.Unmarshal(v, &s); err != nil {
		r.problem(fmt.Errorf("%s/%s is no text", where, key))
		return ""
	}
	const most = 4096
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

func keys(o map[string]json.RawMessage) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range o {
			if !yield(k) {
				return
			}
		}
	}
}

func isNull(v json.RawMessage) bool { return string(bytes.TrimSpace(v)) == "null" }

// object and list read one level. Members are looked up by their exact names:
// decoding into a struct would take any case, and so another member.
func object(raw []byte, where string) (map[string]json.RawMessage, error) {
	var o map[string]json.RawMessage
	if err := json.Unmarshal(raw, &o); err != nil || o == nil {
		return nil, malformed(raw, where, "an object", err)
	}
	return o, nil
}

func list(raw []byte, where string) ([]json.RawMessage, error) {
	var l []json.RawMessage
	if err := json.Unmarshal(raw, &l); err != nil {
		return nil, malformed(raw, where, "a list", err)
	}
	const most = 1000
	if len(l) > most {
		return nil, fmt.Errorf("%w: %s has more than %d entries", ErrMalformed, where, most)
	}
	return l, nil
}

func malformed(raw []byte, where, want string, err error) error {
	if where == "" {
		where = "the file"
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		line := 1 + bytes.Count(raw[:min(int(syntax.Offset), len(raw))], []byte("\n"))
		return fmt.Errorf("%w: %s, line %d: %w", ErrMalformed, where, line, err)
	}
	return fmt.Errorf("%w: %s is not %s", ErrMalformed, where, want)
}
