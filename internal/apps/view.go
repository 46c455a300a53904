package apps

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/wire"
	"github.com/junctor-mcp/junctor/mcpapps"
)

// view is a View that is open. What is not said to change does not.
type view struct {
	id       string
	owner    *junctor.Principal // who opened it, in which session
	agent    string             // whom it acts as; "" is the owner
	call     string
	target   target
	frames   frames
	page     mcpapps.Page
	digest   string
	profile  junctor.AppProfile
	approval junctor.Approval
	opened   time.Time
	gone     chan struct{} // closed when it is

	// Under the host's lock.
	used    time.Time
	context json.RawMessage // what it last told the model
	latest  string          // the digest that the server's page was last seen with
	log     log
	mail    []junctor.ViewMail
	fetched time.Time // when somebody last asked for mail
}

func (v *view) permissions() []string { return permissions(v.page.Meta.Permissions) }

// Open reads the page that a tool brings and gives it a place to run.
func (h *Host) Open(ctx context.Context, p *junctor.Principal, in junctor.OpenView) (junctor.View, error) {
	acts, err := h.acting(p, in.Agent)
	if err != nil {
		return junctor.View{}, err
	}
	t, err := h.target(acts, in.Server, in.Tool)
	if err != nil {
		return junctor.View{}, err
	}
	if in.Resource != "" {
		t.uri = in.Resource
	}
	if !strings.HasPrefix(t.uri, mcpapps.Scheme) {
		return junctor.View{}, noApp(t)
	}
	v := &view{id: h.newID(), owner: p, agent: in.Agent, call: in.Call, target: t, opened: h.o.Now(), gone: make(chan struct{})}
	if v.frames, err = h.o.Sandbox().place(v.id, in.Console, in.Isolation); err != nil {
		return junctor.View{}, err
	}
	if v.page, err = h.read(ctx, acts, t, v.id, in.Fresh); err != nil {
		return junctor.View{}, err
	}
	v.digest = v.page.Digest()
	v.latest, v.used = v.digest, v.opened
	if v.profile, v.approval, err = h.profile(ctx, p.Tenant, t.item.Server.ID, t.uri, v.digest); err != nil {
		return junctor.View{}, err
	}
	if err := h.keep(v); err != nil {
		return junctor.View{}, err
	}
	h.note(v, sourceGateway, kindNote, "", map[string]any{"opened": t.name, "digest": v.digest, "profile": v.profile, "isolation": v.frames.isolation})
	return h.show(v), nil
}

// newID makes the id of a View: 26 letters and digits of base32, of which 16 are
// chance at the least.
func (h *Host) newID() string {
	return h.o.Node + strings.ToLower(rand.Text())[len(h.o.Node):]
}

// NodeOf is the process that a View would be of, by its id; "" where it is none.
// Whether there is such a process is for the caller to know.
func NodeOf(id string) string {
	if len(id) <= nodeLength {
		return ""
	}
	return id[:nodeLength]
}

// acting is whom a request is judged as.
func (h *Host) acting(p *junctor.Principal, agent string) (*junctor.Principal, error) {
	if agent == "" {
		return p, nil
	}
	return h.o.Catalog.Snapshot().For(p.Tenant).Acting(p, agent)
}

// keep holds a View. Where its session has many, the one that was not used for
// longest goes; so does what nobody is there for any more.
func (h *Host) keep(v *view) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sweep()
	var mine []*view
	for _, other := range h.views {
		if other.of(v.owner) {
			mine = append(mine, other)
		}
		if other.digest == v.digest {
			v.page.HTML = other.page.HTML // the same text is held once
		}
	}
	slices.SortFunc(mine, func(a, b *view) int { return a.used.Compare(b.used) })
	for len(mine) >= maxViews {
		h.drop(mine[0])
		mine = mine[1:]
	}
	if h.held+len(v.page.HTML) > maxHeld {
		return junctor.Errorf(junctor.CodeLimited, "too many Views are open on this instance; close some and try again")
	}
	h.held += len(v.page.HTML)
	h.views[v.id] = v
	return nil
}

// of says whether a View is that of a principal, in this session.
func (v *view) of(p *junctor.Principal) bool {
	return v.owner.Same(p) && v.owner.Login == p.Login && v.owner.Key == p.Key
}

// lives says whether a View goes on: it dies with its session.
func (h *Host) lives(v *view, now time.Time) bool {
	return now.Before(h.expires(v)) && h.o.Stands(v.owner)
}

func (h *Host) expires(v *view) time.Time {
	idle, most := v.used.Add(idleFor), v.opened.Add(liveFor)
	if most.Before(idle) {
		return most
	}
	return idle
}

// sweep drops the Views that do not go on. The lock is held.
func (h *Host) sweep() {
	now := h.o.Now()
	for _, v := range h.views {
		if !h.lives(v, now) {
			h.drop(v)
		}
	}
}

// Sweep drops the Views that do not go on.
func (h *Host) Sweep() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sweep()
}

func (h *Host) drop(v *view) {
	if h.views[v.id] == v {
		delete(h.views, v.id)
		close(v.gone)
		h.held -= len(v.page.HTML)
	}
}

// find gives a View of a principal's session. One that is another's answers like
// one that is not there.
func (h *Host) find(p *junctor.Principal, id string) (*view, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := h.views[id]
	now := h.o.Now()
	if v != nil && !h.lives(v, now) {
		h.drop(v)
		v = nil
	}
	if v == nil || !v.of(p) {
		return nil, junctor.Errorf(junctor.CodeNotFound, "there is no View %q in this session; it may have been closed", clip(id))
	}
	v.used = now
	return v, nil
}

// View gives one. With check the page is read again, to see whether the server has
// another by now.
func (h *Host) View(ctx context.Context, p *junctor.Principal, id string, check bool) (junctor.View, error) {
	v, err := h.find(p, id)
	if err != nil {
		return junctor.View{}, err
	}
	if check {
		h.look(ctx, p, v)
	}
	return h.show(v), nil
}

func (h *Host) look(ctx context.Context, p *junctor.Principal, v *view) {
	acts, err := h.acting(p, v.agent)
	if err != nil {
		return
	}
	page, err := h.read(ctx, acts, v.target, v.id, true)
	if err != nil {
		h.note(v, sourceGateway, kindNote, "", map[string]any{"unreadable": junctor.AsError(err).Message})
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	v.latest = page.Digest()
}

// Views lists those of a principal's session, oldest first.
func (h *Host) Views(p *junctor.Principal) []junctor.View {
	h.mu.Lock()
	h.sweep()
	var mine []*view
	for _, v := range h.views {
		if v.of(p) {
			mine = append(mine, v)
		}
	}
	h.mu.Unlock()
	slices.SortFunc(mine, func(a, b *view) int { return cmp.Or(a.opened.Compare(b.opened), cmp.Compare(a.id, b.id)) })
	out := make([]junctor.View, len(mine))
	for i, v := range mine {
		out[i] = h.show(v)
	}
	return out
}

// Close ends a View: its page is gone, and it is answered nothing any more.
func (h *Host) Close(p *junctor.Principal, id string) error {
	v, err := h.find(p, id)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(v)
	return nil
}

// show is a View as its session sees it.
func (h *Host) show(v *view) junctor.View {
	f, tool := &v.frames, v.target.item.Tool.JSON
	out := junctor.View{
		ID: v.id, State: junctor.ViewOpen, Server: v.target.item.Server.ID, Tool: v.target.item.Name, Name: v.target.name, Resource: v.target.uri,
		Call: v.call, Agent: v.agent, Isolation: f.isolation, Proxy: f.proxy.String(), ProxyOrigin: f.proxyOrigin(), Page: f.page.String(), Origin: f.pageOrigin(),
		Sandbox: outerSandbox, Allow: allow(v), Approval: v.approval, AppPage: describe(v.page, v.profile, v.policy()),
		HostCapabilities: capabilities(v), Definition: json.RawMessage(tool), Notes: notes(v), OpenedAt: v.opened.UTC(),
	}
	out.Title, _ = wire.String(wire.Get(tool, "title"))
	h.mu.Lock()
	out.ModelContext, out.ExpiresAt = v.context, h.expires(v).UTC()
	latest := v.latest
	h.mu.Unlock()
	sh := h.o.Catalog.Snapshot().For(v.owner.Tenant)
	acts, err := h.acting(v.owner, v.agent)
	if err == nil {
		_, err = sh.Server(acts, out.Server)
	}
	if err == nil {
		_, err = h.target(acts, out.Server, out.Tool)
	}
	switch {
	case err != nil:
		out.State = junctor.ViewGone
	case latest != v.digest:
		out.State = junctor.ViewChanged
	}
	return out
}

// allow is what the outer frame passes on of the browser's features, to the page
// alone.
func allow(v *view) string {
	if v.page.Meta.Permissions == nil {
		return ""
	}
	features := v.page.Meta.Permissions.Allow()
	to := " " + v.frames.page.Scheme + "://" + v.frames.page.Host
	if v.frames.isolation == junctor.IsolationOpaque {
		to = " *" // it has no origin to name; the proxy has but this one frame
	}
	var out []string
	for feature := range strings.SplitSeq(features, "; ") {
		if feature != "" {
			out = append(out, feature+" "+v.frames.proxyOrigin()+to)
		}
	}
	return strings.Join(out, "; ")
}

// capabilities are those of a host that this one stands behind.
func capabilities(v *view) json.RawMessage {
	sandbox := &mcpapps.SandboxCapabilities{CSP: v.page.Meta.CSP.Allowed(), Permissions: v.page.Meta.Permissions}
	text, err := json.Marshal(mcpapps.HostCapabilities{
		ServerTools: &mcpapps.ListChanged{ListChanged: true}, ServerResources: &mcpapps.ListChanged{ListChanged: true}, Logging: true, Sandbox: sandbox,
	})
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return text
}

// notes are what to tell the person who looks at a View.
func notes(v *view) []string {
	out := []string{}
	if v.frames.isolation == junctor.IsolationOpaque {
		out = append(out, "There is no name for this View: it runs without an origin and cannot store anything, which some Apps do not expect. Open the console under its own name, or set --sandbox-url.")
	}
	switch v.approval.State {
	case junctor.ApprovalChanged:
		out = append(out, "The page has changed since it was approved: it runs under the strict policy until somebody approves it again.")
	case junctor.ApprovalGiven:
		out = append(out, "The page may make code of text (eval): "+v.approval.By+" approved it.")
	case junctor.ApprovalNone:
	}
	if err := v.page.Meta.CSP.Validate(); err != nil {
		out = append(out, "Some sources that the page declares are not sources, and are left out.")
	}
	return out
}
