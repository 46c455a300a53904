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

// Events takes events and manages their sources, triggers and schedules.
type Events interface {
	// SendEvent stores an event and starts what follows from it. It judges the sender: an
	// agent sends under its own name, and only an admin sends under the name of a source.
	SendEvent(ctx context.Context, p *junctor.Principal, e junctor.Event) (junctor.Taken, error)
	// Events returns a page, with one more event if there is another page, and the number of
	// events of all pages.
	Events(ctx context.Context, p *junctor.Principal, f EventFilter, page *junctor.RowPage) ([]junctor.Event, junctor.RowTotal, error)
	// Event returns one event; not_found if the tenant has none with that id.
	Event(ctx context.Context, p *junctor.Principal, id string) (junctor.Event, error)
	// ReplayEvent evaluates today's triggers for a stored event. A delivery that exists
	// already is not made twice.
	ReplayEvent(ctx context.Context, p *junctor.Principal, id string) (junctor.Taken, error)

	// Triggers lists the tenant's triggers by name.
	Triggers(ctx context.Context, p *junctor.Principal) ([]junctor.Trigger, error)
	// Trigger returns one trigger; not_found if there is none of that name.
	Trigger(ctx context.Context, p *junctor.Principal, name string) (junctor.Trigger, error)
	// AddTrigger stores a new trigger; conflict if the name is taken.
	AddTrigger(ctx context.Context, p *junctor.Principal, t junctor.Trigger) (junctor.Trigger, error)
	// ChangeTrigger runs change on the stored trigger and stores the result. change runs
	// again if somebody else stored a change meanwhile. The other methods that take a
	// change do the same.
	ChangeTrigger(ctx context.Context, p *junctor.Principal, name string, change func(*junctor.Trigger) error) (junctor.Trigger, error)
	// RemoveTrigger deletes a trigger. Its deliveries stay.
	RemoveTrigger(ctx context.Context, p *junctor.Principal, name string) error
	// TryTrigger returns what a trigger would do with an event. It calls nothing.
	TryTrigger(ctx context.Context, p *junctor.Principal, t junctor.Trigger, e junctor.Event) (TriggerTrial, error)
	// ReadyTriggers lists triggers to copy and adapt.
	ReadyTriggers() []junctor.Trigger

	// Sources lists the tenant's sources by id, without their secrets.
	Sources(ctx context.Context, p *junctor.Principal) ([]junctor.Source, error)
	// Source returns one source without its secret; not_found if there is none with that
	// id.
	Source(ctx context.Context, p *junctor.Principal, id string) (junctor.Source, error)
	// AddSource stores a source. secret is the value or a reference to it.
	AddSource(ctx context.Context, p *junctor.Principal, s junctor.Source, secret seal.Secret) (junctor.Source, error)
	// ChangeSource runs change on the stored source. A secret that is not zero replaces
	// the former one, which stays valid for a while unless atOnce is set.
	ChangeSource(ctx context.Context, p *junctor.Principal, id string, change func(*junctor.Source) error, secret seal.Secret, atOnce bool) (junctor.Source, error)
	// RemoveSource deletes a source. Its events stay.
	RemoveSource(ctx context.Context, p *junctor.Principal, id string) error

	// Schedules lists the tenant's schedules by name.
	Schedules(ctx context.Context, p *junctor.Principal) ([]junctor.Schedule, error)
	// PutSchedule stores a schedule, in place of the one of its name. If UpdatedAt is not
	// zero, the replaced one has to have that version.
	PutSchedule(ctx context.Context, p *junctor.Principal, s junctor.Schedule) (junctor.Schedule, error)
	// RemoveSchedule deletes a schedule; not_found if there is none of that name.
	RemoveSchedule(ctx context.Context, p *junctor.Principal, name string) error
	// NextTimes returns the next times that a cron expression names.
	NextTimes(cron, timezone string, count int) ([]time.Time, error)
}

// EventFilter selects events. Zero members do not filter.
type EventFilter struct {
	Source, Type, Agent string
	Since               time.Time
}

// TriggerTrial is what a trigger would do with an event.
type TriggerTrial struct {
	Matches   bool                `json:"matches" doc:"Whether the trigger matches the event."`
	Arguments json.RawMessage     `json:"arguments,omitempty" doc:"Arguments of the tool call."`
	Fault     string              `json:"fault,omitempty" doc:"Why no call can be made from the event."`
	Tool      bool                `json:"tool" doc:"Whether the tool is known and the arguments were validated against its schema."`
	Breaks    []junctor.Violation `json:"breaks,omitempty" nullable:"false" doc:"Violations of the tool's schema in the arguments."`
}

// newEvent is the request that sends an event.
type newEvent struct {
	Body struct {
		Source    string          `json:"source,omitempty" maxLength:"200" doc:"Source of the event, as named by the sender. By default api. For an agent, it is always agent:NAME."`
		Type      string          `json:"type" maxLength:"200" doc:"Type of the event."`
		Agent     string          `json:"agent,omitempty" maxLength:"200" doc:"Agent that the event concerns. Events of one agent stay in order."`
		Data      json.RawMessage `json:"data,omitempty"`
		DedupeKey string          `json:"dedupe_key,omitempty" maxLength:"256" doc:"Deduplication key: of all events of a source with the same key, only the first is accepted. If absent, every event is accepted."`
	}
}

// takenEventResponse says which event was stored and how many calls follow from it.
type takenEventResponse struct{ Body junctor.Taken }

// eventQuery is the query of list-events.
type eventQuery struct {
	ListQuery
	Source string    `query:"source" doc:"Only events of this source."`
	Type   string    `query:"type" doc:"Only events of this type."`
	Agent  string    `query:"agent" doc:"Only events that concern this agent."`
	Since  time.Time `query:"since" doc:"Only events that were accepted at this time or later."`
}

// eventID is the path of one event.
type eventID struct {
	ID string `path:"id" maxLength:"100" doc:"The event's id."`
}

// eventResponse is one event.
type eventResponse struct{ Body junctor.Event }

// maxEventBody bounds a request that has the data of an event.
const maxEventBody = junctor.MaxEventData + 4096

// registerEventRoutes registers the routes of events, and those of triggers, sources and
// schedules.
func (a *api) registerEventRoutes() {
	tags := []string{"events"}
	registerRoute(a, huma.Operation{
		OperationID: "send-event", Method: http.MethodPost, Path: "/events", Summary: "Send an event; it is stored before the response is sent", Tags: tags,
		DefaultStatus: http.StatusAccepted, MaxBodyBytes: maxEventBody,
	}, func(ctx context.Context, in *newEvent) (*takenEventResponse, error) {
		taken, err := a.Events.SendEvent(ctx, callerOf(ctx), junctor.Event{
			Source: in.Body.Source, Type: in.Body.Type, Agent: in.Body.Agent, Data: in.Body.Data, DedupeKey: in.Body.DedupeKey,
		})
		return &takenEventResponse{taken}, err
	})
	registerRows(a, huma.Operation{
		OperationID: "list-events", Method: http.MethodGet, Path: "/events", Summary: "List events, newest first", Tags: tags,
	}, rowShape[junctor.Event]{
		id: func(e *junctor.Event) string { return e.ID }, order: "received_at", newest: true,
	}, func(ctx context.Context, in *eventQuery, page *junctor.RowPage) ([]junctor.Event, junctor.RowTotal, error) {
		events, total, err := a.Events.Events(ctx, callerOf(ctx), EventFilter{in.Source, in.Type, in.Agent, in.Since}, page)
		for i := range events {
			restrictEvent(callerOf(ctx), &events[i])
		}
		return events, total, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "get-event", Method: http.MethodGet, Path: "/events/{id}", Summary: "Show an event", Tags: tags,
	}, func(ctx context.Context, in *eventID) (*eventResponse, error) {
		e, err := a.Events.Event(ctx, callerOf(ctx), in.ID)
		restrictEvent(callerOf(ctx), &e)
		return &eventResponse{e}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "replay-event", Method: http.MethodPost, Path: "/events/{id}/replay", Summary: "Process an event again with the current triggers; existing deliveries are not made again", Tags: tags,
		DefaultStatus: http.StatusAccepted,
	}, func(ctx context.Context, in *eventID) (*takenEventResponse, error) {
		taken, err := a.Events.ReplayEvent(ctx, callerOf(ctx), in.ID)
		return &takenEventResponse{taken}, err
	})
	a.registerTriggerRoutes()
	a.registerSourceRoutes()
	a.registerScheduleRoutes()
}

// restrictEvent removes the data of an event that a tool's answer caused (its depth is
// above zero). Such data is the payload of a call that belongs to no user, and only admins
// may read it.
func restrictEvent(p *junctor.Principal, e *junctor.Event) {
	if e.Depth > 0 && !p.Has(junctor.ScopeAdmin) {
		e.Data = nil
	}
}

// SourceBody describes a source. In a change, absent members stay as they are.
type SourceBody struct {
	Title      *string     `json:"title,omitempty" maxLength:"200"`
	Secret     seal.Secret `json:"secret,omitzero" doc:"Secret that signs messages. With the styles redis and redis-stream, the address redis://user:password@host:6379/0."`
	Header     *string     `json:"header,omitempty" maxLength:"100" doc:"Header of the signature, with the style hmac. By default X-Signature-256."`
	TypeField  *string     `json:"type_field,omitempty" maxLength:"200" doc:"Path of the event's type in the message, such as data.kind. By default set by the style."`
	AgentField *string     `json:"agent_field,omitempty" maxLength:"200" doc:"Path of the agent in the message, such as data.agent_id."`
	Key        *string     `json:"key,omitempty" maxLength:"200" doc:"Name of the list or stream, with the styles redis and redis-stream. By default action_jobs."`
	Disabled   *bool       `json:"disabled,omitempty"`
}

// applyTo sets the members of s that the body has. The secret is not among them.
func (b *SourceBody) applyTo(s *junctor.Source) {
	setIfGiven(&s.Title, b.Title)
	setIfGiven(&s.Header, b.Header)
	setIfGiven(&s.TypeField, b.TypeField)
	setIfGiven(&s.AgentField, b.AgentField)
	setIfGiven(&s.Key, b.Key)
	setIfGiven(&s.Disabled, b.Disabled)
}

// newSource is the request that adds a source.
type newSource struct {
	Body struct {
		ID    string              `json:"id" doc:"Lower-case letter, followed by up to 62 lower-case letters, digits or hyphens. The response has the path that messages are posted to."`
		Style junctor.SourceStyle `json:"style"`
		SourceBody
	}
}

// sourceID is the path of one source.
type sourceID struct {
	ID string `path:"id" maxLength:"63" doc:"The source's id."`
}

// sourcePatch is the request that changes a source.
type sourcePatch struct {
	Precondition
	ID   string `path:"id" maxLength:"63" doc:"The source's id."`
	Body struct {
		SourceBody
		AtOnce bool `json:"at_once,omitempty" doc:"Reject the previous secret immediately."`
	}
}

// sourceResponse is one source with its version.
type sourceResponse = versionedResponse[junctor.Source]

// registerSourceRoutes registers the routes below /sources.
func (a *api) registerSourceRoutes() {
	tags := []string{"sources"}
	registerList(a, huma.Operation{
		OperationID: "list-sources", Method: http.MethodGet, Path: "/sources", Summary: "List event sources", Tags: tags,
	}, sourceList(), func(ctx context.Context, _ *ListQuery) ([]junctor.Source, error) {
		list, err := a.Events.Sources(ctx, callerOf(ctx))
		return list, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "create-source", Method: http.MethodPost, Path: "/sources", Summary: "Add an event source", Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *newSource) (*sourceResponse, error) {
		s := junctor.Source{ID: in.Body.ID, Style: in.Body.Style}
		in.Body.applyTo(&s)
		s, err := a.Events.AddSource(ctx, callerOf(ctx), s, in.Body.Secret)
		return withVersion(s, s.UpdatedAt), err
	})
	registerRoute(a, huma.Operation{
		OperationID: "get-source", Method: http.MethodGet, Path: "/sources/{id}", Summary: "Show an event source", Tags: tags,
	}, func(ctx context.Context, in *sourceID) (*sourceResponse, error) {
		s, err := a.Events.Source(ctx, callerOf(ctx), in.ID)
		return withVersion(s, s.UpdatedAt), err
	})
	registerRoute(a, huma.Operation{
		OperationID: "patch-source", Method: http.MethodPatch, Path: "/sources/{id}", Summary: "Change an event source, or replace its secret", Tags: tags,
	}, func(ctx context.Context, in *sourcePatch) (*sourceResponse, error) {
		s, err := a.Events.ChangeSource(ctx, callerOf(ctx), in.ID, func(s *junctor.Source) error {
			if err := in.checkVersion(s.UpdatedAt); err != nil {
				return err
			}
			in.Body.applyTo(s)
			return nil
		}, in.Body.Secret, in.Body.AtOnce)
		return withVersion(s, s.UpdatedAt), a.explainConflict(ctx, err, func() (storedVersion, error) {
			s, err := a.Events.Source(ctx, callerOf(ctx), in.ID)
			return storedVersion{fmt.Sprintf("the source %q", in.ID), s, s.UpdatedAt, s.UpdatedBy}, err
		})
	})
	registerRoute(a, huma.Operation{
		OperationID: "delete-source", Method: http.MethodDelete, Path: "/sources/{id}", Summary: "Delete an event source; its events remain", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *sourceID) (*empty, error) {
		return &empty{}, a.Events.RemoveSource(ctx, callerOf(ctx), in.ID)
	})
}

// schedulePut is the request that stores a schedule.
type schedulePut struct {
	Precondition
	Name string `path:"name" maxLength:"63" doc:"The schedule's name."`
	Body ScheduleBody
}

// ScheduleBody describes a whole schedule.
type ScheduleBody struct {
	Cron     string          `json:"cron" maxLength:"200" doc:"Minute, hour, day, month and weekday, such as 0 9 * * mon-fri; or @hourly, @daily, @weekly, @monthly or @yearly."`
	Timezone string          `json:"timezone,omitempty" maxLength:"100" doc:"Time zone, such as Europe/Berlin. By default UTC."`
	Type     string          `json:"type" maxLength:"200" doc:"Type of the created events."`
	Agent    string          `json:"agent,omitempty" maxLength:"200" doc:"Agent that the created events concern."`
	Data     json.RawMessage `json:"data,omitempty"`
	Disabled bool            `json:"disabled,omitempty"`
}

// toSchedule returns the schedule that the body describes under a name.
func (b *ScheduleBody) toSchedule(name string) junctor.Schedule {
	return junctor.Schedule{Name: name, Cron: b.Cron, Timezone: b.Timezone, Type: b.Type, Agent: b.Agent, Data: b.Data, Disabled: b.Disabled}
}

// scheduleName is the path of one schedule.
type scheduleName struct {
	Name string `path:"name" maxLength:"63" doc:"The schedule's name."`
}

// scheduleResponse is one schedule with its version.
type scheduleResponse = versionedResponse[junctor.Schedule]

// cronQuery is the query of list-schedule-times.
type cronQuery struct {
	Cron     string `query:"cron" maxLength:"200" doc:"Cron expression, in the form that schedules use."`
	Timezone string `query:"timezone" maxLength:"100" doc:"Time zone, such as Europe/Berlin. By default UTC."`
	Limit    int    `query:"limit" minimum:"1" maximum:"20" default:"5"`
}

// registerScheduleRoutes registers the routes below /schedules.
func (a *api) registerScheduleRoutes() {
	tags := []string{"schedules"}
	registerList(a, huma.Operation{
		OperationID: "list-schedules", Method: http.MethodGet, Path: "/schedules", Summary: "List schedules", Tags: tags,
	}, scheduleList(), func(ctx context.Context, _ *ListQuery) ([]junctor.Schedule, error) {
		list, err := a.Events.Schedules(ctx, callerOf(ctx))
		return list, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "list-schedule-times", Method: http.MethodGet, Path: "/schedules/times", Summary: "List the next times of a cron expression", Tags: tags,
	}, func(_ context.Context, in *cronQuery) (*pageResponse[time.Time], error) {
		list, err := a.Events.NextTimes(in.Cron, in.Timezone, in.Limit)
		return newPage(list, ""), err
	})
	registerRoute(a, huma.Operation{
		OperationID: "put-schedule", Method: http.MethodPut, Path: "/schedules/{name}", Summary: "Add or replace a schedule, which creates events at set times", Tags: tags, MaxBodyBytes: maxEventBody,
	}, func(ctx context.Context, in *schedulePut) (*scheduleResponse, error) {
		s := in.Body.toSchedule(in.Name)
		var err error
		if s.UpdatedAt, err = in.wantedVersion(); err != nil {
			return nil, err
		}
		s, err = a.Events.PutSchedule(ctx, callerOf(ctx), s)
		return withVersion(s, s.UpdatedAt), a.explainConflict(ctx, err, func() (storedVersion, error) {
			list, err := a.Events.Schedules(ctx, callerOf(ctx))
			for _, s := range list {
				if s.Name == in.Name {
					return storedVersion{fmt.Sprintf("the schedule %q", in.Name), s, s.UpdatedAt, s.UpdatedBy}, nil
				}
			}
			return storedVersion{}, cmp.Or(err, goneError("the schedule", in.Name))
		})
	})
	registerRoute(a, huma.Operation{
		OperationID: "delete-schedule", Method: http.MethodDelete, Path: "/schedules/{name}", Summary: "Delete a schedule", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *scheduleName) (*empty, error) {
		return &empty{}, a.Events.RemoveSchedule(ctx, callerOf(ctx), in.Name)
	})
}

// sourceList is the shape of list-sources.
func sourceList() listShape[junctor.Source] {
	return listShape[junctor.Source]{
		id: func(v *junctor.Source) string { return v.ID },
		orders: []listOrder[junctor.Source]{
			byText("id", func(v *junctor.Source) string { return v.ID }),
			byText("title", func(v *junctor.Source) string { return v.Title }),
			byText("style", func(v *junctor.Source) string { return string(v.Style) }),
			byTime("created_at", func(v *junctor.Source) time.Time { return v.CreatedAt }),
			byTime("updated_at", func(v *junctor.Source) time.Time { return v.UpdatedAt }),
		},
		text: func(v *junctor.Source) []string { return []string{v.ID, v.Title, string(v.Style)} },
	}
}

// scheduleList is the shape of list-schedules.
func scheduleList() listShape[junctor.Schedule] {
	return listShape[junctor.Schedule]{
		id: func(v *junctor.Schedule) string { return v.Name },
		orders: []listOrder[junctor.Schedule]{
			byText("name", func(v *junctor.Schedule) string { return v.Name }),
			byText("type", func(v *junctor.Schedule) string { return v.Type }),
			byTime("next_at", func(v *junctor.Schedule) time.Time { return v.NextAt }),
			byTime("last_at", func(v *junctor.Schedule) time.Time { return v.LastAt }),
			byTime("created_at", func(v *junctor.Schedule) time.Time { return v.CreatedAt }),
			byTime("updated_at", func(v *junctor.Schedule) time.Time { return v.UpdatedAt }),
		},
		text: func(v *junctor.Schedule) []string { return []string{v.Name, v.Type, v.Agent, v.Cron} },
	}
}
