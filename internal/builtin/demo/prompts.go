package demo

import (
	"context"
	"errors"
	"fmt"

	"github.com/junctor-mcp/junctor/internal/builtin"
)

func names() []string {
	return []string{"Ada", "Alan", "Barbara", "Claude", "Dennis", "Edsger", "Frances", "Grace", "Hedy", "Ken", "Margaret"}
}

func languages() []string {
	return []string{"C", "C++", "C#", "Go", "Java", "JavaScript", "Kotlin", "PHP", "Python", "Ruby", "Rust", "Shell", "SQL", "Swift", "TypeScript"}
}

func addPrompts(s *builtin.Server) error {
	return errors.Join(
		s.AddPrompt(builtin.Prompt{
			Name: "greet", Title: "Greet somebody",
			Description: "Asks for a short, warm greeting for somebody.",
			Arguments: []builtin.Argument{
				{Name: "name", Title: "Name", Description: "who is greeted", Required: true, Complete: builtin.OneOf(names()...)},
			},
		}, greet),
		s.AddPrompt(builtin.Prompt{
			Name: "review", Title: "Review code",
			Description: "Asks for a review of a piece of code: faults first, then what could be simpler.",
			Arguments: []builtin.Argument{
				{Name: "language", Title: "Language", Description: "what the code is written in", Required: true, Complete: builtin.OneOf(languages()...)},
				{Name: "code", Title: "Code", Description: "the code to review", Required: true},
			},
		}, review),
	)
}

func greet(_ context.Context, _ *builtin.Call, args map[string]string) ([]builtin.Message, error) {
	return say(fmt.Sprintf("Write a short, warm greeting for %s. Two sentences at most.", args["name"])), nil
}

func review(_ context.Context, _ *builtin.Call, args map[string]string) ([]builtin.Message, error) {
	return say(fmt.Sprintf("Review the following %s code. Name faults first, the worst on top, each with the line and a fix; "+
		"then say what could be simpler. If there is nothing to say, say so.\n\n%s", args["language"], args["code"])), nil
}

func say(text string) []builtin.Message {
	return []builtin.Message{{Role: builtin.RoleUser, Content: builtin.Text(text)}}
}
