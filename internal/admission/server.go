package admission

import (
	"context"
	"maps"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Server is a server's row that may be stored, reached and called with its
// credentials.
type Server struct {
	row    junctor.Server
	valid  bool
	unread bool // its document may complete it: it can be read for, and not stored
}

// Valid reports whether a judge made the value.
func (s Server) Valid() bool { return s.valid }

// Storable reports whether the row may be written: it was judged whole.
func (s Server) Storable() bool { return s.valid && !s.unread }

// Row is a copy of the row, down to its maps. Whoever changes it has to have it
// judged again.
func (s Server) Row() junctor.Server { return clone(s.row) }

// clone copies a row with everything that it points to: what was judged must not
// change behind the verdict.
func clone(row junctor.Server) junctor.Server {
	row.Connection = cloneConnection(row.Connection)
	if row.API != nil {
		api := *row.API
		api.Include = slices.Clone(api.Include)
		row.API = &api
	}
	return row
}

func cloneConnection(c junctor.Connection) junctor.Connection {
	c = c.MapCredentials(func(_, text string) string { return text }) // which copies auth, headers and env
	c.Command, c.Overrides = slices.Clone(c.Command), maps.Clone(c.Overrides)
	return c
}

// Connection is the connection of the row.
func (s Server) Connection() Connection {
	return Connection{cloneConnection(s.row.Connection), s.valid}
}

// Document is where the row's API document is; not valid where it names none.
func (s Server) Document() Document {
	if !s.valid || s.row.API == nil {
		return Document{}
	}
	d, err := parseDocument(s.row.API.DocumentURL)
	if err != nil {
		return Document{}
	}
	return d
}

// Sealed is the row with the name of its sealed credentials, which are made after
// it was judged.
func (s Server) Sealed(name string) Server {
	s.row.Credential = name
	return s
}

// Stored is a row as the store gave it: it was judged when it was written.
func Stored(row junctor.Server) Server { return Server{row: clone(row), valid: true} }

// Discovered judges the row of an endpoint that an agent's registration on a chain
// names. Nobody of ours brings it, so it can have neither command nor reference, and
// deliveries alone go there.
func Discovered(row junctor.Server) (Server, error) {
	if row.Mode != junctor.ModeFound || row.Owner != "" || row.Trusted || row.Credential != "" || row.API != nil {
		return Server{}, junctor.Errorf(junctor.CodeInternal, "the server %q is not a discovered one", row.ID)
	}
	if err := junctor.CheckServerID(row.ID); err != nil {
		return Server{}, err
	}
	if _, err := LiteralConnection(row.Connection); err != nil {
		return Server{}, err
	}
	return Server{row: clone(row), valid: true}, nil
}

// Server judges the row that p wants under its id; former is the one that is
// there, nil where there is none. The verdict says whose it is: the tenant is p's,
// the owner is former's, or p where p adds the server or takes over one whose
// settings file is not read any more (row.Owner says so), and only the operator's
// own connections may lead to this machine.
func (j *Judge) Server(ctx context.Context, p *junctor.Principal, row junctor.Server, former *junctor.Server) (Server, error) {
	return j.decide(ctx, p, row, former, false)
}

// Unread is Server for an auto-generated server whose document was not read yet:
// the address and parts of the authentication may come from there. The verdict is
// for reading the document; what is stored has to be judged again, whole.
func (j *Judge) Unread(ctx context.Context, p *junctor.Principal, row junctor.Server, former *junctor.Server) (Server, error) {
	return j.decide(ctx, p, row, former, true)
}

func (j *Judge) decide(ctx context.Context, p *junctor.Principal, row junctor.Server, former *junctor.Server, unread bool) (Server, error) {
	err := j.checkServer(ctx, p, &row, former, unread)
	j.record(ctx, p, row.ID, err)
	if err != nil {
		return Server{}, err
	}
	row = clone(row)
	row.Tenant = p.Tenant
	local := p.Issuer == junctor.IssuerLocal
	if former == nil {
		row.Owner, row.Trusted = p.ID(), local
	} else {
		if row.Owner != p.ID() {
			row.Owner = former.Owner
		}
		row.Trusted = local || former.Trusted && sameAddress(&row.Connection, &former.Connection) && sameDocument(row.API, former.API)
	}
	return Server{row, true, unread}, nil
}

// Reread judges the row of a server whose document is read again without anybody
// asking for it. Nobody brings anything: the row is the stored one, and only what its
// document says of the API may differ. Tenant, owner and trust stay.
func (j *Judge) Reread(row junctor.Server, stored Server) (Server, error) {
	former := stored.Row()
	if !stored.Storable() || row.API == nil || former.API == nil {
		return Server{}, junctor.Errorf(junctor.CodeInternal, "the server %q has no document to read again", row.ID)
	}
	title, version := row.API.Title, row.API.Version
	row = clone(former)
	row.API.Title, row.API.Version = title, version
	return Server{row: row, valid: true}, nil
}

// Preview judges a row that is looked at and not stored: its name takes nothing
// over, so it need be neither free nor p's.
func (j *Judge) Preview(ctx context.Context, p *junctor.Principal, row junctor.Server) (Server, error) {
	unread := row.Mode == junctor.ModeGenerated
	err := j.checkDefinition(p, &row, nil, unread)
	j.record(ctx, p, row.ID, err)
	if err != nil {
		return Server{}, err
	}
	row = clone(row)
	row.Tenant, row.Owner, row.Trusted, row.Credential = p.Tenant, p.ID(), p.Issuer == junctor.IssuerLocal, ""
	return Server{row, true, unread}, nil
}

func (j *Judge) checkServer(ctx context.Context, p *junctor.Principal, row, former *junctor.Server, unread bool) error {
	if former != nil && !Owns(p, former.Owner) {
		return junctor.Errorf(junctor.CodeDenied, "the server %q is not yours: who added it, or an admin, can change it", row.ID)
	}
	if err := j.checkDefinition(p, row, former, unread); err != nil || former != nil {
		return err
	}
	return j.checkName(ctx, p, row.ID)
}

// checkDefinition refuses what p may not bring, whatever its name.
func (j *Judge) checkDefinition(p *junctor.Principal, row, former *junctor.Server, unread bool) error {
	if err := junctor.CheckServerID(row.ID); err != nil {
		return err
	}
	if row.ID == junctor.AdhocServer {
		return junctor.Errorf(junctor.CodeInvalid, "%q is the id of calls to endpoints that are no server: choose another", row.ID)
	}
	switch {
	case row.Mode == junctor.ModeBuiltin:
		if _, err := LiteralConnection(row.Connection); err != nil || row.URL != "" {
			return junctor.Errorf(junctor.CodeInvalid, "the server %q is built in: it has no address and no command", row.ID)
		}
	case !unread:
		if err := row.Check(); err != nil {
			return err
		}
		if err := row.CheckCommand(); err != nil {
			return err
		}
	}
	if err := row.API.Check(); err != nil {
		return err
	}
	var document string
	if former != nil && former.API != nil {
		document = former.API.DocumentURL
	}
	if row.API != nil && row.API.DocumentURL != "" {
		if _, err := j.checkDocument(p, row.API.DocumentURL, document); err != nil {
			return err
		}
	}
	if err := checkBelief(p, row, former); err != nil {
		return err
	}
	return j.checkConnection(p, row, former)
}

// checkName refuses a name that is kept for whoever had a server of that name.
// Clients and agents may still call it, so another's server must not take it over.
func (j *Judge) checkName(ctx context.Context, p *junctor.Principal, id string) error {
	if j.o.Reserved == nil {
		return nil
	}
	owner, until, err := j.o.Reserved(ctx, p.Tenant, id)
	if err != nil || owner == "" || p.Has(junctor.ScopeAdmin) || p.Is(owner) {
		return err
	}
	return junctor.Errorf(junctor.CodeDenied, "the server id %q is reserved until %s: a server of that id was removed, and clients may still call it; choose another id, or ask an admin",
		id, until.UTC().Format(time.RFC3339))
}

// checkConnection refuses a command or a reference that p may not bring. What
// former has already stays where it is: a command only as a whole, a reference only
// where it goes to the destination that it was entered for, whatever its place.
func (j *Judge) checkConnection(p *junctor.Principal, now, former *junctor.Server) error {
	if now.Transport == junctor.TransportStdio && !j.RunsCommands(p) && !sameCommand(now, former) {
		return junctor.Errorf(junctor.CodeDenied,
			"a command to run comes from the operator: add it with the command line on this machine, or start Junctor with --allow-commands and use an admin key")
	}
	var entered []junctor.PlacedReference
	if former != nil {
		entered = former.PlacedReferences()
	}
	for _, reference := range now.PlacedReferences() {
		destination := now.Destination(reference.Place, now.API)
		if slices.ContainsFunc(entered, func(e junctor.PlacedReference) bool {
			return e.Text == reference.Text && former.Destination(e.Place, former.API) == destination
		}) {
			continue
		}
		if err := j.checkReference(p, reference.Text); err != nil {
			if former != nil && slices.Contains(former.References(), reference.Text) {
				return junctor.Errorf(junctor.CodeOf(err), "the credential %s was entered for another address and is not sent to this one: whoever may enter it has to change the address", reference.Text)
			}
			return err
		}
	}
	return nil
}

func sameCommand(now, former *junctor.Server) bool {
	return former != nil && former.Transport == now.Transport && slices.Equal(former.Command, now.Command) && former.Cwd == now.Cwd && maps.Equal(former.Env, now.Env)
}

// sameAddress reports whether two connections lead to the same place.
func sameAddress(a, b *junctor.Connection) bool {
	return a.Transport == b.Transport && a.Origin() == b.Origin() && a.URL == b.URL && slices.Equal(a.Command, b.Command)
}

// sameDocument reports whether two servers are made of the same document.
func sameDocument(a, b *junctor.API) bool {
	return a == nil || b == nil || a.DocumentURL == b.DocumentURL
}

// Connection is a connection whose references may be read and whose command may be
// run.
type Connection struct {
	conn  junctor.Connection
	valid bool
}

// LiteralConnection judges a connection that belongs to no server: a delivery's, or one
// made by the program itself. It brings neither command nor reference.
func LiteralConnection(c junctor.Connection) (Connection, error) {
	if c.Transport == junctor.TransportStdio || len(c.Command) > 0 || len(c.References()) > 0 {
		return Connection{}, junctor.Errorf(junctor.CodeDenied, "commands and credentials that are read from this machine come from the operator")
	}
	return Connection{cloneConnection(c), true}, nil
}

// Value is the connection; an empty one where nobody admitted it.
func (c Connection) Value() junctor.Connection { return cloneConnection(c.conn) }

// Reference is one of the connection's references, to be read.
func (c Connection) Reference(text string) Reference {
	if !c.valid || !slices.Contains(c.conn.References(), text) {
		return Reference{}
	}
	return Reference{text}
}

// Command is the command of the connection; not valid where it has none.
func (c Connection) Command() Command {
	if !c.valid || c.conn.Transport != junctor.TransportStdio || len(c.conn.Command) == 0 {
		return Command{}
	}
	return Command{path: c.conn.Command[0], args: slices.Clone(c.conn.Command[1:]), dir: c.conn.Cwd}
}

// Command is a program that may be run, with its arguments.
type Command struct {
	path string
	args []string
	dir  string
}

// Path is the program: a path, or a name to look up; "" where nobody admitted it.
func (c Command) Path() string { return c.path }

// Args are its arguments, without the program's own name.
func (c Command) Args() []string { return c.args }

// Dir is its working directory; "" is that of this process.
func (c Command) Dir() string { return c.dir }

// Resolve is the same command with its program found by look.
func (c Command) Resolve(look func(program string) (string, error)) (Command, error) {
	path, err := look(c.path)
	if err != nil {
		return Command{}, err
	}
	c.path = path
	return c, nil
}
