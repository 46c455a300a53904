package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// Events is what can be done with events: where they come from, and what follows
// from them.
type Events interface {
	// SendEvent takes an event. Who sends it is judged behind it: an agent sends
	// under its own name, and nobody but an admin under that of a source.
	SendEvent(ctx context.Context, p *junctor.Principal, e junctor.Event) (junctor.Taken, error)
	// Events gives a page, newest first, and the cursor of the next one.
	Events(ctx context.Context, p *junctor.Principal, f EventFilter) (events []junctor.Event, next string, err error)
	Event(ctx context.Context, p *junctor.Principal, id string) (junctor.Event, error)
	ReplayEvent(ctx context.Context, p *junctor.Principal, id string) (junctor.Taken, error)

	Triggers(ctx context.Context, p *junctor.Principal) ([]junctor.Trigger, error)
	Trigger(ctx context.Context, p *junctor.Principal, name string) (junctor.Trigger, error)
	AddTrigger(ctx context.Context, p *junctor.Principal, t junctor.Trigger) (junctor.Trigger, error)
	// ChangeTrigger changes what change changes, of the trigger as it is stored: change
	// runs again where somebody else was faster. So it is with all that take a change.
	ChangeTrigger(ctx context.Context, p *junctor.Principal, name string, change func(*junctor.Trigger) error) (junctor.Trigger, error)
	RemoveTrigger(ctx context.Context, p *junctor.Principal, name string) error
	// TryTrigger says what a trigger would do with an event. Nothing is called.
	TryTrigger(ctx context.Context, p *junctor.Principal, t junctor.Trigger, e junctor.Event) (TriggerTrial, error)
	ReadyTriggers() []junctor.Trigger

	Sources(ctx context.Context, p *junctor.Principal) ([]junctor.Source, error)
	Source(ctx context.Context, p *junctor.Principal, id string) (junctor.Source, error)
	AddSource(ctx context.Context, p *junctor.Principal, s junctor.Source, secret seal.Secret) (junctor.Source, error)
	// ChangeSource changes what change changes; a secret that is not zero takes the
	// place of the former, which counts on unless at once is said.
	ChangeSource(ctx context.Context, p *junctor.Principal, id string, change func(*junctor.Source) error, secret seal.Secret, atOnce bool) (junctor.Source, error)
	RemoveSource(ctx context.Context, p *junctor.Principal, id string) error

	Schedules(ctx context.Context, p *junctor.Principal) ([]junctor.Schedule, error)
	// PutSchedule stores a schedule, in place of the one of its name; where UpdatedAt is
	// not zero, of that version alone.
	PutSchedule(ctx context.Context, p *junctor.Principal, s junctor.Schedule) (junctor.Schedule, error)
	RemoveSchedule(ctx context.Context, p *junctor.Principal, name string) error
	// NextTimes are the first times from now on that a cron expression names.
	NextTimes(cron, timezone string, count int) ([]time.Time, error)
}

// EventFilter says which events are wanted; zero members do not filter.
type EventFilter struct {
	Source, Type, Agent string
	Since               time.Time
	Cursor              string
	Limit               int
}

// TriggerTrial is what a trigger would do with an event.
type TriggerTrial struct {
	Matches   bool                `json:"matches" doc:"Whether the trigger is for the event."`
	Arguments json.RawMessage     `json:"arguments,omitempty" doc:"What the tool would be called with."`
	Fault     string              `json:"fault,omitempty" doc:"Why no call can be made of the event."`
	Tool      bool                `json:"tool" doc:"Whether the tool is known, so that the arguments were held against its schema."`
	Breaks    []junctor.Violation `json:"breaks,omitempty" nullable:"false" doc:"Where the arguments break the tool's schema."`
}

type newEvent struct {
	Body struct {
		Source    string          `json:"source,omitempty" maxLength:"200" doc:"Where it comes from, in the sender's words; absent: api. An agent's is always agent:NAME."`
		Type      string          `json:"type" maxLength:"200" doc:"What happened."`
		Agent     string          `json:"agent,omitempty" maxLength:"200" doc:"Whom it concerns: the order of one agent's events is kept."`
		Data      json.RawMessage `json:"data,omitempty"`
		DedupeKey string          `json:"dedupe_key,omitempty" maxLength:"256" doc:"Of a source's events with the same key one is taken. Absent: each is."`
	}
}

type takenEvent struct{ Body junctor.Taken }

type eventQuery struct {
	Source string    `query:"source" doc:"Only events of this source."`
	Type   string    `query:"type" doc:"Only events of this type."`
	Agent  string    `query:"agent" doc:"Only events that concern this agent."`
	Since  time.Time `query:"since" doc:"Only events that were taken at this time or later."`
	Limit  int       `query:"limit" minimum:"1" maximum:"500" default:"50"`
	Cursor string    `query:"cursor" doc:"The next of the page before."`
}

type eventID struct {
	ID string `path:"id" maxLength:"100" doc:"The event's id."`
}

type oneEvent struct{ Body junctor.Event }

// maxEventBody bounds what is sent as an event.
const maxEventBody = junctor.MaxEventData + 4096

func (a *api) eventRoutes() {
	tags := []string{"events"}
	route(a, huma.Operation{
		OperationID: "send-event", Method: http.MethodPost, Path: "/events", Summary: "Send an event; it is stored when the answer comes", Tags: tags,
		DefaultStatus: http.StatusAccepted, MaxBodyBytes: maxEventBody,
	}, func(ctx context.Context, in *newEvent) (*takenEvent, error) {
		taken, err := a.Events.SendEvent(ctx, caller(ctx), junctor.Event{
			Source: in.Body.Source, Type: in.Body.Type, Agent: in.Body.Agent, Data: in.Body.Data, DedupeKey: in.Body.DedupeKey,
		})
		return &takenEvent{taken}, err
	})
	route(a, huma.Operation{
		OperationID: "list-events", Method: http.MethodGet, Path: "/events", Summary: "List events, newest first", Tags: tags,
	}, func(ctx context.Context, in *eventQuery) (*pageOf[junctor.Event], error) {
		events, next, err := a.Events.Events(ctx, caller(ctx), EventFilter{in.Source, in.Type, in.Agent, in.Since, in.Cursor, in.Limit})
		for i := range events {
			restrictEvent(caller(ctx), &events[i])
		}
		return newPage(events, next), err
	})
	route(a, huma.Operation{
		OperationID: "get-event", Method: http.MethodGet, Path: "/events/{id}", Summary: "Show an event", Tags: tags,
	}, func(ctx context.Context, in *eventID) (*oneEvent, error) {
		e, err := a.Events.Event(ctx, caller(ctx), in.ID)
		restrictEvent(caller(ctx), &e)
		return &oneEvent{e}, err
	})
	route(a, huma.Operation{
		OperationID: "replay-event", Method: http.MethodPost, Path: "/events/{id}/replay", Summary: "Ask the triggers of today what follows from an event; a delivery that there is already stays the only one", Tags: tags,
		DefaultStatus: http.StatusAccepted,
	}, func(ctx context.Context, in *eventID) (*takenEvent, error) {
		taken, err := a.Events.ReplayEvent(ctx, caller(ctx), in.ID)
		return &takenEvent{taken}, err
	})
	a.triggerRoutes()
	a.sourceRoutes()
	a.scheduleRoutes()
}

// restrictEvent leaves out what an event says that is a tool's answer: it is the
// payload of a call, which admins alone read where it is nobody's own.
func restrictEvent(p *junctor.Principal, e *junctor.Event) {
	if e.Depth > 0 && !p.Has(junctor.ScopeAdmin) {
		e.Data = nil
	}
}

// SourceBody is what describes a source. Members that are absent are not changed.
type SourceBody struct {
	Title      *string     `json:"title,omitempty" maxLength:"200"`
	Secret     seal.Secret `json:"secret,omitzero" doc:"What messages are signed with; with the styles redis and redis-stream the address, redis://user:password@host:6379/0."`
	Header     *string     `json:"header,omitempty" maxLength:"100" doc:"With the style hmac: where the signature is; absent: X-Signature-256."`
	TypeField  *string     `json:"type_field,omitempty" maxLength:"200" doc:"Where an event's type is, such as data.kind; absent: the style's own place."`
	AgentField *string     `json:"agent_field,omitempty" maxLength:"200" doc:"Where the agent is that an event concerns, such as data.agent_id."`
	Key        *string     `json:"key,omitempty" maxLength:"200" doc:"With the styles redis and redis-stream: the list or stream; absent: action_jobs."`
	Disabled   *bool       `json:"disabled,omitempty"`
}

func (b *SourceBody) to(s *junctor.Source) {
	set(&s.Title, b.Title)
	set(&s.Header, b.Header)
	set(&s.TypeField, b.TypeField)
	set(&s.AgentField, b.AgentField)
	set(&s.Key, b.Key)
	set(&s.Disabled, b.Disabled)
}

type newSource struct {
	Body struct {
		ID    string              `json:"id" doc:"A lower-case letter, then up to 62 lower-case letters, digits or hyphens. Messages are posted to the path that the answer names."`
		Style junctor.SourceStyle `json:"style"`
		SourceBody
	}
}

type sourceID struct {
	ID string `path:"id" maxLength:"63" doc:"The source's id."`
}

type sourcePatch struct {
	Precondition
	ID   string `path:"id" maxLength:"63" doc:"The source's id."`
	Body struct {
		SourceBody
		AtOnce bool `json:"at_once,omitempty" doc:"The former secret does not count any more."`
	}
}

type oneSource = versioned[junctor.Source]

func (a *api) sourceRoutes() {
	tags := []string{"sources"}
	route(a, huma.Operation{
		OperationID: "list-sources", Method: http.MethodGet, Path: "/sources", Summary: "List the sources of events", Tags: tags,
	}, func(ctx context.Context, _ *none) (*pageOf[junctor.Source], error) {
		list, err := a.Events.Sources(ctx, caller(ctx))
		return newPage(list, ""), err
	})
	route(a, huma.Operation{
		OperationID: "create-source", Method: http.MethodPost, Path: "/sources", Summary: "Add a source of events", Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *newSource) (*oneSource, error) {
		s := junctor.Source{ID: in.Body.ID, Style: in.Body.Style}
		in.Body.to(&s)
		s, err := a.Events.AddSource(ctx, caller(ctx), s, in.Body.Secret)
		return withVersion(s, s.UpdatedAt), err
	})
	route(a, huma.Operation{
		OperationID: "get-source", Method: http.MethodGet, Path: "/sources/{id}", Summary: "Show a source", Tags: tags,
	}, func(ctx context.Context, in *sourceID) (*oneSource, error) {
		s, err := a.Events.Source(ctx, caller(ctx), in.ID)
		return withVersion(s, s.UpdatedAt), err
	})
	route(a, huma.Operation{
		OperationID: "patch-source", Method: http.MethodPatch, Path: "/sources/{id}", Summary: "Change a source, or give it another secret", Tags: tags,
	}, func(ctx context.Context, in *sourcePatch) (*oneSource, error) {
		s, err := a.Events.ChangeSource(ctx, caller(ctx), in.ID, func(s *junctor.Source) error {
			if err := in.check(s.UpdatedAt); err != nil {
				return err
			}
			in.Body.to(s)
			return nil
		}, in.Body.Secret, in.Body.AtOnce)
		return withVersion(s, s.UpdatedAt), a.refuse(ctx, err, func() (stored, error) {
			s, err := a.Events.Source(ctx, caller(ctx), in.ID)
			return stored{fmt.Sprintf("the source %q", in.ID), s, s.UpdatedAt, s.UpdatedBy}, err
		})
	})
	route(a, huma.Operation{
		OperationID: "delete-source", Method: http.MethodDelete, Path: "/sources/{id}", Summary: "Delete a source; its events stay", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *sourceID) (*none, error) {
		return &none{}, a.Events.RemoveSource(ctx, caller(ctx), in.ID)
	})
}

type schedulePut struct {
	Precondition
	Name string `path:"name" maxLength:"63" doc:"The schedule's name."`
	Body ScheduleBody
}

// ScheduleBody is what describes a schedule, whole.
type ScheduleBody struct {
	Cron     string          `json:"cron" maxLength:"200" doc:"Minute, hour, day, month, weekday: 0 9 * * mon-fri; or @hourly, @daily, @weekly, @monthly, @yearly."`
	Timezone string          `json:"timezone,omitempty" maxLength:"100" doc:"Such as Europe/Berlin; absent: UTC."`
	Type     string          `json:"type" maxLength:"200" doc:"Of the events that it makes."`
	Agent    string          `json:"agent,omitempty" maxLength:"200" doc:"Whom the events concern."`
	Data     json.RawMessage `json:"data,omitempty"`
	Disabled bool            `json:"disabled,omitempty"`
}

func (b *ScheduleBody) of(name string) junctor.Schedule {
	return junctor.Schedule{Name: name, Cron: b.Cron, Timezone: b.Timezone, Type: b.Type, Agent: b.Agent, Data: b.Data, Disabled: b.Disabled}
}

type scheduleName struct {
	Name string `path:"name" maxLength:"63" doc:"The schedule's name."`
}

type oneSchedule = versioned[junctor.Schedule]

type cronQuery struct {
	Cron     string `query:"cron" maxLength:"200" doc:"As a schedule has it."`
	Timezone string `query:"timezone" maxLength:"100" doc:"Such as Europe/Berlin; absent: UTC."`
	Limit    int    `query:"limit" minimum:"1" maximum:"20" default:"5"`
}

func (a *api) scheduleRoutes() {
	tags := []string{"schedules"}
	route(a, huma.Operation{
		OperationID: "list-schedules", Method: http.MethodGet, Path: "/schedules", Summary: "List schedules", Tags: tags,
	}, func(ctx context.Context, _ *none) (*pageOf[junctor.Schedule], error) {
		list, err := a.Events.Schedules(ctx, caller(ctx))
		return newPage(list, ""), err
	})
	route(a, huma.Operation{
		OperationID: "list-schedule-times", Method: http.MethodGet, Path: "/schedules/times", Summary: "List the next times that a cron expression names", Tags: tags,
	}, func(_ context.Context, in *cronQuery) (*pageOf[time.Time], error) {
		list, err := a.Events.NextTimes(in.Cron, in.Timezone, in.Limit)
		return newPage(list, ""), err
	})
	route(a, huma.Operation{
		OperationID: "put-schedule", Method: http.MethodPut, Path: "/schedules/{name}", Summary: "Make events at times that are known before", Tags: tags, MaxBodyBytes: maxEventBody,
	}, func(ctx context.Context, in *schedulePut) (*oneSchedule, error) {
		s := in.Body.of(in.Name)
		var err error
		if s.UpdatedAt, err = in.version(); err != nil {
			return nil, err
		}
		s, err = a.Events.PutSchedule(ctx, caller(ctx), s)
		return withVersion(s, s.UpdatedAt), a.refuse(ctx, err, func() (stored, error) {
			list, err := a.Events.Schedules(ctx, caller(ctx))
			for _, s := range list {
				if s.Name == in.Name {
					return stored{fmt.Sprintf("the schedule %q", in.Name), s, s.UpdatedAt, s.UpdatedBy}, nil
				}
			}
			return stored{}, cmp.Or(err, gone("the schedule", in.Name))
		})
	})
	route(a, huma.Operation{
		OperationID: "delete-schedule", Method: http.MethodDelete, Path: "/schedules/{name}", Summary: "Delete a schedule", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *scheduleName) (*none, error) {
		return &none{}, a.Events.RemoveSchedule(ctx, caller(ctx), in.Name)
	})
}
