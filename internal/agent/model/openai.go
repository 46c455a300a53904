package model

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"github.com/junctor-mcp/junctor/internal/agent"
)

// openaiProvider is a provider for the chat completions API, of OpenAI or of a
// compatible server.
type openaiProvider struct {
	service            openai.ChatCompletionService
	api                *apiClient
	baseURL            *url.URL
	isCompatibleServer bool // not OpenAI's own service
}

// newOpenAI returns the provider of a model of kind openai.
func newOpenAI(o Options) *openaiProvider {
	c := &openaiProvider{api: &apiClient{client: o.Client, key: o.Key.Reveal()}, baseURL: baseURLOr(o.BaseURL, "api.openai.com"), isCompatibleServer: o.BaseURL != ""}
	// The service is created without the SDK's NewClient, which would read a key
	// and a URL from environment variables. It therefore needs the maker's URL as
	// an option.
	opts := []option.RequestOption{option.WithEnvironmentProduction(), option.WithHTTPClient(c.api), option.WithMaxRetries(0)}
	if o.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(o.BaseURL))
	}
	if c.api.key != "" {
		opts = append(opts, option.WithAPIKey(c.api.key))
	}
	c.service = openai.NewChatCompletionService(opts...)
	return c
}

// Stream implements agent.Provider. An answer without a finish reason is a fault:
// its calls could be incomplete.
func (c *openaiProvider) Stream(ctx context.Context, r agent.Request) iter.Seq2[agent.AnswerChunk, error] {
	return func(yield func(agent.AnswerChunk, error) bool) {
		stream := c.service.NewStreaming(ctx, c.newRequest(r))
		defer stream.Close()
		a := openaiAnswer{}
		for stream.Next() {
			if !a.handleChunk(stream.Current(), func(p agent.AnswerChunk) bool { return yield(p, nil) }) {
				return
			}
		}
		if err := stream.Err(); err != nil {
			yield(agent.AnswerChunk{}, c.api.toFault(ctx, c.baseURL, err))
			return
		}
		if a.stop == "" {
			yield(agent.AnswerChunk{}, c.api.toFault(ctx, c.baseURL, newBrokenOffFault(c.baseURL.Host)))
			return
		}
		a.finishAnswer(func(p agent.AnswerChunk) bool { return yield(p, nil) })
	}
}

// openaiAnswer assembles an answer from its chunks.
type openaiAnswer struct {
	calls       []*agent.Call
	callByIndex map[int64]*agent.Call // by the index of their parts
	usage       *agent.Usage
	stop        string
}

// handleChunk handles one chunk. It returns false if the consumer stopped.
func (a *openaiAnswer) handleChunk(chunk openai.ChatCompletionChunk, yield func(agent.AnswerChunk) bool) bool {
	if u := chunk.Usage; u.TotalTokens > 0 || u.PromptTokens > 0 || u.CompletionTokens > 0 {
		a.usage = &agent.Usage{Input: int(u.PromptTokens), Output: int(u.CompletionTokens)}
	}
	for _, choice := range chunk.Choices {
		// Only one choice is requested; a server that sends others would mix two
		// answers.
		if choice.Index != 0 {
			continue
		}
		if thought := extractReasoning(choice.Delta); thought != "" && !yield(agent.AnswerChunk{Thinking: thought}) {
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
func (a *openaiAnswer) handleCallPart(p openai.ChatCompletionChunkChoiceDeltaToolCall, yield func(agent.AnswerChunk) bool) bool {
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

// extractReasoning returns the reasoning in a chunk. It is not part of OpenAI's
// API; local servers send it under one of two names.
func extractReasoning(d openai.ChatCompletionChunkChoiceDelta) string {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		var text string
		if f, ok := d.JSON.ExtraFields[name]; ok && json.Unmarshal([]byte(f.Raw()), &text) == nil && text != "" {
			return text
		}
	}
	return ""
}

// newRequest converts a request.
func (c *openaiProvider) newRequest(r agent.Request) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{Model: r.Model, Messages: openaiMessages(r)}
	// Without this option the API does not count tokens of a stream.
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	if c.isCompatibleServer { // compatible servers know only the older name
		p.MaxTokens = openai.Int(int64(r.MaxTokens))
	} else {
		p.MaxCompletionTokens = openai.Int(int64(r.MaxTokens))
	}
	for _, t := range r.Tools {
		f := shared.FunctionDefinitionParam{Name: t.Name, Parameters: shared.FunctionParameters{}}
		// The members stay raw JSON, so that the schema reaches the model
		// unchanged.
		var members map[string]json.RawMessage
		if json.Unmarshal(schemaOrEmpty(t), &members) == nil {
			for name, value := range members {
				f.Parameters[name] = value
			}
		}
		if t.Description != "" {
			f.Description = openai.String(t.Description)
		}
		p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(f))
	}
	return p
}

// openaiMessages converts a conversation, which must end with the user or a result.
func openaiMessages(r agent.Request) []openai.ChatCompletionMessageParamUnion {
	var out []openai.ChatCompletionMessageParamUnion
	if r.Instructions != "" {
		out = append(out, openai.SystemMessage(r.Instructions))
	}
	// An empty conversation needs a user message as well.
	last := agent.RoleAssistant
	for _, m := range r.Messages {
		switch m.Role {
		case agent.RoleUser:
			if m.Text == "" {
				continue
			}
			out = append(out, openai.UserMessage(textWithSpeaker(m)))
		case agent.RoleAssistant:
			out = append(out, assistantMessage(m))
		case agent.RoleTool:
			for _, res := range m.Results {
				out = append(out, openai.ToolMessage(textOrPlaceholder(res.Text), res.CallID))
			}
		}
		last = m.Role
	}
	if last == agent.RoleAssistant {
		out = append(out, openai.UserMessage(continuePrompt))
	}
	return out
}

// assistantMessage converts a message of the assistant. The API requires content
// unless the message has calls.
func assistantMessage(m agent.Message) openai.ChatCompletionMessageParamUnion {
	message := openai.ChatCompletionAssistantMessageParam{}
	if m.Text != "" || len(m.Calls) == 0 {
		message.Content.OfString = openai.String(m.Text)
	}
	for _, c := range m.Calls {
		arguments := string(c.Arguments)
		if arguments == "" {
			arguments = "{}"
		}
		message.ToolCalls = append(message.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
			ID: c.ID, Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Name, Arguments: arguments},
		}})
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: &message}
}
