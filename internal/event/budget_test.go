package event

import (
	"encoding/json"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

// A template that repeats a placeholder multiplies the event's data: what comes
// of it has a bound.
func TestFillHasABound(t *testing.T) {
	t.Parallel()
	e := &junctor.Event{ID: "e", Type: "t", Data: json.RawMessage(`{"x":"` + strings.Repeat("x", 1<<20-100) + `","list":[` + strings.TrimSuffix(strings.Repeat("1,", 1000), ",") + `]}`)}
	for _, template := range []string{
		`{"a":"` + strings.Repeat("{{data.x}}", 20_000) + `"}`,
		`{"a":[` + strings.TrimSuffix(strings.Repeat(`"{{data}}",`, 20_000), ",") + `]}`,
		`{"a":[` + strings.TrimSuffix(strings.Repeat(`"{{data.list}}",`, 10_000), ",") + `]}`,
	} {
		made, err := ParseTemplate(json.RawMessage(template))
		if err != nil {
			t.Fatal(err)
		}
		out, err := made.Fill(e)
		if junctor.CodeOf(err) != junctor.CodeTooLarge {
			t.Errorf("%d bytes, %v", len(out), err)
		}
	}
	made, err := ParseTemplate(json.RawMessage(`{"a":"{{data.x}}","b":"{{data}}"}`))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := made.Fill(e); err != nil || len(out) < 2<<20 {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}
