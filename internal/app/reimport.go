package app

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/apigen"
	"github.com/junctor-mcp/junctor/internal/credential"
	"github.com/junctor-mcp/junctor/internal/telemetry"
)

// ownGenerated gives the row of an auto-generated server that the principal may
// change.
func (s *servers) ownGenerated(ctx context.Context, p *junctor.Principal, id string) (junctor.Server, error) {
	row, err := s.own(ctx, p, id)
	if err == nil && row.Mode != junctor.ModeGenerated {
		err = junctor.Errorf(junctor.CodeInvalid, "the server %q is %s: only auto-generated ones are made of a document", id, row.Mode)
	}
	return row, err
}

// Document gives the text that a server is made of.
func (s *servers) Document(ctx context.Context, p *junctor.Principal, id string) (junctor.APIDocument, error) {
	if _, err := s.ownGenerated(ctx, p, id); err != nil {
		return junctor.APIDocument{}, err
	}
	return s.app.store.For(p.Tenant).Document(ctx, id)
}

// ImportDocument makes a server of its document again. Names and people's edits
// stay: tools are known by their method and path.
func (s *servers) ImportDocument(ctx context.Context, p *junctor.Principal, id string, in admin.Import) (admin.Imported, error) {
	former, err := s.ownGenerated(ctx, p, id)
	if err != nil {
		return admin.Imported{}, err
	}
	if err := s.app.ours("server", id, former.Declared); err != nil && !in.DryRun {
		return admin.Imported{}, err
	}
	return s.reimport(ctx, p, former, in, "")
}

func (s *servers) reimport(ctx context.Context, p *junctor.Principal, former junctor.Server, in admin.Import, etag string) (admin.Imported, error) {
	rows := s.app.store.For(former.Tenant)
	stored, err := rows.Document(ctx, former.ID)
	if err != nil {
		return admin.Imported{}, err
	}
	before, err := apigen.Decode(stored.Tools)
	if err != nil {
		return admin.Imported{}, err
	}
	row, api := former, *former.API
	row.API = &api
	api.DocumentURL = cmp.Or(in.DocumentURL, api.DocumentURL)
	if in.Document == "" && api.DocumentURL == "" {
		return admin.Imported{}, junctor.Errorf(junctor.CodeInvalid, "the document of the server %q was given as text: give it again", former.ID)
	}
	made, got, err := s.read(ctx, p, &admin.ServerInput{Server: row, Document: in.Document}, apigen.Names(before), etag)
	if err != nil || got.same {
		return admin.Imported{}, err
	}
	out := admin.Imported{}
	if out.APIPreview, err = s.preview(made, &row); err != nil {
		return out, err
	}
	out.Changes = apigen.Compare(before, made.Tools)
	breaks := slices.ContainsFunc(out.Changes, func(c junctor.APIChange) bool { return c.Breaking })
	if in.DryRun || breaks && !in.AcceptBreaking {
		return out, nil
	}
	api.Title, api.Version = made.Document.Title, made.Document.Edition
	if row, err = rows.UpdateServer(ctx, row); err != nil {
		return out, err
	}
	if err := s.keepDocument(ctx, &row, made, got); err != nil {
		return out, err
	}
	out.Applied = true
	if row.State == junctor.StateInactive {
		return out, nil
	}
	return out, s.raise(ctx, row)
}

// ValidateServer reads the document of a server again and says what could be
// better.
func (s *servers) ValidateServer(ctx context.Context, p *junctor.Principal, id string) (junctor.APIPreview, error) {
	row, err := s.ownGenerated(ctx, p, id)
	if err != nil {
		return junctor.APIPreview{}, err
	}
	stored, err := s.app.store.For(p.Tenant).Document(ctx, id)
	if err != nil {
		return junctor.APIPreview{}, err
	}
	before, err := apigen.Decode(stored.Tools)
	if err != nil {
		return junctor.APIPreview{}, err
	}
	made, _, err := s.read(ctx, p, &admin.ServerInput{Server: row, Document: string(stored.Text)}, apigen.Names(before), "")
	if err != nil {
		return junctor.APIPreview{}, err
	}
	out, err := s.preview(made, &row)
	out.Problems = append(out.Problems, made.Improvements(row.Overrides)...)
	return out, err
}

// changeGenerated changes an auto-generated server in place.
func (s *servers) changeGenerated(ctx context.Context, p *junctor.Principal, former junctor.Server, change func(*junctor.Server) (credential.Set, error)) (junctor.Server, error) {
	if err := s.app.ours("server", former.ID, former.Declared); err != nil {
		return junctor.Server{}, err
	}
	row := former
	row.Declared = ""
	row.Overrides = maps.Clone(former.Overrides)
	entered, err := change(&row)
	if err != nil {
		return junctor.Server{}, err
	}
	if err := row.API.Check(); err != nil {
		return junctor.Server{}, err
	}
	if row.API.DocumentURL != former.API.DocumentURL {
		if err := mayRead(p, row.API); err != nil {
			return junctor.Server{}, err
		}
	}
	if _, err := apigen.NewFilter(row.API); err != nil {
		return junctor.Server{}, err
	}
	if err := s.check(ctx, p, &row, &former.Connection); err != nil {
		return junctor.Server{}, err
	}
	var stored junctor.Server
	if len(entered) == 0 && sameConnection(&row.Connection, &former.Connection) {
		stored, err = s.app.store.For(row.Tenant).UpdateServer(ctx, row)
	} else {
		row.Trusted = p.Issuer == junctor.IssuerLocal
		var set credential.Set
		if set, err = s.kept(ctx, &row, entered, &former); err != nil {
			return junctor.Server{}, err
		}
		stored, err = s.store(ctx, row, set, &former)
	}
	if err != nil || stored.State == junctor.StateInactive {
		return stored, err
	}
	return stored, s.raise(ctx, stored)
}

// poll looks, now and then, whether documents have changed, for servers that want
// it.
func (s *servers) poll() {
	looked := map[serverKey]time.Time{}
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.ending.Done():
			return
		case now := <-ticker.C:
			for _, row := range s.due(now, looked) {
				ctx, cancel := context.WithTimeout(s.ending, 2*documentTime)
				s.look(ctx, row)
				cancel()
			}
		}
	}
}

// pollEvery is how often it is asked whether a document is to be looked at.
const pollEvery = 30 * time.Second

// due are the servers whose documents have not been looked at for as long as they
// say.
func (s *servers) due(now time.Time, looked map[serverKey]time.Time) (rows []junctor.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, g := range s.made {
		row := g.served()
		every := time.Duration(row.API.PollMinutes) * time.Minute
		switch last, known := looked[key]; {
		case every == 0:
		case !known:
			looked[key] = now // it was read when it was added, or may be now and then
		case now.Sub(last) >= every:
			looked[key] = now
			rows = append(rows, row)
		}
	}
	return rows
}

// look reads the document of a server again where it has changed. What may make
// callers fail waits for a person.
func (s *servers) look(ctx context.Context, row junctor.Server) {
	row, err := s.app.store.For(row.Tenant).Server(ctx, row.ID) // as it is now
	if err != nil {
		return
	}
	stored, err := s.app.store.For(row.Tenant).Document(ctx, row.ID)
	if err != nil {
		return
	}
	out, err := s.reimport(ctx, s.app.identity.Local(), row, admin.Import{}, stored.ETag)
	switch {
	case err != nil:
		s.app.log.Warn("the document of a server could not be read again", slog.String("server", row.ID), telemetry.Err(err))
	case out.Applied && len(out.Changes) > 0:
		s.app.log.Info("the document of a server changed, and so did its tools", slog.String("server", row.ID), slog.Int("changes", len(out.Changes)))
	case !out.Applied && len(out.Changes) > 0:
		s.app.log.Warn("the document of a server changed in a way that breaks callers: look at it with junctor server reimport", slog.String("server", row.ID), slog.Int("changes", len(out.Changes)))
	}
}
