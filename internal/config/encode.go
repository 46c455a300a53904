package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	junctor "github.com/junctor-mcp/junctor"
)

// fileServer is a server as it is written to a file, in the order of its lines.
// What goes without saying is left out.
type fileServer struct {
	Title       string                  `json:"title,omitempty"      yaml:"title,omitempty"`
	Transport   junctor.Transport       `json:"transport,omitempty"  yaml:"transport,omitempty"`
	URL         string                  `json:"url,omitempty"        yaml:"url,omitempty"`
	DocumentURL string                  `json:"document_url,omitempty" yaml:"document_url,omitempty"`
	BaseURL     string                  `json:"base_url,omitempty"   yaml:"base_url,omitempty"`
	Format      string                  `json:"format,omitempty"     yaml:"format,omitempty"`
	Exposure    junctor.Exposure        `json:"exposure,omitempty"   yaml:"exposure,omitempty"`
	Include     []string                `json:"include,omitempty"    yaml:"include,omitempty"`
	Mutations   string                  `json:"mutations,omitempty"  yaml:"mutations,omitempty"`
	Rate        float64                 `json:"rate,omitempty"       yaml:"rate,omitempty"`
	PollMinutes int                     `json:"poll_minutes,omitempty" yaml:"poll_minutes,omitempty"`
	Command     []string                `json:"command,omitempty"    yaml:"command,omitempty,flow"`
	Cwd         string                  `json:"cwd,omitempty"        yaml:"cwd,omitempty"`
	Env         map[string]string       `json:"env,omitempty"        yaml:"env,omitempty"`
	Auth        *fileAuth               `json:"auth,omitempty"       yaml:"auth,omitempty"`
	Headers     map[string]string       `json:"headers,omitempty"    yaml:"headers,omitempty"`
	Credentials junctor.Credentials     `json:"credentials,omitempty" yaml:"credentials,omitempty"`
	Isolation   junctor.Isolation       `json:"isolation,omitempty"  yaml:"isolation,omitempty"`
	MaxSessions int                     `json:"max_sessions,omitempty" yaml:"max_sessions,omitempty"`
	TimeoutMS   int                     `json:"timeout_ms,omitempty" yaml:"timeout_ms,omitempty"`
	Views       junctor.Views           `json:"views,omitempty"      yaml:"views,omitempty"`
	Home        junctor.Home            `json:"home,omitempty"       yaml:"home,omitempty"`
	Believe     bool                    `json:"believe_annotations,omitempty" yaml:"believe_annotations,omitempty"`
	Private     bool                    `json:"private,omitempty"    yaml:"private,omitempty"`
	Disabled    bool                    `json:"disabled,omitempty"   yaml:"disabled,omitempty"`
	Overrides   map[string]fileOverride `json:"overrides,omitempty"  yaml:"overrides,omitempty"`
	Document    string                  `json:"document,omitempty"   yaml:"document,omitempty"` // last: it is long
}

type fileAuth struct {
	Type     junctor.AuthType `json:"type"                yaml:"type"`
	Username string           `json:"username,omitempty"  yaml:"username,omitempty"`
	ClientID string           `json:"client_id,omitempty" yaml:"client_id,omitempty"`
	TokenURL string           `json:"token_url,omitempty" yaml:"token_url,omitempty"`
	Scope    string           `json:"scope,omitempty"     yaml:"scope,omitempty"`
	Issuer   string           `json:"issuer,omitempty"    yaml:"issuer,omitempty"`

	ClientAuth junctor.ClientAuth `json:"client_auth,omitempty" yaml:"client_auth,omitempty"`
	Header     string             `json:"header,omitempty"    yaml:"header,omitempty"`
	Secret     string             `json:"secret,omitempty"    yaml:"secret,omitempty"`

	Grant       junctor.OAuthGrant  `json:"grant,omitempty"         yaml:"grant,omitempty"`
	Subject     string              `json:"subject,omitempty"       yaml:"subject,omitempty"`
	SubjectType junctor.SubjectType `json:"subject_type,omitempty"  yaml:"subject_type,omitempty"`
	Audience    string              `json:"audience,omitempty"      yaml:"audience,omitempty"`
	IDPTokenURL string              `json:"idp_token_url,omitempty" yaml:"idp_token_url,omitempty"`
	IDPClientID string              `json:"idp_client_id,omitempty" yaml:"idp_client_id,omitempty"`
	IDPSecret   string              `json:"idp_secret,omitempty"    yaml:"idp_secret,omitempty"`
}

type fileOverride struct {
	Hide        bool   `json:"hide,omitempty"        yaml:"hide,omitempty"`
	Name        string `json:"name,omitempty"        yaml:"name,omitempty"`
	Description string `json:"description,omitempty" yaml:"description,omitempty"`
	ReadOnly    bool   `json:"read_only,omitempty"   yaml:"read_only,omitempty"`
}

// fileDeclared is a whole file. What is nil is not written: apply leaves alone
// what a file says nothing of.
type fileDeclared struct {
	Servers *map[string]fileServer `json:"servers,omitempty" yaml:"servers,omitempty"`
	Agents  *map[string]fileAgent  `json:"agents,omitempty"  yaml:"agents,omitempty"`

	Triggers  *map[string]fileTrigger  `json:"triggers,omitempty"  yaml:"triggers,omitempty"`
	Sources   *map[string]fileSource   `json:"sources,omitempty"   yaml:"sources,omitempty"`
	Schedules *map[string]fileSchedule `json:"schedules,omitempty" yaml:"schedules,omitempty"`
}

func (d Declared) file() (out fileDeclared) {
	if d.Servers != nil || d.nothingElse() {
		servers := d.fileServers()
		out.Servers = &servers
	}
	if d.Agents != nil {
		agents := d.fileAgents()
		out.Agents = &agents
	}
	d.fileEvents(&out)
	return out
}

func (d Declared) fileServers() map[string]fileServer {
	out := map[string]fileServer{}
	for _, s := range d.Servers {
		c := s.Connection()
		f := fileServer{
			Title: s.Title, URL: c.URL, Command: c.Command, Cwd: c.Cwd, Env: c.Env, Headers: c.Headers,
			Credentials: c.Credentials, Isolation: c.Isolation, MaxSessions: c.MaxSessions, TimeoutMS: c.TimeoutMS, Views: c.Views, Home: c.Home, Believe: c.BelieveAnnotations, Private: s.Private, Disabled: s.Disabled,
		}
		if c.Transport == junctor.TransportSSE {
			f.Transport = c.Transport
		}
		if a := c.Auth; a != nil {
			f.Auth = &fileAuth{
				a.Type, a.Username, a.ClientID, a.TokenURL, a.Scope, a.Issuer, a.ClientAuth, a.Header, a.Secret,
				a.Grant, a.Subject, a.SubjectType, a.Audience, a.IDPTokenURL, a.IDPClientID, a.IDPSecret,
			}
		}
		for name, o := range c.Overrides {
			if f.Overrides == nil {
				f.Overrides = map[string]fileOverride{}
			}
			f.Overrides[name] = fileOverride(o)
		}
		s.written(&f)
		out[s.ID] = f
	}
	return out
}

// YAML is the text of a file that declares d, in a stable order. Its head names
// the variables that the file refers to.
func (d Declared) YAML() ([]byte, error) {
	var b bytes.Buffer
	if vars := d.variables(); len(vars) > 0 {
		b.WriteString("# Set these variables where Junctor runs:\n")
		for _, v := range vars {
			fmt.Fprintf(&b, "#   %s: %s\n", v.Name, strings.Join(v.Places, ", "))
		}
	}
	head := b.Len()
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(d.file()); err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "the file cannot be written: %w", err)
	}
	// The library writes some texts, such as a tab on a line of its own, as it does
	// not read them. JSON is YAML too.
	if yaml.Unmarshal(b.Bytes(), &yaml.Node{}) != nil {
		text, err := d.JSON()
		return append(b.Bytes()[:head], text...), err
	}
	return b.Bytes(), nil
}

// JSON is the same as YAML in the form of JSON, which is YAML too.
func (d Declared) JSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(d.file()); err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "the file cannot be written: %w", err)
	}
	return escaped(b.Bytes()), nil
}

// escaped writes the characters that JSON may hold and YAML may not in the form
// that both read. In JSON they stand in texts alone.
func escaped(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, r := range string(text) {
		if r >= 0x7f && r <= 0x9f || r == 0xfeff || r == 0xfffe || r == 0xffff {
			out = fmt.Appendf(out, `\u%04x`, r)
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// Variable is a variable that stands for credentials, and where.
type Variable struct {
	Name   string   `json:"name"`
	Places []string `json:"places"`
}

// FromRows gives what declares these servers. A sealed credential is not known:
// in its place is a variable to read it from, and those are listed.
func FromRows(rows []junctor.Server) (Declared, []Variable) {
	d := Declared{Servers: []Server{}}
	for _, row := range rows {
		s := NewServer(row)
		*s.connection = credentials(s.ID, *s.connection, func(_, _, text string) string { return text }) // a copy to change
		d.Servers = append(d.Servers, s)
	}
	slices.SortFunc(d.Servers, func(a, b Server) int { return cmp.Compare(a.ID, b.ID) })
	taken := map[string]bool{}
	for _, v := range d.variables() {
		taken[v.Name] = true
	}
	var sealed []Variable
	for _, s := range d.Servers {
		*s.connection = credentials(s.ID, *s.connection, func(place, suffix, text string) string {
			if text != junctor.Masked {
				return text
			}
			name := variableName(s.ID, suffix, taken)
			sealed = append(sealed, Variable{name, []string{place}})
			return "env:" + name
		})
	}
	return d, sealed
}

func variableName(id, suffix string, taken map[string]bool) string {
	base := "MCP_" + regexp.MustCompile(`[^A-Z0-9]+`).ReplaceAllString(strings.ToUpper(id+"_"+suffix), "_")
	name := base
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	taken[name] = true
	return name
}

// variables lists the env: references, in the order of their names.
func (d Declared) variables() []Variable {
	found := map[string][]string{}
	for _, s := range d.Servers {
		credentials(s.ID, *s.connection, func(place, _, text string) string {
			if name, ok := strings.CutPrefix(text, "env:"); ok {
				found[name] = append(found[name], place)
			}
			return text
		})
	}
	for _, s := range d.Sources {
		if name, ok := strings.CutPrefix(s.Secret(), "env:"); ok {
			found[name] = append(found[name], placeOfSecret(s.ID))
		}
	}
	out := make([]Variable, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		out = append(out, Variable{name, found[name]})
	}
	return out
}

// credentials gives a copy of a connection in which each text that may be a
// credential is what f makes of it, in a stable order. place is for people;
// suffix is for the name of a variable.
func credentials(id string, c junctor.Connection, f func(place, suffix, text string) string) junctor.Connection {
	path := "servers." + id + "."
	if c.Auth != nil {
		auth := *c.Auth
		for _, one := range []struct {
			name, suffix string
			text         *string
		}{{"secret", "SECRET", &auth.Secret}, {"subject", "SUBJECT", &auth.Subject}, {"idp_secret", "IDP_SECRET", &auth.IDPSecret}} {
			if *one.text != "" {
				*one.text = f(path+"auth."+one.name, one.suffix, *one.text)
			}
		}
		c.Auth = &auth
	}
	if address, query, ok := strings.Cut(c.URL, "?"); ok && query != "" {
		c.URL = address + "?" + f(path+"url", "QUERY", query)
	}
	each := func(m map[string]string, what string) map[string]string {
		m = maps.Clone(m)
		for _, name := range slices.Sorted(maps.Keys(m)) {
			m[name] = f(path+what+"."+name, name, m[name])
		}
		return m
	}
	c.Headers, c.Env = each(c.Headers, "headers"), each(c.Env, "env")
	return c
}
