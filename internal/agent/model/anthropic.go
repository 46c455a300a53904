package model

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"

	"github.com/junctor-mcp/junctor/internal/agent"
)

// anthropicProvider is a provider for Anthropic's Messages API.
type anthropicProvider struct {
	api      *apiClient
	endpoint *url.URL
}

// anthropicVersion is the version of the API, which every request names.
const anthropicVersion = "2023-06-01"

// newAnthropic returns the provider of a model of kind anthropic.
func newAnthropic(o Options) (*anthropicProvider, error) {
	endpoint, err := newEndpoint(o.BaseURL, "https://api.anthropic.com", "v1/messages")
	if err != nil {
		return nil, err
	}
	return &anthropicProvider{api: newAPIClient(o), endpoint: endpoint}, nil
}

// Stream implements agent.Provider. An answer without its final event is a fault:
// its calls could be incomplete.
func (m *anthropicProvider) Stream(ctx context.Context, r agent.Request) iter.Seq2[agent.AnswerChunk, error] {
	return func(yield func(agent.AnswerChunk, error) bool) {
		request := apiRequest{url: m.endpoint, header: http.Header{"Anthropic-Version": {anthropicVersion}}, body: newAnthropicRequest(r)}
		if m.api.key != "" {
			request.header.Set("X-Api-Key", m.api.key)
		}
		a := anthropicAnswer{blocks: map[int64]*contentBlock{}}
		for event, err := range m.api.streamEvents(ctx, request) {
			var e anthropicEvent
			switch {
			case err != nil:
			case event.Name == "error":
				err = m.api.newEventFault(m.endpoint.Host, event.Data)
			default:
				if err = decodeEvent(event.Data, &e); err != nil {
					err = m.api.newInvalidEventFault(m.endpoint.Host, err)
				} else if e.Type == "error" {
					err = m.api.newEventFault(m.endpoint.Host, event.Data)
				}
			}
			if err != nil {
				yield(agent.AnswerChunk{}, err)
				return
			}
			if !a.handleEvent(&e, func(p agent.AnswerChunk) bool { return yield(p, nil) }) || a.ended {
				return
			}
		}
		yield(agent.AnswerChunk{}, m.api.toFault(ctx, m.endpoint, newBrokenOffFault(m.endpoint.Host)))
	}
}

// anthropicEvent is an event of a stream, with the members that are used.
type anthropicEvent struct {
	Type    string `json:"type"`
	Index   int64  `json:"index"`
	Message struct {
		Usage anthropicUsage `json:"usage"`
	} `json:"message"`
	ContentBlock anthropicBlock `json:"content_block"`
	Delta        anthropicDelta `json:"delta"`
	Usage        anthropicUsage `json:"usage"`
}

// anthropicDelta is the change of a content block, or of the whole message.
type anthropicDelta struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Thinking    string `json:"thinking"`
	Signature   string `json:"signature"`
	PartialJSON string `json:"partial_json"`
	StopReason  string `json:"stop_reason"`
}

// anthropicUsage is the number of tokens of a request.
type anthropicUsage struct {
	InputTokens              float64 `json:"input_tokens"`
	CacheReadInputTokens     float64 `json:"cache_read_input_tokens"`
	CacheCreationInputTokens float64 `json:"cache_creation_input_tokens"`
	OutputTokens             float64 `json:"output_tokens"`
}

// anthropicBlock is a block of content, in a request or at its start in a stream. The
// type says which members it has.
type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature *string         `json:"signature,omitempty"`
	Data      string          `json:"data,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`

	// The result of a call.
	ToolUseID string           `json:"tool_use_id,omitempty"`
	Content   []anthropicBlock `json:"content,omitempty"`
	IsError   *bool            `json:"is_error,omitempty"`
}

// anthropicMessage is a message of a request.
type anthropicMessage struct {
	Role    agent.Role       `json:"role"`
	Content []anthropicBlock `json:"content"`
}

// anthropicTool is a tool in a request.
type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// anthropicRequest is the body of a request.
type anthropicRequest struct {
	Model     string             `json:"model"`
	MaxTokens int                `json:"max_tokens"`
	System    []anthropicBlock   `json:"system,omitempty"`
	Messages  []anthropicMessage `json:"messages"`
	Tools     []anthropicTool    `json:"tools,omitempty"`
	Stream    bool               `json:"stream"`
}

// contentBlock is a block of an answer that is still streaming.
type contentBlock struct {
	kind, id, name  string
	text, signature []byte // text holds the reasoning, or the arguments of a call
}

// thinkingBlock is a block of reasoning in its stored form. The API requires it
// back, with its signature, if the same message has calls.
type thinkingBlock struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking,omitempty"`
	Signature string `json:"signature,omitempty"`
	Data      string `json:"data,omitempty"`
}

// opaqueState is the JSON value in Message.Thinking. It has a member per provider,
// so that an agent can change its model in the middle of a conversation.
type opaqueState struct {
	Anthropic []thinkingBlock `json:"anthropic,omitempty"`
	A2A       *threadState    `json:"a2a,omitempty"`
}

// anthropicAnswer assembles an answer from the events of its stream.
type anthropicAnswer struct {
	blocks   map[int64]*contentBlock
	calls    []*agent.Call
	thinking []thinkingBlock
	usage    agent.Usage
	stop     string
	ended    bool
}

// handleEvent handles one event. It returns false if the consumer stopped.
func (a *anthropicAnswer) handleEvent(e *anthropicEvent, yield func(agent.AnswerChunk) bool) bool {
	switch e.Type {
	case "message_start":
		// Tokens from and into the prompt cache count as input, as the API bills
		// them.
		u := e.Message.Usage
		a.usage = agent.Usage{Input: tokenCount(u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens), Output: tokenCount(u.OutputTokens)}
	case "content_block_start":
		b := &contentBlock{kind: e.ContentBlock.Type, id: e.ContentBlock.ID, name: e.ContentBlock.Name}
		a.blocks[e.Index] = b
		switch b.kind {
		case "text":
			return e.ContentBlock.Text == "" || yield(agent.AnswerChunk{Text: e.ContentBlock.Text})
		// Encrypted reasoning: nobody can read it, but the API requires it back.
		case "redacted_thinking":
			a.thinking = append(a.thinking, thinkingBlock{Type: b.kind, Data: e.ContentBlock.Data})
		case "tool_use":
			return yield(agent.AnswerChunk{Args: &agent.ArgsDelta{ID: b.id, Name: b.name}})
		}
	case "content_block_delta":
		if b := a.blocks[e.Index]; b != nil {
			return a.handleDelta(b, &e.Delta, yield)
		}
	case "content_block_stop":
		if b := a.blocks[e.Index]; b != nil {
			a.closeBlock(b)
			delete(a.blocks, e.Index)
		}
	case "message_delta":
		a.stop = e.Delta.StopReason
		a.usage.Output = tokenCount(e.Usage.OutputTokens)
	case "message_stop":
		return a.finishAnswer(yield)
	}
	return true
}

// handleDelta handles a part of a content block. It returns false if the consumer
// stopped.
func (a *anthropicAnswer) handleDelta(b *contentBlock, d *anthropicDelta, yield func(agent.AnswerChunk) bool) bool {
	switch d.Type {
	case "text_delta":
		return d.Text == "" || yield(agent.AnswerChunk{Text: d.Text})
	case "thinking_delta":
		b.text = append(b.text, d.Thinking...)
		return d.Thinking == "" || yield(agent.AnswerChunk{Thinking: d.Thinking})
	case "signature_delta":
		b.signature = append(b.signature, d.Signature...)
	case "input_json_delta":
		// Calls of tools that the API runs itself have arguments too.
		if b.kind != "tool_use" {
			return true
		}
		b.text = append(b.text, d.PartialJSON...)
		return d.PartialJSON == "" || yield(agent.AnswerChunk{Args: &agent.ArgsDelta{ID: b.id, Name: b.name, Delta: d.PartialJSON}})
	}
	return true
}

// closeBlock keeps a complete block of reasoning or a complete call.
func (a *anthropicAnswer) closeBlock(b *contentBlock) {
	switch b.kind {
	case "thinking":
		a.thinking = append(a.thinking, thinkingBlock{Type: b.kind, Thinking: string(b.text), Signature: string(b.signature)})
	case "tool_use":
		a.calls = append(a.calls, &agent.Call{ID: b.id, Name: b.name, Arguments: b.text})
	}
}

// finishAnswer yields the parts that are known only at the end: the calls, the
// reasoning to keep, the usage and the reason why the model stopped. It drops a
// call whose arguments were cut off by the token limit.
func (a *anthropicAnswer) finishAnswer(yield func(agent.AnswerChunk) bool) bool {
	a.ended = true
	if a.stop == "max_tokens" {
		a.stop = agent.StopLength
	}
	for _, c := range a.calls {
		// Empty arguments are complete: a call without arguments has none.
		if a.stop == agent.StopLength && len(c.Arguments) > 0 && !json.Valid(c.Arguments) {
			continue
		}
		if !yield(agent.AnswerChunk{Call: c}) {
			return false
		}
	}
	if len(a.thinking) > 0 {
		text, err := json.Marshal(opaqueState{Anthropic: a.thinking})
		if err == nil && !yield(agent.AnswerChunk{Opaque: text}) {
			return false
		}
	}
	return yield(agent.AnswerChunk{Usage: &a.usage}) && (a.stop == "" || yield(agent.AnswerChunk{StopReason: a.stop}))
}

// newAnthropicRequest converts a request.
func newAnthropicRequest(r agent.Request) anthropicRequest {
	p := anthropicRequest{Model: r.Model, MaxTokens: r.MaxTokens, Messages: anthropicMessages(r.Messages), Stream: true}
	if r.Instructions != "" {
		p.System = []anthropicBlock{newTextBlock(r.Instructions)}
	}
	for _, t := range r.Tools {
		p.Tools = append(p.Tools, anthropicTool{Name: t.Name, Description: t.Description, InputSchema: schemaOrEmpty(t)})
	}
	return p
}

// newTextBlock returns a block of text.
func newTextBlock(text string) anthropicBlock { return anthropicBlock{Type: "text", Text: text} }

// anthropicMessages converts a conversation to the form that the API requires: it
// starts and ends with the user, roles alternate, and no message is empty.
func anthropicMessages(messages []agent.Message) []anthropicMessage {
	var out []anthropicMessage
	// say appends blocks to the last message if it has the same role: the API
	// rejects two messages of one role in a row.
	say := func(role agent.Role, blocks ...anthropicBlock) {
		if len(blocks) == 0 {
			return
		}
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(out[n-1].Content, blocks...)
			return
		}
		if len(out) == 0 && role != agent.RoleUser {
			out = append(out, anthropicMessage{Role: agent.RoleUser, Content: []anthropicBlock{newTextBlock(continuePrompt)}})
		}
		out = append(out, anthropicMessage{Role: role, Content: blocks})
	}
	for _, m := range messages {
		switch m.Role {
		case agent.RoleUser:
			if m.Text != "" {
				say(agent.RoleUser, newTextBlock(textWithSpeaker(m)))
			}
		case agent.RoleAssistant:
			say(agent.RoleAssistant, assistantBlocks(m)...)
		case agent.RoleTool:
			for _, res := range m.Results {
				say(agent.RoleUser, anthropicBlock{Type: "tool_result", ToolUseID: res.CallID, Content: []anthropicBlock{newTextBlock(textOrPlaceholder(res.Text))}, IsError: &res.IsError})
			}
		}
	}
	if n := len(out); n == 0 || out[n-1].Role != agent.RoleUser {
		say(agent.RoleUser, newTextBlock(continuePrompt))
	}
	return out
}

// assistantBlocks converts a message of the assistant: reasoning first, then text,
// then calls, as the API requires.
func assistantBlocks(m agent.Message) []anthropicBlock {
	var blocks []anthropicBlock
	// Reasoning of another provider, or of a former version, is silently left out:
	// the API rejects blocks without its own signature.
	var t opaqueState
	if len(m.Thinking) > 0 && json.Unmarshal(m.Thinking, &t) == nil {
		for _, k := range t.Anthropic {
			if k.Type == "redacted_thinking" {
				blocks = append(blocks, anthropicBlock{Type: k.Type, Data: k.Data})
			} else {
				blocks = append(blocks, anthropicBlock{Type: "thinking", Thinking: &k.Thinking, Signature: &k.Signature})
			}
		}
	}
	if m.Text != "" {
		blocks = append(blocks, newTextBlock(m.Text))
	}
	for _, c := range m.Calls {
		input := c.Arguments
		if len(input) == 0 {
			input = json.RawMessage("{}")
		}
		blocks = append(blocks, anthropicBlock{Type: "tool_use", ID: c.ID, Name: c.Name, Input: input})
	}
	return blocks
}

// textOrPlaceholder replaces an empty text, which the API would reject.
func textOrPlaceholder(text string) string {
	return cmp.Or(text, "(nothing)")
}
