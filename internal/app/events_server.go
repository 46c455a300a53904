package app

import (
	"context"
	"encoding/json"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/builtin"
)

// eventsID is the built-in server with which agents send events and read what
// they were told. It is offered from the first trigger on: before that an event
// leads to nothing.
const eventsID = "events"

// sendEvent is what an agent says of an event.
type sendEvent struct {
	Type      string          `json:"type" jsonschema:"what happened, such as report.finished"`
	Agent     string          `json:"agent,omitempty" jsonschema:"whom it concerns; the order of one agent's events is kept"`
	Data      json.RawMessage `json:"data,omitempty" jsonschema:"what there is to say about it"`
	DedupeKey string          `json:"dedupe_key,omitempty" jsonschema:"events of yours with the same key are taken once"`
}

const sendEventSchema = `{"type":"object","properties":{
"type":{"type":"string","minLength":1,"maxLength":200,"description":"What happened, such as report.finished."},
"agent":{"type":"string","maxLength":200,"description":"Whom it concerns: the order of one agent's events is kept."},
"data":{"type":"object","description":"What there is to say about it."},
"dedupe_key":{"type":"string","maxLength":256,"description":"Events of yours with the same key are taken once."}},
"required":["type"],"additionalProperties":false}`

// eventsServer makes the built-in server.
func (a *App) eventsServer() (*builtin.Server, error) {
	s, err := builtin.New(eventsID, "Events", builtin.Options{
		Instructions: "Tell of something that happened with send: triggers decide what follows. junctor://agents/{id}/feedback has what an agent was told.", Logger: a.log,
	})
	if err != nil {
		return nil, err
	}
	err = builtin.AddTool(s, builtin.Tool{
		Name: "send", Title: "Send an event", Description: "Tell of something that happened. The triggers of this instance decide what follows from it; the answer names the calls.",
		InputSchema: json.RawMessage(sendEventSchema), Annotations: &builtin.Annotations{ReadOnly: new(false), Destructive: new(false), OpenWorld: new(true)},
	}, func(ctx context.Context, call *builtin.Call, in sendEvent) (junctor.Taken, error) {
		p := call.Principal()
		if !p.Has(junctor.ScopeEventsSend) {
			return junctor.Taken{}, junctor.Errorf(junctor.CodeDenied, "sending events needs the scope %s", junctor.ScopeEventsSend)
		}
		return happenings{a}.SendEvent(ctx, p, junctor.Event{Type: in.Type, Agent: in.Agent, Data: in.Data, DedupeKey: in.DedupeKey})
	})
	if err != nil {
		return nil, err
	}
	err = s.AddTemplate(builtin.Template{
		URITemplate: "junctor://agents/{id}/feedback", Name: "feedback", Title: "What an agent was told", MIMEType: "application/json",
		Description: "The deliveries to an agent, newest first: what it was called with, and what became of it. The agent, its owner and admins read them.",
	}, func(ctx context.Context, call *builtin.Call, _ string, vars map[string]string) ([]builtin.Contents, error) {
		p := call.Principal()
		since, err := a.feedbackSince(ctx, p, vars["id"])
		if err != nil {
			return nil, err
		}
		text, err := a.worker.Feedback(ctx, p.Tenant, vars["id"], since, 0)
		return []builtin.Contents{{Text: string(text)}}, err
	})
	if err != nil {
		return nil, err
	}
	a.worker.OnFeedback(func(tenant junctor.TenantID, agent string) {
		if tenant == junctor.DefaultTenant {
			s.Updated("junctor://agents/" + agent + "/feedback")
		}
	})
	return s, nil
}

// feedbackSince says from when on a principal may read what was delivered to an
// agent, arguments and results included: that is for admins, for the agent and for
// its owner, who acts as the agent anyway. Both read what was delivered since there
// is the agent: a former one of its name may have been somebody else's.
func (a *App) feedbackSince(ctx context.Context, p *junctor.Principal, name string) (time.Time, error) {
	if p.Agent == "" && p.Has(junctor.ScopeAdmin) {
		return time.Time{}, nil
	}
	one, err := a.store.For(p.Tenant).Agent(ctx, name)
	if err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
		return time.Time{}, err
	}
	if err != nil || p.Agent != name && (p.Agent != "" || !p.Is(one.Owner)) {
		return time.Time{}, junctor.Errorf(junctor.CodeNotFound, "there is nothing of the agent %q that you may read", name)
	}
	return one.CreatedAt, nil
}

// offerEvents has the tenant's catalogue offer the built-in server of events.
func (a *App) offerEvents(ctx context.Context, tenant junctor.TenantID, starting bool) error {
	if tenant != junctor.DefaultTenant {
		return nil
	}
	return a.servers.OfferBuiltin(ctx, tenant, eventsID, starting)
}
