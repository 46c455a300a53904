package agent

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/junctor-mcp/junctor/internal/a2ui"
)

func page(id, text string) *a2ui.Surface {
	words, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return &a2ui.Surface{ID: id, Components: []json.RawMessage{json.RawMessage(`{"id":"root","component":"Text","text":` + string(words) + `}`)}}
}

// kinds is what happened, in a line.
func kinds(events []Event) string {
	var out []string
	for _, e := range events {
		if e.Kind != EventText && e.Kind != EventUsage {
			out = append(out, string(e.Kind))
		}
	}
	return strings.Join(out, " ")
}

func TestAnswerShowsSurfaces(t *testing.T) {
	t.Parallel()
	p := &script{steps: []step{{pieces: []AnswerChunk{text("look"), {Surface: page("a", "one")}, {Surface: page("b", "two")}, {Surface: page("a", "three")}, text("there")}}}}
	var events []Event
	end := Run(t.Context(), Turn{Provider: p, Messages: []Message{user("hi")}}, func(e Event) { events = append(events, e) })
	if want := "step text-start text-end surface surface surface text-start text-end"; end.Outcome != OutcomeDone || kinds(events) != want {
		t.Errorf("%s %q; events\n%s, want\n%s", end.Outcome, end.Reason, kinds(events), want)
	}
	want := []a2ui.Surface{*page("b", "two"), *page("a", "three")}
	if diff := cmp.Diff(want, end.Surfaces()); diff != "" || end.Text() != "lookthere" || len(end.Messages) != 1 {
		t.Errorf("of each id the last is kept: %s\n%+v", diff, end.Messages)
	}
}

func TestBrokenSurfaceFailsTheRun(t *testing.T) {
	t.Parallel()
	bad := &a2ui.Surface{ID: "a", Components: []json.RawMessage{json.RawMessage(`{"id":"root","component":"Card","child":"gone"}`)}}
	p := &script{steps: []step{{pieces: []AnswerChunk{text("look"), {Surface: bad}}}}}
	end := Run(t.Context(), Turn{Provider: p, Messages: []Message{user("hi")}}, func(Event) {})
	if end.Outcome != OutcomeFailed || !strings.Contains(end.Reason, `there is no component "gone"`) || end.Text() != "look" {
		t.Errorf("%s %q %q", end.Outcome, end.Reason, end.Text())
	}
}

func TestSurfaceOfAToolIsShown(t *testing.T) {
	t.Parallel()
	messages := `[{"version":"v0.9","createSurface":{"surfaceId":"s","catalogId":"https://a2ui.org/specification/v0_9/catalogs/basic/catalog.json"}},` +
		`{"version":"v0.9","updateComponents":{"surfaceId":"s","components":[{"id":"root","component":"Text","text":"of a tool"}]}},{"version":"v0.9","updateNothing":{}}]`
	words, err := json.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
	tools := named("read")
	tools.call = func(context.Context, Call) Result {
		return Result{Text: "see", Content: json.RawMessage(`{"content":[{"type":"resource","resource":{"uri":"a2ui://s","mimeType":"application/a2ui+json","text":` + string(words) + `}}]}`)}
	}
	p := &script{steps: []step{{pieces: []AnswerChunk{call("c1", "read", `{}`)}}, {pieces: []AnswerChunk{text("done")}}}}
	var events []Event
	end := Run(t.Context(), Turn{Provider: p, Tools: tools, Messages: []Message{user("hi")}}, func(e Event) { events = append(events, e) })
	if want := "step call-start call-args call-end result surface step text-start text-end"; kinds(events) != want || end.Outcome != OutcomeDone {
		t.Errorf("%s %q; events\n%s, want\n%s", end.Outcome, end.Reason, kinds(events), want)
	}
	if list := end.Surfaces(); len(list) != 1 || list[0].ID != "s" {
		t.Errorf("surfaces %+v", list)
	}
	if told := p.asked[1].Messages[2].Results[0].Text; !strings.Contains(told, "message 3") {
		t.Errorf("the model is told what cannot be shown, but reads %q", told)
	}
}

func TestModelsReadWhatWasDoneAndShown(t *testing.T) {
	t.Parallel()
	p := &script{steps: []step{{pieces: []AnswerChunk{text("ok")}}}}
	story := []Message{
		user("hi"),
		{Role: RoleAssistant, Surfaces: []a2ui.Surface{*page("s", "x")}},
		{Role: RoleUser, Action: &a2ui.Action{Surface: "s", Name: "choose", Context: json.RawMessage(`{"id":"tx1"}`)}},
	}
	Run(t.Context(), Turn{Provider: p, Messages: story}, func(Event) {})
	var said []string
	for _, m := range p.asked[0].Messages {
		said = append(said, m.Text)
	}
	want := []string{"hi", "(an interface was shown: s, of Text)", `pressed choose {"id":"tx1"}`}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
}

func TestModelsShowSurfaces(t *testing.T) {
	t.Parallel()
	p := &script{steps: []step{
		{pieces: []AnswerChunk{call("c1", "show_surface", `{"id":"s","components":[{"id":"root","component":"Card","child":"gone"}]}`)}},
		{pieces: []AnswerChunk{call("c2", "show_surface", `{"id":"s","components":[{"id":"root","component":"Text","text":{"path":"/a"}}],"data":{"a":"hi"}}`), call("c3", "read", `{}`)}},
		{pieces: []AnswerChunk{text("there")}},
	}}
	tools := named("read")
	end := Run(t.Context(), Turn{Provider: p, Tools: AddSurfaceTool(tools, a2ui.BuiltinCatalogs()), Messages: []Message{user("hi")}, NeedsApproval: func(t Tool, _ Call) bool { return !t.ReadOnly }}, func(Event) {})
	if end.Outcome != OutcomeDone {
		t.Fatalf("%s %q", end.Outcome, end.Reason)
	}
	if told := p.asked[1].Messages[2].Results[0]; !told.IsError || !strings.Contains(told.Text, `root.child: there is no component "gone"`) {
		t.Errorf("the model is told what is wrong, but reads %+v", told)
	}
	if list := end.Surfaces(); len(list) != 1 || list[0].ID != "s" || string(list[0].Data) != `{"a":"hi"}` {
		t.Errorf("surfaces %+v", list)
	}
	if made := tools.calls(); len(made) != 1 || made[0] != "read" {
		t.Errorf("other tools are called as ever, but %v were", made)
	}
	offered := p.asked[0].Tools[1]
	if offered.Name != "show_surface" || !strings.Contains(offered.Description, "googlemaps:MapView(latitude, longitude; label, zoom)") || !json.Valid(offered.Schema) {
		t.Errorf("offered %+v", offered)
	}
}
