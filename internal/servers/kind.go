package servers

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/credential"
	"github.com/junctor-mcp/junctor/internal/declare"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// ServerKind makes an instance have servers.
type ServerKind struct {
	s      *Registry
	p      *junctor.Principal // who wants them
	want   []admin.WantedServer
	file   string // that declares them; "" where people want them
	unseen bool   // they are stored without being reached first
	still  bool   // nothing is attached yet: whoever attaches all does it

	ready map[string]*generation // those that are made of documents, once they are read
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

// CommandStarted is the command that a change would have run for the first time.
func (k *ServerKind) CommandStarted(ch *admin.Change) []string {
	other := slices.ContainsFunc(ch.Fields, func(f admin.FieldChange) bool { return f.Field == "command" })
	if ch.Kind != k.Noun() || ch.Error != "" || ch.Action != admin.ActionAdd && !other {
		return nil
	}
	return k.find(ch.ID).Server.Command
}

// Present implements declare.Kind. Discovered servers and those that the caller may not know of are
// left out: adding one says that the id is taken.
func (k *ServerKind) Present(ctx context.Context) (map[string]declare.Holding, error) {
	rows, err := k.s.o.Store.For(k.p.Tenant).Servers(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]declare.Holding{}
	for i := range rows {
		row := &rows[i]
		if row.Mode == junctor.ModeFound || !k.s.isVisible(k.p, row) {
			continue // adding it will say that the id is taken
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
		// Which members differ would tell what they are.
		return []admin.FieldChange{{Field: "owner", From: former.Owner, To: k.p.ID()}}, nil
	}
	want := k.find(id)
	want.Server.Command = credential.KeepCommand(want.Server.Command, former.Command)
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
	stored, err := k.s.Auth.Stored(*former)(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, junctor.AsError(ctx.Err())
		}
		stored = credential.Set{} // what cannot be read has to be stored again
	}
	had := credential.Masks(former.Connection)
	var out []admin.FieldChange
	for _, place := range slices.Sorted(maps.Keys(want.Credentials)) {
		if slices.Contains(had, place) && !stored[place].Equal(want.Credentials[place].Reveal()) {
			out = append(out, admin.FieldChange{Field: fieldOf(place), From: junctor.Masked, To: junctor.Masked + " (another)"})
		}
	}
	return out, nil
}

// fieldOf is the member of a server where a credential stands.
func fieldOf(place string) string {
	switch place {
	case "auth":
		return "auth.secret"
	case "query":
		return "url"
	}
	return strings.ReplaceAll(place, "/", ".")
}

// flat is what somebody can want of a server, by member, without credentials.
func flat(row *junctor.Server) map[string]string {
	c := &row.Connection
	out := map[string]string{
		"title": row.Title, "transport": string(c.Transport), "url": c.URL, "cwd": c.Cwd, "credentials": string(c.Credentials), "isolation": string(c.Isolation), "views": string(c.Views), "home": string(c.Home),
		"believe_annotations": declare.BoolText(c.BelieveAnnotations), "private": declare.BoolText(row.Private), "disabled": declare.BoolText(row.State == junctor.StateInactive),
	}
	if c.TimeoutMS != 0 {
		out["timeout_ms"] = strconv.Itoa(c.TimeoutMS)
	}
	if c.MaxSessions != 0 {
		out["max_sessions"] = strconv.Itoa(c.MaxSessions)
	}
	if len(c.Command) > 0 {
		out["command"] = declare.JSONText(c.Command)
	}
	if a := c.Auth; a != nil && a.Type != junctor.AuthNone {
		out["auth.type"], out["auth.secret"], out["auth.header"], out["auth.username"] = string(a.Type), a.Secret, a.Header, a.Username
		out["auth.token_url"], out["auth.client_id"], out["auth.scope"], out["auth.issuer"] = a.TokenURL, a.ClientID, a.Scope, a.Issuer
		out["auth.client_auth"] = string(a.ClientAuth)
		out["auth.grant"], out["auth.subject"], out["auth.subject_type"], out["auth.audience"] = string(a.Grant), a.Subject, string(a.SubjectType), a.Audience
		out["auth.idp_token_url"], out["auth.idp_client_id"], out["auth.idp_secret"] = a.IDPTokenURL, a.IDPClientID, a.IDPSecret
	}
	for name, text := range c.Headers {
		out["headers."+name] = quoted(text)
	}
	for name, text := range c.Env {
		out["env."+name] = quoted(text)
	}
	for name, o := range c.Overrides {
		out["overrides."+name] = declare.JSONText(o)
	}
	return out
}

// quoted tells an empty text from none.
func quoted(text string) string {
	if text == "" {
		return `""`
	}
	return text
}

// Put stores a server as it is wanted. Where people want it, it is reached
// first; what a file declares is tried until it answers.
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
		row.Command = credential.KeepCommand(row.Command, had.Command)
		row.Owner, row.UpdatedAt = had.Owner, had.UpdatedAt
		if had.Declared != "" && k.file == "" {
			row.Owner = k.p.ID() // its file is not read any more
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

// credentials are those that are wanted, and those that a mask says to keep.
func (k *ServerKind) credentials(ctx context.Context, row *junctor.Server, entered credential.Set, former *junctor.Server) (credential.Set, error) {
	if !slices.ContainsFunc(credential.Masks(row.Connection), func(place string) bool { return entered[place].IsZero() }) {
		return entered, nil
	}
	if former == nil {
		former = &junctor.Server{Tenant: row.Tenant, ID: row.ID}
	}
	return k.s.mergeCredentials(ctx, row, entered, former)
}

func (k *ServerKind) place(ctx context.Context, row junctor.Server, set credential.Set, former *junctor.Server) error {
	admitted, err := k.s.Judge.Server(ctx, k.p, row, former)
	if err != nil {
		return err
	}
	same := former != nil && sameConnection(&row.Connection, &former.Connection) && admitted.Row().Trusted == former.Trusted && k.sameSecrets(ctx, former, set)
	var up *authenticatedRoute
	if !same && !k.unseen && row.State != junctor.StateInactive {
		if up, err = k.s.probe(ctx, admitted, set); err != nil {
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
		k.s.detach(stored.Tenant, stored.ID)
		return nil
	case up == nil && !same:
		k.s.reconnect(ctx, written)
		return nil
	}
	return k.s.attachUpstream(ctx, written, up)
}

func (k *ServerKind) sameSecrets(ctx context.Context, former *junctor.Server, set credential.Set) bool {
	stored, err := k.s.Auth.Stored(*former)(ctx)
	return err == nil && maps.EqualFunc(stored, set, func(a, b seal.Secret) bool { return a.Equal(b.Reveal()) })
}

// Remove implements declare.Kind.
func (k *ServerKind) Remove(ctx context.Context, id string) error {
	return k.s.DeleteServer(ctx, k.p.Tenant, id)
}

// CheckApply refuses a server that p may not bring before anything is read, compared
// or run for any of them. One of another's is told of with its own step.
func (s *Registry) CheckApply(ctx context.Context, p *junctor.Principal, row junctor.Server) error {
	judge := s.Judge.Server
	if row.Mode == junctor.ModeGenerated {
		judge = s.Judge.Unread
	}
	former, err := s.o.Store.For(p.Tenant).Server(ctx, row.ID)
	switch {
	case junctor.CodeOf(err) == junctor.CodeNotFound:
		_, err = judge(ctx, p, row, nil)
	case err == nil && former.Mode != junctor.ModeBuiltin && admission.Owns(p, former.Owner):
		row.Command = credential.KeepCommand(row.Command, former.Command)
		_, err = judge(ctx, p, row, &former)
	case err == nil:
		_, err = s.Judge.Preview(ctx, p, row)
	}
	return err
}
