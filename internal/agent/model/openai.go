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

// completions speaks chat completions.
type completions struct {
	service openai.ChatCompletionService
	door    *door
	at      *url.URL
	others  bool // it is not the maker's own service
}

func newOpenAI(o Options) *completions {
	c := &completions{door: &door{client: o.Client, key: o.Key.Reveal()}, at: hostOf(o.BaseURL, "api.openai.com"), others: o.BaseURL != ""}
	opts := []option.RequestOption{option.WithEnvironmentProduction(), option.WithHTTPClient(c.door), option.WithMaxRetries(0)}
	if o.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(o.BaseURL))
	}
	if c.door.key != "" {
		opts = append(opts, option.WithAPIKey(c.door.key))
	}
	c.service = openai.NewChatCompletionService(opts...) // NewClient would read the environment
	return c
}

// Stream implements agent.Provider.
func (c *completions) Stream(ctx context.Context, r agent.Request) iter.Seq2[agent.Piece, error] {
	return func(yield func(agent.Piece, error) bool) {
		stream := c.service.NewStreaming(ctx, c.request(r))
		defer stream.Close()
		a := openaiAnswer{}
		for stream.Next() {
			if !a.take(stream.Current(), func(p agent.Piece) bool { return yield(p, nil) }) {
				return
			}
		}
		if err := stream.Err(); err != nil {
			yield(agent.Piece{}, c.door.fault(ctx, c.at, err))
			return
		}
		if a.stop == "" {
			yield(agent.Piece{}, c.door.fault(ctx, c.at, broken(c.at.Host)))
			return
		}
		a.end(func(p agent.Piece) bool { return yield(p, nil) })
	}
}

// openaiAnswer puts an answer together.
type openaiAnswer struct {
	calls []*agent.Call
	at    map[int64]*agent.Call // by the index that its parts come under
	usage *agent.Usage
	stop  string
}

// take takes one chunk. It gives false when nobody listens any more.
func (a *openaiAnswer) take(chunk openai.ChatCompletionChunk, yield func(agent.Piece) bool) bool {
	if u := chunk.Usage; u.TotalTokens > 0 || u.PromptTokens > 0 || u.CompletionTokens > 0 {
		a.usage = &agent.Usage{Input: int(u.PromptTokens), Output: int(u.CompletionTokens)}
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		if thought := reasoning(choice.Delta); thought != "" && !yield(agent.Piece{Thinking: thought}) {
			return false
		}
		for _, text := range []string{choice.Delta.Content, choice.Delta.Refusal} {
			if text != "" && !yield(agent.Piece{Text: text}) {
				return false
			}
		}
		for _, part := range choice.Delta.ToolCalls {
			if !a.part(part, yield) {
				return false
			}
		}
		if choice.FinishReason != "" {
			a.stop = choice.FinishReason
		}
	}
	return true
}

// part takes a part of a call. Some servers give several calls the same index:
// another id begins another call.
func (a *openaiAnswer) part(p openai.ChatCompletionChunkChoiceDeltaToolCall, yield func(agent.Piece) bool) bool {
	if a.at == nil {
		a.at = map[int64]*agent.Call{}
	}
	c := a.at[p.Index]
	if c == nil || p.ID != "" && c.ID != "" && p.ID != c.ID {
		c = &agent.Call{ID: p.ID, Name: p.Function.Name}
		a.at[p.Index], a.calls = c, append(a.calls, c)
	} else if c.Name == "" {
		c.Name = p.Function.Name
	}
	c.Arguments = append(c.Arguments, p.Function.Arguments...)
	if c.ID == "" { // parts of several could not be told apart
		return true
	}
	return yield(agent.Piece{Args: &agent.ArgsDelta{ID: c.ID, Name: c.Name, Delta: p.Function.Arguments}})
}

// end gives what is known only now.
func (a *openaiAnswer) end(yield func(agent.Piece) bool) {
	for _, c := range a.calls {
		if a.stop == agent.StopLength && len(c.Arguments) > 0 && !json.Valid(c.Arguments) {
			continue
		}
		if !yield(agent.Piece{Call: c}) {
			return
		}
	}
	if a.usage != nil && !yield(agent.Piece{Usage: a.usage}) {
		return
	}
	yield(agent.Piece{Stop: a.stop})
}

// reasoning is what models behind local servers think aloud; no part of the
// maker's API.
func reasoning(d openai.ChatCompletionChunkChoiceDelta) string {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		var text string
		if f, ok := d.JSON.ExtraFields[name]; ok && json.Unmarshal([]byte(f.Raw()), &text) == nil && text != "" {
			return text
		}
	}
	return ""
}

func (c *completions) request(r agent.Request) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{Model: r.Model, Messages: openaiStory(r)}
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	if c.others { // which know the older name
		p.MaxTokens = openai.Int(int64(r.MaxTokens))
	} else {
		p.MaxCompletionTokens = openai.Int(int64(r.MaxTokens))
	}
	for _, t := range r.Tools {
		f := shared.FunctionDefinitionParam{Name: t.Name, Parameters: shared.FunctionParameters{}}
		var members map[string]json.RawMessage
		if json.Unmarshal(schemaOf(t), &members) == nil {
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

func openaiStory(r agent.Request) []openai.ChatCompletionMessageParamUnion {
	var out []openai.ChatCompletionMessageParamUnion
	if r.Instructions != "" {
		out = append(out, openai.SystemMessage(r.Instructions))
	}
	last := agent.RoleAssistant
	for _, m := range r.Messages {
		switch m.Role {
		case agent.RoleUser:
			if m.Text == "" {
				continue
			}
			out = append(out, openai.UserMessage(speech(m)))
		case agent.RoleAssistant:
			out = append(out, assistantMessage(m))
		case agent.RoleTool:
			for _, res := range m.Results {
				out = append(out, openai.ToolMessage(orNothing(res.Text), res.CallID))
			}
		}
		last = m.Role
	}
	if last == agent.RoleAssistant {
		out = append(out, openai.UserMessage(goOn))
	}
	return out
}

func assistantMessage(m agent.Message) openai.ChatCompletionMessageParamUnion {
	said := openai.ChatCompletionAssistantMessageParam{}
	if m.Text != "" || len(m.Calls) == 0 {
		said.Content.OfString = openai.String(m.Text)
	}
	for _, c := range m.Calls {
		arguments := string(c.Arguments)
		if arguments == "" {
			arguments = "{}"
		}
		said.ToolCalls = append(said.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
			ID: c.ID, Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Name, Arguments: arguments},
		}})
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: &said}
}
