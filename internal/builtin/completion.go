package builtin

import (
	"context"
	"strings"

	"github.com/go-json-experiment/json"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
)

// CompleteFunc returns values for an argument of a prompt or a variable of a
// template, best first. typed is the text so far; filled has the arguments that
// are already known.
type CompleteFunc func(ctx context.Context, call *Call, typed string, filled map[string]string) ([]string, error)

// maxCompletions is how many values MCP allows in one answer.
const maxCompletions = 100

// OneOf returns a CompleteFunc that offers the values that begin with the typed
// text, ignoring case.
func OneOf(values ...string) CompleteFunc {
	return func(_ context.Context, _ *Call, typed string, _ map[string]string) ([]string, error) {
		var fit []string
		for _, v := range values {
			if len(v) >= len(typed) && strings.EqualFold(v[:len(typed)], typed) {
				fit = append(fit, v)
			}
		}
		return fit, nil
	}
}

// completeArgument answers completion/complete.
func (s *Server) completeArgument(ctx context.Context, it *registry, call *Call) (catalog.Result, error) {
	var params struct {
		Argument struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"argument"`
		Context struct {
			Arguments map[string]string `json:"arguments"`
		} `json:"context"`
	}
	if err := json.Unmarshal(call.req.Params, &params); err != nil {
		return catalog.Result{}, junctor.Errorf(junctor.CodeInvalid, "the params of a completion cannot be read: %w", err)
	}
	offer, err := s.findCompleter(it, call.req.Name, params.Argument.Name)
	if err != nil {
		return catalog.Result{}, err
	}
	var values []string
	if offer != nil {
		if values, err = offer(ctx, call, params.Argument.Value, params.Context.Arguments); err != nil {
			return catalog.Result{}, err
		}
	}
	var answer struct {
		Completion struct {
			Values  []string `json:"values"`
			Total   int      `json:"total"`
			HasMore bool     `json:"hasMore"`
		} `json:"completion"`
	}
	answer.Completion.Total = len(values)
	answer.Completion.HasMore = len(values) > maxCompletions
	answer.Completion.Values = values[:min(len(values), maxCompletions)]
	b, err := json.Marshal(&answer)
	if err != nil {
		return catalog.Result{}, junctor.Errorf(junctor.CodeInternal, "the completions of %q cannot be written as JSON: %w", call.Name(), err)
	}
	return catalog.Result{Body: b}, nil
}

// findCompleter returns the function that completes an argument; nil if the
// argument has none. An unknown prompt, template or argument is an error.
func (s *Server) findCompleter(it *registry, name, argument string) (CompleteFunc, error) {
	if p := it.prompts[name]; p != nil {
		if a := p.findArgument(argument); a != nil {
			return a.Complete, nil
		}
		return nil, junctor.Errorf(junctor.CodeInvalid, "prompt %q has no argument %q", name, argument)
	}
	if t := it.templates[name]; t != nil {
		if t.pattern.hasVariable(argument) {
			return t.Complete[argument], nil
		}
		return nil, junctor.Errorf(junctor.CodeInvalid, "template %q has no variable %q", name, argument)
	}
	return nil, s.notFound("prompt or template", name)
}
