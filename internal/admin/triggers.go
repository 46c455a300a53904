package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	junctor "github.com/junctor-mcp/junctor"
)

// TriggerBody describes a trigger. In a change, absent members stay as they are.
type TriggerBody struct {
	Title    *string         `json:"title,omitempty" maxLength:"200"`
	Match    *junctor.Match  `json:"match,omitempty" doc:"Events that the trigger matches. By default, a new trigger matches all events."`
	Action   *junctor.Action `json:"action,omitempty" doc:"Call that the trigger makes: a tool by its name at the server, and exactly one of server, agent and resolve. The template is JSON in which {{data.name}} inserts a value of the event."`
	Disabled *bool           `json:"disabled,omitempty"`
}

// applyTo sets the members of t that the body has.
func (b *TriggerBody) applyTo(t *junctor.Trigger) {
	setIfGiven(&t.Title, b.Title)
	setIfGiven(&t.Match, b.Match)
	setIfGiven(&t.Action, b.Action)
	setIfGiven(&t.Disabled, b.Disabled)
}

// newTrigger is the request that adds a trigger.
type newTrigger struct {
	Body struct {
		Name string `json:"name" doc:"Lower-case letter, followed by up to 62 lower-case letters, digits or hyphens."`
		TriggerBody
	}
}

// triggerName is the path of one trigger.
type triggerName struct {
	Name string `path:"name" maxLength:"63" doc:"The trigger's name."`
}

// triggerPatch is the request that changes a trigger.
type triggerPatch struct {
	Precondition
	Name string `path:"name" maxLength:"63" doc:"The trigger's name."`
	Body TriggerBody
}

// sampleEvent is an event to try a trigger with: a stored one by its id, or a made-up one.
type sampleEvent struct {
	ID     string          `json:"id,omitempty" doc:"ID of a stored event. If set, the other members are ignored."`
	Source string          `json:"source,omitempty" maxLength:"200"`
	Type   string          `json:"type,omitempty" maxLength:"200"`
	Agent  string          `json:"agent,omitempty" maxLength:"200"`
	Data   json.RawMessage `json:"data,omitempty"`
}

// triggerTry is the request that tries a trigger.
type triggerTry struct {
	Body struct {
		Name string `json:"name,omitempty" doc:"Name of an existing trigger. If absent, the other members describe a new trigger."`
		TriggerBody
		Event sampleEvent `json:"event" doc:"Event to test the trigger with."`
	}
}

type (
	triggerResponse = versionedResponse[junctor.Trigger]
	trialResponse   struct{ Body TriggerTrial }
)

// registerTriggerRoutes registers the routes below /triggers. A trial takes a stored
// trigger by name, a described one, or a stored one with members replaced.
func (a *api) registerTriggerRoutes() {
	tags := []string{"triggers"}
	registerList(a, huma.Operation{
		OperationID: "list-triggers", Method: http.MethodGet, Path: "/triggers", Summary: "List triggers", Tags: tags,
	}, triggerList(), func(ctx context.Context, _ *ListQuery) ([]junctor.Trigger, error) {
		list, err := a.Events.Triggers(ctx, callerOf(ctx))
		return list, err
	})
	registerList(a, huma.Operation{
		OperationID: "list-ready-triggers", Method: http.MethodGet, Path: "/triggers/ready", Summary: "List example triggers; to use one, copy it and name its server or agent", Tags: tags,
	}, triggerList(), func(_ context.Context, _ *ListQuery) ([]junctor.Trigger, error) {
		return a.Events.ReadyTriggers(), nil
	})
	registerRoute(a, huma.Operation{
		OperationID: "create-trigger", Method: http.MethodPost, Path: "/triggers", Summary: "Add a trigger", Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *newTrigger) (*triggerResponse, error) {
		t := junctor.Trigger{Name: in.Body.Name}
		in.Body.applyTo(&t)
		t, err := a.Events.AddTrigger(ctx, callerOf(ctx), t)
		return withVersion(t, t.UpdatedAt), err
	})
	registerRoute(a, huma.Operation{
		OperationID: "try-trigger", Method: http.MethodPost, Path: "/triggers/test", Summary: "Test what a trigger does with an event, without making a call", Tags: tags, MaxBodyBytes: maxEventBody,
	}, func(ctx context.Context, in *triggerTry) (*trialResponse, error) {
		p := callerOf(ctx)
		t := junctor.Trigger{Name: in.Body.Name}
		if in.Body.Name == "" {
			t.Name = "test"
		} else if in.Body.Action == nil {
			var err error
			if t, err = a.Events.Trigger(ctx, p, in.Body.Name); err != nil {
				return nil, err
			}
		}
		in.Body.applyTo(&t)
		s := in.Body.Event
		e := junctor.Event{ID: "sample", Source: s.Source, Type: s.Type, Agent: s.Agent, Data: s.Data}
		if s.ID != "" {
			var err error
			if e, err = a.Events.Event(ctx, p, s.ID); err != nil {
				return nil, err
			}
		}
		trial, err := a.Events.TryTrigger(ctx, p, t, e)
		return &trialResponse{trial}, err
	})
	registerRoute(a, huma.Operation{
		OperationID: "get-trigger", Method: http.MethodGet, Path: "/triggers/{name}", Summary: "Show a trigger", Tags: tags,
	}, func(ctx context.Context, in *triggerName) (*triggerResponse, error) {
		t, err := a.Events.Trigger(ctx, callerOf(ctx), in.Name)
		return withVersion(t, t.UpdatedAt), err
	})
	registerRoute(a, huma.Operation{
		OperationID: "patch-trigger", Method: http.MethodPatch, Path: "/triggers/{name}", Summary: "Change, enable or disable a trigger", Tags: tags,
	}, func(ctx context.Context, in *triggerPatch) (*triggerResponse, error) {
		t, err := a.Events.ChangeTrigger(ctx, callerOf(ctx), in.Name, func(t *junctor.Trigger) error {
			if err := in.checkVersion(t.UpdatedAt); err != nil {
				return err
			}
			in.Body.applyTo(t)
			return nil
		})
		return withVersion(t, t.UpdatedAt), a.explainConflict(ctx, err, func() (storedVersion, error) {
			t, err := a.Events.Trigger(ctx, callerOf(ctx), in.Name)
			return storedVersion{fmt.Sprintf("the trigger %q", in.Name), t, t.UpdatedAt, t.UpdatedBy}, err
		})
	})
	registerRoute(a, huma.Operation{
		OperationID: "delete-trigger", Method: http.MethodDelete, Path: "/triggers/{name}", Summary: "Delete a trigger; its deliveries remain", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *triggerName) (*empty, error) {
		return &empty{}, a.Events.RemoveTrigger(ctx, callerOf(ctx), in.Name)
	})
}

// triggerList is the shape of lists of triggers.
func triggerList() listShape[junctor.Trigger] {
	return listShape[junctor.Trigger]{
		id: func(v *junctor.Trigger) string { return v.Name },
		orders: []listOrder[junctor.Trigger]{
			byText("name", func(v *junctor.Trigger) string { return v.Name }),
			byText("title", func(v *junctor.Trigger) string { return v.Title }),
			byText("source", func(v *junctor.Trigger) string { return v.Match.Source }),
			byText("type", func(v *junctor.Trigger) string { return v.Match.Type }),
			byTime("created_at", func(v *junctor.Trigger) time.Time { return v.CreatedAt }),
			byTime("updated_at", func(v *junctor.Trigger) time.Time { return v.UpdatedAt }),
		},
		text: func(v *junctor.Trigger) []string { return []string{v.Name, v.Title, v.Match.Source, v.Match.Type} },
	}
}
