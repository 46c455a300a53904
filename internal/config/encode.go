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

// fileServer is a server in the form of a file, in the order in which its
// members are written. Defaults are left out.
type fileServer struct {
	Title string `json:"title,omitempty"`
	junctor.Connection
	BaseURL string `json:"base_url,omitempty"`
	junctor.APISettings
	Private  bool   `json:"private,omitempty"`
	Disabled bool   `json:"disabled,omitempty"`
	Document string `json:"document,omitempty"` // last, because it is long
}

// MarshalYAML writes the YAML of the JSON form, so that both forms have the
// same members. A command is one line.
func (f fileServer) MarshalYAML() (any, error) {
	n, err := jsonToYAML(f)
	if err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "command" {
			n.Content[i+1].Style = yaml.FlowStyle
		}
	}
	return n, nil
}

// fileDeclared is a whole file. A kind that is nil is not written: apply does
// not touch kinds that a file does not mention.
type fileDeclared struct {
	Servers *map[string]fileServer `json:"servers,omitempty" yaml:"servers,omitempty"`
	Agents  *map[string]fileObject `json:"agents,omitempty"  yaml:"agents,omitempty"`

	Triggers  *map[string]fileObject `json:"triggers,omitempty"  yaml:"triggers,omitempty"`
	Sources   *map[string]fileObject `json:"sources,omitempty"   yaml:"sources,omitempty"`
	Schedules *map[string]fileObject `json:"schedules,omitempty" yaml:"schedules,omitempty"`

	Policies *[]fileObject `json:"policies,omitempty" yaml:"policies,omitempty"`
}

// toFile returns d in the form of a file. If d mentions nothing, the file has
// an empty map of servers, so that it says explicitly that there are none.
func (d Declared) toFile() (out fileDeclared) {
	if d.Servers != nil || d.isEmptyBesideServers() {
		servers := d.fileServers()
		out.Servers = &servers
	}
	if d.Agents != nil {
		agents := d.fileAgents()
		out.Agents = &agents
	}
	d.fileEvents(&out)
	if d.Policies != nil {
		policies := d.filePolicies()
		out.Policies = &policies
	}
	return out
}

// fileServers returns the servers in the form of a file, by id.
func (d Declared) fileServers() map[string]fileServer {
	out := map[string]fileServer{}
	for _, s := range d.Servers {
		f := fileServer{Title: s.Title, Connection: s.Connection(), Private: s.Private, Disabled: s.Disabled}
		if f.Transport != junctor.TransportSSE {
			f.Transport = "" // which the other members say
		}
		s.addAPIFields(&f)
		out[s.ID] = f
	}
	return out
}

// YAML returns the text of a file that declares d. Equal declarations have
// equal texts. Comments at the beginning name the environment variables that
// the file refers to.
func (d Declared) YAML() ([]byte, error) {
	var b bytes.Buffer
	if vars := d.listVariables(); len(vars) > 0 {
		b.WriteString("# Set these variables where Junctor runs:\n")
		for _, v := range vars {
			fmt.Fprintf(&b, "#   %s: %s\n", v.Name, strings.Join(v.Places, ", "))
		}
	}
	head := b.Len()
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(d.toFile()); err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "the file cannot be written: %w", err)
	}
	// The library cannot read some texts that it writes, such as one with a tab
	// on a line of its own. Then the JSON form is used, which is valid YAML.
	if yaml.Unmarshal(b.Bytes(), &yaml.Node{}) != nil {
		text, err := d.JSON()
		return append(b.Bytes()[:head], text...), err
	}
	return b.Bytes(), nil
}

// JSON returns the same as YAML in the form of JSON, which every YAML parser
// reads.
func (d Declared) JSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(d.toFile()); err != nil {
		return nil, junctor.Errorf(junctor.CodeInternal, "the file cannot be written: %w", err)
	}
	return escapeForYAML(b.Bytes()), nil
}

// escapeForYAML escapes the characters that JSON allows and YAML does not. In
// JSON they occur only inside of strings, so the escape sequence is valid for
// both.
func escapeForYAML(text []byte) []byte {
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

// Variable is an environment variable that a file refers to for credentials,
// and the places that do.
type Variable struct {
	Name   string   `json:"name"`
	Places []string `json:"places"`
}

// FromRows returns the declarations of stored servers, sorted by id. A sealed
// credential is not known, so a reference to an environment variable takes its
// place. The second result lists these variables; the user has to set them
// where the file is applied. The rows are not changed.
func FromRows(rows []junctor.Server) (Declared, []Variable) {
	d := Declared{Servers: []Server{}}
	for _, row := range rows {
		s := NewServer(row)
		*s.connection = mapCredentials(s.ID, *s.connection, func(_, _, text string) string { return text }) // a copy, since it is changed below
		d.Servers = append(d.Servers, s)
	}
	slices.SortFunc(d.Servers, func(a, b Server) int { return cmp.Compare(a.ID, b.ID) })
	// Names that the servers refer to already must not be given to another
	// secret.
	taken := map[string]bool{}
	for _, v := range d.listVariables() {
		taken[v.Name] = true
	}
	var sealed []Variable
	for _, s := range d.Servers {
		*s.connection = mapCredentials(s.ID, *s.connection, func(place, suffix, text string) string {
			if text != junctor.Masked {
				return text
			}
			name := makeVariableName(s.ID, suffix, taken)
			sealed = append(sealed, Variable{name, []string{place}})
			return "env:" + name
		})
	}
	return d, sealed
}

// makeVariableName returns a name for an environment variable, and adds it to
// taken. A number at the end makes it unique.
func makeVariableName(id, suffix string, taken map[string]bool) string {
	base := "MCP_" + regexp.MustCompile(`[^A-Z0-9]+`).ReplaceAllString(strings.ToUpper(id+"_"+suffix), "_")
	name := base
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	taken[name] = true
	return name
}

// listVariables returns the environment variables that d refers to, sorted by
// name.
func (d Declared) listVariables() []Variable {
	found := map[string][]string{}
	for _, s := range d.Servers {
		mapCredentials(s.ID, *s.connection, func(place, _, text string) string {
			if name, ok := strings.CutPrefix(text, "env:"); ok {
				found[name] = append(found[name], place)
			}
			return text
		})
	}
	for _, s := range d.Sources {
		if name, ok := strings.CutPrefix(s.Secret(), "env:"); ok {
			found[name] = append(found[name], sourceSecretPath(s.ID))
		}
	}
	out := make([]Variable, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		out = append(out, Variable{name, found[name]})
	}
	return out
}

// mapCredentials returns a copy of a connection in which f has replaced each
// text that may be a credential. The order of the calls is stable. place is the
// path of the text in a file, for users. suffix is the end of a name for a
// variable.
func mapCredentials(id string, c junctor.Connection, f func(place, suffix, text string) string) junctor.Connection {
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
