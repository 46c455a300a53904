package servers

import (
	"context"
	"encoding/json"
	"log/slog"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/builtin"
)

// EventsID is the id of the built-in server with which agents send events and read their
// deliveries. It is offered from the first trigger on: before that an event has no effect.
const EventsID = "events"

// Events takes the events of the events server in, and gives it deliveries.
type Events interface {
	// SendEvent judges the sender, stores an event and starts what follows from it.
	SendEvent(ctx context.Context, p *junctor.Principal, e junctor.Event) (junctor.Taken, error)
	// AgentFeedback returns the deliveries to an agent as a JSON document; not_found for
	// principals who may not read them.
	AgentFeedback(ctx context.Context, p *junctor.Principal, agent string) (json.RawMessage, error)
	// OnFeedback sets the function that is called after each change of the deliveries to
	// an agent.
	OnFeedback(changed func(tenant junctor.TenantID, agent string))
}

// sentEvent is the argument of the tool send.
type sentEvent struct {
	Type      string          `json:"type"`
	Agent     string          `json:"agent,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	DedupeKey string          `json:"dedupe_key,omitempty"`
}

const sentEventSchema = `{"type":"object","properties":{
"type":{"type":"string","minLength":1,"maxLength":200,"description":"What happened, such as report.finished."},
"agent":{"type":"string","maxLength":200,"description":"Whom it concerns: the order of one agent's events is kept."},
"data":{"type":"object","description":"What there is to say about it."},
"dedupe_key":{"type":"string","maxLength":256,"description":"Events of yours with the same key are taken once."}},
"required":["type"],"additionalProperties":false}`

// newEventsServer makes the events server.
func newEventsServer(events Events, log *slog.Logger) (*builtin.Server, error) {
	s, err := builtin.New(EventsID, "Events", builtin.Options{
		Instructions: "Tell of something that happened with send: triggers decide what follows. junctor://agents/{id}/feedback has what an agent was told.", Logger: log,
	})
	if err != nil {
		return nil, err
	}
	err = builtin.AddTool(s, builtin.Tool{
		Name: "send", Title: "Send an event", Description: "Tell of something that happened. The triggers of this instance decide what follows from it; the answer names the calls.",
		InputSchema: json.RawMessage(sentEventSchema), Annotations: &builtin.Annotations{ReadOnly: new(false), Destructive: new(false), OpenWorld: new(true)},
	}, func(ctx context.Context, call *builtin.Call, in sentEvent) (junctor.Taken, error) {
		p := call.Principal()
		if !p.Has(junctor.ScopeEventsSend) {
			return junctor.Taken{}, junctor.Errorf(junctor.CodeDenied, "sending events needs the scope %s", junctor.ScopeEventsSend)
		}
		return events.SendEvent(ctx, p, junctor.Event{Type: in.Type, Agent: in.Agent, Data: in.Data, DedupeKey: in.DedupeKey})
	})
	if err != nil {
		return nil, err
	}
	err = s.AddTemplate(builtin.Template{
		URITemplate: "junctor://agents/{id}/feedback", Name: "feedback", Title: "What an agent was told", MIMEType: "application/json",
		Description: "The deliveries to an agent, newest first: what it was called with, and what became of it. The agent, its owner and admins read them.",
	}, func(ctx context.Context, call *builtin.Call, _ string, vars map[string]string) ([]builtin.Contents, error) {
		text, err := events.AgentFeedback(ctx, call.Principal(), vars["id"])
		if err != nil {
			return nil, err
		}
		return []builtin.Contents{{Text: string(text)}}, nil
	})
	if err != nil {
		return nil, err
	}
	events.OnFeedback(func(tenant junctor.TenantID, agent string) {
		if tenant == junctor.DefaultTenant {
			s.Updated("junctor://agents/" + agent + "/feedback")
		}
	})
	return s, nil
}
