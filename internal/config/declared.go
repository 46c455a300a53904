package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	junctor "github.com/junctor-mcp/junctor"
)

// Declared is what a file declares beside settings: the instance is made to
// have it, and to lose what the file no longer has.
type Declared struct {
	Servers []Server // by id
	Agents  []Agent  // by name; nil where the file says nothing of agents, as the others

	Triggers  []Trigger
	Sources   []Source // by id
	Schedules []Schedule
}

// Empty says that it speaks of nothing: not even that there is none of a kind.
func (d Declared) Empty() bool { return d.Servers == nil && d.nothingElse() }

func (d Declared) nothingElse() bool {
	return d.Agents == nil && d.Triggers == nil && d.Sources == nil && d.Schedules == nil
}

// Server is a server as a file declares it, checked: one that is brought, or one
// that is made of an API's document. Printing one shows no credential.
type Server struct {
	ID       string
	Where    string // file:line:column of its id
	Title    string
	Private  bool
	Disabled bool

	API          *junctor.API // nil where it is brought
	Document     string       // the text that it is made of; "" where that is at an address
	DocumentPath string       // the file that the text was read from; "" where it stood in this one
	AllowEmpty   bool         // the document may yield no tool

	connection *junctor.Connection // behind a pointer: it may hold credentials
}

// NewServer makes a Server for Encode and for tests of whoever reads one.
func NewServer(s junctor.Server) Server {
	conn := s.Connection
	return Server{ID: s.ID, Title: s.Title, Private: s.Private, Disabled: s.State == junctor.StateInactive, API: wantedAPI(&s), connection: &conn}
}

// Connection is how the server is reached, as the file has it: a credential is
// a reference, or stands there itself.
func (s Server) Connection() junctor.Connection { return *s.connection }

// literal says whether a secret stands in the file itself. Variables and headers
// are mostly none, so only what can be nothing else counts.
func (s Server) literal() bool {
	a := s.connection.Auth
	return a != nil && a.Secret != "" && !isReference(a.Secret)
}

func isReference(text string) bool {
	kind, _, ok := strings.Cut(text, ":")
	return ok && slices.Contains([]string{"env", "file", "cmd"}, kind)
}

// Parse reads the text of a file as Load does and gives what it declares. Its
// settings are checked, and not used. name is what problems call the file. No
// other file is read.
func Parse(name string, text []byte) (Declared, error) { return ParseIn("", name, text) }

// ParseIn is Parse for a file in a folder: documents that it names by their
// paths are read from there.
func ParseIn(folder, name string, text []byte) (Declared, error) {
	l := newLoader(Sources{})
	l.folder = folder
	l.parseFile(name, text)
	return l.config.declared, l.problems.asError()
}

// Read is Parse for nodes that somebody else has read from a file: a map of
// what is declared, without settings. No file is read: the document of an API is a
// text of several lines, or an address.
func Read(name string, content *yaml.Node) (Declared, error) {
	l := newLoader(Sources{})
	d := &document{l, name}
	known := fields{}
	for key, read := range l.declarations() {
		known[key] = func(n *yaml.Node, _ string) { read(d, n) }
	}
	d.object(content, "it", known)
	return l.config.declared, l.problems.asError()
}

// declarations are the keys of a file that are no settings, and what reads what
// stands below them.
func (l *loader) declarations() map[string]func(*document, *yaml.Node) {
	return map[string]func(*document, *yaml.Node){
		"servers": l.servers, "agents": l.agents, "chains": l.chains, "triggers": l.triggers, "sources": l.sources, "schedules": l.schedules,
	}
}

// servers reads the map below servers.
func (l *loader) servers(d *document, n *yaml.Node) {
	l.config.declared.Servers = []Server{}
	for _, m := range d.members(n, "servers") {
		id := m.key.Value
		if err := junctor.CheckServerID(id); err != nil {
			d.fault(m.key, "%s", junctor.AsError(err).Message)
			continue
		}
		if id == junctor.AdhocServer {
			d.fault(m.key, "%q is the id of calls to endpoints that are no server: choose another", id)
			continue
		}
		before := len(l.problems)
		s := d.server(m)
		if len(l.problems) == before {
			d.whole(m.key, &s)
		}
		if len(l.problems) == before {
			l.config.declared.Servers = append(l.config.declared.Servers, s)
		}
	}
	slices.SortFunc(l.config.declared.Servers, func(a, b Server) int { return cmp.Compare(a.ID, b.ID) })
}

// whole checks what no member can know of itself.
func (d *document) whole(at *yaml.Node, s *Server) {
	check := s.connection.Check
	if s.API != nil {
		check = func() error { return checkAPI(s) }
	}
	if err := check(); err != nil {
		d.fault(at, "servers.%s: %s", at.Value, junctor.AsError(err).Message)
	}
}

// server reads one server: the members are those of the admin API.
func (d *document) server(m member) Server {
	c := &junctor.Connection{}
	s := Server{ID: m.key.Value, Where: d.at(m.key), connection: c}
	path := "servers." + s.ID
	var transport, isolation, credentials, views, home, mode string
	api := d.api(&s)
	d.object(m.value, path, merged(api.fields, fields{
		"mode":         d.choice(&mode, string(junctor.ModeBYO), string(junctor.ModeGenerated)),
		"title":        d.text(&s.Title),
		"private":      d.truth(&s.Private),
		"disabled":     d.truth(&s.Disabled),
		"transport":    d.choice(&transport, string(junctor.TransportHTTP), string(junctor.TransportSSE), string(junctor.TransportStdio)),
		"url":          d.address(&c.URL),
		"command":      d.words(&c.Command),
		"env":          d.names(&c.Env, func(name string) error { return checkNames(nil, one(name)) }),
		"cwd":          d.text(&c.Cwd),
		"auth":         func(n *yaml.Node, path string) { c.Auth = d.auth(n, path) },
		"headers":      d.names(&c.Headers, func(name string) error { return checkNames(one(name), nil) }),
		"credentials":  d.choice(&credentials, string(junctor.CredentialsShared), string(junctor.CredentialsPerUser)),
		"isolation":    d.choice(&isolation, string(junctor.IsolationShared), string(junctor.IsolationSession), string(junctor.IsolationUser)),
		"max_sessions": d.number(&c.MaxSessions),
		"timeout_ms":   d.number(&c.TimeoutMS),
		"views":        d.choice(&views, string(junctor.ViewsOn), string(junctor.ViewsOff)),
		"home":         d.choice(&home, string(junctor.HomeEach), string(junctor.HomeOne)),
		"overrides":    d.overrides(&c.Overrides),

		"believe_annotations": d.truth(&c.BelieveAnnotations),
	}))
	api.settle(d, m, &s, junctor.Mode(mode))
	c.Transport, c.Isolation, c.Credentials, c.Views = junctor.Transport(transport), junctor.Isolation(isolation), junctor.Credentials(credentials), junctor.Views(views)
	c.Home = junctor.Home(home)
	if c.Transport == "" {
		c.Transport = junctor.TransportHTTP
		if len(c.Command) > 0 {
			c.Transport = junctor.TransportStdio
		}
	}
	return s
}

// checkNames has the names judged where they stand, by those who judge them in
// a whole connection.
func checkNames(headers, env map[string]string) error {
	if headers != nil {
		return (&junctor.Connection{Transport: junctor.TransportHTTP, URL: "https://localhost", Headers: headers}).Check()
	}
	return (&junctor.Connection{Transport: junctor.TransportStdio, Command: []string{"true"}, Env: env}).Check()
}

func one(name string) map[string]string { return map[string]string{name: ""} }

// auth reads how Junctor authenticates itself. The secret stands under the name
// that its type has for it, or as secret.
func (d *document) auth(n *yaml.Node, path string) *junctor.Auth {
	a := &junctor.Auth{}
	var kind, proof, grant, subject string
	own := map[string]string{}
	secret := func(name string) func(*yaml.Node, string) {
		return func(n *yaml.Node, path string) {
			var text string
			d.text(&text)(n, path)
			own[name] = text
		}
	}
	before := len(d.l.problems)
	d.object(n, path, fields{
		"type":   d.choice(&kind, string(junctor.AuthNone), string(junctor.AuthBearer), string(junctor.AuthAPIKey), string(junctor.AuthBasic), string(junctor.AuthOAuthClient), string(junctor.AuthOAuth)),
		"secret": secret("secret"), "token": secret("token"), "key": secret("key"), "password": secret("password"), "client_secret": secret("client_secret"),
		"header": d.text(&a.Header), "username": d.text(&a.Username), "token_url": d.address(&a.TokenURL), "client_id": d.text(&a.ClientID), "scope": d.text(&a.Scope), "issuer": d.address(&a.Issuer),
		"client_auth": d.choice(&proof, string(junctor.ClientAuthKey)),
		"grant":       d.choice(&grant, string(junctor.GrantJWTBearer), string(junctor.GrantTokenExchange), string(junctor.GrantEnterprise)),
		"subject":     d.text(&a.Subject), "audience": d.text(&a.Audience),
		"subject_type":  d.choice(&subject, string(junctor.SubjectAccessToken), string(junctor.SubjectIDToken), string(junctor.SubjectRefreshToken), string(junctor.SubjectJWT)),
		"idp_token_url": d.address(&a.IDPTokenURL), "idp_client_id": d.text(&a.IDPClientID), "idp_secret": d.text(&a.IDPSecret),
	})
	a.Type, a.ClientAuth, a.Grant, a.SubjectType = junctor.AuthType(kind), junctor.ClientAuth(proof), junctor.OAuthGrant(grant), junctor.SubjectType(subject)
	alias := map[junctor.AuthType]string{
		junctor.AuthBearer: "token", junctor.AuthAPIKey: "key", junctor.AuthBasic: "password", junctor.AuthOAuthClient: "client_secret", junctor.AuthOAuth: "client_secret",
	}[a.Type]
	a.Secret = cmp.Or(own["secret"], own[alias])
	switch {
	case len(d.l.problems) > before:
	case kind == "":
		d.fault(n, "%s has no type: use none, bearer, api-key, basic, oauth-client or oauth", path)
	case len(own) > 1 || len(own) == 1 && a.Secret == "":
		d.fault(n, "%s: one secret is wanted: secret, or token with bearer, key with api-key, password with basic, client_secret with oauth-client and oauth", path)
	case a.Type == junctor.AuthNone && len(own) == 0:
		return nil
	}
	return a
}

func (d *document) overrides(to *map[string]junctor.Override) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		*to = map[string]junctor.Override{}
		for _, m := range d.members(n, path) {
			var o junctor.Override
			d.object(m.value, path+"."+short(m.key.Value), fields{"hide": d.truth(&o.Hide), "name": d.text(&o.Name), "description": d.text(&o.Description), "read_only": d.truth(&o.ReadOnly)})
			(*to)[m.key.Value] = o
		}
	}
}

// fields are the members that an object may have, and what reads each.
type fields map[string]func(value *yaml.Node, path string)

// object reads an object of known members.
func (d *document) object(n *yaml.Node, path string, known fields) {
	for _, m := range d.members(n, path) {
		read, ok := known[m.key.Value]
		if !ok {
			names := make([]string, 0, len(known))
			for name := range known {
				names = append(names, name)
			}
			slices.Sort(names)
			d.fault(m.key, "unknown key %q in %s%s", short(m.key.Value), path, orAll(m.key.Value, names))
			continue
		}
		if m.value = resolved(m.value); isNull(m.value) {
			d.fault(m.key, "%s.%s has no value: write one, or remove the line", path, m.key.Value)
			continue
		}
		read(m.value, path+"."+m.key.Value)
	}
}

// orAll names the nearest known key, or all of them where none is near.
func orAll(name string, known []string) string {
	if near := didYouMean(name, known); near != "" {
		return near
	}
	return fmt.Sprintf("; it may have %s", strings.Join(known, ", "))
}
