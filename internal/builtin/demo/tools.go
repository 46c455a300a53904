package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/junctor-mcp/junctor/internal/builtin"
)

// readOnlyAnnotations mark tools that only compute.
func readOnlyAnnotations() *builtin.Annotations {
	return &builtin.Annotations{ReadOnly: new(true), Idempotent: new(true), OpenWorld: new(false)}
}

// addTools adds the tools. Each shows one feature: text, structured results in
// two versions, progress and cancellation, elicitation, errors.
func addTools(s *builtin.Server) error {
	return errors.Join(
		builtin.AddTool(s, builtin.Tool{
			Name:        "echo",
			Title:       "Echo",
			Description: "Gives back the text it is given, unchanged. Use it to check that the connection and your key work.",
			Annotations: readOnlyAnnotations(),
		}, runEcho),
		builtin.AddTool(s, builtin.Tool{
			Name:        "add",
			Title:       "Add two numbers",
			Description: "Adds two numbers and gives their sum. Version 2 gives the two numbers back as well.",
			Annotations: readOnlyAnnotations(),
			Version:     "1",
		}, runAddV1),
		builtin.AddTool(s, builtin.Tool{
			Name:        "add",
			Title:       "Add two numbers",
			Description: "Adds two numbers and gives their sum, together with the numbers that were added.",
			Annotations: readOnlyAnnotations(),
			Version:     "2",
			Default:     true,
		}, runAddV2),
		builtin.AddTool(s, builtin.Tool{
			Name:        "slow",
			Title:       "Take your time",
			Description: "Works in steps with a pause after each, and reports progress on the way. Use it to see progress and to try cancelling a call.",
			InputSchema: json.RawMessage(slowSchema),
			Annotations: readOnlyAnnotations(),
			Timeout:     2 * time.Minute,
		}, runSlow),
		builtin.AddTool(s, builtin.Tool{
			Name:        "ask",
			Title:       "Ask the person",
			Description: "Asks the person at the client for their name and favourite colour, and greets them. The client must support elicitation.",
			Annotations: readOnlyAnnotations(),
		}, runAsk),
		builtin.AddTool(s, builtin.Tool{
			Name:        "fail",
			Title:       "Fail on purpose",
			Description: "Always fails, with a message that says what a caller could do. Use it to see how errors of tools arrive.",
			Annotations: readOnlyAnnotations(),
		}, runFail),
	)
}

// echoInput are the arguments of echo.
type echoInput struct {
	Text string `json:"text" jsonschema:"the text to give back"`
}

// runEcho is the tool echo.
func runEcho(_ context.Context, _ *builtin.Call, in echoInput) (string, error) { return in.Text, nil }

// addInput are the arguments of add.
type addInput struct {
	A float64 `json:"a" jsonschema:"the first number"`
	B float64 `json:"b" jsonschema:"the second number"`
}

// addOutputV1 is the result of add, version 1.
type addOutputV1 struct {
	Sum float64 `json:"sum" jsonschema:"a plus b"`
}

// addOutputV2 is the result of add, version 2.
type addOutputV2 struct {
	Sum float64 `json:"sum" jsonschema:"a plus b"`
	A   float64 `json:"a" jsonschema:"the first number"`
	B   float64 `json:"b" jsonschema:"the second number"`
}

// addNumbers returns the sum. JSON has no infinity, so an overflow is an error.
func (in addInput) addNumbers() (float64, error) {
	sum := in.A + in.B
	if math.IsInf(sum, 0) {
		return 0, fmt.Errorf("the sum of %g and %g is too large for a 64-bit number; use smaller numbers", in.A, in.B)
	}
	return sum, nil
}

// runAddV1 is the tool add, version 1.
func runAddV1(_ context.Context, _ *builtin.Call, in addInput) (addOutputV1, error) {
	sum, err := in.addNumbers()
	return addOutputV1{Sum: sum}, err
}

// runAddV2 is the tool add, version 2.
func runAddV2(_ context.Context, _ *builtin.Call, in addInput) (addOutputV2, error) {
	sum, err := in.addNumbers()
	return addOutputV2{Sum: sum, A: in.A, B: in.B}, err
}

// slowSchema has limits and defaults, which a Go type cannot express.
const slowSchema = `{
	"type": "object",
	"properties": {
		"steps": {"type": "integer", "minimum": 1, "maximum": 100, "default": 5, "description": "how many steps to take"},
		"delay_ms": {"type": "integer", "minimum": 0, "maximum": 1000, "default": 200, "description": "how long each step takes, in milliseconds"}
	},
	"additionalProperties": false
}`

// slowInput are the arguments of slow; nil means the default of the schema.
type slowInput struct {
	Steps   *int `json:"steps"`
	DelayMS *int `json:"delay_ms"`
}

// runSlow is the tool slow. It ends as soon as the call is cancelled.
func runSlow(ctx context.Context, call *builtin.Call, in slowInput) (string, error) {
	steps, delay := 5, 200*time.Millisecond
	if in.Steps != nil {
		steps = *in.Steps
	}
	if in.DelayMS != nil {
		delay = time.Duration(*in.DelayMS) * time.Millisecond
	}
	pause := time.NewTimer(delay)
	defer pause.Stop()
	for step := 1; step <= steps; step++ {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-pause.C:
			pause.Reset(delay)
		}
		call.Progress(float64(step), float64(steps), fmt.Sprintf("step %d of %d", step, steps))
	}
	return fmt.Sprintf("Done: %d steps of %v.", steps, delay), nil
}

// noInput are the arguments of tools without any.
type noInput struct{}

// personForm is the form that ask shows.
type personForm struct {
	Name   string `json:"name" jsonschema:"what you would like to be called"`
	Colour string `json:"colour" jsonschema:"the colour you like best"`
}

// runAsk is the tool ask.
func runAsk(_ context.Context, call *builtin.Call, _ noInput) (string, error) {
	who, action, err := builtin.Elicit[personForm](call, "person", "What is your name, and which colour do you like best?")
	switch {
	case err != nil:
		return "", err
	case action == builtin.Decline:
		return "The person declined to answer, so there is nobody to greet.", nil
	case action == builtin.Cancel:
		return "The person closed the question without answering, so there is nobody to greet.", nil
	}
	return fmt.Sprintf("Hello, %s! %s is a fine colour.", who.Name, who.Colour), nil
}

// runFail is the tool fail.
func runFail(context.Context, *builtin.Call, noInput) (string, error) {
	return "", errors.New("this tool always fails, on purpose: nothing is wrong with your arguments, and calling it again will not help; to see a call succeed, call echo")
}
