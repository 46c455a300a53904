package model

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	a2alog "github.com/a2aproject/a2a-go/v2/log"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agent"
)

// Bounds of a visit to an agent elsewhere.
const (
	cardWithin   = 30 * time.Second
	cardBytes    = 1 << 20
	cancelWithin = 5 * time.Second
	lookEvery    = time.Second
)

// cardPath is where a card is, below an agent's address.
const cardPath = "/.well-known/agent-card.json"

// remote is an agent elsewhere that is spoken to by A2A: it has its own mind,
// instructions and tools. It is told what was said since it last answered.
type remote struct {
	door   *door
	client *http.Client
	at     *url.URL // as it was entered
	drawn  []string // ids of more catalogues that can be shown here
}

func newRemote(o Options) (*remote, error) {
	at, err := url.Parse(o.BaseURL)
	if err != nil || at.Host == "" || o.Client.Transport == nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "an agent elsewhere needs the address of its card")
	}
	return &remote{door: &door{client: o.Client, key: o.Key.Reveal()}, client: o.Client, at: at, drawn: o.Catalogs}, nil
}

// thread is where a conversation with an agent elsewhere stands. It is kept with
// the agent's words, as thoughts are.
type thread struct {
	At      string `json:"at"` // with whom
	Context string `json:"context,omitempty"`
	Task    string `json:"task,omitempty"` // one that waits for more words
}

// Stream implements agent.Provider. Whoever stops listening stops the other side.
func (r *remote) Stream(ctx context.Context, q agent.Request) iter.Seq2[agent.Piece, error] {
	return func(yield func(agent.Piece, error) bool) {
		ctx := a2alog.AttachLogger(ctx, slog.New(slog.DiscardHandler)) // errors are told where they happen
		m, err := r.meet(ctx)
		if err != nil {
			yield(agent.Piece{}, err)
			return
		}
		th, unsaid := r.unsaid(q.Messages)
		if len(unsaid) == 0 {
			yield(agent.Piece{}, &agent.FaultError{Message: "nothing was said that " + r.at.Host + " could answer"})
			return
		}
		id := a2a.NewMessageID()
		for {
			a := &remoteAnswer{yield: func(p agent.Piece) bool { return yield(p, nil) }, texts: map[a2a.ArtifactID]string{}, drawn: map[a2a.ArtifactID][]json.RawMessage{}, heard: map[string]bool{}}
			err := m.talk(ctx, a, m.request(id, th, unsaid))
			switch {
			case a.gone:
			case err != nil && th.Task != "" && stale(err) && !a.said:
				th.Task = "" // it waits no more: this begins anew, in the same conversation
				continue
			case err != nil:
				yield(agent.Piece{}, r.fault(ctx, err))
			default:
				a.close(q.Messages, thread{At: r.at.String(), Context: cmp.Or(a.context, th.Context)})
			}
			return
		}
	}
}

// unsaid gives where the conversation stands, and what was said since.
func (r *remote) unsaid(story []agent.Message) (th thread, out []agent.Message) {
	for _, m := range slices.Backward(story) {
		var kept thoughts
		if m.Role == agent.RoleAssistant && json.Unmarshal(m.Thinking, &kept) == nil && kept.A2A != nil && kept.A2A.At == r.at.String() {
			th = *kept.A2A
			break
		}
		if m.Role == agent.RoleUser {
			out = append(out, m)
		}
	}
	slices.Reverse(out)
	return th, out
}

// meeting is a conversation with an agent whose card was read.
type meeting struct {
	*remote
	client *a2aclient.Client
	screen a2ui.Client // what it may answer with
	draws  bool        // it may at all
}

// meet reads the agent's card. It is read every time: it says how the agent wants
// to be spoken to now.
func (r *remote) meet(ctx context.Context) (*meeting, error) {
	p := &peer{door: r.door, next: r.client.Transport, at: r.at, header: "Authorization", value: "Bearer " + r.door.key}
	client := *r.client
	client.Transport = p
	card, err := r.card(ctx, &client)
	if err != nil {
		return nil, err
	}
	p.as(card)
	// A key goes to the place that it was entered for, and what may be reached on
	// this machine is that place alone.
	faces := slices.DeleteFunc(slices.Clone(card.SupportedInterfaces), func(f *a2a.AgentInterface) bool {
		u, err := url.Parse(f.URL)
		return err != nil || !sameOrigin(u, r.at)
	})
	if len(faces) == 0 && len(card.SupportedInterfaces) > 0 {
		return nil, &agent.FaultError{Message: fmt.Sprintf("the card of the agent at %s sends everybody to %s: enter that address, if you trust it", r.at.Host, r.door.clean(card.SupportedInterfaces[0].URL))}
	}
	own := *card
	own.SupportedInterfaces = faces
	speaks, err := a2aclient.NewFactory(
		a2aclient.WithDefaultsDisabled(),
		a2aclient.WithConfig(a2aclient.Config{AcceptedOutputModes: []string{"text/plain", "application/json", a2ui.MimeType}}),
		a2aclient.WithJSONRPCTransport(&client), a2aclient.WithRESTTransport(&client),
		a2av0.WithJSONRPCTransport(a2av0.JSONRPCTransportConfig{Client: &client}), a2av0.WithRESTTransport(a2av0.RESTTransportConfig{Client: &client}),
	).CreateFromCard(ctx, &own)
	if err != nil {
		return nil, &agent.FaultError{Cause: err, Message: fmt.Sprintf("the agent at %s speaks neither JSON-RPC nor HTTP+JSON of A2A 1.0 or 0.3, as its card says", r.at.Host)}
	}
	m := &meeting{remote: r, client: speaks}
	uris := make([]string, 0, len(card.Capabilities.Extensions))
	for i := range card.Capabilities.Extensions {
		uris = append(uris, card.Capabilities.Extensions[i].URI)
	}
	m.screen, m.draws = a2ui.Negotiate(uris, nil)
	return m, nil
}

// readable is a card without the lists of what is to be brought: the schemes say
// how a key is, and the library does not read those lists as the protocol writes
// them.
func readable(body []byte) []byte {
	var card map[string]any
	if json.Unmarshal(body, &card) != nil {
		return body
	}
	delete(card, "securityRequirements")
	skills, _ := card["skills"].([]any)
	for _, s := range skills {
		if skill, ok := s.(map[string]any); ok {
			delete(skill, "securityRequirements")
		}
	}
	if out, err := json.Marshal(card); err == nil {
		return out
	}
	return body
}

// card gets the agent's card, of either version.
func (r *remote) card(whole context.Context, client *http.Client) (*a2a.AgentCard, error) {
	ctx, cancel := context.WithTimeout(whole, cardWithin)
	defer cancel()
	at := r.at
	if !strings.HasSuffix(at.Path, ".json") {
		at = at.JoinPath(cardPath)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return nil, r.door.fault(whole, at, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, cardBytes))
	if err != nil {
		return nil, r.door.fault(whole, at, err)
	}
	none := &agent.FaultError{Message: fmt.Sprintf("there is no agent's card at %s (%d): the address is that of an agent, or of its card", at.Redacted(), resp.StatusCode)}
	if resp.StatusCode != http.StatusOK {
		return nil, none
	}
	card, err := a2av0.NewAgentCardParser()(readable(body))
	if err != nil || card.Name == "" {
		none.Cause = err
		return nil, none
	}
	if len(card.SupportedInterfaces) == 0 { // of version 0.3, where JSON-RPC goes without saying
		var old struct {
			URL     string              `json:"url"`
			Version a2a.ProtocolVersion `json:"protocolVersion"`
		}
		if json.Unmarshal(body, &old) == nil && old.URL != "" {
			card.SupportedInterfaces = []*a2a.AgentInterface{{URL: old.URL, ProtocolBinding: a2a.TransportProtocolJSONRPC, ProtocolVersion: cmp.Or(old.Version, a2av0.Version)}}
		}
	}
	return card, nil
}

// request is what the agent is sent: each message a part, under the name of who
// said it where several did.
func (m *meeting) request(id string, th thread, unsaid []agent.Message) *a2a.SendMessageRequest {
	out := &a2a.Message{ID: id, Role: a2a.MessageRoleUser, ContextID: th.Context, TaskID: a2a.TaskID(th.Task)}
	alone := !slices.ContainsFunc(unsaid, func(one agent.Message) bool { return one.Name != unsaid[0].Name })
	for _, one := range unsaid {
		if one.Action != nil && m.draws {
			part := a2a.NewDataPart(m.act(one.Action))
			part.SetMeta("mimeType", m.screen.MimeType())
			out.Parts = append(out.Parts, part)
			continue
		}
		if alone {
			one.Name = ""
		}
		out.Parts = append(out.Parts, a2a.NewTextPart(speech(one)))
	}
	if m.draws {
		out.Extensions = []string{m.screen.Extension}
		out.Metadata = m.draw()
	}
	return &a2a.SendMessageRequest{Message: out}
}

// draw says what can be drawn here: not Apps, which are on servers of theirs.
func (m *meeting) draw() map[string]any {
	ids := []any{a2ui.BasicCatalog(m.screen.Version)}
	for _, c := range a2ui.Builtin().All() {
		if !c.Basic && c.ID != a2ui.AppsCatalog {
			ids = append(ids, c.ID)
		}
	}
	for _, id := range m.drawn {
		ids = append(ids, id)
	}
	has := map[string]any{"supportedCatalogIds": ids}
	switch m.screen.Version {
	case a2ui.V08:
		return map[string]any{"a2uiClientCapabilities": has}
	case a2ui.V10:
		return map[string]any{"a2uiRendererCapabilities": map[string]any{string(a2ui.V10): has}}
	default:
		return map[string]any{"a2uiClientCapabilities": map[string]any{string(a2ui.V09): has}}
	}
}

// act is what a person did on a surface, as the agent's version says it.
func (m *meeting) act(a *a2ui.Action) map[string]any {
	context := map[string]any{}
	_ = json.Unmarshal(a.Context, &context) // it was checked when it came in
	did := map[string]any{"name": a.Name, "surfaceId": a.Surface, "sourceComponentId": a.Component, "timestamp": time.Now().UTC().Format(time.RFC3339), "context": context}
	if m.screen.Version == a2ui.V08 {
		return map[string]any{"userAction": did}
	}
	return map[string]any{"version": string(m.screen.Version), "action": did}
}

// talk sends a message, and hears the answer to its end. A task that is left
// before is cancelled.
func (m *meeting) talk(ctx context.Context, a *remoteAnswer, request *a2a.SendMessageRequest) (err error) {
	if m.draws {
		ctx = a2aclient.AttachServiceParams(ctx, a2aclient.ServiceParams{a2a.SvcParamExtensions: {m.screen.Extension}})
	}
	defer func() {
		if a.task != "" && !a.settled() {
			late, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelWithin)
			defer cancel()
			_, _ = m.client.CancelTask(late, &a2a.CancelTaskRequest{ID: a.task}) // nobody waits for it any more
		}
	}()
	// If ctx ends before the remote agent has named its task, the stream stays open a little
	// longer: without the task's id, the task could not be cancelled.
	streaming, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	defer hangUp()
	named := make(chan struct{})
	defer context.AfterFunc(ctx, func() {
		select {
		case <-named:
		case <-time.After(cancelWithin):
		}
		hangUp()
	})()
	for e, err := range m.client.SendStreamingMessage(streaming, request) {
		if err != nil {
			return err
		}
		known := a.task != ""
		a.take(e)
		if !known && a.task != "" {
			close(named)
		}
		if a.gone || a.settled() {
			break
		}
	}
	for !a.gone && !a.settled() {
		if a.task == "" {
			return &agent.FaultError{Message: "the answer of " + m.at.Host + " broke off"}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookEvery):
		}
		t, err := m.client.GetTask(ctx, &a2a.GetTaskRequest{ID: a.task})
		if err != nil {
			return err
		}
		a.take(t)
	}
	if a.gone {
		return nil
	}
	return a.end(m.at.Host, m.door)
}

// fault is what became of a message that was not answered. It is not sent twice
// unless it certainly was not taken: the agent may have acted on it.
func (r *remote) fault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if f, ok := errors.AsType[*agent.FaultError](err); ok {
		return f
	}
	if _, ok := errors.AsType[*junctor.Error](err); ok {
		f, _ := errors.AsType[*agent.FaultError](r.door.fault(ctx, r.at, err)) // which it is
		f.Again = false
		return f
	}
	return &agent.FaultError{Cause: err, Message: fmt.Sprintf("the agent at %s did not answer: %s", r.at.Host, r.door.clean(err.Error()))}
}

// peer is the way to the agent's own origin: it brings the key there, and makes
// faults of refusals.
type peer struct {
	door          *door
	next          http.RoundTripper
	at            *url.URL
	header, value string
}

// as brings the key as the card wants it.
func (p *peer) as(card *a2a.AgentCard) {
	name := ""
	for _, s := range card.SecuritySchemes {
		switch s := s.(type) {
		case a2a.HTTPAuthSecurityScheme:
			return
		case a2a.APIKeySecurityScheme:
			if s.Location == a2a.APIKeySecuritySchemeLocationHeader {
				name = s.Name
			}
		}
	}
	if name != "" {
		p.header, p.value = name, p.door.key
	}
}

// RoundTrip implements http.RoundTripper.
func (p *peer) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.door.key != "" && sameOrigin(r.URL, p.at) {
		r = r.Clone(r.Context())
		r.Header.Set(p.header, p.value)
	}
	resp, err := p.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusTooManyRequests, code >= http.StatusInternalServerError:
		defer resp.Body.Close()
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // what there is of it will do
		err := p.door.refused(r.URL, resp, bytes.TrimSpace(body))
		if f, ok := errors.AsType[*agent.FaultError](err); ok && r.Method != http.MethodGet && code != http.StatusTooManyRequests && code != http.StatusServiceUnavailable {
			f.Again = false
		}
		return nil, err
	}
	return resp, nil
}

func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Host, b.Host)
}
