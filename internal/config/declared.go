package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	junctor "github.com/junctor-mcp/junctor"
)

// Declared is what a file declares beside settings. An instance creates and
// changes what is declared, and removes what the file no longer declares. A
// list that is nil means that the file does not mention the kind at all; then
// nothing of that kind is touched. An empty list removes everything that the
// file declared before.
type Declared struct {
	Servers []Server // by id
	Agents  []Agent  // by name; nil where the file says nothing of agents, as the others

	Triggers  []Trigger
	Sources   []Source // by id
	Schedules []Schedule

	Policies []Policy // in order
}

// Empty reports whether the file mentions no kind at all.
func (d Declared) Empty() bool { return d.Servers == nil && d.isEmptyBesideServers() }

// isEmptyBesideServers reports whether the file mentions no kind other than
// servers.
func (d Declared) isEmptyBesideServers() bool {
	return d.Agents == nil && d.Triggers == nil && d.Sources == nil && d.Schedules == nil && d.Policies == nil
}

// Server is a server that a file declares: an upstream MCP server, or one that
// is generated from an API document. It is checked. Printing one shows no
// credential.
type Server struct {
	ID       string
	Where    string // file:line:column of its id
	Title    string
	Private  bool
	Disabled bool

	API          *junctor.API // nil for an upstream MCP server
	Document     string       // text of the API document; "" if it has an address
	DocumentPath string       // file of the document; "" if the text is in the settings file
	AllowEmpty   bool         // a document that yields no tool is accepted

	// connection is behind a pointer, because it may contain credentials.
	connection *junctor.Connection
}

// NewServer returns the declaration of a stored server, to be encoded.
// Credentials stay as they are in s; FromRows replaces sealed ones.
func NewServer(s junctor.Server) Server {
	conn := s.Connection
	return Server{ID: s.ID, Title: s.Title, Private: s.Private, Disabled: s.State == junctor.StateInactive, API: declarableAPI(&s), connection: &conn}
}

// Connection returns how the server is reached, as the file has it. A
// credential in it is a reference, or the credential itself.
func (s Server) Connection() junctor.Connection { return *s.connection }

// hasLiteralSecret reports whether a secret is in the file itself. Only the
// secret of auth counts: most variables and headers are no secrets.
func (s Server) hasLiteralSecret() bool {
	a := s.connection.Auth
	return a != nil && a.Secret != "" && !isReference(a.Secret)
}

// isReference reports whether a text says where a secret is read from:
// env:NAME, file:/path or cmd:program.
func isReference(text string) bool {
	kind, _, ok := strings.Cut(text, ":")
	return ok && slices.Contains([]string{"env", "file", "cmd"}, kind)
}

// Parse reads the text of a settings file and returns what it declares. The
// settings are checked and not used. name is the name of the file in problems.
// No other file is read, so the text may come from anybody.
func Parse(name string, text []byte) (Declared, error) { return ParseIn("", name, text) }

// ParseIn is Parse for a file in a folder: API documents that it names by their
// paths are read from there.
func ParseIn(folder, name string, text []byte) (Declared, error) {
	l := newLoader(Sources{})
	l.folder = folder
	l.parseFile(name, text)
	return l.config.declared, l.problems.toError()
}

// Read is Parse for nodes that the caller has decoded, such as the ones of a
// pack: a map of declarations, without settings. No file is read; an API
// document must be a text of several lines or have an address.
func Read(name string, content *yaml.Node) (Declared, error) {
	l := newLoader(Sources{})
	d := &document{l, name}
	known := fieldReaders{}
	for key, read := range l.declarationReaders() {
		if key == "policies" {
			continue // a pack is added by people who may not change rules
		}
		known[key] = func(n *yaml.Node, _ string) { read(d, n) }
	}
	d.readObject(content, "the pack", known)
	return l.config.declared, l.problems.toError()
}

// declarationReaders returns the keys of a file that are no settings, and the
// function that reads the value of each.
func (l *loader) declarationReaders() map[string]func(*document, *yaml.Node) {
	return map[string]func(*document, *yaml.Node){
		"servers": l.readServers, "agents": l.readAgents, "chains": l.readChains, "triggers": l.readTriggers, "sources": l.readSources, "schedules": l.readSchedules,
		"policies": l.readPolicies,
	}
}

// readServers reads the map below servers. A server with a problem is left out.
func (l *loader) readServers(d *document, n *yaml.Node) {
	l.config.declared.Servers = []Server{}
	for _, m := range d.listMembers(n, "servers") {
		id := m.key.Value
		if err := junctor.CheckServerID(id); err != nil {
			d.addProblem(m.key, "%s", junctor.AsError(err).Message)
			continue
		}
		if id == junctor.AdhocServer {
			d.addProblem(m.key, "the ID %q is reserved for calls outside registered servers: choose another", id)
			continue
		}
		before := len(l.problems)
		s := d.readServer(m)
		if len(l.problems) == before {
			d.checkServer(m.key, &s)
		}
		if len(l.problems) == before {
			l.config.declared.Servers = append(l.config.declared.Servers, s)
		}
	}
	slices.SortFunc(l.config.declared.Servers, func(a, b Server) int { return cmp.Compare(a.ID, b.ID) })
}

// checkServer checks what depends on several members of a server.
func (d *document) checkServer(at *yaml.Node, s *Server) {
	check := s.connection.Check
	if s.API != nil {
		check = func() error { return checkAPI(s) }
	}
	if err := check(); err != nil {
		d.addProblem(at, "servers.%s: %s", at.Value, junctor.AsError(err).Message)
	}
}

// readServer reads one server. The members are those of the admin API.
func (d *document) readServer(m member) Server {
	c := &junctor.Connection{}
	s := Server{ID: m.key.Value, Where: d.nodePosition(m.key), connection: c}
	path := "servers." + s.ID
	var mode string
	api := d.newAPIReader(&s)
	d.readObject(m.value, path, mergeFields(api.fields, mergeFields(d.structFields(c), fieldReaders{
		"mode":     d.choiceField(&mode, string(junctor.ModeBYO), string(junctor.ModeGenerated)),
		"title":    d.textField(&s.Title),
		"private":  d.boolField(&s.Private),
		"disabled": d.boolField(&s.Disabled),
	})))
	api.setMode(d, m, &s, junctor.Mode(mode))
	if c.Transport == "" {
		c.Transport = junctor.TransportHTTP
		if len(c.Command) > 0 {
			c.Transport = junctor.TransportStdio
		}
	}
	return s
}

// readAuth reads how Junctor authenticates itself to a server. The secret has
// the name that its type has for it, such as token with bearer, or the name
// secret. Exactly one of these is accepted. Auth of the type none is nil.
func (d *document) readAuth(n *yaml.Node, path string) *junctor.Auth {
	a := &junctor.Auth{}
	own := map[string]string{}
	known := d.structFields(a)
	for _, name := range []string{"secret", "token", "key", "password", "client_secret"} {
		known[name] = func(n *yaml.Node, path string) {
			var text string
			d.textField(&text)(n, path)
			own[name] = text
		}
	}
	before := len(d.loader.problems)
	d.readObject(n, path, known)
	// Each type of auth has its own name for the secret.
	alias := map[junctor.AuthType]string{
		junctor.AuthBearer: "token", junctor.AuthAPIKey: "key", junctor.AuthBasic: "password", junctor.AuthOAuthClient: "client_secret", junctor.AuthOAuth: "client_secret",
	}[a.Type]
	a.Secret = cmp.Or(own["secret"], own[alias])
	switch {
	case len(d.loader.problems) > before:
	case a.Type == "":
		d.addProblem(n, "%s has no type: use %s", path, wordsOf(a, "type"))
	case len(own) > 1 || len(own) == 1 && a.Secret == "":
		d.addProblem(n, "%s must have exactly one secret: secret, or token for bearer, key for api-key, password for basic, client_secret for oauth-client and oauth", path)
	case a.Type == junctor.AuthNone && len(own) == 0:
		return nil
	}
	return a
}

// fieldReaders are the members that an object may have, and the function that
// reads each. path is the full name of the member in problems.
type fieldReaders map[string]func(value *yaml.Node, path string)

// readObject reads an object with known members. Unknown members and members
// without a value are problems.
func (d *document) readObject(n *yaml.Node, path string, known fieldReaders) {
	for _, m := range d.listMembers(n, path) {
		read, ok := known[m.key.Value]
		if !ok {
			names := make([]string, 0, len(known))
			for name := range known {
				names = append(names, name)
			}
			slices.Sort(names)
			d.addProblem(m.key, "unknown key %q in %s%s", shortenText(m.key.Value), path, suggestOrListKeys(m.key.Value, names))
			continue
		}
		if m.value = followAlias(m.value); isNull(m.value) {
			d.addProblem(m.key, "%s.%s has no value: write one, or remove the line", path, m.key.Value)
			continue
		}
		read(m.value, path+"."+m.key.Value)
	}
}

// suggestOrListKeys returns the end of a message: the nearest known key, or all
// of them if none is near.
func suggestOrListKeys(name string, known []string) string {
	if near := didYouMean(name, known); near != "" {
		return near
	}
	return fmt.Sprintf("; known keys: %s", strings.Join(known, ", "))
}
