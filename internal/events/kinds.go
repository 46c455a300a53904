package events

import (
	"context"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/declare"
	"github.com/junctor-mcp/junctor/internal/event"
	"github.com/junctor-mcp/junctor/internal/intake"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// Kinds returns the sources, triggers and schedules that w describes, in the order in
// which they are made; of a list that is nil it returns no kind. file is the settings
// file that declares them, or "" if p asks for them. servers are the ids of the servers
// that will exist; starting says that servers are not attached yet.
func (s *Service) Kinds(p *junctor.Principal, w *admin.Wanted, file string, servers map[string]bool, starting bool) (kinds []declare.Kind) {
	if w.Sources != nil {
		kinds = append(kinds, s.sourceKind(p, w.Sources, file))
	}
	if w.Triggers != nil {
		kinds = append(kinds, s.triggerKind(p, w.Triggers, file, servers, starting))
	}
	if w.Schedules != nil {
		kinds = append(kinds, s.scheduleKind(p, w.Schedules, file))
	}
	return kinds
}

// triggerKind returns the triggers in want as a declare.Kind.
func (s *Service) triggerKind(p *junctor.Principal, want []admin.WantedTrigger, file string, servers map[string]bool, starting bool) declare.Kind {
	rows := s.Store.For(p.Tenant).By(p.ID())
	return &rowKind[admin.WantedTrigger, junctor.Trigger]{
		noun: "trigger", want: want, file: file,
		wish:   func(w *admin.WantedTrigger) declare.Wish { return declare.Wish{ID: w.Name, Where: w.Where} },
		row:    func(w *admin.WantedTrigger) *junctor.Trigger { return &w.Trigger },
		rows:   rows.Triggers,
		origin: func(t *junctor.Trigger) (string, string) { return t.Name, t.Declared },
		fault: func(_ context.Context, w *admin.WantedTrigger, _ *junctor.Trigger) error {
			if _, err := event.NewRule(w.Trigger); err != nil {
				return err
			}
			if server := w.Action.Server; server != "" && !servers[server] {
				return junctor.Errorf(junctor.CodeInvalid, "action: there is no server %q: declare it too, or name another server", server)
			}
			return nil
		},
		store: func(ctx context.Context, w *admin.WantedTrigger, had *junctor.Trigger) error {
			t := w.Trigger
			t.Declared, t.Owner = file, p.ID()
			if file == "" { // a caller waits for the answer
				if err := s.checkTrigger(ctx, p.Tenant, &t); err != nil {
					return err
				}
			}
			if had != nil {
				if had.Declared == file {
					t.Owner = had.Owner
				}
				t.CreatedAt, t.UpdatedAt = had.CreatedAt, had.UpdatedAt
				_, err := rows.UpdateTrigger(ctx, t)
				return err
			}
			if _, err := rows.AddTrigger(ctx, t); err != nil {
				return err
			}
			return s.OfferServer(ctx, p.Tenant, starting)
		},
		remove: rows.DeleteTrigger,
	}
}

// scheduleKind returns the schedules in want as a declare.Kind.
func (s *Service) scheduleKind(p *junctor.Principal, want []admin.WantedSchedule, file string) declare.Kind {
	rows := s.Store.For(p.Tenant).By(p.ID())
	return &rowKind[admin.WantedSchedule, junctor.Schedule]{
		noun: "schedule", want: want, file: file,
		wish:   func(w *admin.WantedSchedule) declare.Wish { return declare.Wish{ID: w.Name, Where: w.Where} },
		row:    func(w *admin.WantedSchedule) *junctor.Schedule { return &w.Schedule },
		rows:   rows.Schedules,
		origin: func(s *junctor.Schedule) (string, string) { return s.Name, s.Declared },
		fault: func(_ context.Context, w *admin.WantedSchedule, _ *junctor.Schedule) error {
			schedule := w.Schedule
			return intake.CheckSchedule(&schedule, time.Now())
		},
		store: func(ctx context.Context, w *admin.WantedSchedule, had *junctor.Schedule) error {
			schedule := w.Schedule
			schedule.Declared = file
			if err := intake.CheckSchedule(&schedule, time.Now()); err != nil {
				return err
			}
			if had != nil && had.Cron == schedule.Cron && had.Timezone == schedule.Timezone {
				schedule.NextAt = time.Time{} // missed times are still due
			}
			if had != nil {
				schedule.UpdatedAt = had.UpdatedAt
			}
			_, err := rows.PutSchedule(ctx, schedule)
			return err
		},
		remove: rows.DeleteSchedule,
	}
}

// sourceKind returns the sources in want as a declare.Kind.
func (s *Service) sourceKind(p *junctor.Principal, want []admin.WantedSource, file string) declare.Kind {
	rows := s.Store.For(p.Tenant)
	k := &rowKind[admin.WantedSource, junctor.Source]{
		noun: "source", want: want, file: file,
		wish:   func(w *admin.WantedSource) declare.Wish { return declare.Wish{ID: w.ID, Where: w.Where} },
		row:    func(w *admin.WantedSource) *junctor.Source { return &w.Source },
		rows:   rows.Sources,
		origin: func(s *junctor.Source) (string, string) { return s.ID, s.Declared },
		remove: func(ctx context.Context, id string) error { return s.Intake.RemoveSource(ctx, p.Tenant, id) },
	}
	k.fault = func(ctx context.Context, w *admin.WantedSource, had *junctor.Source) error {
		if w.Pulled() && !p.Operator() {
			return junctor.Errorf(junctor.CodeDenied, "a Redis source can use any address: only an admin of the tenant %s can add or change it", junctor.DefaultTenant)
		}
		secret, err := s.readSourceSecret(ctx, p, w.Secret)
		if err != nil {
			return err
		}
		if secret.IsZero() && (had == nil || had.Pulled() != w.Pulled()) {
			return junctor.Errorf(junctor.CodeInvalid, "source: secret is missing; for the styles redis and redis-stream, it is the Redis URL")
		}
		return intake.CheckSource(&w.Source, secret)
	}
	k.hidden = func(ctx context.Context, w *admin.WantedSource, had *junctor.Source) ([]admin.FieldChange, error) {
		secret, err := s.readSourceSecret(ctx, p, w.Secret)
		if err != nil || secret.IsZero() {
			return nil, err
		}
		same, err := s.Intake.KnownBy(ctx, had, secret)
		if err != nil || same {
			return nil, err
		}
		return []admin.FieldChange{{Field: "secret", From: junctor.Masked, To: junctor.Masked + " (another)"}}, nil
	}
	k.store = func(ctx context.Context, w *admin.WantedSource, had *junctor.Source) error {
		source := w.Source
		source.Declared = file
		secret, err := s.readSourceSecret(ctx, p, w.Secret)
		if err != nil {
			return err
		}
		if had != nil && had.Pulled() != source.Pulled() { // the secret is of another type now
			if err := s.Intake.RemoveSource(ctx, p.Tenant, source.ID); err != nil {
				return err
			}
			had = nil
		}
		if had == nil {
			_, err = s.Intake.AddSource(ctx, p.Tenant, source, secret)
			return err
		}
		if !secret.IsZero() {
			same, err := s.Intake.KnownBy(ctx, had, secret)
			if err != nil {
				return err
			}
			if same { // nothing is replaced, so the secret before it stays valid
				secret = seal.Secret{}
			}
		}
		source.CreatedAt, source.UpdatedAt = had.CreatedAt, had.UpdatedAt
		_, err = s.Intake.ChangeSource(ctx, p.Tenant, p.ID(), source, secret, false)
		return err
	}
	return k
}

// readSourceSecret returns the secret of a source; it reads the secret if the text is a
// reference. The judge decides who may refer to what, as for the credentials of servers.
func (s *Service) readSourceSecret(ctx context.Context, p *junctor.Principal, text seal.Secret) (seal.Secret, error) {
	if !junctor.IsReference("", text.Reveal()) {
		return text, nil
	}
	reference, err := s.Judge.Reference(ctx, p, "", text.Reveal())
	if err != nil {
		return seal.Secret{}, err
	}
	return s.Reader.Read(ctx, reference)
}

// CheckDeclared returns the problems of the sources, triggers and schedules of a settings
// file that its reader does not find.
func CheckDeclared(d *config.Declared, reader upstreamauth.ReferenceReader) (problems []config.Problem) {
	note := func(where, name string, err error) {
		if err != nil {
			problems = append(problems, config.Problem{Where: where, Message: name + ": " + strings.TrimPrefix(junctor.AsError(err).Message, "source: ")})
		}
	}
	for _, t := range d.Triggers {
		_, err := event.NewRule(t.Trigger)
		note(t.Where, "triggers."+t.Name, err)
	}
	for _, s := range d.Sources {
		secret := seal.NewSecret(s.Secret())
		if junctor.IsReference("", s.Secret()) {
			note(s.Where, "sources."+s.ID, reader.Check(s.Secret()))
			secret = seal.Secret{}
		}
		note(s.Where, "sources."+s.ID, intake.CheckSource(&s.Source, secret))
	}
	for _, s := range d.Schedules {
		note(s.Where, "schedules."+s.Name, intake.CheckSchedule(&s.Schedule, time.Now()))
	}
	return problems
}
