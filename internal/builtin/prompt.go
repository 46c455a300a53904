package builtin

import (
	"context"
	"encoding/json"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// Prompt is what is known of a prompt without getting it.
type Prompt struct {
	Name        string
	Title       string // for people
	Description string // for people and models
	Arguments   []Argument
	Meta        json.RawMessage // _meta, a JSON object; nil for none
}

// Argument is one blank of a prompt.
type Argument struct {
	Name        string
	Title       string
	Description string
	Required    bool
	Complete    CompleteFunc // offers values; nil offers none
}

// Role is who says a message.
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

func (m Message) append(b []byte) []byte {
	b = quote(append(b, `{"role":`...), string(m.Role))
	return append(append(append(b, `,"content":`...), m.Content...), '}')
}

// PromptFunc fills in a prompt. All required arguments are there.
type PromptFunc func(ctx context.Context, call *Call, arguments map[string]string) ([]Message, error)

type prompt struct {
	Prompt
	json []byte
	get  PromptFunc
}

func (p *prompt) argument(name string) *Argument {
	for i := range p.Arguments {
		if p.Arguments[i].Name == name {
			return &p.Arguments[i]
		}
	}
	return nil
}

func (p *prompt) completes() bool {
	for _, a := range p.Arguments {
		if a.Complete != nil {
			return true
		}
	}
	return false
}

// AddPrompt adds a prompt.
func (s *Server) AddPrompt(p Prompt, get PromptFunc) error {
	if p.Name == "" || get == nil {
		return junctor.Errorf(junctor.CodeInvalid, "a prompt needs a name and a function that fills it in (prompt %q)", p.Name)
	}
	def, err := p.mcp()
	if err != nil {
		return junctor.Errorf(junctor.CodeInvalid, "prompt %q cannot be written as an MCP prompt: %w", p.Name, err)
	}
	added := &prompt{Prompt: p, json: def, get: get}
	return s.change(func(it *items) error {
		if it.prompts[p.Name] != nil {
			return junctor.Errorf(junctor.CodeConflict, "server %q already has prompt %q", s.id, p.Name)
		}
		it.prompts[p.Name] = added
		it.promptOrder = append(it.promptOrder, p.Name)
		return nil
	})
}

// RemovePrompt removes a prompt, and says whether it was there.
func (s *Server) RemovePrompt(name string) bool {
	return s.change(func(it *items) error {
		if it.prompts[name] == nil {
			return s.notFound("prompt", name)
		}
		delete(it.prompts, name)
		it.promptOrder = drop(it.promptOrder, name)
		return nil
	}) == nil
}

func (p *Prompt) mcp() ([]byte, error) {
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

func (s *Server) prompt(ctx context.Context, it *items, call *Call) (catalog.Result, error) {
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
	if missing := p.missing(arguments); len(missing) > 0 {
		return catalog.Result{}, junctor.Errorf(junctor.CodeInvalid, "prompt %q needs the arguments: %s", p.Name, strings.Join(missing, ", "))
	}
	messages, err := p.get(ctx, call, arguments)
	if err != nil {
		return catalog.Result{}, err
	}
	b := []byte{'{'}
	if p.Description != "" {
		b = append(quote(append(b, `"description":`...), p.Description), ',')
	}
	b = append(b, `"messages":[`...)
	for i, m := range messages {
		if i > 0 {
			b = append(b, ',')
		}
		b = m.append(b)
	}
	b, err = tidy(append(b, `]}`...))
	if err != nil {
		return catalog.Result{}, junctor.Errorf(junctor.CodeInternal, "prompt %q gave messages that are not JSON: %w", p.Name, err)
	}
	return catalog.Result{Body: b}, nil
}

func (p *prompt) missing(arguments map[string]string) []string {
	var missing []string
	for _, a := range p.Arguments {
		if _, ok := arguments[a.Name]; a.Required && !ok {
			missing = append(missing, a.Name)
		}
	}
	return missing
}
