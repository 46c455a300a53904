package admin

import (
	"context"
	"maps"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// WantedTrigger is a trigger that should exist. Its owner and times are ignored, as for
// the types below.
type WantedTrigger struct {
	junctor.Trigger
	Where string // in a file; "" where it came another way
}

// WantedSource is a source that should exist.
type WantedSource struct {
	junctor.Source
	Secret seal.Secret // itself, or a reference; zero: the one that is there
	Where  string
}

// WantedSchedule is a schedule that should exist.
type WantedSchedule struct {
	junctor.Schedule
	Where string
}

// AppliedEvents is the part of an apply request that concerns events.
type AppliedEvents struct {
	Sources   map[string]AppliedSource `json:"sources,omitempty" doc:"Sources by ID. Requires admin, like triggers and schedules. If absent, sources stay unchanged."`
	Triggers  map[string]TriggerBody   `json:"triggers,omitempty" doc:"Complete triggers by name; absent members become empty."`
	Schedules map[string]ScheduleBody  `json:"schedules,omitempty" doc:"Schedules by name."`
}

// AppliedSource is a source in AppliedEvents.
type AppliedSource struct {
	Style junctor.SourceStyle `json:"style"`
	SourceBody
}

// hasAny reports whether the request names any kind of thing that concerns events, even
// with an empty list.
func (b *AppliedEvents) hasAny() bool {
	return b.Sources != nil || b.Triggers != nil || b.Schedules != nil
}

// addTo adds the sources, triggers and schedules to w, in the order of their names. A kind
// that is absent stays nil.
func (b *AppliedEvents) addTo(w *Wanted) {
	if b.Sources != nil {
		w.Sources = []WantedSource{}
	}
	for _, id := range slices.Sorted(maps.Keys(b.Sources)) {
		body := b.Sources[id]
		s := junctor.Source{ID: id, Style: body.Style}
		body.applyTo(&s)
		w.Sources = append(w.Sources, WantedSource{Source: s, Secret: body.Secret})
	}
	if b.Triggers != nil {
		w.Triggers = []WantedTrigger{}
	}
	for _, name := range slices.Sorted(maps.Keys(b.Triggers)) {
		body := b.Triggers[name]
		t := junctor.Trigger{Name: name}
		body.applyTo(&t)
		w.Triggers = append(w.Triggers, WantedTrigger{Trigger: t})
	}
	if b.Schedules != nil {
		w.Schedules = []WantedSchedule{}
	}
	for _, name := range slices.Sorted(maps.Keys(b.Schedules)) {
		body := b.Schedules[name]
		w.Schedules = append(w.Schedules, WantedSchedule{Schedule: body.toSchedule(name)})
	}
}

// DeclaredEvents adds the sources, triggers and schedules that a file declares. A kind
// that the file does not name stays nil.
func (w *Wanted) DeclaredEvents(d *config.Declared) {
	if d.Sources != nil {
		w.Sources = []WantedSource{}
	}
	for _, s := range d.Sources {
		w.Sources = append(w.Sources, WantedSource{Source: s.Source, Secret: seal.NewSecret(s.Secret()), Where: s.Where})
	}
	if d.Triggers != nil {
		w.Triggers = []WantedTrigger{}
	}
	for _, t := range d.Triggers {
		w.Triggers = append(w.Triggers, WantedTrigger{Trigger: t.Trigger, Where: t.Where})
	}
	if d.Schedules != nil {
		w.Schedules = []WantedSchedule{}
	}
	for _, s := range d.Schedules {
		w.Schedules = append(w.Schedules, WantedSchedule{Schedule: s.Schedule, Where: s.Where})
	}
}

// exportEvents adds the sources, triggers and schedules to d if the caller could apply
// them, which requires the scope admin. It returns the variables that stand for sealed
// secrets.
func (a *api) exportEvents(ctx context.Context, d *config.Declared) ([]config.Variable, error) {
	p := callerOf(ctx)
	if !p.Has(junctor.ScopeAdmin) {
		return nil, nil
	}
	triggers, err := a.Events.Triggers(ctx, p)
	if err != nil {
		return nil, err
	}
	sources, err := a.Events.Sources(ctx, p)
	if err != nil {
		return nil, err
	}
	schedules, err := a.Events.Schedules(ctx, p)
	return d.AddEvents(triggers, sources, schedules), err
}
