package builtin

import (
	"context"
	"encoding/json"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// Prompt is the metadata of a prompt.
type Prompt struct {
	Name        string
	Title       string // for users
	Description string // for users and models
	Arguments   []Argument
	Meta        json.RawMessage // _meta, a JSON object; nil for none
}

// Argument is an argument of a prompt.
type Argument struct {
	Name        string
	Title       string
	Description string
	Required    bool
	Complete    CompleteFunc // offers values; nil offers none
}

// Role is the author of a message.
type Role string

// Roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Message is one message of a prompt.
type Message struct {
	Role    Role
	Content Content
}

// appendJSON appends the MCP message object.
func (m Message) appendJSON(b []byte) []byte {
	b = appendQuoted(append(b, `{"role":`...), string(m.Role))
	return append(append(append(b, `,"content":`...), m.Content...), '}')
}

// PromptFunc returns the messages of a prompt. All required arguments are
// present.
type PromptFunc func(ctx context.Context, call *Call, arguments map[string]string) ([]Message, error)

// registeredPrompt is a prompt of a server, with its rendered MCP object.
type registeredPrompt struct {
	Prompt
	definition []byte
	get        PromptFunc
}

// findArgument returns an argument by its name; nil if there is none.
func (p *registeredPrompt) findArgument(name string) *Argument {
	for i := range p.Arguments {
		if p.Arguments[i].Name == name {
			return &p.Arguments[i]
		}
	}
	return nil
}

// hasCompletions reports whether an argument can be completed.
func (p *registeredPrompt) hasCompletions() bool {
	for _, a := range p.Arguments {
		if a.Complete != nil {
			return true
		}
	}
	return false
}

// AddPrompt adds a prompt. A name that is taken is a conflict.
func (s *Server) AddPrompt(p Prompt, get PromptFunc) error {
	if p.Name == "" || get == nil {
		return junctor.Errorf(junctor.CodeInvalid, "a prompt needs a name and a function that fills it in (prompt %q)", p.Name)
	}
	def, err := p.marshalMCP()
	if err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "prompt %q cannot be written as an MCP prompt: %w", p.Name, err)
	}
	added := &registeredPrompt{Prompt: p, definition: def, get: get}
	return s.changeRegistry(func(it *registry) error {
		if it.prompts[p.Name] != nil {
			return junctor.Errorf(junctor.CodeConflict, "server %q already has prompt %q", s.id, p.Name)
		}
		it.prompts[p.Name] = added
		it.promptOrder = append(it.promptOrder, p.Name)
		return nil
	})
}

// RemovePrompt removes a prompt, and reports whether it existed.
func (s *Server) RemovePrompt(name string) bool {
	return s.changeRegistry(func(it *registry) error {
		if it.prompts[name] == nil {
			return s.notFound("prompt", name)
		}
		delete(it.prompts, name)
		it.promptOrder = removeName(it.promptOrder, name)
		return nil
	}) == nil
}

// marshalMCP renders the MCP Prompt object.
func (p *Prompt) marshalMCP() ([]byte, error) {
	type argument struct {
		Name        string `json:"name"`
		Title       string `json:"title,omitzero"`
		Description string `json:"description,omitzero"`
		Required    bool   `json:"required,omitzero"`
	}
	def := struct {
		Name        string          `json:"name"`
		Title       string          `json:"title,omitzero"`
		Description string          `json:"description,omitzero"`
		Arguments   []argument      `json:"arguments,omitempty"`
		Meta        json.RawMessage `json:"_meta,omitzero"`
	}{Name: p.Name, Title: p.Title, Description: p.Description, Meta: p.Meta}
	for _, a := range p.Arguments {
		def.Arguments = append(def.Arguments, argument{a.Name, a.Title, a.Description, a.Required})
	}
	return jsonv2.Marshal(&def)
}

// getPrompt answers prompts/get.
func (s *Server) getPrompt(ctx context.Context, it *registry, call *Call) (catalog.Result, error) {
	p := it.prompts[call.req.Name]
	if p == nil {
		return catalog.Result{}, s.notFound("prompt", call.req.Name)
	}
	arguments := map[string]string{}
	if call.req.Arguments != nil {
		if err := jsonv2.Unmarshal(call.req.Arguments, &arguments); err != nil {
			return catalog.Result{}, junctor.Errorf(junctor.CodeInvalid, "the arguments of prompt %q must be an object of strings: %w", p.Name, err)
		}
	}
	if missing := p.missingArguments(arguments); len(missing) > 0 {
		return catalog.Result{}, junctor.Errorf(junctor.CodeInvalid, "prompt %q needs the arguments: %s", p.Name, strings.Join(missing, ", "))
	}
	messages, err := p.get(ctx, call, arguments)
	if err != nil {
		return catalog.Result{}, err
	}
	b := []byte{'{'}
	if p.Description != "" {
		b = append(appendQuoted(append(b, `"description":`...), p.Description), ',')
	}
	b = append(b, `"messages":[`...)
	for i, m := range messages {
		if i > 0 {
			b = append(b, ',')
		}
		b = m.appendJSON(b)
	}
	b, err = compactJSON(append(b, `]}`...))
	if err != nil {
		return catalog.Result{}, junctor.Errorf(junctor.CodeInternal, "prompt %q returned messages that cannot be encoded as JSON: %w", p.Name, err)
	}
	return catalog.Result{Body: b}, nil
}

// missingArguments returns the required arguments that are absent.
func (p *registeredPrompt) missingArguments(arguments map[string]string) []string {
	var missing []string
	for _, a := range p.Arguments {
		if _, ok := arguments[a.Name]; a.Required && !ok {
			missing = append(missing, a.Name)
		}
	}
	return missing
}
