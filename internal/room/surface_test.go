package room_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/agui"
)

func TestSurfacesAreStoredSentAndAnswered(t *testing.T) {
	t.Parallel()
	button := a2ui.Surface{ID: "s", Components: []json.RawMessage{
		json.RawMessage(`{"id":"root","component":"Button","child":"t","action":{"event":{"name":"more","context":{"id":"tx1"}}}}`),
		json.RawMessage(`{"id":"t","component":"Text","text":"more"}`),
	}}
	var got *a2ui.Action
	h := newHouse(t, map[string]agent.Turn{"bank": {Provider: script(func(_ context.Context, r agent.Request) ([]agent.AnswerChunk, error) {
		if got = lastly(r).Action; got != nil {
			return says("here is " + string(got.Context)), nil
		}
		return []agent.AnswerChunk{{Text: "press"}, {Surface: &button}}, nil
	})}, "other": {Provider: script(func(context.Context, agent.Request) ([]agent.AnswerChunk, error) { return says("not me"), nil })}})
	id := h.room(junctor.PolicyAddressed, "other", "bank")

	var told *agui.Event
	for _, e := range h.say(id, "@bank show me") {
		if e.Type == agui.ActivitySnapshot {
			told = &e
		}
	}
	kept := h.messages(id)[1]
	if told == nil || told.ActivityType != "a2ui-surface" || told.MessageID != "ui-s-"+kept.ID {
		t.Fatalf("told %+v of the message %s", told, kept.ID)
	}
	var content struct {
		Surface  a2ui.Surface
		Agent    string
		Messages []map[string]json.RawMessage
	}
	if err := json.Unmarshal(told.Content.Object, &content); err != nil || content.Agent != "bank" || content.Surface.ID != "s" || len(content.Messages) != 3 || string(content.Messages[0]["version"]) != `"v0.9"` {
		t.Errorf("%v %s", err, told.Content.Object)
	}
	if len(kept.Surfaces) != 1 || !strings.Contains(string(kept.Surfaces[0]), `"id":"s"`) {
		t.Errorf("kept %s", kept.Surfaces)
	}

	in, err := agui.ReadInput([]byte(`{"messages":[{"id":"m9","role":"user","content":""}],"forwardedProps":{"agent":"bank","action":{"surfaceId":"s","component":"root","name":"more","context":{"id":"tx1"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	f, err := h.StartRun(h.Context(), h.ada, id, in)
	if err != nil {
		t.Fatal(err)
	}
	h.events(f)
	h.expect(id, "ada: @bank show me\nbank: press\nada: pressed more {\"id\":\"tx1\"}\nbank: here is {\"id\":\"tx1\"}")
	if got == nil || got.Surface != "s" || got.Component != "root" || got.Name != "more" {
		t.Errorf("the agent was told %+v", got)
	}
	whole, err := h.Export(h.Context(), h.ada, id)
	if text := whole.Markdown(); err != nil || !strings.Contains(text, "(an interface was shown: s, of Button, Text)") {
		t.Errorf("%v; who reads the room as a text is told of the surface, but reads\n%s", err, text)
	}
	if m := h.messages(id)[2]; !strings.Contains(string(m.Action), `"surfaceId":"s"`) {
		t.Errorf("kept of the action: %s", m.Action)
	}
}

// Components that an admin registered are kept and shown as what stands for them; who
// draws them itself finds them in the messages.
func TestRegisteredComponents(t *testing.T) {
	t.Parallel()
	catalog, err := a2ui.ReadCatalog([]byte(`{"catalogId":"https://x/fleet","components":{"fleet:Gauge":{"properties":{"label":{"$ref":"#/$defs/DynamicString"}},"required":["label"]}},
		"fallbacks":{"fleet:Gauge":[{"id":"root","component":"Text","text":{"property":"label"}}]}}`), "")
	if err != nil {
		t.Fatal(err)
	}
	gauge := a2ui.Surface{ID: "s", Catalogs: []string{"https://x/fleet"}, Components: []json.RawMessage{json.RawMessage(`{"id":"root","component":"fleet:Gauge","label":"Speed"}`)}}
	h := newHouse(t, map[string]agent.Turn{"fleet": {Provider: script(func(context.Context, agent.Request) ([]agent.AnswerChunk, error) {
		return []agent.AnswerChunk{{Text: "see"}, {Surface: &gauge}}, nil
	})}})
	if h.known, err = a2ui.BuiltinCatalogs().With(catalog); err != nil {
		t.Fatal(err)
	}
	id := h.room(junctor.PolicyAddressed, "fleet")
	told := ""
	for _, e := range h.say(id, "@fleet how fast?") {
		if e.Type == agui.ActivitySnapshot {
			told = string(e.Content.Object)
		}
	}
	if kept := h.messages(id)[1].Surfaces; len(kept) != 1 || !strings.Contains(string(kept[0]), `"component":"Text"`) || strings.Contains(string(kept[0]), "fleet:Gauge") {
		t.Errorf("kept %s", kept)
	}
	if !strings.Contains(told, `"component":"Text"`) || !strings.Contains(told, `"component":"fleet:Gauge"`) || !strings.Contains(told, `"catalogId":"https://x/fleet"`) {
		t.Errorf("told %s", told)
	}
}

func TestActionsThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, action := range map[string]string{
		"without a name": `{"surfaceId":"s"}`, "without a surface": `{"name":"x"}`, "context that is no object": `{"surfaceId":"s","name":"x","context":[1]}`,
		"an endless name": `{"surfaceId":"s","name":"` + strings.Repeat("x", 300) + `"}`, "no object": `7`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := agui.ReadInput([]byte(`{"messages":[{"id":"m","role":"user","content":""}],"forwardedProps":{"action":` + action + `}}`))
			if junctor.CodeOf(err) != junctor.CodeInvalid {
				t.Errorf("%v", err)
			}
		})
	}
}

// catalogs are the components that agents may show.
func (h *house) catalogs(context.Context, junctor.TenantID) *a2ui.Catalogs {
	if h.known == nil {
		return a2ui.BuiltinCatalogs()
	}
	return h.known
}
