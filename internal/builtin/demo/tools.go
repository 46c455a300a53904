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

// harmless marks tools that only compute.
func harmless() *builtin.Annotations {
	return &builtin.Annotations{ReadOnly: new(true), Idempotent: new(true), OpenWorld: new(false)}
}

func addTools(s *builtin.Server) error {
	return errors.Join(
		builtin.AddTool(s, builtin.Tool{
			Name:        "echo",
			Title:       "Echo",
			Description: "Gives back the text it is given, unchanged. Use it to check that the connection and your key work.",
			Annotations: harmless(),
		}, echo),
		builtin.AddTool(s, builtin.Tool{
			Name:        "add",
			Title:       "Add two numbers",
			Description: "Adds two numbers and gives their sum. Version 2 gives the two numbers back as well.",
			Annotations: harmless(),
			Version:     "1",
		}, add1),
		builtin.AddTool(s, builtin.Tool{
			Name:        "add",
			Title:       "Add two numbers",
			Description: "Adds two numbers and gives their sum, together with the numbers that were added.",
			Annotations: harmless(),
			Version:     "2",
			Default:     true,
		}, add2),
		builtin.AddTool(s, builtin.Tool{
			Name:        "slow",
			Title:       "Take your time",
			Description: "Works in steps with a pause after each, and reports progress on the way. Use it to see progress and to try cancelling a call.",
			InputSchema: json.RawMessage(slowSchema),
			Annotations: harmless(),
			Timeout:     2 * time.Minute,
		}, slow),
		builtin.AddTool(s, builtin.Tool{
			Name:        "ask",
			Title:       "Ask the person",
			Description: "Asks the person at the client for their name and favourite colour, and greets them. The client must support elicitation.",
			Annotations: harmless(),
		}, ask),
		builtin.AddTool(s, builtin.Tool{
			Name:        "fail",
			Title:       "Fail on purpose",
			Description: "Always fails, with a message that says what a caller could do. Use it to see how errors of tools arrive.",
			Annotations: harmless(),
		}, fail),
	)
}

type echoInput struct {
	Text string `json:"text" jsonschema:"the text to give back"`
}

func echo(_ context.Context, _ *builtin.Call, in echoInput) (string, error) { return in.Text, nil }

type addInput struct {
	A float64 `json:"a" jsonschema:"the first number"`
	B float64 `json:"b" jsonschema:"the second number"`
}

type sum1 struct {
	Sum float64 `json:"sum" jsonschema:"a plus b"`
}

type sum2 struct {
	Sum float64 `json:"sum" jsonschema:"a plus b"`
	A   float64 `json:"a" jsonschema:"the first number"`
	B   float64 `json:"b" jsonschema:"the second number"`
}

func (in addInput) sum() (float64, error) {
	sum := in.A + in.B
	if math.IsInf(sum, 0) {
		return 0, fmt.Errorf("the sum of %g and %g is too large for a 64-bit number; use smaller numbers", in.A, in.B)
	}
	return sum, nil
}

func add1(_ context.Context, _ *builtin.Call, in addInput) (sum1, error) {
	sum, err := in.sum()
	return sum1{Sum: sum}, err
}

func add2(_ context.Context, _ *builtin.Call, in addInput) (sum2, error) {
	sum, err := in.sum()
	return sum2{Sum: sum, A: in.A, B: in.B}, err
}

// slowSchema has bounds and defaults, which a Go type cannot say.
const slowSchema = `{
	"type": "object",
	"properties": {
		"steps": {"type": "integer", "minimum": 1, "maximum": 100, "default": 5, "description": "how many steps to take"},
		"delay_ms": {"type": "integer", "minimum": 0, "maximum": 1000, "default": 200, "description": "how long each step takes, in milliseconds"}
	},
	"additionalProperties": false
}`

type slowInput struct {
	Steps   *int `json:"steps"`
	DelayMS *int `json:"delay_ms"`
}

func slow(ctx context.Context, call *builtin.Call, in slowInput) (string, error) {
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

type nothing struct{}

type person struct {
	Name   string `json:"name" jsonschema:"what you would like to be called"`
	Colour string `json:"colour" jsonschema:"the colour you like best"`
}

func ask(_ context.Context, call *builtin.Call, _ nothing) (string, error) {
	who, action, err := builtin.Elicit[person](call, "person", "What is your name, and which colour do you like best?")
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

func fail(context.Context, *builtin.Call, nothing) (string, error) {
	return "", errors.New("this tool always fails, on purpose: nothing is wrong with your arguments, and calling it again will not help; to see a call succeed, call echo")
}
