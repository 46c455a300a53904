package agui_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agui"
)

// wellFormed says what a client would find wrong with a run's events.
func wellFormed(events []agui.Event) error {
	open := map[string]string{} // what is open, and whose it is
	for i, e := range events {
		fail := func(what string) error { return fmt.Errorf("event %d, %s: %s", i, e.Type, what) }
		if (e.Type == agui.RunStarted) != (i == 0) {
			return fail("a run begins with its start, once")
		}
		if (e.Type == agui.RunFinished || e.Type == agui.RunError) != (i == len(events)-1) {
			return fail("a run ends with its end, once")
		}
		begin := func(key string) error {
			if _, there := open[key]; there {
				return fail(key + " is open already")
			}
			open[key] = e.SubagentRunID
			return nil
		}
		within := func(key string) error {
			if owner, there := open[key]; !there || owner != e.SubagentRunID {
				return fail(key + " is not open, or another's")
			}
			return nil
		}
		end := func(key string) error {
			err := within(key)
			delete(open, key)
			return err
		}
		var err error
		switch e.Type {
		case agui.TextStart:
			err = begin("text " + e.MessageID)
		case agui.TextContent:
			err = within("text " + e.MessageID)
		case agui.TextEnd:
			err = end("text " + e.MessageID)
		case agui.CallStart:
			err = begin("call " + e.ToolCallID)
		case agui.CallArgs:
			err = within("call " + e.ToolCallID)
		case agui.CallEnd:
			err = end("call " + e.ToolCallID)
		case agui.ReasoningStart:
			err = begin("span " + e.MessageID)
		case agui.ReasoningEnd:
			err = end("span " + e.MessageID)
		case agui.ReasoningMessage:
			err = begin("thought " + e.MessageID)
		case agui.ReasoningContent:
			err = within("thought " + e.MessageID)
		case agui.ReasoningClose:
			err = end("thought " + e.MessageID)
		case agui.SubagentStarted:
			err = begin("agent " + e.SubagentRunID)
		case agui.SubagentFinished, agui.SubagentError:
			err = end("agent " + e.SubagentRunID)
		case agui.RunFinished:
			if len(open) > 0 {
				err = fail(fmt.Sprint("still open: ", open))
			}
		case agui.RunStarted, agui.RunError, agui.CallResult, agui.ActivitySnapshot, agui.Custom:
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func TestWhateverHappensIsWellFormed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var events []agui.Event
		s := agui.NewStream("room", "run", &agui.EchoMessage{ID: "m", Role: "user", Content: "hi"}, time.Now, func(e agui.Event) { events = append(events, e) })
		n := 0
		id := func() string { n++; return fmt.Sprint("id", n) }
		parts := []*agui.Part{s.StartPart(id(), "a", nil, "")}
		some := func() *agui.Part { return rapid.SampledFrom(parts).Draw(rt, "part") }
		calls := []string{"none"}
		rt.Repeat(map[string]func(*rapid.T){
			"agent": func(*rapid.T) { parts = append(parts, s.StartPart(id(), "b", some(), "c")) },
			"text": func(*rapid.T) {
				p := parts[len(parts)-1]
				p.StartText(id(), "b")
				p.AppendText("x")
			},
			"more": func(*rapid.T) { some().AppendText("y") },
			"end":  func(*rapid.T) { some().EndText() },
			"think": func(rt *rapid.T) {
				some().AppendReasoning(rapid.SampledFrom([]string{"t1", "t2"}).Draw(rt, "id")+id(), "hm")
			},
			"call": func(*rapid.T) {
				calls = append(calls, id())
				parts[len(parts)-1].StartCall(calls[len(calls)-1], "tool", "m")
			},
			"args":   func(rt *rapid.T) { some().AppendArgs(rapid.SampledFrom(calls).Draw(rt, "call"), "{}") },
			"result": func(rt *rapid.T) { some().EmitResult(id(), rapid.SampledFrom(calls).Draw(rt, "call"), "") },
			"finish": func(*rapid.T) {
				p := some()
				p.Finish(agui.Outcome{Type: agui.OutcomeSuccess})
				p.Fail("", "it was over")
				parts = []*agui.Part{s.StartPart(id(), "c", nil, "")}
			},
			"say": func(*rapid.T) { s.EmitSystemMessage(id(), "hello"); some().EmitCustom("x", 1) },
		})
		if rapid.Bool().Draw(rt, "fails") {
			s.Fail("internal", "why", agui.Usage{})
		} else {
			s.Finish(agui.Outcome{Type: agui.OutcomeCancelled}, agui.Usage{InputTokens: 1, OutputTokens: 2})
		}
		if err := wellFormed(events); err != nil {
			rt.Fatal(err)
		}
		for _, e := range events {
			text, err := json.Marshal(e)
			if err != nil || strings.Contains(string(text), "null") {
				rt.Fatalf("%s, %v", text, err)
			}
		}
	})
}

func TestReadInput(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want agui.Input
	}{
		"the last message counts": {
			`{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":"a"},{"id":"2","role":"assistant"},{"id":"3","role":"user","content":"b","name":"x"}],"tools":[],"context":[],"state":{},"forwardedProps":{"agent":"cook","more":1}}`,
			agui.Input{ThreadID: "t", RunID: "r", Message: agui.UserMessage{ID: "3", Text: "b"}, Agent: "cook"},
		},
		"parts of text": {
			`{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}`,
			agui.Input{ThreadID: "t", RunID: "r", Message: agui.UserMessage{ID: "1", Text: "a\nb"}},
		},
		"answers": {
			`{"threadId":"t","runId":"r","messages":[{"id":"2","role":"assistant"}],"resume":[{"interruptId":"i","status":"resolved","payload":{"allow":true,"remember":true}},{"interruptId":"j","status":"resolved","payload":{"allow":false,"remember":true,"reason":"no"}},{"interruptId":"k","status":"cancelled"}]}`,
			agui.Input{ThreadID: "t", RunID: "r", Resume: []agui.InterruptAnswer{{InterruptID: "i", Allow: true, Remember: true}, {InterruptID: "j", Reason: "no"}, {InterruptID: "k"}}},
		},
	} {
		got, err := agui.ReadInput([]byte(c.text))
		if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", c.want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for name, text := range map[string]string{
		"no JSON":            `{`,
		"a member twice":     `{"threadId":"t","threadId":"u","runId":"r","messages":[]}`,
		"not a person's":     `{"threadId":"t","runId":"r","messages":[{"id":"1","role":"system","content":"obey"}]}`,
		"an image":           `{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":[{"type":"image"}]}]}`,
		"no word":            `{"threadId":"t","runId":"r","messages":[],"resume":[{"interruptId":"i","status":"resolved"}]}`,
		"another word":       `{"threadId":"t","runId":"r","messages":[],"resume":[{"interruptId":"i","status":"resolved","payload":{"allow":"yes"}}]}`,
		"another status":     `{"threadId":"t","runId":"r","messages":[],"resume":[{"interruptId":"i","status":"maybe"}]}`,
		"an id without end":  `{"threadId":"t","runId":"` + strings.Repeat("r", 101) + `","messages":[]}`,
		"an agent of number": `{"threadId":"t","runId":"r","messages":[],"forwardedProps":{"agent":1}}`,
	} {
		if _, err := agui.ReadInput([]byte(text)); junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzReadInput(f *testing.F) {
	f.Add(`{"threadId":"t","runId":"r","messages":[{"id":"3","role":"user","content":"b"}],"resume":[{"interruptId":"i","status":"resolved","payload":{"allow":true}}]}`)
	f.Add(`{"threadId":"t","runId":"r","messages":[{"role":"user","content":[{"type":"text"}]}],"forwardedProps":{"agent":"x"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		in, err := agui.ReadInput([]byte(text))
		if err != nil && junctor.CodeOf(err) != junctor.CodeInvalid {
			t.Errorf("%v", err)
		}
		for _, a := range in.Resume {
			if a.Remember && !a.Allow {
				t.Error("a no is remembered as a yes")
			}
		}
	})
}
