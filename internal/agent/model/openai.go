package model

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"

	"github.com/junctor-mcp/junctor/internal/agent"
)

// openaiProvider is a provider for the chat completions API, of OpenAI or of a
// compatible server.
type openaiProvider struct {
	api                *apiClient
	endpoint           *url.URL
	isCompatibleServer bool // not OpenAI's own service
}

// newOpenAI returns the provider of a model of kind openai.
func newOpenAI(o Options) (*openaiProvider, error) {
	endpoint, err := newEndpoint(o.BaseURL, "https://api.openai.com/v1", "chat/completions")
	if err != nil {
		return nil, err
	}
	return &openaiProvider{api: newAPIClient(o), endpoint: endpoint, isCompatibleServer: o.BaseURL != ""}, nil
}

// Stream implements agent.Provider. An answer without a finish reason is a fault:
// its calls could be incomplete.
func (c *openaiProvider) Stream(ctx context.Context, r agent.Request) iter.Seq2[agent.AnswerChunk, error] {
	return func(yield func(agent.AnswerChunk, error) bool) {
		request := apiRequest{url: c.endpoint, header: http.Header{}, body: c.newRequest(r)}
		if c.api.key != "" {
			request.header.Set("Authorization", "Bearer "+c.api.key)
		}
		a := openaiAnswer{}
		for event, err := range c.api.streamEvents(ctx, request) {
			if err == nil && bytes.HasPrefix(event.Data, []byte("[DONE]")) {
				break
			}
			var chunk openaiChunk
			if err == nil {
				err = c.decodeChunk(event.Name, event.Data, &chunk)
			}
			if err != nil {
				yield(agent.AnswerChunk{}, err)
				return
			}
			if !a.handleChunk(&chunk, func(p agent.AnswerChunk) bool { return yield(p, nil) }) {
				return
			}
		}
		if a.stop == "" {
			yield(agent.AnswerChunk{}, c.api.toFault(ctx, c.endpoint, newBrokenOffFault(c.endpoint.Host)))
			return
		}
		a.finishAnswer(func(p agent.AnswerChunk) bool { return yield(p, nil) })
	}
}

// decodeChunk decodes a chunk. It returns a fault if the server sent an error instead.
func (c *openaiProvider) decodeChunk(name string, data []byte, chunk *openaiChunk) error {
	err := decodeEvent(data, chunk)
	switch {
	case name == "error" || err == nil && len(chunk.Error) > 0 && string(chunk.Error) != "null":
		return c.api.newEventFault(c.endpoint.Host, data)
	case err != nil:
		return c.api.newInvalidEventFault(c.endpoint.Host, err)
	}
	return nil
}

// openaiChunk is a chunk of an answer, with the members that are used.
type openaiChunk struct {
	Choices []struct {
		Index        int64       `json:"index"`
		Delta        openaiDelta `json:"delta"`
		FinishReason string      `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		PromptTokens     float64 `json:"prompt_tokens"`
		CompletionTokens float64 `json:"completion_tokens"`
		TotalTokens      float64 `json:"total_tokens"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// openaiDelta is what a chunk adds to the message. The reasoning is not part of
// OpenAI's API; compatible servers send it under one of two names.
type openaiDelta struct {
	Content          string               `json:"content"`
	Refusal          string               `json:"refusal"`
	ReasoningContent string               `json:"reasoning_content"`
	Reasoning        string               `json:"reasoning"`
	ToolCalls        []openaiCallFragment `json:"tool_calls"`
}

// openaiCallFragment is a part of a call in a chunk.
type openaiCallFragment struct {
	Index    int64          `json:"index"`
	ID       string         `json:"id"`
	Function openaiFunction `json:"function"`
}

// openaiFunction is the function of a call.
type openaiFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// openaiRequest is the body of a request.
type openaiRequest struct {
	Model               string              `json:"model"`
	MaxTokens           *int                `json:"max_tokens,omitempty"`
	MaxCompletionTokens *int                `json:"max_completion_tokens,omitempty"`
	Messages            []openaiMessage     `json:"messages"`
	Tools               []openaiTool        `json:"tools,omitempty"`
	Stream              bool                `json:"stream"`
	StreamOptions       openaiStreamOptions `json:"stream_options"`
}

// openaiStreamOptions are the options of a stream.
type openaiStreamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// openaiMessage is a message of a request. Content may be missing only in a message
// with calls.
type openaiMessage struct {
	Role       string       `json:"role"`
	Content    *string      `json:"content,omitempty"`
	ToolCalls  []openaiCall `json:"tool_calls,omitempty"`
	ToolCallID string       `json:"tool_call_id,omitempty"`
}

// openaiCall is a call in a request.
type openaiCall struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function openaiFunction `json:"function"`
}

// openaiTool is a tool in a request.
type openaiTool struct {
	Type     string                   `json:"type"`
	Function openaiFunctionDefinition `json:"function"`
}

// openaiFunctionDefinition is the definition of a function.
type openaiFunctionDefinition struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// openaiAnswer assembles an answer from its chunks.
type openaiAnswer struct {
	calls       []*agent.Call
	callByIndex map[int64]*agent.Call // by the index of their parts
	usage       *agent.Usage
	stop        string
}

// handleChunk handles one chunk. It returns false if the consumer stopped.
func (a *openaiAnswer) handleChunk(chunk *openaiChunk, yield func(agent.AnswerChunk) bool) bool {
	if u := chunk.Usage; u.TotalTokens > 0 || u.PromptTokens > 0 || u.CompletionTokens > 0 {
		a.usage = &agent.Usage{Input: tokenCount(u.PromptTokens), Output: tokenCount(u.CompletionTokens)}
	}
	for i := range chunk.Choices {
		choice := &chunk.Choices[i]
		// Only one choice is requested; a server that sends others would mix two
		// answers.
		if choice.Index != 0 {
			continue
		}
		if thought := cmp.Or(choice.Delta.ReasoningContent, choice.Delta.Reasoning); thought != "" && !yield(agent.AnswerChunk{Thinking: thought}) {
			return false
		}
		// A refusal is the model's answer in words, so it is text like any other.
		for _, text := range []string{choice.Delta.Content, choice.Delta.Refusal} {
			if text != "" && !yield(agent.AnswerChunk{Text: text}) {
				return false
			}
		}
		for _, part := range choice.Delta.ToolCalls {
			if !a.handleCallPart(part, yield) {
				return false
			}
		}
		if choice.FinishReason != "" {
			a.stop = choice.FinishReason
		}
	}
	return true
}

// handleCallPart adds a part of a call. Some servers use the same index for several
// calls, so another id starts another call.
func (a *openaiAnswer) handleCallPart(p openaiCallFragment, yield func(agent.AnswerChunk) bool) bool {
	if a.callByIndex == nil {
		a.callByIndex = map[int64]*agent.Call{}
	}
	// A call arrives in parts: the first has the id and the name, the others have
	// only the index and the next piece of the arguments.
	c := a.callByIndex[p.Index]
	if c == nil || p.ID != "" && c.ID != "" && p.ID != c.ID {
		c = &agent.Call{ID: p.ID, Name: p.Function.Name}
		a.callByIndex[p.Index], a.calls = c, append(a.calls, c)
	} else if c.Name == "" {
		c.Name = p.Function.Name
	}
	c.Arguments = append(c.Arguments, p.Function.Arguments...)
	if c.ID == "" { // without an id, parts of several calls cannot be distinguished
		return true
	}
	return yield(agent.AnswerChunk{Args: &agent.ArgsDelta{ID: c.ID, Name: c.Name, Delta: p.Function.Arguments}})
}

// finishAnswer yields the parts that are known only at the end. It drops a call
// whose arguments were cut off by the token limit.
func (a *openaiAnswer) finishAnswer(yield func(agent.AnswerChunk) bool) {
	for _, c := range a.calls {
		if a.stop == agent.StopLength && len(c.Arguments) > 0 && !json.Valid(c.Arguments) {
			continue
		}
		if !yield(agent.AnswerChunk{Call: c}) {
			return
		}
	}
	if a.usage != nil && !yield(agent.AnswerChunk{Usage: a.usage}) {
		return
	}
	yield(agent.AnswerChunk{StopReason: a.stop})
}

// newRequest converts a request.
func (c *openaiProvider) newRequest(r agent.Request) openaiRequest {
	// Without the option the API does not count tokens of a stream.
	p := openaiRequest{Model: r.Model, Messages: openaiMessages(r), Stream: true, StreamOptions: openaiStreamOptions{IncludeUsage: true}}
	if c.isCompatibleServer { // compatible servers know only the older name
		p.MaxTokens = &r.MaxTokens
	} else {
		p.MaxCompletionTokens = &r.MaxTokens
	}
	for _, t := range r.Tools {
		// The schema reaches the model unchanged. The API accepts only an object.
		schema := schemaOrEmpty(t)
		if trimmed := bytes.TrimSpace(schema); trimmed[0] != '{' || !json.Valid(schema) {
			schema = json.RawMessage("{}")
		}
		p.Tools = append(p.Tools, openaiTool{Type: "function", Function: openaiFunctionDefinition{Name: t.Name, Description: t.Description, Parameters: schema}})
	}
	return p
}

// openaiMessages converts a conversation, which must end with the user or a result.
func openaiMessages(r agent.Request) []openaiMessage {
	var out []openaiMessage
	if r.Instructions != "" {
		out = append(out, openaiMessage{Role: "system", Content: &r.Instructions})
	}
	say := func(text string) {
		out = append(out, openaiMessage{Role: "user", Content: &text})
	}
	// An empty conversation needs a user message as well.
	last := agent.RoleAssistant
	for _, m := range r.Messages {
		switch m.Role {
		case agent.RoleUser:
			if m.Text == "" {
				continue
			}
			say(textWithSpeaker(m))
		case agent.RoleAssistant:
			out = append(out, assistantMessage(m))
		case agent.RoleTool:
			for _, res := range m.Results {
				text := textOrPlaceholder(res.Text)
				out = append(out, openaiMessage{Role: "tool", Content: &text, ToolCallID: res.CallID})
			}
		}
		last = m.Role
	}
	if last == agent.RoleAssistant {
		say(continuePrompt)
	}
	return out
}

// assistantMessage converts a message of the assistant. The API requires content
// unless the message has calls.
func assistantMessage(m agent.Message) openaiMessage {
	message := openaiMessage{Role: "assistant"}
	if m.Text != "" || len(m.Calls) == 0 {
		message.Content = &m.Text
	}
	for _, c := range m.Calls {
		arguments := cmp.Or(string(c.Arguments), "{}")
		message.ToolCalls = append(message.ToolCalls, openaiCall{ID: c.ID, Type: "function", Function: openaiFunction{Name: c.Name, Arguments: arguments}})
	}
	return message
}
