package room_test

import (
	"slices"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/agui"
	"github.com/junctor-mcp/junctor/internal/room"
)

func TestApproval(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		answer agui.InterruptAnswer
		writes int64
		end    string
	}{
		{"allowed once", agui.InterruptAnswer{Allow: true}, 1, "writer: let me see [notes__add done]\nwriter: it says: added"},
		{"denied", agui.InterruptAnswer{Reason: "no milk"}, 0, "writer: let me see [notes__add denied]\nwriter: it says: the user did not allow this call, so it was not made: no milk"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &shed{}
			h := newHouse(t, map[string]agent.Turn{"writer": writer(s)})
			id := h.room(junctor.PolicyAddressed, "writer")
			events := h.say(id, "add milk")
			if outcome(events) != agui.OutcomeInterrupt || s.writes.Load() != 0 {
				t.Fatalf("%s, %d writes", outcome(events), s.writes.Load())
			}
			h.expect(id, "ada: add milk\nwriter: let me see [notes__add waiting]")
			open, err := h.Approvals(t.Context(), h.ada, id)
			if err != nil || len(open) != 1 || open[0].Agent != "writer" || open[0].Call.Tool != "add" {
				t.Fatalf("%+v, %v", open, err)
			}
			c.answer.InterruptID = waiting(events)[0]
			if events := h.answer(id, c.answer); outcome(events) != agui.OutcomeSuccess {
				t.Errorf("%+v", events)
			}
			h.expect(id, "ada: add milk\n"+c.end)
			if _, err := h.StartRun(t.Context(), h.ada, id, agui.Input{Resume: []agui.InterruptAnswer{c.answer}}); junctor.CodeOf(err) != junctor.CodeConflict {
				t.Errorf("answered again: %v", err)
			}
			if s.writes.Load() != c.writes {
				t.Errorf("%d writes", s.writes.Load())
			}
		})
	}
}

// TestDecisionIsStoredWithItsRun answers with a run that cannot begin. The decision
// must not be stored then: nothing would act on it, and the retry would be a conflict.
func TestDecisionIsStoredWithItsRun(t *testing.T) {
	t.Parallel()
	s := &shed{}
	h := newHouse(t, map[string]agent.Turn{"writer": writer(s)})
	id := h.room(junctor.PolicyAddressed, "writer")
	f, err := h.StartRun(t.Context(), h.ada, id, agui.Input{RunID: "run1", Message: agui.UserMessage{Text: "add milk"}})
	if err != nil {
		t.Fatal(err)
	}
	answer := agui.InterruptAnswer{InterruptID: waiting(h.events(f))[0], Allow: true}
	if _, err := h.StartRun(t.Context(), h.ada, id, agui.Input{RunID: "run1", Resume: []agui.InterruptAnswer{answer}}); junctor.CodeOf(err) != junctor.CodeConflict {
		t.Fatalf("a run with the id of another one: %v", err)
	}
	if open, err := h.Approvals(t.Context(), h.ada, id); err != nil || len(open) != 1 {
		t.Fatalf("%d calls wait, %v", len(open), err)
	}
	if events := h.answer(id, answer); outcome(events) != agui.OutcomeSuccess || s.writes.Load() != 1 {
		t.Errorf("the retry ends with %s after %d writes", outcome(events), s.writes.Load())
	}
}

func TestApprovalsOneByOne(t *testing.T) {
	t.Parallel()
	s := &shed{}
	h := newHouse(t, map[string]agent.Turn{"writer": writer(s)})
	id := h.room(junctor.PolicyAddressed, "writer")
	ids := waiting(h.say(id, "add both"))
	if len(ids) != 2 || s.reads.Load() != 1 {
		t.Fatalf("%v, %d reads", ids, s.reads.Load())
	}
	// Who says no first, and why, is not forgotten when the other word comes.
	events := h.answer(id, agui.InterruptAnswer{InterruptID: ids[0], Reason: "no milk"})
	if left := waiting(events); !slices.Equal(left, ids[1:]) || s.writes.Load() != 0 {
		t.Errorf("left %v of %v, %d writes", left, ids, s.writes.Load())
	}
	if events := h.answer(id, agui.InterruptAnswer{InterruptID: ids[1], Allow: true}); outcome(events) != agui.OutcomeSuccess || s.writes.Load() != 1 {
		t.Errorf("%s, %d writes", outcome(events), s.writes.Load())
	}
	h.expect(id, "ada: add both\nwriter: let me see [notes__add denied] [notes__add done] [notes__list done]\nwriter: it says: the user did not allow this call, so it was not made: no milk")
}

func TestApprovalRemembered(t *testing.T) {
	t.Parallel()
	s := &shed{}
	h := newHouse(t, map[string]agent.Turn{"writer": writer(s), "other": writer(s)})
	id := h.room(junctor.PolicyAddressed, "writer", "other")
	h.answer(id, agui.InterruptAnswer{InterruptID: waiting(h.say(id, "@writer add milk"))[0], Allow: true, Remember: true})
	if events := h.say(id, "@writer add more"); outcome(events) != agui.OutcomeSuccess || s.writes.Load() != 2 {
		t.Errorf("%s, %d writes", outcome(events), s.writes.Load())
	}
	if events := h.say(id, "@other add milk"); outcome(events) != agui.OutcomeInterrupt || s.writes.Load() != 2 {
		t.Errorf("another agent: %s, %d writes", outcome(events), s.writes.Load())
	}
	v, err := h.Get(t.Context(), h.ada, id)
	if err != nil || !slices.Equal(v.AllowedTools, []room.AllowedTool{{Agent: "writer", Server: "notes", Tool: "add"}}) || v.Run != "" || v.LastRun.State != junctor.RunWaiting {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := h.Update(t.Context(), h.ada, id, room.Settings{ForgetApprovals: true}); err != nil {
		t.Fatal(err)
	}
	if events := h.say(id, "@writer add more"); outcome(events) != agui.OutcomeInterrupt {
		t.Errorf("forgotten: %s", outcome(events))
	}
	h.say(id, "@writer never mind")
	if talk := h.talk(id); !strings.Contains(talk, "writer: let me see [notes__add denied]\nada: @writer never mind") {
		t.Errorf("a message is no answer:\n%s", talk)
	}
}

// TestApprovalsHoldForOneDefinition has a tool change behind approvals: one that
// was remembered, and one that is given while the call waits. Both times the
// person is asked again.
func TestApprovalsHoldForOneDefinition(t *testing.T) {
	t.Parallel()
	s := &shed{}
	h := newHouse(t, map[string]agent.Turn{"writer": writer(s)})
	id := h.room(junctor.PolicyAddressed, "writer")
	h.answer(id, agui.InterruptAnswer{InterruptID: waiting(h.say(id, "@writer add milk"))[0], Allow: true, Remember: true})
	if events := h.say(id, "@writer add more"); outcome(events) != agui.OutcomeSuccess || s.writes.Load() != 2 {
		t.Fatalf("remembered: %s, %d writes", outcome(events), s.writes.Load())
	}
	s.digest.Store("v2")
	asked := h.say(id, "@writer add more")
	if outcome(asked) != agui.OutcomeInterrupt || s.writes.Load() != 2 {
		t.Fatalf("a changed tool is used under the approval of the former one: %s, %d writes", outcome(asked), s.writes.Load())
	}
	s.digest.Store("v3")
	again := h.answer(id, agui.InterruptAnswer{InterruptID: waiting(asked)[0], Allow: true})
	if outcome(again) != agui.OutcomeInterrupt || s.writes.Load() != 2 {
		t.Fatalf("a tool that changed while the person was asked is used: %s, %d writes", outcome(again), s.writes.Load())
	}
	if last := h.answer(id, agui.InterruptAnswer{InterruptID: waiting(again)[0], Allow: true, Remember: true}); outcome(last) != agui.OutcomeSuccess || s.writes.Load() != 3 {
		t.Errorf("the tool as it is: %s, %d writes", outcome(last), s.writes.Load())
	}
}
