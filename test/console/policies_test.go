package console

import (
	"path/filepath"
	"testing"
)

// TestPolicies is the life of a rule about calls: from a template, mended, simulated,
// enforced, explained, reordered and removed.
func TestPolicies(t *testing.T) {
	t.Parallel()
	r := start(t)
	for _, text := range []string{"our secret plans", "plans for May", "no plans", "good morning", "good night"} {
		r.Tell(t, "tool", "call", "demo__echo", "--arg", "text="+text)
	}
	args := []string{r.Link(t, "ada"), r.Link(t, "vera")}
	if *shots != "" {
		folder, err := filepath.Abs(*shots)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, folder)
	}
	r.run(t, "policies_console.mjs", args...)
}
