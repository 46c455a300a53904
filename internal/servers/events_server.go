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
"type":{"type":"string","minLength":1,"maxLength":200,"description":"Type of the event, such as report.finished."},
"agent":{"type":"string","maxLength":200,"description":"The agent that the event concerns. The events of one agent stay in order."},
"data":{"type":"object","description":"Data of the event."},
"dedupe_key":{"type":"string","maxLength":256,"description":"Deduplication key: of your events with the same key, only the first is accepted."}},
"required":["type"],"additionalProperties":false}`

// newEventsServer makes the events server.
func newEventsServer(events Events, log *slog.Logger) (*builtin.Server, error) {
	s, err := builtin.New(EventsID, "Events", builtin.Options{
		Instructions: "Use send to report that something happened: triggers decide which calls follow. junctor://agents/{id}/feedback lists the deliveries to an agent.", Logger: log,
	})
	if err != nil {
		return nil, err
	}
	err = builtin.AddTool(s, builtin.Tool{
		Name: "send", Title: "Send an event", Description: "Report that something happened. The triggers of this instance decide which calls follow; the answer has their ids.",
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
		URITemplate: "junctor://agents/{id}/feedback", Name: "feedback", Title: "Deliveries to an agent", MIMEType: "application/json",
		Description: "The deliveries to an agent, newest first, with their arguments and outcomes. The agent, its owner and admins can read them.",
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
