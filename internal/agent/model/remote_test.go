package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// elsewhere is an agent on the library's own server, on one wire.
type elsewhere struct {
	*httptest.Server
	card      map[string]any
	cancelled chan a2a.TaskID
	begun     chan func() // receives, for the message "late", a function that lets the task begin

	mu    sync.Mutex
	heard []*a2a.Message
	heads []http.Header
}

// wires are the ways to speak to it.
func wires() map[string]a2a.AgentInterface {
	return map[string]a2a.AgentInterface{
		"JSON-RPC 1.0":  {ProtocolBinding: a2a.TransportProtocolJSONRPC, ProtocolVersion: "1.0"},
		"HTTP+JSON 1.0": {ProtocolBinding: a2a.TransportProtocolHTTPJSON, ProtocolVersion: "1.0"},
		"JSON-RPC 0.3":  {ProtocolBinding: a2a.TransportProtocolJSONRPC, ProtocolVersion: "0.3.0"},
		"HTTP+JSON 0.3": {ProtocolBinding: a2a.TransportProtocolHTTPJSON, ProtocolVersion: "0.3"},
	}
}

func appear(t *testing.T, face a2a.AgentInterface) *elsewhere {
	t.Helper()
	e := &elsewhere{cancelled: make(chan a2a.TaskID, 8), begun: make(chan func())}
	desk := a2asrv.NewHandler(e, a2asrv.WithLogger(slog.New(slog.DiscardHandler)))
	old, plain := strings.HasPrefix(string(face.ProtocolVersion), "0"), face.ProtocolBinding == a2a.TransportProtocolJSONRPC
	var endpoints http.Handler
	switch {
	case old && plain:
		endpoints = a2av0.NewJSONRPCHandler(desk)
	case old:
		endpoints = a2av0.NewRESTHandler(desk)
	case plain:
		endpoints = a2asrv.NewJSONRPCHandler(desk)
	default:
		endpoints = a2asrv.NewRESTHandler(desk)
	}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		e.heads = append(e.heads, r.Header.Clone())
		card, err := json.Marshal(e.card)
		e.mu.Unlock()
		switch {
		case r.URL.Path == "/here"+cardPath:
			_, _ = w.Write(card)
		case err != nil || r.Header.Get("Authorization") != "Bearer the-key" && r.Header.Get("X-Key") != "the-key":
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":{"message":"not with the-key2"}}`)
		default:
			http.StripPrefix("/talk", endpoints).ServeHTTP(w, r)
		}
	}))
	t.Cleanup(e.Close)
	e.card = map[string]any{
		"name": "Clerk", "description": "", "version": "1", "skills": []any{}, "defaultInputModes": []any{}, "defaultOutputModes": []any{},
		"capabilities": map[string]any{"streaming": true, "extensions": []any{map[string]any{"uri": a2ui.ExtensionURI(a2ui.V08)}, map[string]any{"uri": a2ui.ExtensionURI(a2ui.V09)}}},
	}
	if old { // as cards of that version are
		e.card["url"], e.card["protocolVersion"] = e.URL+"/talk", face.ProtocolVersion
		if !plain {
			e.card["preferredTransport"] = face.ProtocolBinding
		}
	} else {
		face.URL = e.URL + "/talk"
		e.card["supportedInterfaces"] = []any{face}
	}
	return e
}

// Execute implements a2asrv.AgentExecutor.
func (e *elsewhere) Execute(ctx context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	heard := *x.Message
	heard.TaskID, heard.ContextID = x.TaskID, x.ContextID
	e.mu.Lock()
	e.heard = append(e.heard, &heard)
	e.mu.Unlock()
	words, _ := splitParts(x.Message.Parts)
	status := func(s a2a.TaskState, text string) a2a.Event {
		var m *a2a.Message
		if text != "" {
			m = a2a.NewMessageForTask(a2a.MessageRoleAgent, x, a2a.NewTextPart(text))
		}
		return a2a.NewStatusUpdateEvent(x, s, m)
	}
	task := func(more ...a2a.Event) []a2a.Event {
		return append([]a2a.Event{a2a.NewSubmittedTask(x, x.Message), status(a2a.TaskStateWorking, "let me see")}, more...)
	}
	piece := func(id a2a.ArtifactID, text string, more bool) a2a.Event {
		u := a2a.NewArtifactUpdateEvent(x, id, a2a.NewTextPart(text))
		u.Append = more
		return u
	}
	if words == "late" {
		goOn := make(chan struct{})
		e.begun <- func() { close(goOn) }
		<-goOn
		words = "wait"
	}
	var events []a2a.Event
	switch {
	case words == "a message":
		events = []a2a.Event{a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("just a word"))}
	case words == "which?":
		events = task(status(a2a.TaskStateInputRequired, "Which city?"))
	case x.StoredTask != nil:
		events = []a2a.Event{piece("a", "In "+words+" it rains.", false), status(a2a.TaskStateCompleted, "")}
	case words == "fail":
		events = task(status(a2a.TaskStateFailed, "the files are gone"))
	case words == "refuse":
		events = task(status(a2a.TaskStateRejected, "not my job"))
	case words == "log in":
		events = task(status(a2a.TaskStateAuthRequired, "at example.com"))
	case words == "nothing":
		events = task(status(a2a.TaskStateCompleted, ""))
	case words == "in the status":
		events = task(status(a2a.TaskStateCompleted, "said at the end"))
	case words == "show", words == "show more":
		messages := []any{map[string]any{"version": "v0.9", "updateDataModel": map[string]any{"surfaceId": "s", "path": "/word", "value": "other"}}}
		if words == "show" {
			messages = []any{
				map[string]any{"version": "v0.9", "createSurface": map[string]any{"surfaceId": "s", "catalogId": a2ui.BasicCatalogID(a2ui.V09)}},
				map[string]any{"version": "v0.9", "updateComponents": map[string]any{"surfaceId": "s", "components": []any{map[string]any{"id": "root", "component": "Text", "text": map[string]any{"path": "/word"}}}}},
				map[string]any{"version": "v0.9", "updateDataModel": map[string]any{"surfaceId": "s", "path": "/word", "value": "hello"}},
			}
		}
		part := a2a.NewDataPart(messages)
		part.SetMeta("mimeType", "application/json+a2ui")
		events = task(a2a.NewArtifactEvent(x, part), status(a2a.TaskStateCompleted, ""))
	case words == "wait":
		events = task(piece("a", "once upon", false))
	default:
		events = task(piece("a", "Good ", false), piece("a", "day, ", true), piece("b", words, false), status(a2a.TaskStateCompleted, ""))
	}
	return func(yield func(a2a.Event, error) bool) {
		for _, one := range events {
			if !yield(one, nil) {
				return
			}
		}
		if words == "wait" {
			<-ctx.Done()
		}
	}
}

// Cancel implements a2asrv.AgentExecutor.
func (e *elsewhere) Cancel(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		e.cancelled <- x.TaskID
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCanceled, nil), nil)
	}
}

func (e *elsewhere) provider(t *testing.T, key string) agent.Provider {
	t.Helper()
	p, err := New(Options{Kind: junctor.ModelA2A, BaseURL: e.URL + "/here/", Key: seal.NewSecret(key), Client: e.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (e *elsewhere) last(t *testing.T) *a2a.Message {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.heard) == 0 {
		t.Fatal("nothing was heard")
	}
	return e.heard[len(e.heard)-1]
}

// say has a turn after a story, and gives the story with what was added.
func say(t *testing.T, p agent.Provider, story []agent.Message, text string) ([]agent.Message, agent.TurnResult) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	story = append(story, agent.Message{Role: agent.RoleUser, Name: "ada", Text: text})
	end := agent.Run(ctx, agent.Turn{Provider: p, Messages: story, Limits: agent.Limits{Turns: 1}}, func(agent.Event) {})
	return append(story, end.Messages...), end
}

// each wire is spoken in the same way.
func onEachWire(t *testing.T, test func(*testing.T, *elsewhere)) {
	t.Helper()
	for name, face := range wires() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, appear(t, face))
		})
	}
}

func TestRemoteAgentAnswers(t *testing.T) {
	t.Parallel()
	onEachWire(t, func(t *testing.T, e *elsewhere) {
		t.Helper()
		p := e.provider(t, "the-key")
		for said, want := range map[string]string{
			"hello": "Good day, \n\nhello", "a message": "just a word", "in the status": "said at the end", "which?": "Which city?",
		} {
			if _, end := say(t, p, nil, said); end.Outcome != agent.OutcomeDone || end.Text() != want {
				t.Errorf("%s: %+v", said, end)
			}
		}
		for said, want := range map[string]string{
			"fail": "failed: the files are gone", "refuse": "rejected the task: not my job", "log in": "requires its user to log in, which Junctor does not support: at example.com",
			"nothing": "is empty",
		} {
			if _, end := say(t, p, nil, said); end.Outcome != agent.OutcomeFailed || !strings.HasSuffix(end.Reason, want) {
				t.Errorf("%s: %+v", said, end)
			}
		}
	})
}

func TestRemoteAgentKeepsTheConversation(t *testing.T) {
	t.Parallel()
	onEachWire(t, func(t *testing.T, e *elsewhere) {
		t.Helper()
		p := e.provider(t, "the-key")
		story, _ := say(t, p, nil, "which?")
		asked := e.last(t)
		story, end := say(t, p, story, "Rome")
		if end.Text() != "In Rome it rains." || e.last(t).TaskID != asked.TaskID {
			t.Errorf("what it asked for: %+v, %+v", end, e.last(t))
		}
		story = append(story, agent.Message{Role: agent.RoleUser, Name: "bob", Text: "I know"})
		_, end = say(t, p, story, "hello")
		last := e.last(t)
		if last.ContextID != asked.ContextID || last.TaskID == asked.TaskID || len(last.Parts) != 2 || last.Parts[0].Text() != "bob: I know" || last.Parts[1].Text() != "ada: hello" {
			t.Errorf("what was said since: %+v (%+v)", last, end)
		}
		// A task that waits no more is not gone on with.
		story[1].Thinking = json.RawMessage(strings.Replace(string(story[1].Thinking), string(asked.TaskID), "gone", 1))
		if _, end = say(t, p, story[:2], "Rome"); end.Outcome != agent.OutcomeDone || e.last(t).ContextID != asked.ContextID {
			t.Errorf("a task that is gone: %+v", end)
		}
	})
}

func TestRemoteAgentShowsSurfaces(t *testing.T) {
	t.Parallel()
	onEachWire(t, func(t *testing.T, e *elsewhere) {
		t.Helper()
		p := e.provider(t, "the-key")
		story, end := say(t, p, nil, "show")
		if list := end.Surfaces(); len(list) != 1 || list[0].ID != "s" || string(list[0].Data) != `{"word":"hello"}` {
			t.Fatalf("%+v", end)
		}
		story, end = say(t, p, story, "show more")
		if list := end.Surfaces(); len(list) != 1 || len(list[0].Components) != 1 || string(list[0].Data) != `{"word":"other"}` {
			t.Errorf("what changed: %+v", end)
		}
		e.mu.Lock()
		head := e.heads[len(e.heads)-1]
		e.mu.Unlock()
		if got := head.Get("A2A-Extensions") + head.Get("X-A2A-Extensions"); got != a2ui.ExtensionURI(a2ui.V09) {
			t.Errorf("activated %q", got)
		}
		story = append(story, agent.Message{Role: agent.RoleUser, Name: "ada", Text: "pressed", Action: &a2ui.Action{Surface: "s", Component: "b", Name: "go", Context: json.RawMessage(`{"n":1}`)}})
		agent.Run(t.Context(), agent.Turn{Provider: p, Messages: story}, func(agent.Event) {})
		raw, err := json.Marshal(e.last(t).Parts[0].Data())
		if err != nil {
			t.Fatal(err)
		}
		actions, _, err := a2ui.ReadActions(raw)
		if want := []a2ui.Action{{Surface: "s", Component: "b", Name: "go", Context: json.RawMessage(`{"n":1}`)}}; err != nil || cmp.Diff(want, actions) != "" {
			t.Errorf("what was pressed: %v, %s", err, raw)
		}
	})
}

func TestCancelReachesTheRemoteAgent(t *testing.T) {
	t.Parallel()
	onEachWire(t, func(t *testing.T, e *elsewhere) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		end := agent.Run(ctx, agent.Turn{Provider: e.provider(t, "the-key"), Messages: []agent.Message{{Role: agent.RoleUser, Text: "wait"}}}, func(ev agent.Event) {
			if ev.Kind == agent.EventText {
				cancel()
			}
		})
		if end.Outcome != agent.OutcomeCancelled || end.Text() != "once upon" {
			t.Errorf("%+v", end)
		}
		select {
		case <-e.cancelled:
		case <-time.After(time.Minute):
			t.Error("the agent was not told")
		}
	})
}

// A turn that is cancelled before the agent has named its task cancels the task too.
func TestCancelBeforeTheTaskIsKnown(t *testing.T) {
	t.Parallel()
	onEachWire(t, func(t *testing.T, e *elsewhere) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan agent.TurnResult, 1)
		go func() {
			ended <- agent.Run(ctx, agent.Turn{Provider: e.provider(t, "the-key"), Messages: []agent.Message{{Role: agent.RoleUser, Text: "late"}}}, func(agent.Event) {})
		}()
		begin := <-e.begun
		cancel()
		begin()
		if end := <-ended; end.Outcome != agent.OutcomeCancelled {
			t.Errorf("%+v", end)
		}
		select {
		case <-e.cancelled:
		case <-time.After(10 * time.Second):
			t.Error("the agent was not told")
		}
	})
}

func TestRemoteAgentWithoutStreaming(t *testing.T) {
	t.Parallel()
	onEachWire(t, func(t *testing.T, e *elsewhere) {
		t.Helper()
		e.card["capabilities"] = map[string]any{}
		if _, end := say(t, e.provider(t, "the-key"), nil, "hello"); end.Text() != "Good day, \n\nhello" {
			t.Errorf("%+v", end)
		}
		if last := e.last(t); len(last.Extensions) != 0 {
			t.Errorf("it was asked to draw: %+v", last)
		}
	})
}

func TestKeyOfAnAgentElsewhere(t *testing.T) {
	t.Parallel()
	face := wires()["JSON-RPC 1.0"]
	t.Run("a wrong one, said back", func(t *testing.T) {
		t.Parallel()
		e := appear(t, face)
		_, end := say(t, e.provider(t, "the-key2"), nil, "hello")
		if end.Outcome != agent.OutcomeFailed || !strings.Contains(end.Reason, "rejects the key of the model (401): not with (the key)") {
			t.Errorf("%+v", end)
		}
	})
	t.Run("in the header that the card names", func(t *testing.T) {
		t.Parallel()
		e := appear(t, face)
		e.card["securitySchemes"] = map[string]any{"k": map[string]any{"apiKeySecurityScheme": map[string]any{"location": "header", "name": "X-Key"}}}
		if _, end := say(t, e.provider(t, "the-key"), nil, "hello"); end.Outcome != agent.OutcomeDone {
			t.Errorf("%+v", end)
		}
	})
	t.Run("that the card wants as the protocol writes it", func(t *testing.T) {
		t.Parallel()
		e := appear(t, face)
		e.card["securitySchemes"] = map[string]any{"k": map[string]any{"httpAuthSecurityScheme": map[string]any{"scheme": "Bearer"}}}
		wanted := []any{map[string]any{"schemes": map[string]any{"k": map[string]any{"list": []any{"talk"}}}}}
		e.card["securityRequirements"] = wanted
		e.card["skills"] = []any{map[string]any{"id": "s", "name": "s", "description": "s", "tags": []any{"s"}, "securityRequirements": wanted}}
		if _, end := say(t, e.provider(t, "the-key"), nil, "hello"); end.Outcome != agent.OutcomeDone {
			t.Errorf("%+v", end)
		}
	})
	t.Run("never to where the card leads", func(t *testing.T) {
		t.Parallel()
		thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked: %s %v", r.URL, r.Header) }))
		defer thief.Close()
		e := appear(t, face)
		face := face
		face.URL = thief.URL
		e.card["supportedInterfaces"] = []any{face}
		if _, end := say(t, e.provider(t, "the-key"), nil, "hello"); end.Outcome != agent.OutcomeFailed || !strings.Contains(end.Reason, "names the address "+thief.URL) {
			t.Errorf("%+v", end)
		}
	})
	t.Run("never to where a redirect leads", func(t *testing.T) {
		t.Parallel()
		thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			for name, values := range r.Header {
				if strings.Contains(strings.Join(values, " "), "the-key") {
					t.Errorf("%s: %v", name, values)
				}
			}
		}))
		defer thief.Close()
		lead := httptest.NewServer(http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect))
		defer lead.Close()
		p, err := New(Options{Kind: junctor.ModelA2A, BaseURL: lead.URL, Key: seal.NewSecret("the-key"), Client: lead.Client()})
		if err != nil {
			t.Fatal(err)
		}
		if _, end := say(t, p, nil, "hello"); end.Outcome != agent.OutcomeFailed {
			t.Errorf("%+v", end)
		}
	})
}

// A message is not sent again where the agent may have acted on it.
func TestRemoteAgentIsNotAskedTwice(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter)
		again  bool
		says   string
	}{
		"it breaks down":       {func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) }, false, "cannot answer now (500)"},
		"it is too busy":       {func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) }, true, "limits requests (429)"},
		"the connection ends":  {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, false, "did not answer"},
		"it answers nonsense":  {func(w http.ResponseWriter) { _, _ = io.WriteString(w, "data: oh no\n\n") }, false, "did not answer"},
		"it answers with none": {func(http.ResponseWriter) {}, false, "broke off"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked int
			var mu sync.Mutex
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					_, _ = fmt.Fprintf(w, `{"name":"x","capabilities":{"streaming":true},"supportedInterfaces":[{"url":"http://%s/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, r.Host)
					return
				}
				mu.Lock()
				asked++
				mu.Unlock()
				c.answer(w)
			}))
			defer s.Close()
			p, err := New(Options{Kind: junctor.ModelA2A, BaseURL: s.URL, Client: s.Client()})
			if err != nil {
				t.Fatal(err)
			}
			_, err = hear(t.Context(), p, agent.Request{Messages: []agent.Message{{Role: agent.RoleUser, Text: "go"}}})
			f, ok := errors.AsType[*agent.ProviderError](err)
			mu.Lock()
			defer mu.Unlock()
			if !ok || f.Retryable != c.again || !strings.Contains(f.Message, c.says) || asked != 1 {
				t.Errorf("%v (%+v), asked %d times", err, f, asked)
			}
		})
	}
}

func TestAddressesThatAreNoAgent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ card, says string }{
		"nothing there":   {"", "there is no agent card at"},
		"no card":         {`{"a":1}`, "there is no agent card at"},
		"a page":          {"<html>", "there is no agent card at"},
		"another wire":    {`{"name":"x","supportedInterfaces":[{"url":"BASE","protocolBinding":"GRPC","protocolVersion":"1.0"}]}`, "supports neither JSON-RPC nor HTTP+JSON"},
		"another version": {`{"name":"x","supportedInterfaces":[{"url":"BASE","protocolBinding":"JSONRPC","protocolVersion":"7.0"}]}`, "supports neither JSON-RPC nor HTTP+JSON"},
		"no address":      {`{"name":"x"}`, "supports neither JSON-RPC nor HTTP+JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if c.card == "" {
					http.NotFound(w, r)
					return
				}
				_, _ = io.WriteString(w, strings.ReplaceAll(c.card, "BASE", "http://"+r.Host))
			}))
			defer s.Close()
			p, err := New(Options{Kind: junctor.ModelA2A, BaseURL: s.URL + "/card.json", Client: s.Client()})
			if err != nil {
				t.Fatal(err)
			}
			if _, end := say(t, p, nil, "hello"); end.Outcome != agent.OutcomeFailed || !strings.Contains(end.Reason, c.says) {
				t.Errorf("%+v", end)
			}
		})
	}
}
