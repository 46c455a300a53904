package servers

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/apigen"
	"github.com/junctor-mcp/junctor/internal/declare"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// generation is a wanted generated server, with its document read.
type generation struct {
	row    junctor.Server // now including what the document defines
	made   *apigen.ImportedAPI
	got    fetchedDocument
	stored junctor.APIDocument // the stored document; empty for a new server
	before []apigen.Tool
}

// generate reads the document of a wanted server. If its URL is unchanged, it
// uses the stored document: only a re-import or polling fetches it again.
func (k *ServerKind) generate(ctx context.Context, in admin.ServerInput, former *junctor.Server) (*generation, error) {
	api := *in.Server.API
	in.Server.API, in.Server.Tenant = &api, k.p.Tenant
	if in.Server.Auth != nil {
		auth := *in.Server.Auth
		in.Server.Auth = &auth
	}
	admitted, err := k.s.Judge.Unread(ctx, k.p, in.Server, former) // judge before anything is read
	if err != nil {
		return nil, err
	}
	g := &generation{}
	if former != nil {
		if g.stored, err = k.s.o.Store.For(k.p.Tenant).Document(ctx, former.ID); err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
			return nil, err
		}
		g.before, _ = apigen.DecodeTools(g.stored.Tools) // if they cannot be decoded, they are made again
		if in.Document == "" && api.DocumentURL == former.API.DocumentURL {
			in.Document = string(g.stored.Text)
		}
	}
	if g.made, g.got, err = k.s.readAPI(ctx, admitted, definitionInput{document: in.Document, own: k.p.Issuer == junctor.IssuerLocal, credentials: in.Credentials}, apigen.NamesByKey(g.before), ""); err != nil {
		return nil, err
	}
	if string(g.got.text) == string(g.stored.Text) {
		g.got.etag = g.stored.ETag
	}
	g.row = admitted.Row()
	if err := checkUsable(g.made, g.row.API, in.AllowEmpty); err != nil {
		return nil, orAllowEmpty(err)
	}
	return g, k.s.completeRow(&g.row, g.made)
}

// FindFault returns why a server cannot exist, as far as its document shows.
// The document is read once here, for all later steps.
func (k *ServerKind) FindFault(ctx context.Context, id string) error {
	want := k.find(id)
	var former *junctor.Server
	switch row, err := k.s.VisibleServer(ctx, k.p, id); {
	case err == nil && row.Mode == junctor.ModeBuiltin:
		return nil // Diff reports that for every kind
	case err == nil && row.Mode != cmp.Or(want.Server.Mode, junctor.ModeBYO):
		return junctor.Errorf(junctor.CodeConflict, "the server %q is %s, and the change requires one that is %s: remove it first, or choose another id", id, row.Mode, want.Server.Mode)
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

// differs lists what another document changes, tool by tool.
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

// digest returns a digest of a document. Trailing white space does not count.
func digest(text []byte) string {
	sum := sha256.Sum256([]byte(strings.TrimSpace(string(text))))
	return "sha256:" + hex.EncodeToString(sum[:6])
}

// flatAPI adds the members of an API to those of its server. Unless files is
// set, a document in a file counts as its text, because only the settings file
// that names the path can mean it.
func flatAPI(out map[string]string, api *junctor.API, files bool) {
	if api == nil {
		return
	}
	out["base_url"] = out["url"]
	delete(out, "url")
	maps.Copy(out, declare.Flatten(api.APISettings))
	if !files && api.FromFile() {
		delete(out, "document_url")
	}
	out["auth.key_in"], out["auth.key_name"] = api.KeyIn, api.KeyName
	out["auth.login_url"], out["auth.login_token_url"] = api.LoginURL, api.TokenURL
}

// make stores a generated server with its document, and attaches it.
func (k *ServerKind) make(ctx context.Context, g *generation, row junctor.Server, set upstreamauth.LiteralSet, former *junctor.Server) error {
	admitted, err := k.s.Judge.Server(ctx, k.p, row, former) // now including what the document defines
	if err != nil {
		return err
	}
	if k.file == "" { // the settings file may declare what its document has lost
		if err := checkOverrideNames(&row, former, importedNames(g.made)); err != nil {
			return err
		}
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
	if err := k.s.storeDocument(ctx, &stored, g.made, g.got); err != nil {
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
		k.s.detachServer(stored.Tenant, stored.ID)
		return nil
	}
	return k.s.attachGenerated(ctx, written)
}
