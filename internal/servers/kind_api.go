package servers

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/apigen"
	"github.com/junctor-mcp/junctor/internal/credential"
	"github.com/junctor-mcp/junctor/internal/declare"
)

// generation is a server that is made of a document, as it is wanted.
type generation struct {
	row    junctor.Server // with what the document says
	made   *apigen.Made
	got    fetched
	stored junctor.APIDocument // what it is made of now; nothing where it is new
	before []apigen.Tool
}

// generate reads the document of a server that is wanted. One at an address that
// the server has already is the one that is stored: whether it has changed there
// is asked when it is looked at, or by people.
func (k *ServerKind) generate(ctx context.Context, in admin.ServerInput, former *junctor.Server) (*generation, error) {
	api := *in.Server.API
	in.Server.API, in.Server.Tenant = &api, k.p.Tenant
	if in.Server.Auth != nil {
		auth := *in.Server.Auth
		in.Server.Auth = &auth
	}
	admitted, err := k.s.Judge.Unread(ctx, k.p, in.Server, former) // before anything is read for it
	if err != nil {
		return nil, err
	}
	g := &generation{}
	if former != nil {
		if g.stored, err = k.s.o.Store.For(k.p.Tenant).Document(ctx, former.ID); err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
			return nil, err
		}
		g.before, _ = apigen.Decode(g.stored.Tools) // without them, what is stored is made anew
		if in.Document == "" && api.DocumentURL == former.API.DocumentURL {
			in.Document = string(g.stored.Text)
		}
	}
	if g.made, g.got, err = k.s.read(ctx, admitted, described{document: in.Document, own: k.p.Issuer == junctor.IssuerLocal, credentials: in.Credentials}, apigen.Names(g.before), ""); err != nil {
		return nil, err
	}
	if string(g.got.text) == string(g.stored.Text) {
		g.got.etag = g.stored.ETag
	}
	g.row = admitted.Row()
	if err := checkUsable(g.made, g.row.API, in.AllowEmpty); err != nil {
		return nil, orAllowEmpty(err)
	}
	return g, k.s.settleRow(&g.row, g.made)
}

// FindFault says why a server cannot be had, as far as its document tells: it is
// read here, once for all that is asked about it.
func (k *ServerKind) FindFault(ctx context.Context, id string) error {
	want := k.find(id)
	var former *junctor.Server
	switch row, err := k.s.VisibleServer(ctx, k.p, id); {
	case err == nil && row.Mode == junctor.ModeBuiltin:
		return nil // which is said of every kind
	case err == nil && row.Mode != cmp.Or(want.Server.Mode, junctor.ModeBYO):
		return junctor.Errorf(junctor.CodeConflict, "the server %q is %s, and one that is %s is wanted: remove it first, or choose another id", id, row.Mode, want.Server.Mode)
	case err == nil:
		former = &row
	case junctor.CodeOf(err) != junctor.CodeNotFound:
		return err
	}
	if want.Server.API == nil {
		return nil
	}
	g, err := k.generate(ctx, want.ServerInput, former)
	if err != nil {
		return junctor.Errorf(junctor.CodeOf(err), "servers.%s: %s", id, junctor.AsError(err).Message)
	}
	if k.ready == nil {
		k.ready = map[string]*generation{}
	}
	k.ready[id] = g
	return nil
}

// differs says what another document changes: its tools, one by one.
func (g *generation) differs() []admin.FieldChange {
	was, now := digest(g.stored.Text), digest(g.got.text)
	if was == now {
		return nil
	}
	out := []admin.FieldChange{{Field: "document", From: was, To: now}}
	for _, c := range apigen.Compare(g.before, g.made.Tools) {
		out = append(out, admin.FieldChange{Field: "tools." + c.Tool, To: strings.TrimSpace(c.Kind + " " + strings.Join(c.What, ", "))})
	}
	return out
}

// digest tells documents apart; how they end does not matter.
func digest(text []byte) string {
	sum := sha256.Sum256([]byte(strings.TrimSpace(string(text))))
	return "sha256:" + hex.EncodeToString(sum[:6])
}

// flatAPI puts what somebody can want of an API into what they can want of its
// server. The file of a document is its text to all but the file that names it.
func flatAPI(out map[string]string, api *junctor.API, files bool) {
	if api == nil {
		return
	}
	out["base_url"] = out["url"]
	delete(out, "url")
	if files || !api.FromFile() {
		out["document_url"] = api.DocumentURL
	}
	out["format"], out["exposure"], out["mutations"], out["auth.key_in"], out["auth.key_name"] = api.Format, string(api.Exposure), api.Mutations, api.KeyIn, api.KeyName
	out["auth.login_url"], out["auth.login_token_url"] = api.LoginURL, api.TokenURL
	if len(api.Include) > 0 {
		out["include"] = declare.JSONText(api.Include)
	}
	if api.Rate != 0 {
		out["rate"] = declare.JSONText(api.Rate)
	}
	if api.PollMinutes != 0 {
		out["poll_minutes"] = strconv.Itoa(api.PollMinutes)
	}
}

// make stores a server with its document, and attaches it.
func (k *ServerKind) make(ctx context.Context, g *generation, row junctor.Server, set credential.Set, former *junctor.Server) error {
	admitted, err := k.s.Judge.Server(ctx, k.p, row, former) // with what the document says
	if err != nil {
		return err
	}
	if former != nil && admission.Vouches(&row) && digest(g.stored.Text) != digest(g.got.text) {
		if err := k.s.Judge.Replacement(ctx, k.p, former); err != nil {
			return err
		}
	}
	defer k.s.lockServer(k.p.Tenant, row.ID)()
	written, err := k.s.storeServer(ctx, k.p, admitted, set, former)
	if err != nil {
		return err
	}
	stored := written.Row()
	if err := k.s.keepDocument(ctx, &stored, g.made, g.got); err != nil {
		if former == nil {
			_ = k.s.removeLocked(ctx, stored.Tenant, stored.ID)
		}
		return err
	}
	if former != nil {
		k.s.moveRenamedTags(ctx, former, &stored)
	}
	switch {
	case k.still:
		return nil
	case stored.State == junctor.StateInactive:
		k.s.detach(stored.Tenant, stored.ID)
		return nil
	}
	return k.s.attachGenerated(ctx, written)
}
