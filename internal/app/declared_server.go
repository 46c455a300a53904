package app

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/apigen"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/credential"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// serverKind makes an instance have servers.
type serverKind struct {
	s      *servers
	p      *junctor.Principal // who wants them
	want   []admin.WantedServer
	file   string // that declares them; "" where people want them
	unseen bool   // they are stored without being reached first
	still  bool   // nothing is attached yet: whoever attaches all does it

	ready map[string]*generation // those that are made of documents, once they are read
}

// declaredServers are those of a file, for the operator who wrote it.
func (a *App) declaredServers(cfg *config.Config) *serverKind {
	k := &serverKind{s: a.servers, p: a.identity.Local(), file: cfg.File(), unseen: true}
	for _, d := range cfg.Declared().Servers {
		k.want = append(k.want, admin.WantedServer{ServerInput: admin.DeclaredInput(d), Where: d.Where})
	}
	return k
}

func (k *serverKind) noun() string { return "server" }

func (k *serverKind) wanted() []wish {
	out := make([]wish, len(k.want))
	for i, w := range k.want {
		out[i] = wish{w.Server.ID, w.Where}
	}
	return out
}

func (k *serverKind) find(id string) admin.WantedServer {
	i := slices.IndexFunc(k.want, func(w admin.WantedServer) bool { return w.Server.ID == id })
	return k.want[i]
}

// starts is the command that a change would have run for the first time.
func (k *serverKind) starts(ch *admin.Change) []string {
	other := slices.ContainsFunc(ch.Fields, func(f admin.FieldChange) bool { return f.Field == "command" })
	if ch.Kind != k.noun() || ch.Error != "" || ch.Action != admin.ActionAdd && !other {
		return nil
	}
	return k.find(ch.ID).Server.Command
}

func (k *serverKind) present(ctx context.Context) (map[string]holding, error) {
	rows, err := k.s.app.store.For(k.p.Tenant).Servers(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]holding{}
	for i := range rows {
		row := &rows[i]
		if row.Mode == junctor.ModeFound || !k.s.sees(k.p, row) {
			continue // adding it will say that the id is taken
		}
		out[row.ID] = holding{declared: row.Declared, fixed: row.Mode == junctor.ModeBuiltin, foreign: !admission.Owns(k.p, row.Owner)}
	}
	return out, nil
}

func (k *serverKind) diff(ctx context.Context, id string) ([]admin.FieldChange, error) {
	former, err := k.s.mine(ctx, k.p, id)
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
	out := restrictChanges(k.p, &former, &want.Server, differences(from, to))
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
func (k *serverKind) secrets(ctx context.Context, former *junctor.Server, want admin.WantedServer) ([]admin.FieldChange, error) {
	if len(want.Credentials) == 0 {
		return nil, nil
	}
	stored, err := k.s.desk.Stored(*former)(ctx)
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
		"believe_annotations": yes(c.BelieveAnnotations), "private": yes(row.Private), "disabled": yes(row.State == junctor.StateInactive),
	}
	if c.TimeoutMS != 0 {
		out["timeout_ms"] = strconv.Itoa(c.TimeoutMS)
	}
	if c.MaxSessions != 0 {
		out["max_sessions"] = strconv.Itoa(c.MaxSessions)
	}
	if len(c.Command) > 0 {
		out["command"] = compact(c.Command)
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
		out["overrides."+name] = compact(o)
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

func yes(b bool) string {
	if b {
		return "true"
	}
	return ""
}

func compact(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(text)
}

func union(a, b map[string]string) map[string]string {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// put stores a server as it is wanted. Where people want it, it is reached
// first; what a file declares is tried until it answers.
func (k *serverKind) put(ctx context.Context, id string) error {
	want := k.find(id)
	row := want.Server
	g := k.ready[id]
	if g != nil {
		row = g.row
	}
	row.Tenant, row.Mode, row.Declared = k.p.Tenant, cmp.Or(row.Mode, junctor.ModeBYO), k.file
	var former *junctor.Server
	switch had, err := k.s.own(ctx, k.p, id); {
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
func (k *serverKind) credentials(ctx context.Context, row *junctor.Server, entered credential.Set, former *junctor.Server) (credential.Set, error) {
	if !slices.ContainsFunc(credential.Masks(row.Connection), func(place string) bool { return entered[place].IsZero() }) {
		return entered, nil
	}
	if former == nil {
		former = &junctor.Server{Tenant: row.Tenant, ID: row.ID}
	}
	return k.s.kept(ctx, row, entered, former)
}

func (k *serverKind) place(ctx context.Context, row junctor.Server, set credential.Set, former *junctor.Server) error {
	admitted, err := k.s.judge.Server(ctx, k.p, row, former)
	if err != nil {
		return err
	}
	same := former != nil && sameConnection(&row.Connection, &former.Connection) && admitted.Row().Trusted == former.Trusted && k.sameSecrets(ctx, former, set)
	var up *reached
	if !same && !k.unseen && row.State != junctor.StateInactive {
		if up, err = k.s.probe(ctx, admitted, set); err != nil {
			return err
		}
	}
	defer k.s.hold(k.p.Tenant, row.ID)()
	var written admission.Server
	if same {
		written, err = k.s.app.store.For(k.p.Tenant).By(k.p.ID()).UpdateServer(ctx, admitted.Sealed(former.Credential))
	} else {
		written, err = k.s.store(ctx, k.p, admitted, set, former)
	}
	stored := written.Row()
	if err == nil && former != nil {
		k.s.renamed(ctx, former, &stored)
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
		k.s.settle(ctx, written)
		return nil
	}
	return k.s.bring(ctx, written, up)
}

func (k *serverKind) sameSecrets(ctx context.Context, former *junctor.Server, set credential.Set) bool {
	stored, err := k.s.desk.Stored(*former)(ctx)
	return err == nil && maps.EqualFunc(stored, set, func(a, b seal.Secret) bool { return a.Equal(b.Reveal()) })
}

func (k *serverKind) remove(ctx context.Context, id string) error {
	return k.s.takeAway(ctx, k.p.Tenant, id)
}

// CheckDeclared finds what is wrong with what a file declares that reading it
// cannot tell: references that can never be read, and rules, templates and times
// that are none.
func CheckDeclared(cfg *config.Config, dataDir string) (problems []config.Problem) {
	reader := credential.Reader{DataDir: dataDir}
	for _, s := range cfg.Declared().Servers {
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
	d := cfg.Declared()
	return append(problems, checkDeclaredEvents(&d, reader)...)
}
