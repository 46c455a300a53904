package room_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/agui"
	"github.com/junctor-mcp/junctor/internal/room"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/store/sqlite"
	"github.com/junctor-mcp/junctor/internal/store/storetest"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// script is a provider that says what a function makes of the request.
type script func(ctx context.Context, r agent.Request) ([]agent.AnswerChunk, error)

func (s script) Stream(ctx context.Context, r agent.Request) iter.Seq2[agent.AnswerChunk, error] {
	return func(yield func(agent.AnswerChunk, error) bool) {
		pieces, err := s(ctx, r)
		for _, p := range pieces {
			if !yield(p, nil) {
				return
			}
		}
		if err != nil {
			yield(agent.AnswerChunk{}, err)
		}
	}
}

func says(text string) []agent.AnswerChunk { return []agent.AnswerChunk{{Text: text}} }

func calls(id, name, arguments string) []agent.AnswerChunk {
	return []agent.AnswerChunk{{Text: "let me see"}, {Call: &agent.Call{ID: id, Name: name, Arguments: json.RawMessage(arguments)}}}
}

// lastly is the end of the story that a model is told.
func lastly(r agent.Request) agent.Message { return r.Messages[len(r.Messages)-1] }

// shed is the tools of an agent: one that reads, one that writes, and what they
// did.
type shed struct {
	reads, writes atomic.Int64
	block         chan struct{} // a write waits for it
	digest        atomic.Value  // of the tool that writes; "v1" where none is set
}

func (s *shed) list() []agent.Tool {
	digest, set := s.digest.Load().(string)
	if !set {
		digest = "v1"
	}
	return []agent.Tool{
		{Name: "notes__list", Server: "notes", OriginalName: "list", ReadOnly: true, Schema: json.RawMessage(`{"type":"object"}`), ViewURI: "ui://notes/list"},
		{Name: "notes__add", Server: "notes", OriginalName: "add", Schema: json.RawMessage(`{"type":"object"}`), Digest: digest},
	}
}
func (s *shed) List(context.Context) ([]agent.Tool, error) { return s.list(), nil }

func (s *shed) Resolve(_ context.Context, c agent.Call) (agent.Tool, error) {
	for _, t := range s.list() {
		if t.Name == c.Name {
			return t, nil
		}
	}
	return agent.Tool{}, junctor.Errorf(junctor.CodeNotFound, "there is no tool %q", c.Name)
}

func (s *shed) RecordRefusal(context.Context, agent.Call, error) string { return "" }

func (s *shed) Call(ctx context.Context, c agent.Call) agent.Result {
	if c.Name == "notes__list" {
		s.reads.Add(1)
		return agent.Result{CallID: c.ID, Text: "milk", Content: json.RawMessage(`{"content":[{"type":"text","text":"milk"}]}`), Record: "rec-" + c.ID, Server: "notes", Tool: "list", ViewURI: "ui://notes/list"}
	}
	if s.block != nil {
		select {
		case <-s.block:
		case <-ctx.Done():
			return agent.Result{CallID: c.ID, IsError: true, Text: "stopped"}
		}
	}
	s.writes.Add(1)
	return agent.Result{CallID: c.ID, Text: "added", Record: "rec-" + c.ID, Server: "notes", Tool: "add"}
}

// minds are agents by name.
type minds struct {
	sync.Mutex
	of map[string]agent.Turn
}

func (m *minds) NewTurn(_ context.Context, _ junctor.TenantID, _, name string) (agent.Turn, error) {
	m.Lock()
	defer m.Unlock()
	t, ok := m.of[name]
	if !ok {
		return t, junctor.Errorf(junctor.CodeInvalid, "the agent %q has no brain", name)
	}
	return t, nil
}

// views is the Apps that ada looks at: one of each call of the agents, with a tool
// of its own, while it is open.
type views struct {
	sync.Mutex
	open   string // the record that it shows; "" is none
	called []string
}

func (v *views) AddAppTools(tools agent.Tools, _ junctor.TenantID, user, name string, shows func(string) bool) agent.Tools {
	return &glass{Tools: tools, views: v, user: user, name: name, shows: shows}
}

// glass is an agent's tools and the App's.
type glass struct {
	agent.Tools
	views      *views
	user, name string
	shows      func(string) bool
}

func (g *glass) List(ctx context.Context) ([]agent.Tool, error) {
	list, err := g.Tools.List(ctx)
	g.views.Lock()
	defer g.views.Unlock()
	if g.user == "u1" && g.views.open != "" && g.shows(g.views.open) {
		list = append(slices.Clone(list), agent.Tool{Name: "view_turn", Server: "notes", OriginalName: "own:turn", ReadOnly: true})
	}
	return list, err
}

func (g *glass) Resolve(ctx context.Context, c agent.Call) (agent.Tool, error) {
	if c.Name == "view_turn" {
		return agent.Tool{Name: "view_turn", Server: "notes", OriginalName: "own:turn", ReadOnly: true}, nil
	}
	return g.Tools.Resolve(ctx, c)
}

func (g *glass) Call(ctx context.Context, c agent.Call) agent.Result {
	if c.Name != "view_turn" {
		return g.Tools.Call(ctx, c)
	}
	g.views.Lock()
	defer g.views.Unlock()
	g.views.called = append(g.views.called, g.name)
	return agent.Result{CallID: c.ID, Text: "turned", Record: "rec-" + c.ID, Server: "notes", Tool: "own:turn"}
}

// house is rooms over a database, with people.
type house struct {
	*testing.T
	*room.Rooms
	store *store.Store
	minds *minds
	views *views
	admin *junctor.Principal
	ada   *junctor.Principal // in the rooms
	bob   *junctor.Principal // not
	known *a2ui.Catalogs     // nil: those of the program
}

func newHouse(t *testing.T, agents map[string]agent.Turn) *house {
	t.Helper()
	st, err := sqlite.Open(t.Context(), storetest.Fresh(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	h := &house{T: t, store: st, minds: &minds{of: agents}, views: &views{}}
	h.admin = &junctor.Principal{Tenant: junctor.DefaultTenant, Issuer: junctor.IssuerLocal, Subject: "local", Name: "operator", Scopes: []junctor.Scope{junctor.ScopeAdmin}}
	person := func(id, name string) *junctor.Principal {
		if err := st.For(junctor.DefaultTenant).CreateUser(t.Context(), junctor.User{ID: id, Name: name, Role: junctor.UserDeveloper, Sources: junctor.SourcesBoth}); err != nil {
			t.Fatal(err)
		}
		return &junctor.Principal{Tenant: junctor.DefaultTenant, Issuer: junctor.IssuerUser, Subject: id, User: id, Name: name, Scopes: junctor.UserDeveloper.Scopes()}
	}
	h.ada, h.bob = person("u1", "ada"), person("u2", "bob")
	for name := range agents {
		if _, err := st.For(junctor.DefaultTenant).AddAgent(t.Context(), junctor.Agent{Name: name, Role: junctor.RoleGeneral, Owner: h.ada.ID()}); err != nil {
			t.Fatal(err)
		}
	}
	h.Rooms = h.rooms("replica")
	return h
}

// rooms is another process on the same database.
func (h *house) rooms(replica string) *room.Rooms {
	h.Helper()
	var n atomic.Int64
	r, err := room.New(room.Options{
		Store: h.store, Turns: h.minds, AppTools: h.views, Catalogs: h.catalogs, Now: time.Now, Replica: replica, Log: slog.New(slog.DiscardHandler),
		NewID: func() string { return fmt.Sprintf("%s-%d-%06d", replica, time.Now().UnixNano(), n.Add(1)) },
	})
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(r.Close)
	return r
}

// room makes one with agents, and ada in it.
func (h *house) room(policy junctor.TurnPolicy, agents ...string) string {
	h.Helper()
	members := []junctor.Member{}
	for _, a := range agents {
		members = append(members, junctor.Member{Agent: a})
	}
	w, err := h.Create(h.Context(), h.ada, room.Settings{Name: new("Kitchen"), Members: &members, Policy: &policy})
	if err != nil {
		h.Fatal(err)
	}
	return w.ID
}

// events reads a feed to its end.
func (h *house) events(f *room.Feed) []agui.Event {
	h.Helper()
	defer f.Close()
	ctx, cancel := context.WithTimeout(h.Context(), time.Minute)
	defer cancel()
	var out []agui.Event
	for {
		list, more := f.Next(ctx, time.Minute)
		for _, text := range list {
			var e agui.Event
			if err := json.Unmarshal(text, &e); err != nil {
				h.Fatalf("%s: %v", text, err)
			}
			out = append(out, e)
		}
		if !more {
			if ctx.Err() != nil {
				h.Fatalf("the run did not end; so far %+v", out)
			}
			return out
		}
	}
}

// say says something and waits for the end of it.
func (h *house) say(id, text string) []agui.Event {
	h.Helper()
	f, err := h.StartRun(h.Context(), h.ada, id, agui.Input{Message: agui.UserMessage{Text: text}})
	if err != nil {
		h.Fatal(err)
	}
	return h.events(f)
}

// answer answers what waits.
func (h *house) answer(id string, answers ...agui.InterruptAnswer) []agui.Event {
	h.Helper()
	f, err := h.StartRun(h.Context(), h.ada, id, agui.Input{Resume: answers})
	if err != nil {
		h.Fatal(err)
	}
	return h.events(f)
}

func (h *house) messages(id string) []junctor.Message {
	h.Helper()
	list, _, err := h.MessagePage(h.Context(), h.ada, id, &junctor.RowPage{Limit: 100, Ascending: true})
	if err != nil {
		h.Fatal(err)
	}
	return list
}

// talk is what was said in a room, a line for each message.
func (h *house) talk(id string) string {
	h.Helper()
	var lines []string
	for _, m := range h.messages(id) {
		line := m.Author.Name + ": " + m.Text
		if m.Aside != "" {
			line = "(" + line + ")"
		}
		for _, c := range m.Calls {
			line += " [" + c.Name + " " + string(c.State) + "]"
		}
		if m.Outcome != "" {
			line += " {" + m.Outcome + "}"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func (h *house) expect(id, want string) {
	h.Helper()
	if got := h.talk(id); got != want {
		h.Errorf("the room has\n%s\n\nwant\n%s", got, want)
	}
}

func outcome(events []agui.Event) agui.OutcomeType {
	last := events[len(events)-1]
	if last.Outcome == nil {
		return agui.OutcomeType(last.Type)
	}
	return last.Outcome.Type
}

func waiting(events []agui.Event) []string {
	var ids []string
	for _, w := range events[len(events)-1].Outcome.Interrupts {
		ids = append(ids, w.ID)
	}
	return ids
}

// writer is an agent that adds a note when a person says so.
func writer(s *shed) agent.Turn {
	return agent.Turn{Tools: s, Provider: script(func(_ context.Context, r agent.Request) ([]agent.AnswerChunk, error) {
		switch m := lastly(r); {
		case m.Role == agent.RoleTool:
			return says("it says: " + m.Results[0].Text), nil
		case strings.Contains(m.Text, "list"):
			return calls("", "notes__list", `{}`), nil
		case strings.Contains(m.Text, "both"):
			return append(calls("c1", "notes__add", `{"n":1}`), agent.AnswerChunk{Call: &agent.Call{ID: "c2", Name: "notes__add", Arguments: json.RawMessage(`{"n":2}`)}}, agent.AnswerChunk{Call: &agent.Call{ID: "c3", Name: "notes__list", Arguments: json.RawMessage(`{}`)}}), nil
		case strings.Contains(m.Text, "add"):
			return calls("", "notes__add", `{"text":"milk"}`), nil
		}
		return says("hello " + lastly(r).Name), nil
	})}
}

// parrot repeats what was said.
func parrot(text string) agent.Turn {
	return agent.Turn{Provider: script(func(_ context.Context, r agent.Request) ([]agent.AnswerChunk, error) {
		return says(text), nil
	})}
}

func TestTalk(t *testing.T) {
	t.Parallel()
	s := &shed{}
	h := newHouse(t, map[string]agent.Turn{"writer": writer(s)})
	id := h.room(junctor.PolicyAddressed, "writer")
	if events := h.say(id, "hi"); outcome(events) != agui.OutcomeSuccess || events[0].Input.Messages[0].Content != "hi" {
		t.Errorf("%+v", events)
	}
	events := h.say(id, "list them")
	var kinds []string
	for _, e := range events {
		kinds = append(kinds, string(e.Type))
	}
	if got := strings.Join(kinds, " "); got != "RUN_STARTED SUBAGENT_STARTED TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END TOOL_CALL_RESULT CUSTOM ACTIVITY_SNAPSHOT TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END SUBAGENT_FINISHED RUN_FINISHED" {
		t.Errorf("events: %s", got)
	}
	h.expect(id, "ada: hi\nwriter: hello ada\nada: list them\nwriter: let me see [notes__list done]\nwriter: it says: milk")
	call := h.messages(id)[3].Calls[0]
	if call.Record != "rec-"+call.ID || call.View != "ui://notes/list" || call.Result == nil || call.ResultText != "milk" {
		t.Errorf("%+v", call)
	}
	if found, total, err := h.MessagePage(t.Context(), h.ada, id, &junctor.RowPage{Words: []string{"milk"}, Limit: 9}); err != nil || len(found) != 2 || total.Rows != 2 {
		t.Errorf("found %+v, %v", found, err)
	}
}

// TestOwnToolsOfApps: an agent is told of the tools that the App of its own call
// has, when who looks at it speaks, and for as long as it is open.
func TestOwnToolsOfApps(t *testing.T) {
	t.Parallel()
	s := &shed{}
	turns := agent.Turn{Tools: s, Provider: script(func(_ context.Context, r agent.Request) ([]agent.AnswerChunk, error) {
		said := lastly(r)
		switch {
		case said.Role == agent.RoleTool:
			return says("it says: " + said.Results[0].Text), nil
		case strings.Contains(said.Text, "show"):
			return calls("c", "notes__list", `{}`), nil
		}
		return calls("c", "view_turn", `{}`), nil
	})}
	h := newHouse(t, map[string]agent.Turn{"writer": turns, "other": turns})
	id := h.room(junctor.PolicyAddressed, "writer", "other")
	h.say(id, "@writer show it")
	h.views.open = h.messages(id)[1].Calls[0].Record
	h.say(id, "@writer turn it")
	h.say(id, "@other turn it") // that is not its App
	h.views.open = ""
	h.say(id, "@writer turn it again")
	if !slices.Equal(h.views.called, []string{"writer"}) {
		t.Errorf("called for %v", h.views.called)
	}
	list := h.messages(id)
	if call := list[4].Calls[0]; call.State != junctor.MessageCallDone || call.Tool != "own:turn" || call.Record == "" {
		t.Errorf("%+v", call)
	}
	for _, i := range []int{7, 10} {
		if call := list[i].Calls[0]; call.State != junctor.MessageCallFailed || call.Record != "" {
			t.Errorf("message %d: %+v", i, call)
		}
	}
}

// TestManyTexts: each text of an answer has an id of its own, however many there
// are; and so has each call, whatever the provider calls it.
func TestManyTexts(t *testing.T) {
	t.Parallel()
	const most = 12
	s := &shed{}
	chatty := agent.Turn{Tools: s, Provider: script(func(_ context.Context, r agent.Request) ([]agent.AnswerChunk, error) {
		if lastly(r).Role == agent.RoleTool {
			return says("done"), nil
		}
		var out []agent.AnswerChunk
		for n := range most {
			out = append(out, agent.AnswerChunk{Text: fmt.Sprint("text ", n)}, agent.AnswerChunk{Call: &agent.Call{ID: fmt.Sprint("call_", n), Name: "notes__list", Arguments: json.RawMessage(`{}`)}})
		}
		return out, nil
	})}
	h := newHouse(t, map[string]agent.Turn{"writer": chatty, "other": chatty})
	id := h.room(junctor.PolicyAddressed, "writer", "other")
	texts, cards := map[string]bool{}, map[string]bool{}
	for round, name := range []string{"writer", "other", "writer"} {
		for _, e := range h.say(id, "@"+name+" go on") {
			switch e.Type {
			case agui.TextStart:
				if texts[e.MessageID] {
					t.Errorf("round %d: two texts are called %s", round, e.MessageID)
				}
				texts[e.MessageID] = true
			case agui.CallStart:
				if cards[e.ToolCallID] {
					t.Errorf("round %d: two calls are called %s", round, e.ToolCallID)
				}
				cards[e.ToolCallID] = true
			}
		}
	}
	if len(texts) != 3*(most+1) || len(cards) != 3*most || s.reads.Load() != 3*most {
		t.Errorf("%d texts, %d calls, %d made", len(texts), len(cards), s.reads.Load())
	}
	for _, m := range h.messages(id) {
		for _, call := range m.Calls {
			if call.State != junctor.MessageCallDone || !cards[call.ID] {
				t.Errorf("%+v", call)
			}
		}
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	s := &shed{block: make(chan struct{})}
	h := newHouse(t, map[string]agent.Turn{"writer": writer(s), "other": parrot("me too")})
	id := h.room(junctor.PolicyAll, "writer", "other")
	if _, err := h.Update(t.Context(), h.ada, id, room.Settings{Approvals: new(junctor.ApproveNever)}); err != nil {
		t.Fatal(err)
	}
	late, err := h.Subscribe(t.Context(), h.ada, id)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	f, err := h.StartRun(t.Context(), h.ada, id, agui.Input{RunID: "run1", Message: agui.UserMessage{ID: "m1", Text: "add milk"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string]agui.Input{
		"another message": {Message: agui.UserMessage{Text: "add more"}},
		"the same run":    {RunID: "run1", Message: agui.UserMessage{ID: "m1", Text: "add milk"}},
	} {
		if _, err := h.StartRun(t.Context(), h.ada, id, in); junctor.CodeOf(err) != junctor.CodeConflict {
			t.Errorf("%s: %v", name, err)
		}
	}
	for { // until the tool is called
		list, _ := late.Next(t.Context(), time.Minute)
		if slices.ContainsFunc(list, func(e json.RawMessage) bool { return strings.Contains(string(e), "TOOL_CALL_END") }) {
			break
		}
	}
	if err := h.StopRun(t.Context(), h.bob, id, "run1"); junctor.CodeOf(err) != junctor.CodeNotFound {
		t.Errorf("a stranger stops: %v", err)
	}
	if err := h.StopRun(t.Context(), h.ada, id, "run1"); err != nil {
		t.Fatal(err)
	}
	if events := h.events(f); outcome(events) != agui.OutcomeCancelled {
		t.Errorf("%+v", events[len(events)-1])
	}
	if s.writes.Load() != 0 {
		t.Errorf("%d writes", s.writes.Load())
	}
	h.expect(id, "ada: add milk\nwriter: let me see [notes__add failed] {the run was stopped}")
	if _, err := h.StartRun(t.Context(), h.ada, id, agui.Input{Message: agui.UserMessage{ID: "m1", Text: "add milk"}}); junctor.CodeOf(err) != junctor.CodeConflict {
		t.Errorf("the same message again: %v", err)
	}
	close(s.block)
	if events := h.say(id, "hello"); outcome(events) != agui.OutcomeSuccess {
		t.Errorf("afterwards: %s", outcome(events))
	}
}

// What a process did not survive is marked, and never done again.
func TestLost(t *testing.T) {
	t.Parallel()
	s := &shed{block: make(chan struct{})}
	h := newHouse(t, map[string]agent.Turn{"writer": writer(s)})
	id := h.room(junctor.PolicyAddressed, "writer")
	events := h.say(id, "add milk")
	f, err := h.StartRun(t.Context(), h.ada, id, agui.Input{RunID: "run2", Resume: []agui.InterruptAnswer{{InterruptID: waiting(events)[0], Allow: true}}})
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	poll.Until(t, "the run", time.Minute, func() bool { return strings.Contains(h.talk(id), "running") })
	// As if the process were gone: another one starts on the same replica.
	again := h.rooms("replica")
	again.RecoverRuns(t.Context())
	if talk := h.talk(id); !strings.Contains(talk, "[notes__add lost]") || !strings.Contains(talk, "room: The instance stopped") {
		t.Errorf("the room has\n%s", talk)
	}
	if again.RecoverRuns(t.Context()); strings.Count(h.talk(id), "room:") != 1 {
		t.Errorf("said twice:\n%s", h.talk(id))
	}
	run, err := h.store.For(junctor.DefaultTenant).RoomRun(t.Context(), id, "run2")
	if err != nil || run.State != junctor.RunLost {
		t.Errorf("%+v, %v", run, err)
	}
	if s.writes.Load() != 0 {
		t.Errorf("%d writes", s.writes.Load())
	}
	next, err := again.StartRun(t.Context(), h.ada, id, agui.Input{Message: agui.UserMessage{Text: "hello"}})
	if err != nil {
		t.Fatal(err)
	}
	if events := h.events(next); outcome(events) != agui.OutcomeSuccess {
		t.Errorf("the next message: %+v", events)
	}
}

// A room is deleted at one replica while a run goes on in it at another one: the run
// stops there, and calls no more tools.
func TestDeletionStopsARunOfAnotherReplica(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]bool{"deleted": false, "deleted, and begun anew under its id": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shed{block: make(chan struct{})}
			h := newHouse(t, map[string]agent.Turn{"writer": writer(s)})
			id := h.room(junctor.PolicyAll, "writer")
			kept := h.room(junctor.PolicyAll, "writer")
			for _, one := range []string{id, kept} {
				if _, err := h.Update(t.Context(), h.ada, one, room.Settings{Approvals: new(junctor.ApproveNever)}); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			var beating sync.WaitGroup
			beating.Go(func() { h.Rooms.Run(ctx) })
			defer beating.Wait()
			defer cancel()
			start := func(id string) *room.Feed {
				f, err := h.StartRun(t.Context(), h.ada, id, agui.Input{RunID: "run1", Message: agui.UserMessage{ID: "m1", Text: "add milk"}})
				if err != nil {
					t.Fatal(err)
				}
				poll.Until(t, "the call", time.Minute, func() bool { return strings.Contains(h.talk(id), "running") })
				return f
			}
			stays, ends := start(kept), start(id)
			defer stays.Close()
			defer ends.Close()
			if err := h.rooms("other").Delete(t.Context(), h.ada, id); err != nil {
				t.Fatal(err)
			}
			if again {
				if _, err := h.store.For(junctor.DefaultTenant).AddRoom(t.Context(), junctor.Room{ID: id, Name: "Anew", Owner: h.ada.ID()}); err != nil {
					t.Fatal(err)
				}
			}
			events := h.events(ends)
			if outcome(events) != agui.OutcomeCancelled || s.writes.Load() != 0 {
				t.Errorf("%s, %d writes", outcome(events), s.writes.Load())
			}
			if talk := h.talk(kept); !strings.Contains(talk, "running") {
				t.Errorf("the run of another room has stopped, too: %s", talk)
			}
		})
	}
}

func TestFloor(t *testing.T) {
	t.Parallel()
	asks := func(whom, tool string) agent.Turn {
		return agent.Turn{Provider: script(func(_ context.Context, r agent.Request) ([]agent.AnswerChunk, error) {
			if m := lastly(r); m.Role == agent.RoleTool {
				return says("so: " + m.Results[0].Text), nil
			}
			return []agent.AnswerChunk{{Call: &agent.Call{Name: tool, Arguments: json.RawMessage(`{"agent":"` + whom + `","message":"list them"}`)}}}, nil
		})}
	}
	s := &shed{}
	h := newHouse(t, map[string]agent.Turn{
		"a": parrot("@b what do you say?"), "b": parrot("@a and you?"), "boss": asks("writer", "ask_agent"), "lazy": asks("writer", "hand_over"), "pushy": asks("nobody", "ask_agent"), "writer": writer(s), "dumb": {},
	})
	for _, c := range []struct {
		name   string
		policy junctor.TurnPolicy
		agents []string
		text   string
		want   string
	}{
		{"nobody is addressed", junctor.PolicyAddressed, []string{"a", "b"}, "hi", "ada: hi\nroom: No agent was addressed. Write @a, @b, or @all."},
		{"nobody is there", junctor.PolicyAll, nil, "hi", "ada: hi\nroom: This room has no agent: add an agent to get answers."},
		{
			"they pass the floor, within bounds", junctor.PolicyAddressed,
			[]string{"a", "b"},
			"hi @a",
			"ada: hi @a\na: @b what do you say?\nb: @a and you?\na: @b what do you say?\nroom: The agents have reached the limit of 3 rounds of this room. Send a message to let them continue.",
		},
		{"one is asked aside", junctor.PolicyRoundRobin, []string{"boss", "writer"}, "hi", "ada: hi\nboss:  [ask_agent done]\n(writer: let me see) [notes__list done]\n(writer: it says: milk)\nboss: so: it says: milk"},
		{
			"one hands over", junctor.PolicyRoundRobin,
			[]string{"lazy", "writer"},
			"hi",
			"ada: hi\nlazy:  [hand_over done]\nlazy: @writer list them\nlazy: so: writer speaks next. Say in one sentence that you hand over.\nwriter: hello lazy",
		},
		{"a stranger is not asked", junctor.PolicyRoundRobin, []string{"pushy", "writer"}, "hi", "ada: hi\npushy:  [ask_agent failed]\npushy: so: \"nobody\" is not another agent of this room; the other agents are: writer"},
		{"one cannot think", junctor.PolicyAll, []string{"dumb", "writer"}, "hi", "ada: hi\ndumb:  {the agent has neither a model nor rules: set its brain}\nwriter: hello ada"},
	} {
		id := h.room(c.policy, c.agents...)
		if events := h.say(id, c.text); outcome(events) != agui.OutcomeSuccess {
			t.Errorf("%s: %+v", c.name, events[len(events)-1])
		}
		if got := h.talk(id); got != c.want {
			t.Errorf("%s: the room has\n%s\n\nwant\n%s", c.name, got, c.want)
		}
	}
	id := h.room(junctor.PolicyAll, "dumb")
	if events := h.say(id, "hi"); outcome(events) != agui.OutcomeType(agui.RunError) {
		t.Errorf("nobody can think: %+v", events[len(events)-1])
	}
}

func TestWhoMay(t *testing.T) {
	t.Parallel()
	h := newHouse(t, map[string]agent.Turn{"writer": writer(&shed{})})
	id := h.room(junctor.PolicyAddressed, "writer")
	own := &junctor.Principal{Tenant: junctor.DefaultTenant, Issuer: junctor.IssuerAgent, Subject: "writer", Agent: "writer", Scopes: []junctor.Scope{junctor.ScopeToolsCall}}
	far := &junctor.Principal{Tenant: "acme", Issuer: junctor.IssuerUser, Subject: "u1", User: "u1", Scopes: []junctor.Scope{junctor.ScopeAdmin}}
	for who, p := range map[string]*junctor.Principal{"a stranger": h.bob, "the agent's own key": own, "the same id of another tenant": far} {
		ctx := t.Context()
		_, show := h.Get(ctx, p, id)
		_, _, read := h.MessagePage(ctx, p, id, &junctor.RowPage{Limit: 1})
		_, say := h.StartRun(ctx, p, id, agui.Input{Message: agui.UserMessage{Text: "hi"}})
		_, hear := h.Subscribe(ctx, p, id)
		_, open := h.Approvals(ctx, p, id)
		_, tools := h.Tools(ctx, p, id)
		_, change := h.Update(ctx, p, id, room.Settings{Name: new("Mine")})
		_, export := h.Export(ctx, p, id)
		for what, err := range map[string]error{
			"show": show, "read": read, "say": say, "hear": hear, "open": open, "tools": tools, "change": change, "export": export, "stop": h.StopRun(ctx, p, id, "r"), "remove": h.Delete(ctx, p, id),
		} {
			if junctor.CodeOf(err) != junctor.CodeNotFound {
				t.Errorf("%s may %s: %v", who, what, err)
			}
		}
		if list, err := h.List(ctx, p); err != nil || len(list) != 0 {
			t.Errorf("%s sees %+v, %v", who, list, err)
		}
	}
	bring := room.Settings{Name: new("Bob's"), Members: &[]junctor.Member{{Agent: "writer"}}}
	if _, err := h.Create(t.Context(), h.bob, bring); junctor.CodeOf(err) != junctor.CodeDenied {
		t.Errorf("bob brings ada's agent: %v", err)
	}
	if _, err := h.Create(t.Context(), own, room.Settings{Name: new("x")}); junctor.CodeOf(err) != junctor.CodeDenied {
		t.Errorf("an agent makes a room: %v", err)
	}
	if _, err := h.Create(t.Context(), h.admin, bring); err != nil {
		t.Errorf("an admin: %v", err)
	}
	if _, err := h.Update(t.Context(), h.ada, id, room.Settings{Members: &[]junctor.Member{{Agent: "writer"}, {User: "ada"}, {User: "bob"}}}); err != nil {
		t.Fatal(err)
	}
	if v, err := h.Get(t.Context(), h.bob, id); err != nil || v.Members[2].User != "u2" || v.Members[2].Name != "bob" {
		t.Errorf("bob, invited: %+v, %v", v.Members, err)
	}
	if _, err := h.Update(t.Context(), h.bob, id, room.Settings{Name: new("Mine")}); junctor.CodeOf(err) != junctor.CodeDenied {
		t.Errorf("a guest changes the room: %v", err)
	}
	if list, err := h.Tools(t.Context(), h.bob, id); err != nil || len(list) != 1 || len(list[0].Tools) != 2 || !list[0].Tools[0].HasView || list[0].Tools[1].ReadOnly {
		t.Errorf("%+v, %v", list, err)
	}
	for name, c := range map[string]room.Settings{
		"no name": {}, "an agent that is not there": {Name: new("x"), Members: &[]junctor.Member{{Agent: "none"}}}, "a user that is not there": {Name: new("x"), Members: &[]junctor.Member{{User: "none"}}},
		"a member that is nobody": {Name: new("x"), Members: &[]junctor.Member{{}}}, "one twice": {Name: new("x"), Members: &[]junctor.Member{{User: "bob"}, {User: "u2"}}},
		"rounds without end": {Name: new("x"), MaxRounds: new(99)}, "no policy": {Name: new("x"), Policy: new(junctor.TurnPolicy("x"))}, "no approvals": {Name: new("x"), Approvals: new(junctor.RoomApproval("x"))},
	} {
		if _, err := h.Create(t.Context(), h.admin, c); junctor.CodeOf(err) != junctor.CodeInvalid && junctor.CodeOf(err) != junctor.CodeNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}
