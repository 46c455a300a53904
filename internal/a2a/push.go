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

// maxPushes is how many addresses may be told of a task.
const maxPushes = 8

// pushTries are the waits before a push is sent once more.
func pushTries() []time.Duration {
	return []time.Duration{0, 500 * time.Millisecond, 3 * time.Second}
}

// pushConfig is what is kept of an address in the clear.
type pushConfig struct {
	URL     string `json:"url"`
	Scheme  string `json:"scheme,omitempty"`
	Version string `json:"version"` // that its owner speaks
}

// pushSecret is what is sealed of it.
type pushSecret struct {
	Token       string `json:"token,omitempty"`
	Credentials string `json:"credentials,omitempty"`
}

// checkPush refuses an address that cannot be told. Where it leads is judged when
// it is dialled.
func checkPush(p *a2a.PushConfig) error {
	u, err := url.Parse(p.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || len(p.URL) > 2048 {
		return problem(a2a.ErrInvalidParams, "url is an http or https address without credentials")
	}
	if len(p.ID) > 256 || len(p.Token) > 4096 {
		return problem(a2a.ErrInvalidParams, "id or token is too long")
	}
	if p.Auth != nil && (p.Auth.Scheme == "" || len(p.Auth.Scheme)+len(p.Auth.Credentials) > 4096 || !printable(p.Auth.Scheme+p.Auth.Credentials)) || !printable(p.Token) {
		return problem(a2a.ErrInvalidParams, "token, and scheme and credentials of authentication, are printable characters, 4096 at most; the scheme is not empty")
	}
	return nil
}

func printable(s string) bool {
	for _, r := range s {
		if r < ' ' || r > '~' {
			return false
		}
	}
	return true
}

// savePush stores an address for a task of the caller, and seals its secrets.
func (d *desk) savePush(ctx context.Context, c *caller, row *junctor.AgentTask, p *a2a.PushConfig) (*a2a.PushConfig, error) {
	if err := checkPush(p); err != nil {
		return nil, err
	}
	rows := d.Store.For(row.Tenant)
	had, err := rows.TaskPushes(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	out := *p
	if out.ID == "" {
		out.ID = a2a.NewMessageID()
	}
	if len(had) >= maxPushes {
		return nil, problem(a2a.ErrInvalidParams, "so many addresses are told of this task already that no more may be")
	}
	kept, hidden := pushConfig{URL: p.URL, Version: c.version}, pushSecret{Token: p.Token}
	if p.Auth != nil {
		kept.Scheme, hidden.Credentials = p.Auth.Scheme, p.Auth.Credentials
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return nil, err
	}
	secret, err := json.Marshal(hidden)
	if err != nil {
		return nil, err
	}
	if err := rows.PutTaskPush(ctx, junctor.TaskPush{Task: row.ID, ID: out.ID, Config: text}); err != nil {
		return nil, err
	}
	if err := d.Vault.Put(ctx, row.Tenant, junctor.TaskPushOwner(row.ID), out.ID, seal.NewSecret(string(secret))); err != nil {
		_ = rows.DeleteTaskPush(context.WithoutCancel(ctx), row.ID, out.ID) // it would be told without what it knows us by
		return nil, err
	}
	return shownPush(row.ID, out.ID, kept), nil
}

// shownPush is an address as its owner sees it again: what is secret is not shown.
func shownPush(task, id string, kept pushConfig) *a2a.PushConfig {
	out := &a2a.PushConfig{TaskID: a2a.TaskID(task), ID: id, URL: kept.URL}
	if kept.Scheme != "" {
		out.Auth = &a2a.PushAuthInfo{Scheme: kept.Scheme}
	}
	return out
}

// pushes lists the addresses of a task of the caller.
func (d *desk) pushes(ctx context.Context, task a2a.TaskID) ([]*a2a.PushConfig, error) {
	_, row, err := d.row(ctx, task)
	if err != nil {
		return nil, err
	}
	list, err := d.Store.For(row.Tenant).TaskPushes(ctx, row.ID)
	if err != nil {
		return nil, protocolError(err)
	}
	out := []*a2a.PushConfig{}
	for _, one := range list {
		var kept pushConfig
		if err := json.Unmarshal(one.Config, &kept); err != nil {
			return nil, protocolError(err)
		}
		out = append(out, shownPush(row.ID, one.ID, kept))
	}
	return out, nil
}

// CreateTaskPushConfig implements a2asrv.RequestHandler.
func (d *desk) CreateTaskPushConfig(ctx context.Context, in *a2a.PushConfig) (*a2a.PushConfig, error) {
	c, row, err := d.row(ctx, in.TaskID)
	if err != nil {
		return nil, err
	}
	out, err := d.savePush(ctx, c, &row, in)
	return out, protocolError(err)
}

// GetTaskPushConfig implements a2asrv.RequestHandler.
func (d *desk) GetTaskPushConfig(ctx context.Context, in *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error) {
	list, err := d.pushes(ctx, in.TaskID)
	if err != nil {
		return nil, err
	}
	for _, one := range list {
		if one.ID == in.ID {
			return one, nil
		}
	}
	return nil, problem(a2a.ErrTaskNotFound, "nothing of that id is told of this task")
}

// ListTaskPushConfigs implements a2asrv.RequestHandler.
func (d *desk) ListTaskPushConfigs(ctx context.Context, in *a2a.ListTaskPushConfigRequest) (*a2a.ListTaskPushConfigResponse, error) {
	list, err := d.pushes(ctx, in.TaskID)
	if err != nil {
		return nil, err
	}
	return &a2a.ListTaskPushConfigResponse{Configs: list}, nil
}

// DeleteTaskPushConfig implements a2asrv.RequestHandler.
func (d *desk) DeleteTaskPushConfig(ctx context.Context, in *a2a.DeleteTaskPushConfigRequest) error {
	_, row, err := d.row(ctx, in.TaskID)
	if err != nil {
		return err
	}
	return protocolError(d.Store.For(row.Tenant).DeleteTaskPush(ctx, row.ID, in.ID))
}

// news is an event, and the task after it.
type news struct {
	event a2a.Event
	task  *a2a.Task
}

// pusher tells the addresses of one task what happens, in order, and keeps nobody
// waiting for them.
type pusher struct {
	s      *Server
	tenant junctor.TenantID
	task   string

	mu    sync.Mutex
	queue []news
	busy  bool
}

func newPusher(s *Server, tenant junctor.TenantID, task string) *pusher {
	return &pusher{s: s, tenant: tenant, task: task}
}

// tell sends an event on its way: a change of state, or an artifact once it is
// whole, not each piece of one.
func (p *pusher) tell(e a2a.Event, after *a2a.Task) {
	if a, ok := e.(*a2a.TaskArtifactUpdateEvent); ok {
		if !a.LastChunk {
			return
		}
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
	p.queue = append(p.queue, news{e, after})
	if !p.busy && p.s.also() {
		p.busy = true
		go p.run()
	}
}

// also has Close wait for one thing more, unless it was called.
func (s *Server) also() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.gone {
		s.work.Add(1)
	}
	return !s.gone
}

func (p *pusher) run() {
	defer p.s.work.Done()
	for {
		p.mu.Lock()
		if len(p.queue) == 0 {
			p.busy = false
			p.mu.Unlock()
			return
		}
		one := p.queue[0]
		p.queue = p.queue[1:]
		p.mu.Unlock()
		list, err := p.s.Store.For(p.tenant).TaskPushes(p.s.whole, p.task)
		if err != nil {
			p.s.tend(p.s.whole, err)
			continue
		}
		for _, to := range list {
			if err := p.s.send(p.s.whole, p.tenant, to, one); err != nil && p.s.whole.Err() == nil {
				p.s.Log.Warn("a2a: a push was not taken; what it told of is in the task", "task", p.task, "push", to.ID, "error", err)
			}
		}
	}
}

// send tells one address, and tries again where that may help.
func (s *Server) send(ctx context.Context, tenant junctor.TenantID, to junctor.TaskPush, n news) (err error) {
	var kept pushConfig
	if err := json.Unmarshal(to.Config, &kept); err != nil {
		return err
	}
	var body []byte
	if kept.Version == v03 {
		body, err = json.Marshal(a2av0.FromV1Task(n.task))
	} else {
		body, err = json.Marshal(a2a.StreamResponse{Event: n.event})
	}
	if err != nil {
		return err
	}
	var hidden pushSecret
	if secret, ok, err := s.Vault.Get(ctx, tenant, junctor.TaskPushOwner(to.Task), to.ID); err != nil {
		return err
	} else if ok {
		if err := json.Unmarshal([]byte(secret.Reveal()), &hidden); err != nil {
			return err
		}
	}
	for _, wait := range pushTries() {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
		var again bool
		if again, err = s.post(ctx, kept, hidden, body); err == nil || !again {
			return err
		}
	}
	return err
}

// post is one attempt. again says whether another may help.
func (s *Server) post(ctx context.Context, kept pushConfig, hidden pushSecret, body []byte) (again bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, kept.URL, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	r.Header.Set("Content-Type", "application/a2a+json")
	if kept.Version == v03 {
		r.Header.Set("Content-Type", "application/json")
	}
	if hidden.Token != "" {
		r.Header.Set("A2A-Notification-Token", hidden.Token)
		r.Header.Set("X-A2A-Notification-Token", hidden.Token)
	}
	if hidden.Credentials != "" {
		r.Header.Set("Authorization", kept.Scheme+" "+hidden.Credentials)
	}
	resp, err := s.Client.Do(r) // egress judges where it goes
	if err != nil {
		return junctor.CodeOf(err) != junctor.CodeDenied, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	if resp.StatusCode < http.StatusOK || resp.StatusCode >= http.StatusMultipleChoices {
		return resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests, junctor.Errorf(junctor.CodeUpstream, "it was answered with %d", resp.StatusCode)
	}
	return false, nil
}
