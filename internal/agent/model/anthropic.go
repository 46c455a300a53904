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

// anthropicProvider is a provider for Anthropic's Messages API.
type anthropicProvider struct {
	service anthropic.MessageService
	api     *apiClient
	baseURL *url.URL
}

// newAnthropic returns the provider of a model of kind anthropic.
func newAnthropic(o Options) *anthropicProvider {
	m := &anthropicProvider{api: &apiClient{client: o.Client, key: o.Key.Reveal()}, baseURL: baseURLOr(o.BaseURL, "api.anthropic.com")}
	// The service is created without the SDK's NewClient, which would read a key
	// and a URL from environment variables. It therefore needs the maker's URL as
	// an option.
	opts := []option.RequestOption{option.WithEnvironmentProduction(), option.WithHTTPClient(m.api), option.WithMaxRetries(0)}
	if o.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(o.BaseURL))
	}
	if m.api.key != "" {
		opts = append(opts, option.WithAPIKey(m.api.key))
	}
	m.service = anthropic.NewMessageService(opts...)
	return m
}

// Stream implements agent.Provider. An answer without its final event is a fault:
// its calls could be incomplete.
func (m *anthropicProvider) Stream(ctx context.Context, r agent.Request) iter.Seq2[agent.AnswerChunk, error] {
	return func(yield func(agent.AnswerChunk, error) bool) {
		stream := m.service.NewStreaming(ctx, newAnthropicRequest(r))
		defer stream.Close()
		a := anthropicAnswer{blocks: map[int64]*contentBlock{}}
		for stream.Next() {
			if !a.handleEvent(stream.Current(), func(p agent.AnswerChunk) bool { return yield(p, nil) }) {
				return
			}
		}
		if err := stream.Err(); err != nil {
			yield(agent.AnswerChunk{}, m.streamFault(ctx, err))
			return
		}
		if !a.ended {
			yield(agent.AnswerChunk{}, m.api.toFault(ctx, m.baseURL, newBrokenOffFault(m.baseURL.Host)))
		}
	}
}

// streamFault returns the fault of a stream. An error that arrived as an event of
// the stream has a text of its own.
func (m *anthropicProvider) streamFault(ctx context.Context, err error) error {
	streamError, ok := err.(*anthropic.Error) //nolint:errorlint // the SDK returns it unwrapped; errors.As would also match faults of apiClient inside other errors
	if !ok {
		return m.api.toFault(ctx, m.baseURL, err)
	}
	return &agent.ProviderError{Cause: err, Retryable: true, Message: m.baseURL.Host + " broke off its answer" + m.api.formatProblem([]byte(streamError.RawJSON()))}
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
func (a *anthropicAnswer) handleEvent(e anthropic.MessageStreamEventUnion, yield func(agent.AnswerChunk) bool) bool {
	switch e.Type {
	case "message_start":
		// Tokens from and into the prompt cache count as input, as the API bills
		// them.
		u := e.Message.Usage
		a.usage = agent.Usage{Input: int(u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens), Output: int(u.OutputTokens)}
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
			return a.handleDelta(b, e.Delta, yield)
		}
	case "content_block_stop":
		if b := a.blocks[e.Index]; b != nil {
			a.closeBlock(b)
			delete(a.blocks, e.Index)
		}
	case "message_delta":
		a.stop = string(e.Delta.StopReason)
		a.usage.Output = int(e.Usage.OutputTokens)
	case "message_stop":
		return a.finishAnswer(yield)
	}
	return true
}

// handleDelta handles a part of a content block. It returns false if the consumer
// stopped.
func (a *anthropicAnswer) handleDelta(b *contentBlock, d anthropic.MessageStreamEventUnionDelta, yield func(agent.AnswerChunk) bool) bool {
	switch d.Type {
	case "text_delta":
		return d.Text == "" || yield(agent.AnswerChunk{Text: d.Text})
	case "thinking_delta":
		b.text = append(b.text, d.Thinking...)
		return d.Thinking == "" || yield(agent.AnswerChunk{Thinking: d.Thinking})
	case "signature_delta":
		b.signature = append(b.signature, d.Signature...)
	case "input_json_delta":
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
	if a.stop == string(anthropic.StopReasonMaxTokens) {
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
func newAnthropicRequest(r agent.Request) anthropic.MessageNewParams {
	p := anthropic.MessageNewParams{Model: r.Model, MaxTokens: int64(r.MaxTokens), Messages: anthropicMessages(r.Messages)}
	if r.Instructions != "" {
		p.System = []anthropic.TextBlockParam{{Text: r.Instructions}}
	}
	for _, t := range r.Tools {
		tool := &anthropic.ToolParam{Name: t.Name, InputSchema: param.Override[anthropic.ToolInputSchemaParam](schemaOrEmpty(t))}
		if t.Description != "" {
			tool.Description = anthropic.String(t.Description)
		}
		p.Tools = append(p.Tools, anthropic.ToolUnionParam{OfTool: tool})
	}
	return p
}

// anthropicMessages converts a conversation to the form that the API requires: it
// starts and ends with the user, roles alternate, and no message is empty.
func anthropicMessages(messages []agent.Message) []anthropic.MessageParam {
	var out []anthropic.MessageParam
	// say appends blocks to the last message if it has the same role: the API
	// rejects two messages of one role in a row.
	say := func(role anthropic.MessageParamRole, blocks ...anthropic.ContentBlockParamUnion) {
		if len(blocks) == 0 {
			return
		}
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(out[n-1].Content, blocks...)
			return
		}
		if len(out) == 0 && role != anthropic.MessageParamRoleUser {
			out = append(out, anthropic.NewUserMessage(anthropic.NewTextBlock(continuePrompt)))
		}
		out = append(out, anthropic.MessageParam{Role: role, Content: blocks})
	}
	for _, m := range messages {
		switch m.Role {
		case agent.RoleUser:
			if m.Text != "" {
				say(anthropic.MessageParamRoleUser, anthropic.NewTextBlock(textWithSpeaker(m)))
			}
		case agent.RoleAssistant:
			say(anthropic.MessageParamRoleAssistant, assistantBlocks(m)...)
		case agent.RoleTool:
			for _, res := range m.Results {
				say(anthropic.MessageParamRoleUser, anthropic.NewToolResultBlock(res.CallID, textOrPlaceholder(res.Text), res.IsError))
			}
		}
	}
	if n := len(out); n == 0 || out[n-1].Role != anthropic.MessageParamRoleUser {
		say(anthropic.MessageParamRoleUser, anthropic.NewTextBlock(continuePrompt))
	}
	return out
}

// assistantBlocks converts a message of the assistant: reasoning first, then text,
// then calls, as the API requires.
func assistantBlocks(m agent.Message) []anthropic.ContentBlockParamUnion {
	var blocks []anthropic.ContentBlockParamUnion
	// Reasoning of another provider, or of a former version, is silently left out:
	// the API rejects blocks without its own signature.
	var t opaqueState
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

// textOrPlaceholder replaces an empty text, which the API would reject.
func textOrPlaceholder(text string) string {
	if text == "" {
		return "(nothing)"
	}
	return text
}
