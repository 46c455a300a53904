package room_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agent"
)

// What a client cannot show is said in the room once, and the agent whose surface
// it was hears of it; the others do not.
func TestReports(t *testing.T) {
	t.Parallel()
	heard := map[string]string{}
	hears := func(name string, shows *a2ui.Surface) agent.Turn {
		return agent.Turn{Provider: script(func(_ context.Context, r agent.Request) ([]agent.AnswerChunk, error) {
			var all []string
			for _, m := range r.Messages {
				all = append(all, m.Text)
			}
			heard[name] = strings.Join(all, "\n")
			if shows == nil {
				return says("yes"), nil
			}
			return []agent.AnswerChunk{{Text: "look"}, {Surface: shows}}, nil
		})}
	}
	gauge := a2ui.Surface{ID: "s", Components: []json.RawMessage{json.RawMessage(`{"id":"root","component":"acme:Gauge"}`)}}
	h := newHouse(t, map[string]agent.Turn{"bank": hears("bank", &gauge), "other": hears("other", nil)})
	id := h.room(junctor.PolicyAddressed, "bank", "other")
	h.say(id, "@bank show me")
	said := h.messages(id)
	message := said[len(said)-1].ID

	stranger := a2ui.RenderError{Code: "UNKNOWN_COMPONENT", Surface: "s", Path: "/components/0/component", Message: "the console has no component acme:Gauge"}
	for range 3 { // three browsers have the room open
		if err := h.ReportErrors(h.Context(), h.ada, id, message, []a2ui.RenderError{stranger, stranger}); err != nil {
			t.Fatal(err)
		}
	}
	const note = "room: The client could not show all surfaces of bank: the console has no component acme:Gauge."
	h.expect(id, "ada: @bank show me\nbank: look\n"+note)

	for name, c := range map[string]struct {
		room, message string
		report        a2ui.RenderError
		code          junctor.Code
	}{
		"of a message that is not there": {id, "nothing", stranger, ""},
		"of what a person said":          {id, said[0].ID, stranger, ""},
		"in a room that is not there":    {"rnowhere", message, stranger, junctor.CodeNotFound},
		"of a surface that is not there": {id, message, a2ui.RenderError{Surface: "x", Message: "m"}, ""},
		"that says nothing":              {id, message, a2ui.RenderError{Surface: "s"}, ""},
	} {
		if err := h.ReportErrors(h.Context(), h.ada, c.room, c.message, []a2ui.RenderError{c.report}); junctor.CodeOf(err) != c.code && (c.code != "" || err != nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
	h.expect(id, "ada: @bank show me\nbank: look\n"+note)

	h.say(id, "@bank @other again")
	if !strings.Contains(heard["bank"], "no component acme:Gauge") {
		t.Errorf("the agent that showed it heard %q", heard["bank"])
	}
	if strings.Contains(heard["other"], "acme:Gauge") {
		t.Errorf("another heard %q", heard["other"])
	}
}
