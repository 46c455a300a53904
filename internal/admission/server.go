package admission

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Server is a server's row that was admitted: it may be stored, reached and called with
// its credentials.
type Server struct {
	row            junctor.Server
	valid          bool
	documentUnread bool // its document may complete it: it can be read for, and not stored
}

// Valid reports whether a judge made the value.
func (s Server) Valid() bool { return s.valid }

// Storable reports whether the row may be written: it was judged whole, with the parts
// that come from its document.
func (s Server) Storable() bool { return s.valid && !s.documentUnread }

// Row returns a deep copy of the row. A changed copy has to be judged again.
func (s Server) Row() junctor.Server { return cloneServer(s.row) }

// cloneServer returns a deep copy of a row. A verdict must not change with the caller's
// copy.
func cloneServer(row junctor.Server) junctor.Server {
	row.Connection = cloneConnection(row.Connection)
	if row.API != nil {
		api := *row.API
		api.Include = slices.Clone(api.Include)
		row.API = &api
	}
	return row
}

// cloneConnection returns a deep copy of a connection. MapCredentials copies auth, headers
// and env.
func cloneConnection(c junctor.Connection) junctor.Connection {
	c = c.MapCredentials(func(_, text string) string { return text }) // which copies auth, headers and env
	c.Command, c.Overrides = slices.Clone(c.Command), maps.Clone(c.Overrides)
	return c
}

// Connection returns the connection of the row.
func (s Server) Connection() Connection {
	return Connection{cloneConnection(s.row.Connection), s.valid}
}

// Document returns the address of the row's API document; not valid if it has none.
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

// Sealed returns the row with the name of its sealed credentials, which are stored after
// it was judged.
func (s Server) Sealed(name string) Server {
	s.row.Credential = name
	return s
}

// Stored returns a row that the store read. It was judged when it was written.
func Stored(row junctor.Server) Server { return Server{row: cloneServer(row), valid: true} }

// Discovered judges the row of an endpoint that an agent's registration on a
// chain names. No principal defines it, so it has neither command nor
// reference, and only deliveries go there.
func Discovered(row junctor.Server) (Server, error) {
	if row.Mode != junctor.ModeDiscovered || row.Owner != "" || row.Trusted || row.Credential != "" || row.API != nil {
		return Server{}, junctor.Errorf(junctor.CodeInternal, "the server %q is not a discovered one", row.ID)
	}
	if err := junctor.CheckServerID(row.ID); err != nil {
		return Server{}, err
	}
	if _, err := LiteralConnection(row.Connection); err != nil {
		return Server{}, err
	}
	return Server{row: cloneServer(row), valid: true}, nil
}

// Server judges the row that p wants to store under its id. former is the
// stored row; nil for a new server. The verdict sets whose it is. The tenant is
// that of p. The owner is that of former, or p if p adds the server or takes
// over one whose settings file is no longer read (row.Owner). Only a server of somebody
// who may name addresses of this machine is Trusted, which allows them.
func (j *Judge) Server(ctx context.Context, p *junctor.Principal, row junctor.Server, former *junctor.Server) (Server, error) {
	return j.judgeServer(ctx, p, row, former, false)
}

// Unread is Server for an auto-generated server whose document was not read yet: the
// address and parts of the authentication may come from the document. The verdict allows
// reading the document. The row has to be judged again, whole, before it is stored.
func (j *Judge) Unread(ctx context.Context, p *junctor.Principal, row junctor.Server, former *junctor.Server) (Server, error) {
	return j.judgeServer(ctx, p, row, former, true)
}

// judgeServer is Server, or with unread Unread.
func (j *Judge) judgeServer(ctx context.Context, p *junctor.Principal, row junctor.Server, former *junctor.Server, unread bool) (Server, error) {
	err := j.checkServer(ctx, p, &row, former, unread)
	j.recordRefusal(ctx, p, row.ID, err)
	if err != nil {
		return Server{}, err
	}
	row = cloneServer(row)
	row.Tenant = p.Tenant
	local := j.MayNameThisMachine(p)
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

// Reread judges the row of a server whose document is read again on a timer. No principal
// asks for it, so the row is the stored one, and only the title and version of the API may
// differ. Tenant, owner and trust stay.
func (j *Judge) Reread(row junctor.Server, stored Server) (Server, error) {
	former := stored.Row()
	if !stored.Storable() || row.API == nil || former.API == nil {
		return Server{}, junctor.Errorf(junctor.CodeInternal, "the server %q has no document to read again", row.ID)
	}
	title, version := row.API.Title, row.API.Version
	row = cloneServer(former)
	row.API.Title, row.API.Version = title, version
	return Server{row: row, valid: true}, nil
}

// Preview judges a row that is shown and not stored. Its id takes over nothing, so it need
// be neither free nor p's.
func (j *Judge) Preview(ctx context.Context, p *junctor.Principal, row junctor.Server) (Server, error) {
	unread := row.Mode == junctor.ModeGenerated
	err := j.checkDefinition(p, &row, nil, unread)
	j.recordRefusal(ctx, p, row.ID, err)
	if err != nil {
		return Server{}, err
	}
	row = cloneServer(row)
	row.Tenant, row.Owner, row.Trusted, row.Credential = p.Tenant, p.ID(), j.MayNameThisMachine(p), ""
	return Server{row, true, unread}, nil
}

// checkServer refuses a row that p may not store: a server of another owner, a
// definition that p may not define, or an id that is reserved.
func (j *Judge) checkServer(ctx context.Context, p *junctor.Principal, row, former *junctor.Server, unread bool) error {
	if former != nil && !Owns(p, former.Owner) {
		return junctor.Errorf(junctor.CodeDenied, "the server %q is not yours: ask its owner or an admin to change it", row.ID)
	}
	if err := j.checkDefinition(p, row, former, unread); err != nil || former != nil {
		return err
	}
	return j.checkName(ctx, p, row.ID)
}

// checkDefinition refuses a definition that p may not store under any id. With
// unread, the checks that need the document are left for the second judgement.
func (j *Judge) checkDefinition(p *junctor.Principal, row, former *junctor.Server, unread bool) error {
	if err := junctor.CheckServerID(row.ID); err != nil {
		return err
	}
	if row.ID == junctor.AdhocServer {
		return junctor.Errorf(junctor.CodeInvalid, "the ID %q is reserved for calls outside registered servers: choose another", row.ID)
	}
	switch {
	case row.Mode == junctor.ModeBuiltin:
		if _, err := LiteralConnection(row.Connection); err != nil || row.URL != "" {
			return junctor.Errorf(junctor.CodeInvalid, "the server %q is built in: it has no address and no command", row.ID)
		}
		if err := row.CheckOverrides(); err != nil {
			return err
		}
	case !unread:
		if err := row.Check(); err != nil {
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
	if err := checkVouching(p, row, former); err != nil {
		return err
	}
	return j.checkConnection(p, row, former)
}

// checkName refuses an id that is reserved for the owner of a removed server. Clients and
// agents may still call that id, so a server of another owner must not take it over.
func (j *Judge) checkName(ctx context.Context, p *junctor.Principal, id string) error {
	if j.options.Reserved == nil {
		return nil
	}
	owner, until, err := j.options.Reserved(ctx, p.Tenant, id)
	if err != nil || owner == "" || p.Has(junctor.ScopeAdmin) || p.Is(owner) {
		return err
	}
	return junctor.Errorf(junctor.CodeDenied, "the server id %q is reserved until %s: a server of that id was removed, and clients may still call it; choose another id, or ask an admin",
		id, until.UTC().Format(time.RFC3339))
}

// checkConnection refuses a command or a reference that p may not define. Those
// that former has already may stay: a command only unchanged, and a reference
// only if it goes to the destination that it was entered for. Otherwise a user
// could redirect a credential that an operator entered.
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
				return junctor.Errorf(junctor.CodeOf(err), "the credential %s was entered for another address and is not sent to this one: a user who may enter the credential must change the address", reference.Text)
			}
			return err
		}
	}
	return nil
}

// sameCommand reports whether two rows run exactly the same command.
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

// Connection is a connection that was admitted: its references may be read and its command
// may be run.
type Connection struct {
	conn  junctor.Connection
	valid bool
}

// LiteralConnection judges a connection that belongs to no server: that of a delivery, or
// one that the program makes itself. It may have neither command nor reference.
func LiteralConnection(c junctor.Connection) (Connection, error) {
	if c.Transport == junctor.TransportStdio || len(c.Command) > 0 || len(c.References()) > 0 {
		return Connection{}, junctor.Errorf(junctor.CodeDenied, "commands and credentials that are read from this machine come from the operator")
	}
	return Connection{cloneConnection(c), true}, nil
}

// Value returns a copy of the connection; an empty one for the zero Connection.
func (c Connection) Value() junctor.Connection { return cloneConnection(c.conn) }

// Reference returns one of the connection's references, to be read. For any other text it
// returns the zero Reference.
func (c Connection) Reference(text string) Reference {
	if !c.valid || !slices.Contains(c.conn.References(), text) {
		return Reference{}
	}
	return Reference{text}
}

// Command returns the command of the connection; not valid if it has none.
func (c Connection) Command() Command {
	if !c.valid || c.conn.Transport != junctor.TransportStdio || len(c.conn.Command) == 0 {
		return Command{}
	}
	return Command{path: c.conn.Command[0], args: slices.Clone(c.conn.Command[1:]), dir: c.conn.Cwd}
}

// Command is a program that was admitted and may be run, with its arguments.
type Command struct {
	path string
	args []string
	dir  string
}

// Path returns the program: a path, or a name to look up; "" for the zero Command.
func (c Command) Path() string { return c.path }

// Args returns the arguments, without the program's own name.
func (c Command) Args() []string { return c.args }

// Dir returns the working directory; "" means that of this process.
func (c Command) Dir() string { return c.dir }

// WithSecrets returns the same command with the sealed arguments in the clear, as they are
// passed to the program. args are all arguments. One that differs from the admitted one in
// more than what junctor.Masked stands for there is a CodeInternal error.
func (c Command) WithSecrets(args []string) (Command, error) {
	if !slices.EqualFunc(c.args, args, fitsMask) {
		return Command{}, junctor.Errorf(junctor.CodeInternal, "the sealed words of the command are not those that were admitted")
	}
	c.args = slices.Clone(args)
	return c, nil
}

// fitsMask reports whether a word is what shown shows of it: the same, or with other text
// where shown has junctor.Masked.
func fitsMask(shown, word string) bool {
	parts := strings.Split(shown, junctor.Masked)
	if len(parts) == 1 {
		return shown == word
	}
	rest, ok := strings.CutPrefix(word, parts[0])
	if !ok {
		return false
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, last)
}

// Resolve returns the same command with the path that look finds for its program.
func (c Command) Resolve(look func(program string) (string, error)) (Command, error) {
	path, err := look(c.path)
	if err != nil {
		return Command{}, err
	}
	c.path = path
	return c, nil
}
