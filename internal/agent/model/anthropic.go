package model

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/junctor-mcp/junctor/internal/agent"
)

// messages speaks the Messages API.
type messages struct {
	service anthropic.MessageService
	door    *door
	at      *url.URL
}

func newAnthropic(o Options) *messages {
	m := &messages{door: &door{client: o.Client, key: o.Key.Reveal()}, at: hostOf(o.BaseURL, "api.anthropic.com")}
	opts := []option.RequestOption{option.WithEnvironmentProduction(), option.WithHTTPClient(m.door), option.WithMaxRetries(0)}
	if o.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(o.BaseURL))
	}
	if m.door.key != "" {
		opts = append(opts, option.WithAPIKey(m.door.key))
	}
	m.service = anthropic.NewMessageService(opts...) // NewClient would read the environment
	return m
}

// Stream implements agent.Provider.
func (m *messages) Stream(ctx context.Context, r agent.Request) iter.Seq2[agent.Piece, error] {
	return func(yield func(agent.Piece, error) bool) {
		stream := m.service.NewStreaming(ctx, anthropicRequest(r))
		defer stream.Close()
		a := anthropicAnswer{blocks: map[int64]*block{}}
		for stream.Next() {
			if !a.take(stream.Current(), func(p agent.Piece) bool { return yield(p, nil) }) {
				return
			}
		}
		if err := stream.Err(); err != nil {
			yield(agent.Piece{}, m.failed(ctx, err))
			return
		}
		if !a.ended {
			yield(agent.Piece{}, m.door.fault(ctx, m.at, broken(m.at.Host)))
		}
	}
}

// failed is the fault of a stream; an error that came as an event of it has its
// own words.
func (m *messages) failed(ctx context.Context, err error) error {
	said, ok := err.(*anthropic.Error) //nolint:errorlint // as the SDK gives it; faults of the door may be inside of others
	if !ok {
		return m.door.fault(ctx, m.at, err)
	}
	return &agent.FaultError{Cause: err, Again: true, Message: m.at.Host + " broke off its answer" + m.door.said([]byte(said.RawJSON()))}
}

// block is a part of an answer that is being given.
type block struct {
	kind, id, name  string
	text, signature []byte // text is what it thinks, or the arguments of a call
}

// kept is a block of thoughts as it is kept with a message: the API wants it
// back where calls follow from it.
type kept struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking,omitempty"`
	Signature string `json:"signature,omitempty"`
	Data      string `json:"data,omitempty"`
}

// thoughts is what Message.Thinking holds, of whatever provider.
type thoughts struct {
	Anthropic []kept  `json:"anthropic,omitempty"`
	A2A       *thread `json:"a2a,omitempty"`
}

// anthropicAnswer puts an answer together.
type anthropicAnswer struct {
	blocks   map[int64]*block
	calls    []*agent.Call
	thoughts []kept
	usage    agent.Usage
	stop     string
	ended    bool
}

// take takes one event. It gives false when nobody listens any more.
func (a *anthropicAnswer) take(e anthropic.MessageStreamEventUnion, yield func(agent.Piece) bool) bool {
	switch e.Type {
	case "message_start":
		u := e.Message.Usage
		a.usage = agent.Usage{Input: int(u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens), Output: int(u.OutputTokens)}
	case "content_block_start":
		b := &block{kind: e.ContentBlock.Type, id: e.ContentBlock.ID, name: e.ContentBlock.Name}
		a.blocks[e.Index] = b
		switch b.kind {
		case "text":
			return e.ContentBlock.Text == "" || yield(agent.Piece{Text: e.ContentBlock.Text})
		case "redacted_thinking":
			a.thoughts = append(a.thoughts, kept{Type: b.kind, Data: e.ContentBlock.Data})
		case "tool_use":
			return yield(agent.Piece{Args: &agent.ArgsDelta{ID: b.id, Name: b.name}})
		}
	case "content_block_delta":
		if b := a.blocks[e.Index]; b != nil {
			return a.delta(b, e.Delta, yield)
		}
	case "content_block_stop":
		if b := a.blocks[e.Index]; b != nil {
			a.close(b)
			delete(a.blocks, e.Index)
		}
	case "message_delta":
		a.stop = string(e.Delta.StopReason)
		a.usage.Output = int(e.Usage.OutputTokens)
	case "message_stop":
		return a.end(yield)
	}
	return true
}

func (a *anthropicAnswer) delta(b *block, d anthropic.MessageStreamEventUnionDelta, yield func(agent.Piece) bool) bool {
	switch d.Type {
	case "text_delta":
		return d.Text == "" || yield(agent.Piece{Text: d.Text})
	case "thinking_delta":
		b.text = append(b.text, d.Thinking...)
		return d.Thinking == "" || yield(agent.Piece{Thinking: d.Thinking})
	case "signature_delta":
		b.signature = append(b.signature, d.Signature...)
	case "input_json_delta":
		b.text = append(b.text, d.PartialJSON...)
		return d.PartialJSON == "" || yield(agent.Piece{Args: &agent.ArgsDelta{ID: b.id, Name: b.name, Delta: d.PartialJSON}})
	}
	return true
}

// close keeps a block that is whole.
func (a *anthropicAnswer) close(b *block) {
	switch b.kind {
	case "thinking":
		a.thoughts = append(a.thoughts, kept{Type: b.kind, Thinking: string(b.text), Signature: string(b.signature)})
	case "tool_use":
		a.calls = append(a.calls, &agent.Call{ID: b.id, Name: b.name, Arguments: b.text})
	}
}

// end gives what is known only now: calls that nothing was cut off from, what is
// to be kept, what it cost, and why it ended.
func (a *anthropicAnswer) end(yield func(agent.Piece) bool) bool {
	a.ended = true
	if a.stop == string(anthropic.StopReasonMaxTokens) {
		a.stop = agent.StopLength
	}
	for _, c := range a.calls {
		if a.stop == agent.StopLength && len(c.Arguments) > 0 && !json.Valid(c.Arguments) {
			continue
		}
		if !yield(agent.Piece{Call: c}) {
			return false
		}
	}
	if len(a.thoughts) > 0 {
		text, err := json.Marshal(thoughts{Anthropic: a.thoughts})
		if err == nil && !yield(agent.Piece{Opaque: text}) {
			return false
		}
	}
	return yield(agent.Piece{Usage: &a.usage}) && (a.stop == "" || yield(agent.Piece{Stop: a.stop}))
}

func anthropicRequest(r agent.Request) anthropic.MessageNewParams {
	p := anthropic.MessageNewParams{Model: r.Model, MaxTokens: int64(r.MaxTokens), Messages: anthropicStory(r.Messages)}
	if r.Instructions != "" {
		p.System = []anthropic.TextBlockParam{{Text: r.Instructions}}
	}
	for _, t := range r.Tools {
		tool := &anthropic.ToolParam{Name: t.Name, InputSchema: param.Override[anthropic.ToolInputSchemaParam](schemaOf(t))}
		if t.Description != "" {
			tool.Description = anthropic.String(t.Description)
		}
		p.Tools = append(p.Tools, anthropic.ToolUnionParam{OfTool: tool})
	}
	return p
}

// anthropicStory is a story as the API takes it: it begins and ends with the
// user, nobody speaks twice in a row, and nothing is empty.
func anthropicStory(story []agent.Message) []anthropic.MessageParam {
	var out []anthropic.MessageParam
	say := func(role anthropic.MessageParamRole, blocks ...anthropic.ContentBlockParamUnion) {
		if len(blocks) == 0 {
			return
		}
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(out[n-1].Content, blocks...)
			return
		}
		if len(out) == 0 && role != anthropic.MessageParamRoleUser {
			out = append(out, anthropic.NewUserMessage(anthropic.NewTextBlock(goOn)))
		}
		out = append(out, anthropic.MessageParam{Role: role, Content: blocks})
	}
	for _, m := range story {
		switch m.Role {
		case agent.RoleUser:
			if m.Text != "" {
				say(anthropic.MessageParamRoleUser, anthropic.NewTextBlock(speech(m)))
			}
		case agent.RoleAssistant:
			say(anthropic.MessageParamRoleAssistant, assistantBlocks(m)...)
		case agent.RoleTool:
			for _, res := range m.Results {
				say(anthropic.MessageParamRoleUser, anthropic.NewToolResultBlock(res.CallID, orNothing(res.Text), res.IsError))
			}
		}
	}
	if n := len(out); n == 0 || out[n-1].Role != anthropic.MessageParamRoleUser {
		say(anthropic.MessageParamRoleUser, anthropic.NewTextBlock(goOn))
	}
	return out
}

func assistantBlocks(m agent.Message) []anthropic.ContentBlockParamUnion {
	var blocks []anthropic.ContentBlockParamUnion
	var t thoughts
	if len(m.Thinking) > 0 && json.Unmarshal(m.Thinking, &t) == nil {
		for _, k := range t.Anthropic {
			if k.Type == "redacted_thinking" {
				blocks = append(blocks, anthropic.NewRedactedThinkingBlock(k.Data))
			} else {
				blocks = append(blocks, anthropic.NewThinkingBlock(k.Signature, k.Thinking))
			}
		}
	}
	if m.Text != "" {
		blocks = append(blocks, anthropic.NewTextBlock(m.Text))
	}
	for _, c := range m.Calls {
		input := c.Arguments
		if len(input) == 0 {
			input = json.RawMessage("{}")
		}
		blocks = append(blocks, anthropic.NewToolUseBlock(c.ID, input, c.Name))
	}
	return blocks
}

// orNothing says that there is nothing, where an empty text would be refused.
func orNothing(text string) string {
	if text == "" {
		return "(nothing)"
	}
	return text
}
