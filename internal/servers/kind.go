package servers

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/apigen"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/declare"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// ServerKind implements declare.Kind for servers.
type ServerKind struct {
	s      *Registry
	p      *junctor.Principal // the principal that applies them
	want   []admin.WantedServer
	file   string // the settings file that declares them; "" if a user applies them
	unseen bool   // store without a probe
	still  bool   // store without attaching, because AttachAll is still to come

	ready map[string]*generation // generated servers whose documents have been read
}

// NewKind gives the servers that p wants, for a comparison with those that exist. file is
// the settings file that declares them; "" if a person wants them. unseen stores them
// without reaching them first. starting stores them and attaches nothing, because
// AttachAll is still to come.
func (s *Registry) NewKind(p *junctor.Principal, want []admin.WantedServer, file string, unseen, starting bool) *ServerKind {
	return &ServerKind{s: s, p: p, want: want, file: file, unseen: unseen, still: starting}
}

// Noun implements declare.Kind.
func (k *ServerKind) Noun() string { return "server" }

// Wanted implements declare.Kind.
func (k *ServerKind) Wanted() []declare.Wish {
	out := make([]declare.Wish, len(k.want))
	for i, w := range k.want {
		out[i] = declare.Wish{ID: w.Server.ID, Where: w.Where}
	}
	return out
}

func (k *ServerKind) find(id string) admin.WantedServer {
	i := slices.IndexFunc(k.want, func(w admin.WantedServer) bool { return w.Server.ID == id })
	return k.want[i]
}

// CommandStarted returns the command that a change would run for the first
// time.
func (k *ServerKind) CommandStarted(ch *admin.Change) []string {
	other := slices.ContainsFunc(ch.Fields, func(f admin.FieldChange) bool { return f.Field == "command" })
	if ch.Kind != k.Noun() || ch.Error != "" || ch.Action != admin.ActionAdd && !other {
		return nil
	}
	return k.find(ch.ID).Server.Command
}

// Present implements declare.Kind. Discovered servers and those that the caller
// may not know of are left out: adding one fails because the id is taken.
func (k *ServerKind) Present(ctx context.Context) (map[string]declare.Holding, error) {
	rows, err := k.s.o.Store.For(k.p.Tenant).Servers(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]declare.Holding{}
	for i := range rows {
		row := &rows[i]
		if row.Mode == junctor.ModeDiscovered || !k.s.isVisible(k.p, row) {
			continue // adding it fails because the id is taken
		}
		out[row.ID] = declare.Holding{Declared: row.Declared, BuiltIn: row.Mode == junctor.ModeBuiltin, Foreign: !admission.Owns(k.p, row.Owner)}
	}
	return out, nil
}

// Diff implements declare.Kind.
func (k *ServerKind) Diff(ctx context.Context, id string) ([]admin.FieldChange, error) {
	former, err := k.s.VisibleServer(ctx, k.p, id)
	if err != nil {
		return nil, err
	}
	if !admission.Owns(k.p, former.Owner) {
		// Listing the differing members would reveal their values.
		return []admin.FieldChange{{Field: "owner", From: former.Owner, To: k.p.ID()}}, nil
	}
	want := k.find(id)
	from, to := flat(&former), flat(&want.Server)
	g := k.ready[id]
	if g != nil {
		to = flat(&g.row)
		flatAPI(from, former.API, k.file != "")
		flatAPI(to, g.row.API, k.file != "")
	}
	if k.file != "" {
		from["declared"], to["declared"] = former.Declared, k.file
	}
	out := restrictChanges(k.p, &former, &want.Server, declare.Differences(from, to))
	if g != nil {
		out = append(out, g.differs()...)
	}
	others, err := k.secrets(ctx, &former, want)
	if err != nil {
		return nil, err
	}
	return append(out, others...), nil
}

// secrets lists the credentials that are masked on both sides and differ.
func (k *ServerKind) secrets(ctx context.Context, former *junctor.Server, want admin.WantedServer) ([]admin.FieldChange, error) {
	if len(want.Credentials) == 0 {
		return nil, nil
	}
	stored, err := k.s.Auth.StoredLiterals(*former)(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, junctor.AsError(ctx.Err())
		}
		stored = upstreamauth.LiteralSet{} // unreadable credentials must be stored again
	}
	had := upstreamauth.MaskedPlaces(former.Connection)
	var out []admin.FieldChange
	for _, place := range slices.Sorted(maps.Keys(want.Credentials)) {
		if !slices.Contains(had, place) || stored[place].Equal(want.Credentials[place].Reveal()) {
			continue
		}
		if field := fieldOf(place); !slices.ContainsFunc(out, func(f admin.FieldChange) bool { return f.Field == field }) {
			out = append(out, admin.FieldChange{Field: field, From: junctor.Masked, To: junctor.Masked + " (another)"})
		}
	}
	return out, nil
}

// fieldOf returns the member of a server that a place of credentials belongs
// to.
func fieldOf(place string) string {
	switch {
	case isPlaceOfWord(place):
		return "command"
	case place == "auth":
		return "auth.secret"
	case place == "query":
		return "url"
	}
	return strings.ReplaceAll(place, "/", ".")
}

// flat returns the members of a server that a definition can set, without
// credentials.
func flat(row *junctor.Server) map[string]string {
	out := declare.Flatten(row.Connection)
	out["title"], out["private"], out["disabled"] = row.Title, declare.BoolText(row.Private), declare.BoolText(row.State == junctor.StateInactive)
	delete(out, "auth")
	if a := row.Auth; a != nil && a.Type != junctor.AuthNone {
		for name, text := range declare.Flatten(a) {
			out["auth."+name] = text
		}
	}
	return out
}

// Put stores a wanted server. If a user wants it, it is probed first; a server
// in the settings file is stored and tried until it answers.
func (k *ServerKind) Put(ctx context.Context, id string) error {
	want := k.find(id)
	row := want.Server
	g := k.ready[id]
	if g != nil {
		row = g.row
	}
	row.Tenant, row.Mode, row.Declared = k.p.Tenant, cmp.Or(row.Mode, junctor.ModeBYO), k.file
	var former *junctor.Server
	switch had, err := k.s.OwnedServer(ctx, k.p, id); {
	case err == nil:
		former = &had
		row.Owner, row.UpdatedAt = had.Owner, had.UpdatedAt
		if had.Declared != "" && k.file == "" {
			row.Owner = k.p.ID() // no settings file declares it any more
		}
	case junctor.CodeOf(err) != junctor.CodeNotFound:
		return err
	}
	if row.State != junctor.StateInactive {
		row.State = junctor.StateActive
	}
	set, err := k.credentials(ctx, &row, want.Credentials, former)
	if err != nil {
		return err
	}
	if g != nil {
		return k.make(ctx, g, row, set, former)
	}
	return k.place(ctx, row, set, former)
}

// credentials returns the entered credentials and those that Masked keeps.
func (k *ServerKind) credentials(ctx context.Context, row *junctor.Server, entered upstreamauth.LiteralSet, former *junctor.Server) (upstreamauth.LiteralSet, error) {
	if !slices.ContainsFunc(upstreamauth.MaskedPlaces(row.Connection), func(place string) bool { return entered[place].IsZero() }) {
		return entered, upstreamauth.CheckCommand(row.Command, entered)
	}
	if former == nil {
		former = &junctor.Server{Tenant: row.Tenant, ID: row.ID}
	}
	return k.s.mergeCredentials(ctx, row, entered, former)
}

// place stores a wanted upstream server with its credentials, in place of
// former unless that is nil, and attaches it unless AttachAll is still to come.
func (k *ServerKind) place(ctx context.Context, row junctor.Server, set upstreamauth.LiteralSet, former *junctor.Server) error {
	admitted, err := k.s.judgeServer(ctx, k.p, row, former, set)
	if err != nil {
		return err
	}
	same := former != nil && sameConnection(&row.Connection, &former.Connection) && admitted.Row().Trusted == former.Trusted && k.sameSecrets(ctx, former, set)
	var up *authenticatedRoute
	if !same && !k.unseen && row.State != junctor.StateInactive {
		if up, err = k.s.probeRow(ctx, admitted, set); err != nil {
			return err
		}
		if err := checkOverridesAt(ctx, &row, former, up); err != nil {
			up.Close()
			return err
		}
	}
	defer k.s.lockServer(k.p.Tenant, row.ID)()
	var written admission.Server
	if same {
		written, err = k.s.o.Store.For(k.p.Tenant).By(k.p.ID()).UpdateServer(ctx, admitted.Sealed(former.Credential))
	} else {
		written, err = k.s.storeServer(ctx, k.p, admitted, set, former)
	}
	stored := written.Row()
	if err == nil && former != nil {
		k.s.moveRenamedTags(ctx, former, &stored)
	}
	switch {
	case err != nil:
		if up != nil {
			up.Close()
		}
		return err
	case k.still:
		return nil
	case stored.State == junctor.StateInactive:
		k.s.detachServer(stored.Tenant, stored.ID)
		return nil
	case up == nil && !same:
		k.s.reconnect(ctx, written)
		return nil
	}
	if err := k.s.attachUpstream(ctx, written, up); err != nil {
		return err
	}
	if up != nil {
		k.s.noteTest(serverKey{stored.Tenant, stored.ID}, &junctor.Probe{}) // it has just answered
	}
	return nil
}

func (k *ServerKind) sameSecrets(ctx context.Context, former *junctor.Server, set upstreamauth.LiteralSet) bool {
	stored, err := k.s.Auth.StoredLiterals(*former)(ctx)
	return err == nil && maps.EqualFunc(stored, set, func(a, b seal.Secret) bool { return a.Equal(b.Reveal()) })
}

// Remove implements declare.Kind.
func (k *ServerKind) Remove(ctx context.Context, id string) error {
	return k.s.DeleteServer(ctx, k.p.Tenant, id)
}

// CheckApply refuses a server that p may not define before anything is read,
// compared or run for any of the servers. A server of another owner is reported
// by its own step.
func (s *Registry) CheckApply(ctx context.Context, p *junctor.Principal, want admin.WantedServer) error {
	row := want.Server
	judge := s.Judge.Server
	if row.Mode == junctor.ModeGenerated {
		judge = s.Judge.Unread
	}
	former, err := s.o.Store.For(p.Tenant).Server(ctx, row.ID)
	switch {
	case junctor.CodeOf(err) == junctor.CodeNotFound:
		if _, err = judge(ctx, p, row, nil); err == nil {
			err = upstreamauth.CheckCommand(row.Command, want.Credentials)
		}
	case err == nil && former.Mode != junctor.ModeBuiltin && admission.Owns(p, former.Owner):
		if _, err = judge(ctx, p, row, &former); err == nil {
			err = upstreamauth.CheckKeptCommand(row.Command, former.Command, want.Credentials)
		}
	case err == nil:
		_, err = s.Judge.Preview(ctx, p, row)
	}
	return err
}

// CheckDeclared returns the problems of the servers of a settings file that reading it
// cannot find: filters that select nothing, and references that can never be read.
func CheckDeclared(d *config.Declared, reader upstreamauth.ReferenceReader) (problems []config.Problem) {
	for _, s := range d.Servers {
		if s.API != nil {
			if _, err := apigen.NewFilter(s.API); err != nil {
				problems = append(problems, config.Problem{Where: s.Where, Message: "servers." + s.ID + ": " + junctor.AsError(err).Message})
			}
		}
		for _, ref := range s.Connection().References() {
			if err := reader.Check(ref); err != nil {
				problems = append(problems, config.Problem{Where: s.Where, Message: "servers." + s.ID + ": " + junctor.AsError(err).Message})
			}
		}
	}
	return problems
}
