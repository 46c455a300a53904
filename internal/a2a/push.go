package a2a

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// maxPushConfigs bounds the push addresses of a task.
const maxPushConfigs = 8

// pushDelays returns the delay before each attempt to send a push notification.
func pushDelays() []time.Duration {
	return []time.Duration{0, 500 * time.Millisecond, 3 * time.Second}
}

// pushConfig is the part of a push configuration that is stored in plain text.
type pushConfig struct {
	URL     string `json:"url"`
	Scheme  string `json:"scheme,omitempty"`
	Version string `json:"version"` // protocol version of its owner
}

// pushSecret is the part that is stored encrypted.
type pushSecret struct {
	Token       string `json:"token,omitempty"`
	Credentials string `json:"credentials,omitempty"`
}

// checkPushConfig rejects an invalid configuration. Whether the address may be
// reached is checked by egress for every request: a name can resolve to another
// address later.
func checkPushConfig(p *a2a.PushConfig) error {
	u, err := url.Parse(p.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || len(p.URL) > 2048 {
		return newProblem(a2a.ErrInvalidParams, "url must be an http or https URL without credentials")
	}
	if len(p.ID) > 256 || len(p.Token) > 4096 {
		return newProblem(a2a.ErrInvalidParams, "id or token is too long")
	}
	if p.Auth != nil && (p.Auth.Scheme == "" || len(p.Auth.Scheme)+len(p.Auth.Credentials) > 4096 || !isPrintable(p.Auth.Scheme+p.Auth.Credentials)) || !isPrintable(p.Token) {
		return newProblem(a2a.ErrInvalidParams, "token, authentication.scheme and authentication.credentials must have at most 4096 printable characters, and scheme must not be empty")
	}
	return nil
}

// isPrintable reports whether a text is printable ASCII. A line break in it would
// add HTTP headers.
func isPrintable(s string) bool {
	for _, r := range s {
		if r < ' ' || r > '~' {
			return false
		}
	}
	return true
}

// storePushConfig stores a configuration for a task of the caller, and its secrets
// in the vault. It returns the configuration without the secrets.
func (d *requestHandler) storePushConfig(ctx context.Context, c *caller, row *junctor.AgentTask, p *a2a.PushConfig) (*a2a.PushConfig, error) {
	if err := checkPushConfig(p); err != nil {
		return nil, err
	}
	rows := d.Store.For(row.Tenant)
	existing, err := rows.TaskPushes(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	out := *p
	if out.ID == "" {
		out.ID = a2a.NewMessageID()
	}
	if len(existing) >= maxPushConfigs {
		return nil, newProblem(a2a.ErrInvalidParams, "this task has reached its limit of push notification configs; delete one first")
	}
	config, secrets := pushConfig{URL: p.URL, Version: c.version}, pushSecret{Token: p.Token}
	if p.Auth != nil {
		config.Scheme, secrets.Credentials = p.Auth.Scheme, p.Auth.Credentials
	}
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	secret, err := json.Marshal(secrets)
	if err != nil {
		return nil, err
	}
	// The row first: it checks that the task still exists. A row without its secret
	// is removed again below.
	if err := rows.PutTaskPush(ctx, junctor.TaskPush{Task: row.ID, ID: out.ID, Config: text}); err != nil {
		return nil, err
	}
	if err := d.Vault.Put(ctx, row.Tenant, junctor.TaskPushOwner(row.ID), out.ID, seal.NewSecret(string(secret))); err != nil {
		_ = rows.DeleteTaskPush(context.WithoutCancel(ctx), row.ID, out.ID) // without its secrets the receiver could not authenticate us
		return nil, err
	}
	return redactPushConfig(row.ID, out.ID, config), nil
}

// redactPushConfig returns a stored configuration without its secrets.
func redactPushConfig(task, id string, config pushConfig) *a2a.PushConfig {
	out := &a2a.PushConfig{TaskID: a2a.TaskID(task), ID: id, URL: config.URL}
	if config.Scheme != "" {
		out.Auth = &a2a.PushAuthInfo{Scheme: config.Scheme}
	}
	return out
}

// listPushConfigs returns the configurations of a task of the caller.
func (d *requestHandler) listPushConfigs(ctx context.Context, task a2a.TaskID) ([]*a2a.PushConfig, error) {
	_, row, err := d.loadTaskRow(ctx, task)
	if err != nil {
		return nil, err
	}
	list, err := d.Store.For(row.Tenant).TaskPushes(ctx, row.ID)
	if err != nil {
		return nil, toProtocolError(err)
	}
	out := []*a2a.PushConfig{}
	for _, one := range list {
		var config pushConfig
		if err := json.Unmarshal(one.Config, &config); err != nil {
			return nil, toProtocolError(err)
		}
		out = append(out, redactPushConfig(row.ID, one.ID, config))
	}
	return out, nil
}

// CreateTaskPushConfig implements a2asrv.RequestHandler.
func (d *requestHandler) CreateTaskPushConfig(ctx context.Context, in *a2a.PushConfig) (*a2a.PushConfig, error) {
	c, row, err := d.loadTaskRow(ctx, in.TaskID)
	if err != nil {
		return nil, err
	}
	out, err := d.storePushConfig(ctx, c, &row, in)
	return out, toProtocolError(err)
}

// GetTaskPushConfig implements a2asrv.RequestHandler.
func (d *requestHandler) GetTaskPushConfig(ctx context.Context, in *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error) {
	list, err := d.listPushConfigs(ctx, in.TaskID)
	if err != nil {
		return nil, err
	}
	for _, one := range list {
		if one.ID == in.ID {
			return one, nil
		}
	}
	return nil, newProblem(a2a.ErrTaskNotFound, "this task has no push notification config with this ID")
}

// ListTaskPushConfigs implements a2asrv.RequestHandler.
func (d *requestHandler) ListTaskPushConfigs(ctx context.Context, in *a2a.ListTaskPushConfigRequest) (*a2a.ListTaskPushConfigResponse, error) {
	list, err := d.listPushConfigs(ctx, in.TaskID)
	if err != nil {
		return nil, err
	}
	return &a2a.ListTaskPushConfigResponse{Configs: list}, nil
}

// DeleteTaskPushConfig implements a2asrv.RequestHandler.
func (d *requestHandler) DeleteTaskPushConfig(ctx context.Context, in *a2a.DeleteTaskPushConfigRequest) error {
	_, row, err := d.loadTaskRow(ctx, in.TaskID)
	if err != nil {
		return err
	}
	return toProtocolError(d.Store.For(row.Tenant).DeleteTaskPush(ctx, row.ID, in.ID))
}

// pushNotification is an event and the task after it. Version 1.0 sends the event,
// version 0.3 the task.
type pushNotification struct {
	event a2a.Event
	task  *a2a.Task
}

// pusher sends the events of one task to its push addresses, in order. Callers of
// enqueue do not wait for the receivers.
type pusher struct {
	server *Server
	tenant junctor.TenantID
	task   string

	mu           sync.Mutex
	queue        []pushNotification
	isDelivering bool
}

// newPusher returns the pusher of a task. It starts no goroutine before the first
// event.
func newPusher(s *Server, tenant junctor.TenantID, task string) *pusher {
	return &pusher{server: s, tenant: tenant, task: task}
}

// enqueue queues an event and starts the delivery if it does not run. Changes of
// state are sent, and complete artifacts, but not their chunks.
func (p *pusher) enqueue(e a2a.Event, after *a2a.Task) {
	if a, ok := e.(*a2a.TaskArtifactUpdateEvent); ok {
		if !a.LastChunk {
			return
		}
		// Chunks are not pushed, so the last one carries the whole artifact.
		whole := *a
		for _, one := range after.Artifacts {
			if one.ID == a.Artifact.ID {
				whole.Artifact, whole.Append = one, false
			}
		}
		e = &whole
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(p.queue, pushNotification{e, after})
	if !p.isDelivering && p.server.addWorker() {
		p.isDelivering = true
		go p.deliverQueue()
	}
}

// addWorker makes Close wait for one more goroutine. It returns false if the server
// is closed; the goroutine must not start then.
func (s *Server) addWorker() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isClosed {
		s.workers.Add(1)
	}
	return !s.isClosed
}

// deliverQueue sends queued events until the queue is empty. It reads the addresses
// for every event, so that a deleted address gets no further one.
func (p *pusher) deliverQueue() {
	defer p.server.workers.Done()
	for {
		p.mu.Lock()
		if len(p.queue) == 0 {
			p.isDelivering = false
			p.mu.Unlock()
			return
		}
		one := p.queue[0]
		p.queue = p.queue[1:]
		p.mu.Unlock()
		// An error drops this event only. Receivers can read the task to catch up.
		list, err := p.server.Store.For(p.tenant).TaskPushes(p.server.lifetime, p.task)
		if err != nil {
			p.server.logFailure(p.server.lifetime, err)
			continue
		}
		for _, to := range list {
			if err := p.server.sendPush(p.server.lifetime, p.tenant, to, one); err != nil && p.server.lifetime.Err() == nil {
				p.server.Log.Warn("push notification failed; the client can read the task instead", "task", p.task, "push", to.ID, "error", err)
			}
		}
	}
}

// sendPush sends a notification to one address, and retries if that may help.
func (s *Server) sendPush(ctx context.Context, tenant junctor.TenantID, to junctor.TaskPush, n pushNotification) (err error) {
	var config pushConfig
	if err := json.Unmarshal(to.Config, &config); err != nil {
		return err
	}
	var body []byte
	if config.Version == version03 {
		body, err = json.Marshal(a2av0.FromV1Task(n.task))
	} else {
		body, err = json.Marshal(a2a.StreamResponse{Event: n.event})
	}
	if err != nil {
		return err
	}
	var secrets pushSecret
	if secret, ok, err := s.Vault.Get(ctx, tenant, junctor.TaskPushOwner(to.Task), to.ID); err != nil {
		return err
	} else if ok {
		if err := json.Unmarshal([]byte(secret.Reveal()), &secrets); err != nil {
			return err
		}
	}
	// The body is encoded once: all attempts send the same notification.
	for _, wait := range pushDelays() {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
		var retryable bool
		if retryable, err = s.postPush(ctx, config, secrets, body); err == nil || !retryable {
			return err
		}
	}
	return err
}

// postPush makes one attempt. retryable says whether another attempt may help.
func (s *Server) postPush(ctx context.Context, config pushConfig, secrets pushSecret, body []byte) (retryable bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, config.URL, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	r.Header.Set("Content-Type", "application/a2a+json")
	if config.Version == version03 {
		r.Header.Set("Content-Type", "application/json")
	}
	if secrets.Token != "" {
		r.Header.Set("A2A-Notification-Token", secrets.Token)
		r.Header.Set("X-A2A-Notification-Token", secrets.Token)
	}
	if secrets.Credentials != "" {
		r.Header.Set("Authorization", config.Scheme+" "+secrets.Credentials)
	}
	// egress does not follow a redirect of a request with a body to another origin,
	// so the credentials cannot reach another host.
	resp, err := s.Client.Do(r) // egress judges the destination
	if err != nil {
		return junctor.CodeOf(err) != junctor.CodeDenied, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // drained, so that the connection can be reused
	if resp.StatusCode < http.StatusOK || resp.StatusCode >= http.StatusMultipleChoices {
		return resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests, junctor.Errorf(junctor.CodeUpstream, "the receiver answered with HTTP %d", resp.StatusCode)
	}
	return false, nil
}
