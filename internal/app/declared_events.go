package app

import (
	"context"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/credential"
	"github.com/junctor-mcp/junctor/internal/declare"
	"github.com/junctor-mcp/junctor/internal/event"
	"github.com/junctor-mcp/junctor/internal/intake"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// rowKind is a kind whose things are rows and nothing else. It is made of what
// tells one such kind from another.
type rowKind[W, R any] struct {
	called string
	want   []W
	file   string // that declares them; "" where people want them

	wish func(*W) declare.Wish
	row  func(*W) *R
	rows func(ctx context.Context) ([]R, error)
	here func(*R) (id, declared string)
	// wrong says why one cannot be had; had is what is there under its id, or nil.
	wrong func(ctx context.Context, w *W, had *R) error
	flat  func(*R) map[string]string
	// hidden lists what differs of what flat does not show; nil: nothing.
	hidden func(ctx context.Context, w *W, had *R) ([]admin.FieldChange, error)
	store  func(ctx context.Context, w *W, had *R) error
	drop   func(ctx context.Context, id string) error
}

func (k *rowKind[W, R]) Noun() string { return k.called }

func (k *rowKind[W, R]) Wanted() []declare.Wish {
	out := make([]declare.Wish, len(k.want))
	for i := range k.want {
		out[i] = k.wish(&k.want[i])
	}
	return out
}

func (k *rowKind[W, R]) find(id string) *W {
	return &k.want[slices.IndexFunc(k.want, func(w W) bool { return k.wish(&w).ID == id })]
}

func (k *rowKind[W, R]) Present(ctx context.Context) (map[string]declare.Holding, error) {
	rows, err := k.rows(ctx)
	out := map[string]declare.Holding{}
	for i := range rows {
		id, declared := k.here(&rows[i])
		out[id] = declare.Holding{Declared: declared}
	}
	return out, err
}

// had gives what is there under an id, or nil.
func (k *rowKind[W, R]) had(ctx context.Context, id string) (*R, error) {
	rows, err := k.rows(ctx)
	for i := range rows {
		if there, _ := k.here(&rows[i]); there == id {
			return &rows[i], err
		}
	}
	return nil, err
}

func (k *rowKind[W, R]) FindFault(ctx context.Context, id string) error {
	had, err := k.had(ctx, id)
	if err != nil {
		return err
	}
	return k.wrong(ctx, k.find(id), had)
}

func (k *rowKind[W, R]) Diff(ctx context.Context, id string) ([]admin.FieldChange, error) {
	had, err := k.had(ctx, id)
	if err != nil || had == nil {
		return nil, err
	}
	want := k.find(id)
	from, to := k.flat(had), k.flat(k.row(want))
	if k.file != "" {
		_, from["declared"] = k.here(had)
		to["declared"] = k.file
	}
	out := declare.Differences(from, to)
	if k.hidden == nil {
		return out, nil
	}
	more, err := k.hidden(ctx, want, had)
	return append(out, more...), err
}

func (k *rowKind[W, R]) Put(ctx context.Context, id string) error {
	had, err := k.had(ctx, id)
	if err != nil {
		return err
	}
	return k.store(ctx, k.find(id), had)
}

func (k *rowKind[W, R]) Remove(ctx context.Context, id string) error { return k.drop(ctx, id) }

// eventKinds are the kinds that concern events, of those that w speaks of, in
// the order in which they are made. servers are those that will be there; still
// says that nothing is attached yet.
func (a *App) eventKinds(p *junctor.Principal, w *admin.Wanted, file string, servers map[string]bool, still bool) (kinds []declare.Kind) {
	if w.Sources != nil {
		kinds = append(kinds, a.sourceKind(p, w.Sources, file))
	}
	if w.Triggers != nil {
		kinds = append(kinds, a.triggerKind(p, w.Triggers, file, servers, still))
	}
	if w.Schedules != nil {
		kinds = append(kinds, a.scheduleKind(p, w.Schedules, file))
	}
	return kinds
}

// declaredEvents are those of a file, for the operator who wrote it. What the file
// does not speak of it has none of.
func (a *App) declaredEvents(cfg *config.Config, servers map[string]bool, still bool) []declare.Kind {
	w := admin.Wanted{Sources: []admin.WantedSource{}, Triggers: []admin.WantedTrigger{}, Schedules: []admin.WantedSchedule{}}
	d := cfg.Declared()
	w.DeclaredEvents(&d)
	return a.eventKinds(a.identity.Local(), &w, cfg.File(), servers, still)
}

func (a *App) triggerKind(p *junctor.Principal, want []admin.WantedTrigger, file string, servers map[string]bool, still bool) declare.Kind {
	rows := a.store.For(p.Tenant).By(p.ID())
	return &rowKind[admin.WantedTrigger, junctor.Trigger]{
		called: "trigger", want: want, file: file,
		wish: func(w *admin.WantedTrigger) declare.Wish { return declare.Wish{ID: w.Name, Where: w.Where} },
		row:  func(w *admin.WantedTrigger) *junctor.Trigger { return &w.Trigger },
		rows: rows.Triggers,
		here: func(t *junctor.Trigger) (string, string) { return t.Name, t.Declared },
		wrong: func(_ context.Context, w *admin.WantedTrigger, _ *junctor.Trigger) error {
			if _, err := event.NewRule(w.Trigger); err != nil {
				return err
			}
			if server := w.Action.Server; server != "" && !servers[server] {
				return junctor.Errorf(junctor.CodeInvalid, "action: there will be no server %q; declare it too, or name another", server)
			}
			return nil
		},
		flat: func(t *junctor.Trigger) map[string]string {
			return map[string]string{"title": t.Title, "match": declare.JSONText(t.Match), "action": declare.JSONText(t.Action), "disabled": declare.BoolText(t.Disabled)}
		},
		store: func(ctx context.Context, w *admin.WantedTrigger, had *junctor.Trigger) error {
			t := w.Trigger
			t.Declared, t.Owner = file, p.ID()
			if file == "" { // somebody waits for the answer
				if err := (happenings{a}).check(ctx, p.Tenant, &t); err != nil {
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
			return a.offerEvents(ctx, p.Tenant, still)
		},
		drop: rows.DeleteTrigger,
	}
}

func (a *App) scheduleKind(p *junctor.Principal, want []admin.WantedSchedule, file string) declare.Kind {
	rows := a.store.For(p.Tenant).By(p.ID())
	return &rowKind[admin.WantedSchedule, junctor.Schedule]{
		called: "schedule", want: want, file: file,
		wish: func(w *admin.WantedSchedule) declare.Wish { return declare.Wish{ID: w.Name, Where: w.Where} },
		row:  func(w *admin.WantedSchedule) *junctor.Schedule { return &w.Schedule },
		rows: rows.Schedules,
		here: func(s *junctor.Schedule) (string, string) { return s.Name, s.Declared },
		wrong: func(_ context.Context, w *admin.WantedSchedule, _ *junctor.Schedule) error {
			s := w.Schedule
			return intake.CheckSchedule(&s, time.Now())
		},
		flat: func(s *junctor.Schedule) map[string]string {
			out := map[string]string{"cron": s.Cron, "timezone": s.Timezone, "type": s.Type, "agent": s.Agent, "disabled": declare.BoolText(s.Disabled)}
			if len(s.Data) > 0 {
				out["data"] = declare.JSONText(s.Data)
			}
			return out
		},
		store: func(ctx context.Context, w *admin.WantedSchedule, had *junctor.Schedule) error {
			s := w.Schedule
			s.Declared = file
			if err := intake.CheckSchedule(&s, time.Now()); err != nil {
				return err
			}
			if had != nil && had.Cron == s.Cron && had.Timezone == s.Timezone {
				s.NextAt = time.Time{} // what was missed still comes
			}
			if had != nil {
				s.UpdatedAt = had.UpdatedAt
			}
			_, err := rows.PutSchedule(ctx, s)
			return err
		},
		drop: rows.DeleteSchedule,
	}
}

func (a *App) sourceKind(p *junctor.Principal, want []admin.WantedSource, file string) declare.Kind {
	rows := a.store.For(p.Tenant)
	k := &rowKind[admin.WantedSource, junctor.Source]{
		called: "source", want: want, file: file,
		wish: func(w *admin.WantedSource) declare.Wish { return declare.Wish{ID: w.ID, Where: w.Where} },
		row:  func(w *admin.WantedSource) *junctor.Source { return &w.Source },
		rows: rows.Sources,
		here: func(s *junctor.Source) (string, string) { return s.ID, s.Declared },
		flat: func(s *junctor.Source) map[string]string {
			return map[string]string{
				"style": string(s.Style), "title": s.Title, "header": s.Header, "type_field": s.TypeField, "agent_field": s.AgentField, "key": s.Key, "disabled": declare.BoolText(s.Disabled),
			}
		},
		drop: func(ctx context.Context, id string) error { return a.intake.RemoveSource(ctx, p.Tenant, id) },
	}
	k.wrong = func(ctx context.Context, w *admin.WantedSource, had *junctor.Source) error {
		if w.Pulled() && !p.Operator() {
			return junctor.Errorf(junctor.CodeDenied, "a Redis may be at any address: only an admin of the tenant %s can have one read", junctor.DefaultTenant)
		}
		secret, err := a.secretOfSource(ctx, p, w.Secret)
		if err != nil {
			return err
		}
		if secret.IsZero() && (had == nil || had.Pulled() != w.Pulled()) {
			return junctor.Errorf(junctor.CodeInvalid, "source: it needs its secret; with the styles redis and redis-stream that is the address")
		}
		return intake.CheckSource(&w.Source, secret)
	}
	k.hidden = func(ctx context.Context, w *admin.WantedSource, had *junctor.Source) ([]admin.FieldChange, error) {
		secret, err := a.secretOfSource(ctx, p, w.Secret)
		if err != nil || secret.IsZero() {
			return nil, err
		}
		same, err := a.intake.KnownBy(ctx, had, secret)
		if err != nil || same {
			return nil, err
		}
		return []admin.FieldChange{{Field: "secret", From: junctor.Masked, To: junctor.Masked + " (another)"}}, nil
	}
	k.store = func(ctx context.Context, w *admin.WantedSource, had *junctor.Source) error {
		s := w.Source
		s.Declared = file
		secret, err := a.secretOfSource(ctx, p, w.Secret)
		if err != nil {
			return err
		}
		if had != nil && had.Pulled() != s.Pulled() { // its secret is another thing now
			if err := a.intake.RemoveSource(ctx, p.Tenant, s.ID); err != nil {
				return err
			}
			had = nil
		}
		if had == nil {
			_, err = a.intake.AddSource(ctx, p.Tenant, s, secret)
			return err
		}
		if !secret.IsZero() {
			same, err := a.intake.KnownBy(ctx, had, secret)
			if err != nil {
				return err
			}
			if same { // so that the former one is kept
				secret = seal.Secret{}
			}
		}
		s.CreatedAt, s.UpdatedAt = had.CreatedAt, had.UpdatedAt
		_, err = a.intake.ChangeSource(ctx, p.Tenant, p.ID(), s, secret, false)
		return err
	}
	return k
}

// secretOfSource reads a reference. What may be read from this machine is what a
// server's credentials may be read from, by the same people.
func (a *App) secretOfSource(ctx context.Context, p *junctor.Principal, text seal.Secret) (seal.Secret, error) {
	if !junctor.IsReference("", text.Reveal()) {
		return text, nil
	}
	reference, err := a.servers.Judge.Reference(ctx, p, "", text.Reveal())
	if err != nil {
		return seal.Secret{}, err
	}
	return a.reader().Read(ctx, reference)
}

// checkDeclaredEvents finds what is wrong with what a file says of events that
// reading it cannot tell.
func checkDeclaredEvents(d *config.Declared, reader credential.Reader) (problems []config.Problem) {
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
