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

// Bounds of an exchange with a remote agent.
const (
	cardTimeout   = 30 * time.Second
	maxCardBytes  = 1 << 20
	cancelTimeout = 5 * time.Second
	pollInterval  = time.Second
)

// cardPath is the path of an agent card below the agent's address.
const cardPath = "/.well-known/agent-card.json"

// remoteAgent is a provider that is itself an agent, reached with A2A. It has its
// own model, instructions and tools, so it gets only the messages since its last
// answer.
type remoteAgent struct {
	api           *apiClient
	client        *http.Client
	address       *url.URL // as the user entered it: the agent's base URL or that of its card
	extraCatalogs []string // ids of A2UI catalogs that can be shown beside the built-in ones
}

// newRemoteAgent returns the provider of a model of kind a2a.
func newRemoteAgent(o Options) (*remoteAgent, error) {
	at, err := url.Parse(o.BaseURL)
	if err != nil || at.Host == "" || o.Client.Transport == nil {
		return nil, junctor.Errorf(junctor.CodeInvalid, "a remote agent requires base_url, the address of the agent or of its card")
	}
	return &remoteAgent{api: newAPIClient(o), client: o.Client, address: at, extraCatalogs: o.Catalogs}, nil
}

// threadState is the position in a conversation with a remote agent. It is stored
// with the agent's message, as part of opaqueState.
type threadState struct {
	At      string `json:"at"` // address of the agent
	Context string `json:"context,omitempty"`
	Task    string `json:"task,omitempty"` // the task that waits for input; "" if none does
}

// Stream implements agent.Provider. If the consumer stops, the remote task is
// cancelled.
func (r *remoteAgent) Stream(ctx context.Context, q agent.Request) iter.Seq2[agent.AnswerChunk, error] {
	return func(yield func(agent.AnswerChunk, error) bool) {
		ctx := a2alog.AttachLogger(ctx, slog.New(slog.DiscardHandler)) // errors are reported where they happen
		m, err := r.openSession(ctx)
		if err != nil {
			yield(agent.AnswerChunk{}, err)
			return
		}
		state, unsent := r.findUnsentMessages(q.Messages)
		if len(unsent) == 0 {
			yield(agent.AnswerChunk{}, &agent.ProviderError{Message: "there is no message that " + r.address.Host + " could answer"})
			return
		}
		// The message keeps its id when it is sent again, so that the agent can
		// recognize it.
		id := a2a.NewMessageID()
		for {
			a := &remoteAnswer{yield: func(p agent.AnswerChunk) bool { return yield(p, nil) }, texts: map[a2a.ArtifactID]string{}, a2uiMessages: map[a2a.ArtifactID][]json.RawMessage{}, seenMessages: map[string]bool{}}
			err := m.exchangeMessage(ctx, a, m.newRequest(id, state, unsent))
			switch {
			case a.isAbandoned:
			case err != nil && state.Task != "" && isStaleTask(err) && !a.hasText:
				state.Task = "" // it no longer waits: start a new task in the same conversation
				continue
			case err != nil:
				yield(agent.AnswerChunk{}, r.toFault(ctx, err))
			default:
				a.finishAnswer(q.Messages, threadState{At: r.address.String(), Context: cmp.Or(a.context, state.Context)})
			}
			return
		}
	}
}

// findUnsentMessages returns the position of the last answer of this agent, and the
// user messages behind it.
func (r *remoteAgent) findUnsentMessages(conversation []agent.Message) (state threadState, out []agent.Message) {
	for _, m := range slices.Backward(conversation) {
		var kept opaqueState
		if m.Role == agent.RoleAssistant && json.Unmarshal(m.Thinking, &kept) == nil && kept.A2A != nil && kept.A2A.At == r.address.String() {
			state = *kept.A2A
			break
		}
		if m.Role == agent.RoleUser {
			out = append(out, m)
		}
	}
	slices.Reverse(out)
	return state, out
}

// remoteSession is an exchange with a remote agent whose card was read.
type remoteSession struct {
	*remoteAgent
	client       *a2aclient.Client
	dialect      a2ui.Client // the version of A2UI in which the agent may answer
	supportsA2UI bool        // the agent may answer with A2UI
}

// openSession reads the agent's card and chooses an interface. It reads the card
// for every turn, because the agent can change its interfaces at any time. It sends
// no message yet.
func (r *remoteAgent) openSession(ctx context.Context) (*remoteSession, error) {
	// The key is sent as a bearer token until the card names another scheme: the
	// card itself may need it.
	p := &keyTransport{api: r.api, next: r.client.Transport, origin: r.address, header: "Authorization", value: "Bearer " + r.api.key}
	client := *r.client
	client.Transport = p
	card, err := r.fetchCard(ctx, &client)
	if err != nil {
		return nil, err
	}
	p.applyScheme(card)
	// The key goes only to the origin for which it was entered: a card could
	// otherwise send it to another host, or requests to an address inside this
	// network.
	interfaces := slices.DeleteFunc(slices.Clone(card.SupportedInterfaces), func(f *a2a.AgentInterface) bool {
		u, err := url.Parse(f.URL)
		return err != nil || !isSameOrigin(u, r.address)
	})
	if len(interfaces) == 0 && len(card.SupportedInterfaces) > 0 {
		return nil, &agent.ProviderError{Message: fmt.Sprintf("the agent card at %s names the address %s: set that address as base_url if you trust it", r.address.Host, r.api.cleanText(card.SupportedInterfaces[0].URL))}
	}
	// The client library picks the first interface that it supports, from those
	// that are left.
	own := *card
	own.SupportedInterfaces = interfaces
	protocolClient, err := a2aclient.NewFactory(
		a2aclient.WithDefaultsDisabled(),
		a2aclient.WithConfig(a2aclient.Config{AcceptedOutputModes: []string{"text/plain", "application/json", a2ui.MIMEType}}),
		a2aclient.WithJSONRPCTransport(&client), a2aclient.WithRESTTransport(&client),
		a2av0.WithJSONRPCTransport(a2av0.JSONRPCTransportConfig{Client: &client}), a2av0.WithRESTTransport(a2av0.RESTTransportConfig{Client: &client}),
	).CreateFromCard(ctx, &own)
	if err != nil {
		return nil, &agent.ProviderError{Cause: err, Message: fmt.Sprintf("the agent at %s supports neither JSON-RPC nor HTTP+JSON of A2A 1.0 or 0.3, according to its card", r.address.Host)}
	}
	m := &remoteSession{remoteAgent: r, client: protocolClient}
	// The A2UI extension in the card says whether the agent answers with surfaces,
	// and in which version.
	uris := make([]string, 0, len(card.Capabilities.Extensions))
	for i := range card.Capabilities.Extensions {
		uris = append(uris, card.Capabilities.Extensions[i].URI)
	}
	m.dialect, m.supportsA2UI = a2ui.Negotiate(uris, nil)
	return m, nil
}

// stripRequirements removes the lists of security requirements from a card. The
// schemes are enough to send a key, and the library cannot parse these lists in the
// form that the protocol specifies.
func stripRequirements(body []byte) []byte {
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

// fetchCard reads the agent's card, of version 1.0 or 0.3.
func (r *remoteAgent) fetchCard(callerCtx context.Context, client *http.Client) (*a2a.AgentCard, error) {
	ctx, cancel := context.WithTimeout(callerCtx, cardTimeout)
	defer cancel()
	// A user can enter the agent's base URL or the address of the card.
	at := r.address
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
		return nil, r.api.toFault(callerCtx, at, err)
	}
	defer resp.Body.Close()
	// A longer card is cut off and then fails to parse.
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxCardBytes))
	if err != nil {
		return nil, r.api.toFault(callerCtx, at, err)
	}
	none := &agent.ProviderError{Message: fmt.Sprintf("there is no agent card at %s (%d): set base_url to the address of an agent, or of its card", at.Redacted(), resp.StatusCode)}
	if resp.StatusCode != http.StatusOK {
		return nil, none
	}
	card, err := a2av0.NewAgentCardParser()(stripRequirements(body))
	if err != nil || card.Name == "" {
		none.Cause = err
		return nil, none
	}
	if len(card.SupportedInterfaces) == 0 { // version 0.3: JSON-RPC is the default
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

// newRequest returns the A2A message with one part per unsent message. Names of
// speakers are included only if there are several.
func (m *remoteSession) newRequest(id string, state threadState, unsent []agent.Message) *a2a.SendMessageRequest {
	out := &a2a.Message{ID: id, Role: a2a.MessageRoleUser, ContextID: state.Context, TaskID: a2a.TaskID(state.Task)}
	oneSpeaker := !slices.ContainsFunc(unsent, func(one agent.Message) bool { return one.Name != unsent[0].Name })
	for _, one := range unsent {
		// An agent without A2UI gets the action's description as text.
		if one.Action != nil && m.supportsA2UI {
			part := a2a.NewDataPart(m.encodeAction(one.Action))
			part.SetMeta("mimeType", m.dialect.MIMEType())
			out.Parts = append(out.Parts, part)
			continue
		}
		if oneSpeaker {
			one.Name = ""
		}
		out.Parts = append(out.Parts, a2a.NewTextPart(textWithSpeaker(one)))
	}
	if m.supportsA2UI {
		out.Extensions = []string{m.dialect.Extension}
		out.Metadata = m.clientCapabilities()
	}
	return &a2a.SendMessageRequest{Message: out}
}

// clientCapabilities returns the metadata that names the A2UI catalogs which can be
// drawn here. The catalog of Apps is left out: an App's resources are on a server
// that the remote agent cannot name.
func (m *remoteSession) clientCapabilities() map[string]any {
	ids := []any{a2ui.BasicCatalogID(m.dialect.Version)}
	for _, c := range a2ui.BuiltinCatalogs().All() {
		if !c.Basic && c.ID != a2ui.AppsCatalogID {
			ids = append(ids, c.ID)
		}
	}
	for _, id := range m.extraCatalogs {
		ids = append(ids, id)
	}
	// Each version of A2UI has its own name and nesting for the same list.
	has := map[string]any{"supportedCatalogIds": ids}
	switch m.dialect.Version {
	case a2ui.V08:
		return map[string]any{"a2uiClientCapabilities": has}
	case a2ui.V10:
		return map[string]any{"a2uiRendererCapabilities": map[string]any{string(a2ui.V10): has}}
	default:
		return map[string]any{"a2uiClientCapabilities": map[string]any{string(a2ui.V09): has}}
	}
}

// encodeAction returns a person's action in the form of the agent's A2UI version.
func (m *remoteSession) encodeAction(a *a2ui.Action) map[string]any {
	context := map[string]any{}
	_ = json.Unmarshal(a.Context, &context) // it was validated on arrival
	did := map[string]any{"name": a.Name, "surfaceId": a.Surface, "sourceComponentId": a.Component, "timestamp": time.Now().UTC().Format(time.RFC3339), "context": context}
	if m.dialect.Version == a2ui.V08 {
		return map[string]any{"userAction": did}
	}
	return map[string]any{"version": string(m.dialect.Version), "action": did}
}

// exchangeMessage sends a message and reads the answer to its end, by stream and
// then by polling. It cancels the remote task if it returns before the task has
// settled.
func (m *remoteSession) exchangeMessage(ctx context.Context, a *remoteAnswer, request *a2a.SendMessageRequest) (err error) {
	if m.supportsA2UI {
		// The extension must be activated by header in every request.
		ctx = a2aclient.AttachServiceParams(ctx, a2aclient.ServiceParams{a2a.SvcParamExtensions: {m.dialect.Extension}})
	}
	defer func() {
		if a.task != "" && !a.isSettled() {
			late, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
			defer cancel()
			_, _ = m.client.CancelTask(late, &a2a.CancelTaskRequest{ID: a.task}) // best effort: the result has no reader
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
		case <-time.After(cancelTimeout):
		}
		hangUp()
	})()
	for e, err := range m.client.SendStreamingMessage(streaming, request) {
		if err != nil {
			return err
		}
		known := a.task != ""
		a.handleEvent(e)
		if !known && a.task != "" {
			close(named)
		}
		if a.isAbandoned || a.isSettled() {
			break
		}
	}
	// The stream ended although the task goes on: an agent may close it at any
	// time, or may not stream at all. The task is polled from here on.
	for !a.isAbandoned && !a.isSettled() {
		if a.task == "" {
			return &agent.ProviderError{Message: "the answer of " + m.address.Host + " broke off"}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollInterval):
		}
		t, err := m.client.GetTask(ctx, &a2a.GetTaskRequest{ID: a.task})
		if err != nil {
			return err
		}
		a.handleEvent(t)
	}
	if a.isAbandoned {
		return nil
	}
	return a.checkOutcome(m.address.Host, m.api)
}

// toFault returns the fault of a message that was not answered. It does not allow a
// retry unless the agent certainly did not receive the message: the agent may have
// acted on it.
func (r *remoteAgent) toFault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if f, ok := errors.AsType[*agent.ProviderError](err); ok {
		return f
	}
	if _, ok := errors.AsType[*junctor.Error](err); ok {
		f, _ := errors.AsType[*agent.ProviderError](r.api.toFault(ctx, r.address, err)) // toFault always returns one here
		f.Retryable = false
		return f
	}
	return &agent.ProviderError{Cause: err, Message: fmt.Sprintf("the agent at %s did not answer: %s", r.address.Host, r.api.cleanText(err.Error()))}
}

// keyTransport adds the key to requests for the agent's own origin, and turns error
// statuses into faults.
type keyTransport struct {
	api           *apiClient
	next          http.RoundTripper
	origin        *url.URL
	header, value string
}

// applyScheme sends the key in the header that the card's security schemes name. By
// default, and if the card accepts HTTP authentication, it is a bearer token.
func (p *keyTransport) applyScheme(card *a2a.AgentCard) {
	name := ""
	for _, s := range card.SecuritySchemes {
		switch s := s.(type) {
		// Bearer is the default already.
		case a2a.HTTPAuthSecurityScheme:
			return
		case a2a.APIKeySecurityScheme:
			if s.Location == a2a.APIKeySecuritySchemeLocationHeader {
				name = s.Name
			}
		}
	}
	if name != "" {
		p.header, p.value = name, p.api.key
	}
}

// RoundTrip implements http.RoundTripper. A failed request that may have had an
// effect is not retried.
func (p *keyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.api.key != "" && isSameOrigin(r.URL, p.origin) {
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
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // a partial body is enough for an error text
		err := p.api.newStatusFault(r.URL, resp, bytes.TrimSpace(body))
		if f, ok := errors.AsType[*agent.ProviderError](err); ok && r.Method != http.MethodGet && code != http.StatusTooManyRequests && code != http.StatusServiceUnavailable {
			f.Retryable = false
		}
		return nil, err
	}
	return resp, nil
}

// isSameOrigin reports whether two URLs have the same scheme, host and port.
func isSameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Host, b.Host)
}
