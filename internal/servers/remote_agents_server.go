package servers

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/builtin"
)

// RemoteAgentsID is the id of the built-in server that has a tool for each remote agent.
// Each tenant has its own.
const RemoteAgentsID = "agents"

// RemoteAgentsServer is that server for one tenant. Package agents keeps its tools in step
// with the agents.
type RemoteAgentsServer struct{ *builtin.Server }

// NewRemoteAgentsServer makes a server without tools.
func NewRemoteAgentsServer(log *slog.Logger) (*RemoteAgentsServer, error) {
	s, err := builtin.New(RemoteAgentsID, "Agents elsewhere", builtin.Options{
		Instructions: "Each tool is an agent of another party: give it a task in plain words. Each call is a conversation of its own.", Logger: log,
	})
	if err != nil {
		return nil, err
	}
	return &RemoteAgentsServer{s}, nil
}

// agentTask is the argument of a remote agent's tool.
type agentTask struct {
	Message string `json:"message"`
}

const agentTaskSchema = `{"type":"object","properties":{"message":{"type":"string","minLength":1,"maxLength":65536,"description":"The task or question, in plain words and with everything that the agent needs to know."}},
"required":["message"],"additionalProperties":false}`

// AddAgent adds the tool of an agent. The tool passes the message of its caller to ask and
// answers with the text and the A2UI surfaces of the turn.
func (s *RemoteAgentsServer) AddAgent(name, title string, ask func(ctx context.Context, message string) (agent.TurnResult, error)) error {
	return builtin.AddTool(s.Server, builtin.Tool{
		Name: name, Title: title, Description: fmt.Sprintf("Send a question or a task to %s, a remote agent. It answers with text, and does not remember earlier calls.", title),
		InputSchema: json.RawMessage(agentTaskSchema), Annotations: &builtin.Annotations{ReadOnly: new(false), OpenWorld: new(true)},
	}, func(ctx context.Context, _ *builtin.Call, in agentTask) (builtin.Result, error) {
		end, err := ask(ctx, in.Message)
		if err != nil {
			return builtin.Result{}, err
		}
		return turnToolResult(end)
	})
}

// turnToolResult returns the text and the A2UI surfaces of a turn as the result of a tool.
func turnToolResult(end agent.TurnResult) (builtin.Result, error) {
	out := builtin.TextResult(cmp.Or(end.Text(), "(empty answer)"))
	for _, shown := range end.Surfaces() {
		messages, err := a2ui.Encode(&shown, a2ui.V09, a2ui.EncodeOptions{})
		if err != nil {
			return out, err
		}
		text, err := json.Marshal(messages)
		if err != nil {
			return out, err
		}
		out.Content = append(out.Content, builtin.Embedded(builtin.Contents{URI: "a2ui://" + shown.ID, MIMEType: a2ui.MIMEType, Text: string(text)}))
	}
	return out, nil
}
