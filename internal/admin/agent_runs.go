package admin

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agent"
)

// Talker runs turns of agents.
type Talker interface {
	// RunAgent gives an agent a turn on a conversation, as the principal acting as the
	// agent. emit receives its events. An error means that there was no turn; the result
	// says how a turn ended.
	RunAgent(ctx context.Context, p *junctor.Principal, name string, story []agent.Message, emit func(agent.Event)) (agent.TurnResult, error)
}

// These types name the parts of a conversation in the OpenAPI document, apart from the
// stored calls and messages of package junctor.
type (
	turnMessage agent.Message
	turnCall    agent.Call
	turnResult  agent.Result
	turnTool    agent.Tool
	turnUsage   agent.Usage

	surfaceAction a2ui.Action
)

// Talk is a message to an agent.
type Talk struct {
	Message  string          `json:"message,omitempty" maxLength:"100000" doc:"Message to the agent. If messages is set too, this message is appended to it."`
	Action   *a2ui.Action    `json:"action,omitempty" doc:"User action on a surface that the agent showed, together with message or instead of it."`
	Messages []agent.Message `json:"messages,omitempty" maxItems:"2000" doc:"Conversation so far. To continue a conversation, send the messages of the earlier responses again."`
	Stream   bool            `json:"stream,omitempty" doc:"Stream the response as events; the last event is a TurnEnd."`
}

// TurnEnd is the end of an agent's turn.
type TurnEnd struct {
	Outcome  agent.Outcome   `json:"outcome" enum:"done,limit,cancelled,failed" doc:"How the turn ended. With limit, it reached one of its limits; send the conversation again to continue."`
	Reason   string          `json:"reason,omitempty"`
	Text     string          `json:"text" doc:"Final text of the agent."`
	Surfaces []a2ui.Surface  `json:"surfaces,omitempty" nullable:"false" doc:"Surfaces that the agent shows; the last version for each ID."`
	Messages []agent.Message `json:"messages" nullable:"false" doc:"Messages that the turn added to the conversation."`
	Usage    agent.Usage     `json:"usage"`
	Turns    int             `json:"turns" doc:"Number of requests to the model."`
	Calls    int             `json:"calls" doc:"Number of calls that the turn made."`
}

// TurnEvent is one event of a turn.
type TurnEvent struct {
	ID      string        `json:"id,omitempty"`
	Text    string        `json:"text,omitempty"`
	Call    *agent.Call   `json:"call,omitempty"`
	Tool    *agent.Tool   `json:"tool,omitempty"`
	Result  *agent.Result `json:"result,omitempty"`
	Surface *a2ui.Surface `json:"surface,omitempty"`
	Usage   *agent.Usage  `json:"usage,omitempty"`
	Step    int           `json:"step,omitempty"`
	WaitMS  int64         `json:"wait_ms,omitempty"`
}

// talkInput is the request that runs an agent.
type talkInput struct {
	Name string `path:"name" maxLength:"32" doc:"The agent's name."`
	Body Talk
}

// maxTurnBody bounds a request with a conversation.
const maxTurnBody = 8 << 20

// registerTalkRoutes registers the route that runs an agent.
func (a *api) registerTalkRoutes() {
	turnEnd := &huma.MediaType{Schema: a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[TurnEnd](), true, "")}
	stream := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	registerRoute(a, huma.Operation{
		OperationID: "run-agent", Method: http.MethodPost, Path: "/agents/{name}/runs", Summary: "Send a message to an agent, and return its answer", Tags: []string{"agents"},
		MaxBodyBytes: maxTurnBody, BodyReadTimeout: -1,
		Responses: map[string]*huma.Response{"200": {
			Description: "How the turn ended. With stream: events named step, text-start, text, text-end, thinking, call-start, call-args, call-end, result, surface, usage and retry (TurnEvent), then end (TurnEnd). Closing the connection stops the turn.",
			Content:     map[string]*huma.MediaType{"application/json": turnEnd, "text/event-stream": stream},
		}},
	}, func(ctx context.Context, in *talkInput) (*huma.StreamResponse, error) {
		story := in.Body.Messages
		if in.Body.Action != nil {
			if err := in.Body.Action.Check(); err != nil {
				return nil, err
			}
		}
		if in.Body.Message != "" || in.Body.Action != nil {
			story = append(story, agent.Message{Role: agent.RoleUser, Text: in.Body.Message, Action: in.Body.Action})
		}
		if len(story) == 0 {
			return nil, junctor.Errorf(junctor.CodeInvalid, "message and messages are both empty; send one of them")
		}
		return &huma.StreamResponse{Body: func(hctx huma.Context) { a.runTurn(ctx, hctx, in.Name, story, in.Body.Stream) }}, nil
	})
}

// runTurn runs a turn. If live is set, it streams the events; otherwise it answers once
// with the end. It lifts the write deadline, since a turn may take minutes.
func (a *api) runTurn(ctx context.Context, hctx huma.Context, name string, story []agent.Message, live bool) {
	_, w := humago.Unwrap(hctx)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	out := newEventStream(w)
	end, err := a.Talker.RunAgent(ctx, callerOf(ctx), name, story, func(e agent.Event) {
		if live {
			out.sendEvent(string(e.Kind), TurnEvent{ID: e.ID, Text: e.Text, Call: e.Call, Tool: e.Tool, Result: e.Result, Surface: e.Surface, Usage: e.Usage, Step: e.Step, WaitMS: e.Wait.Milliseconds()})
		}
	})
	if err != nil {
		writeProblem(w, a.toProblem(ctx, err)) // before anything was said
		return
	}
	said := TurnEnd{Outcome: end.Outcome, Reason: end.Reason, Text: end.Text(), Surfaces: end.Surfaces(), Messages: end.Messages, Usage: end.Usage, Turns: end.Requests, Calls: end.Calls}
	if said.Messages == nil {
		said.Messages = []agent.Message{}
	}
	if live {
		out.sendEvent("end", said)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = jsonFormat().Marshal(w, said) // a client that has gone is noticed by the request's context
}
