package servers

import (
	"cmp"
	"context"
	"maps"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/apigen"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// ownGenerated returns the row of a generated server that the principal may
// change.
func (s *Registry) ownGenerated(ctx context.Context, p *junctor.Principal, id string) (junctor.Server, error) {
	row, err := s.OwnedServer(ctx, p, id)
	if err == nil && row.Mode != junctor.ModeGenerated {
		err = junctor.Errorf(junctor.CodeInvalid, "the server %q is %s: only generated servers have a document", id, row.Mode)
	}
	return row, err
}

// Document returns the document that a server was made from.
func (s *Registry) Document(ctx context.Context, p *junctor.Principal, id string) (junctor.APIDocument, error) {
	if _, err := s.ownGenerated(ctx, p, id); err != nil {
		return junctor.APIDocument{}, err
	}
	return s.o.Store.For(p.Tenant).Document(ctx, id)
}

// ImportDocument makes the tools of a server again from its document. Names and
// edits of users are kept, because tools are matched by method and path.
func (s *Registry) ImportDocument(ctx context.Context, p *junctor.Principal, id string, in admin.Import) (admin.Imported, error) {
	former, err := s.ownGenerated(ctx, p, id)
	if err != nil {
		return admin.Imported{}, err
	}
	if err := s.o.CheckNotDeclared("server", id, former.Declared); err != nil && !in.DryRun {
		return admin.Imported{}, err
	}
	if in.Document != "" || in.DocumentURL != "" && in.DocumentURL != former.API.DocumentURL {
		if err := s.Judge.Replacement(ctx, p, &former); err != nil {
			return admin.Imported{}, err
		}
	}
	judge := func(row junctor.Server) (admission.Server, error) { return s.Judge.Server(ctx, p, row, &former) }
	out, _, err := s.reimport(ctx, judge, former, in, "")
	return out, err
}

// reimport returns the result and the document that it read. A document that
// still has the given etag is not read. judge judges the row for the caller.
func (s *Registry) reimport(ctx context.Context, judge func(junctor.Server) (admission.Server, error), former junctor.Server, in admin.Import, etag string) (out admin.Imported, got fetchedDocument, err error) {
	rows := s.o.Store.For(former.Tenant)
	stored, err := rows.Document(ctx, former.ID)
	if err != nil {
		return out, got, err
	}
	before, err := apigen.DecodeTools(stored.Tools)
	if err != nil {
		return out, got, err
	}
	row, api := former, *former.API
	row.API = &api
	api.DocumentURL = cmp.Or(in.DocumentURL, api.DocumentURL)
	if in.Document == "" && api.DocumentURL == "" {
		return out, got, junctor.Errorf(junctor.CodeInvalid, "the document of the server %q was stored as text, not as a URL: give the document again", former.ID)
	}
	admitted, err := judge(row)
	if err != nil {
		return out, got, err
	}
	made, got, err := s.readAPI(ctx, admitted, definitionInput{document: in.Document}, apigen.NamesByKey(before), etag)
	if err != nil || got.same {
		return out, got, err
	}
	if err := checkUsable(made, row.API, in.AllowEmpty); err != nil && !in.DryRun {
		return out, got, orAllowEmpty(err)
	}
	if out.APIPreview, err = s.previewAPI(made, &row); err != nil {
		return out, got, err
	}
	out.Changes = apigen.Compare(before, made.Tools)
	breaks := slices.ContainsFunc(out.Changes, func(c junctor.APIChange) bool { return c.Breaking })
	if in.DryRun || breaks && !in.AcceptBreaking {
		return out, got, nil
	}
	api.Title, api.Version = made.Document.Title, made.Document.APIVersion
	if admitted, err = judge(row); err != nil {
		return out, got, err
	}
	defer s.lockServer(former.Tenant, former.ID)()
	if admitted, err = rows.UpdateServer(ctx, admitted); err != nil {
		return out, got, err
	}
	row = admitted.Row()
	if err := s.storeDocument(ctx, &row, made, got); err != nil {
		return out, got, err
	}
	out.Applied = true
	if row.State == junctor.StateInactive {
		return out, got, nil
	}
	return out, got, s.attachGenerated(ctx, admitted)
}

// ValidateServer reads the document of a server again and returns proposals to
// improve it.
func (s *Registry) ValidateServer(ctx context.Context, p *junctor.Principal, id string) (junctor.APIPreview, error) {
	if _, err := s.ownGenerated(ctx, p, id); err != nil {
		return junctor.APIPreview{}, err
	}
	admitted, err := s.o.Store.For(p.Tenant).AdmittedServer(ctx, id)
	if err != nil {
		return junctor.APIPreview{}, err
	}
	stored, err := s.o.Store.For(p.Tenant).Document(ctx, id)
	if err != nil {
		return junctor.APIPreview{}, err
	}
	before, err := apigen.DecodeTools(stored.Tools)
	if err != nil {
		return junctor.APIPreview{}, err
	}
	made, _, err := s.readAPI(ctx, admitted, definitionInput{document: string(stored.Text), own: true}, apigen.NamesByKey(before), "")
	if err != nil {
		return junctor.APIPreview{}, err
	}
	row := admitted.Row()
	out, err := s.previewAPI(made, &row)
	if err != nil {
		return out, err
	}
	out.Problems = append(out.Problems, made.ProposeImprovements(row.Overrides)...)
	learned, err := s.learnRoles(ctx, made, &row)
	out.Problems = append(out.Problems, learned...)
	return out, err
}

// learnRoles proposes the roles that users gave to one tool for similar tools.
func (s *Registry) learnRoles(ctx context.Context, made *apigen.ImportedAPI, row *junctor.Server) ([]junctor.APIProblem, error) {
	all, err := s.o.Store.For(row.Tenant).Tags(ctx)
	if err != nil {
		return nil, err
	}
	tags := map[string]junctor.ToolTag{}
	for _, t := range all {
		if t.Server == row.ID {
			tags[t.Tool] = t
		}
	}
	return made.ProposeRoles(row.Overrides, tags, func(definition []byte, topic string) junctor.Class {
		return s.o.Catalog.Classify(row.ID, definition, topic)
	}), nil
}

// changeGenerated changes a generated server in place.
func (s *Registry) changeGenerated(ctx context.Context, p *junctor.Principal, former junctor.Server, change func(*junctor.Server) (upstreamauth.LiteralSet, error)) (junctor.Server, error) {
	if err := s.o.CheckNotDeclared("server", former.ID, former.Declared); err != nil {
		return junctor.Server{}, err
	}
	row := former
	row.Declared = ""
	row.Overrides = maps.Clone(former.Overrides)
	entered, err := change(&row)
	if err != nil {
		return junctor.Server{}, err
	}
	if row.Mode != junctor.ModeGenerated || row.API == nil {
		return junctor.Server{}, junctor.Errorf(junctor.CodeInvalid, "the server %q is generated from a document, and cannot become another kind of server: add a new one", former.ID)
	}
	if _, err := s.Judge.Unread(ctx, p, row, &former); err != nil { // judge before anything is read
		return junctor.Server{}, err
	}
	if _, err := apigen.NewFilter(row.API); err != nil {
		return junctor.Server{}, err
	}
	if err := s.completeAuth(ctx, p, &row, &former); err != nil {
		return junctor.Server{}, err
	}
	admitted, err := s.Judge.Server(ctx, p, row, &former) // now including what the document defines
	if err != nil {
		return junctor.Server{}, err
	}
	defer s.lockServer(former.Tenant, former.ID)()
	var stored admission.Server
	if len(entered) == 0 && sameConnection(&row.Connection, &former.Connection) {
		stored, err = s.o.Store.For(former.Tenant).By(p.ID()).UpdateServer(ctx, admitted)
	} else {
		var set upstreamauth.LiteralSet
		if set, err = s.mergeCredentials(ctx, &row, entered, &former); err != nil {
			return junctor.Server{}, err
		}
		stored, err = s.storeServer(ctx, p, admitted, set, &former)
	}
	changed := stored.Row()
	if err != nil {
		return changed, err
	}
	s.moveRenamedTags(ctx, &former, &changed)
	if changed.State == junctor.StateInactive {
		return changed, nil
	}
	return changed, s.attachGenerated(ctx, stored)
}

// completeAuth fills members of a changed authentication that the caller left empty
// from the document.
func (s *Registry) completeAuth(ctx context.Context, p *junctor.Principal, row, former *junctor.Server) error {
	if sameAuth(row.Auth, former.Auth) && row.PerUser() == former.PerUser() {
		return nil
	}
	stored, err := s.o.Store.For(row.Tenant).Document(ctx, row.ID)
	if err != nil {
		return err
	}
	admitted, err := s.Judge.Unread(ctx, p, *row, former)
	if err != nil {
		return err
	}
	made, _, err := s.readAPI(ctx, admitted, definitionInput{document: string(stored.Text), own: true}, nil, "")
	if err != nil {
		return err
	}
	api := *row.API
	api.KeyIn, api.KeyName, api.LoginURL, api.TokenURL = "", "", "", ""
	row.API = &api
	made.CompleteAuth(row.Auth, row.API)
	return nil
}

// sameAuth reports whether two definitions authenticate in the same way.
func sameAuth(a, b *junctor.Auth) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
