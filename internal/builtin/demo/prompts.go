package demo

import (
	"context"
	"errors"
	"fmt"

	"github.com/junctor-mcp/junctor/internal/builtin"
)

// sampleNames are the values that complete a name.
func sampleNames() []string {
	return []string{"Ada", "Alan", "Barbara", "Claude", "Dennis", "Edsger", "Frances", "Grace", "Hedy", "Ken", "Margaret"}
}

// sampleLanguages are the values that complete a programming language.
func sampleLanguages() []string {
	return []string{"C", "C++", "C#", "Go", "Java", "JavaScript", "Kotlin", "PHP", "Python", "Ruby", "Rust", "Shell", "SQL", "Swift", "TypeScript"}
}

// addPrompts adds the prompts, which show arguments with completion.
func addPrompts(s *builtin.Server) error {
	return errors.Join(
		s.AddPrompt(builtin.Prompt{
			Name: "greet", Title: "Greet somebody",
			Description: "Asks for a short, warm greeting for somebody.",
			Arguments: []builtin.Argument{
				{Name: "name", Title: "Name", Description: "who is greeted", Required: true, Complete: builtin.OneOf(sampleNames()...)},
			},
		}, greetPrompt),
		s.AddPrompt(builtin.Prompt{
			Name: "review", Title: "Review code",
			Description: "Asks for a review of a piece of code: faults first, then what could be simpler.",
			Arguments: []builtin.Argument{
				{Name: "language", Title: "Language", Description: "what the code is written in", Required: true, Complete: builtin.OneOf(sampleLanguages()...)},
				{Name: "code", Title: "Code", Description: "the code to review", Required: true},
			},
		}, reviewPrompt),
	)
}

// greetPrompt is the prompt greet.
func greetPrompt(_ context.Context, _ *builtin.Call, args map[string]string) ([]builtin.Message, error) {
	return userMessage(fmt.Sprintf("Write a short, warm greeting for %s. Two sentences at most.", args["name"])), nil
}

// reviewPrompt is the prompt review.
func reviewPrompt(_ context.Context, _ *builtin.Call, args map[string]string) ([]builtin.Message, error) {
	return userMessage(fmt.Sprintf("Review the following %s code. Name faults first, the worst on top, each with the line and a fix; "+
		"then say what could be simpler. If there is nothing to say, say so.\n\n%s", args["language"], args["code"])), nil
}

// userMessage is a prompt of one text.
func userMessage(text string) []builtin.Message {
	return []builtin.Message{{Role: builtin.RoleUser, Content: builtin.Text(text)}}
}
